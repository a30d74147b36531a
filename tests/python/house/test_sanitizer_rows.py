"""Classification of tools/gpu_sanitize.sh runs by their logs."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

TESTS = """\
========= COMPUTE-SANITIZER
[ RUN      ] Guard/A.B/cuda_f16
[       OK ] Guard/A.B/cuda_f16 (31 ms)
[ RUN      ] Guard/A.B/cuda_f32
[       OK ] Guard/A.B/cuda_f32 (12 ms)
[ RUN      ] Guard/A.B/cuda_f64
[  SKIPPED ] Guard/A.B/cuda_f64 (0 ms)
"""
END = "[  PASSED  ] 2 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] Guard/A.B/cuda_f64\n"
CLEAN = "========= ERROR SUMMARY: 0 errors\n"
NO_HAZARD = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
HAZARD = "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n"
INVALID = "========= Invalid __global__ write of size 4 bytes\n=========     at kernel\n"
FAILED = "[  FAILED  ] Guard/A.C/cuda_f16, where GetParam() = 1 (4 ms)\n"
AGAIN = "[  FAILED  ] Guard/A.C/cuda_f16, where GetParam() = 1\n"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sanitizer_rows", ROOT / "tools" / "sanitizer_rows.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(folder: Path, text: str, status: int, ranks: int = 1, seconds: int = 20) -> str:
    log = folder / "run.log"
    log.write_text(text)
    return f"guard|memcheck|mpi_tests|{ranks}|Guard/*/cuda_*|150|{status}|{seconds}|{log}\n"


@pytest.mark.parametrize(
    ("text", "status", "ranks", "outcome", "passed", "failed", "errors"),
    [
        (TESTS + END + CLEAN, 0, 1, "passed", 2, 0, 0),
        (TESTS + END + NO_HAZARD, 0, 1, "passed", 2, 0, 0),
        (TESTS + END + CLEAN + CLEAN, 0, 2, "passed", 2, 0, 0),
        (TESTS + END + CLEAN, 0, 2, "FAILED", 2, 0, 0),
        (TESTS + END, 0, 1, "FAILED", 2, 0, 0),
        ("========= COMPUTE-SANITIZER\n" + CLEAN, 0, 1, "FAILED", 0, 0, 0),
        (TESTS + END + HAZARD, 0, 1, "FAILED", 2, 0, 1),
        (TESTS + INVALID + END + "========= ERROR SUMMARY: 1 error\n", 99, 1, "FAILED", 2, 0, 1),
        (TESTS + FAILED + END + AGAIN + CLEAN, 1, 1, "FAILED", 2, 1, 0),
        (TESTS, 139, 1, "FAILED", 2, 0, 0),
        (TESTS, 124, 1, "out of time", 2, 0, 0),
        (TESTS + "========= Error: process didn't terminate successfully\n", 124, 1, "out of time", 2, 0, 0),
        (TESTS + INVALID, 124, 1, "FAILED", 2, 0, 1),
        (TESTS, 137, 1, "FAILED", 2, 0, 0),
    ],
)
def test_outcome_of_a_run(
    tool: ModuleType, tmp_path: Path, text: str, status: int, ranks: int, outcome: str, passed: int, failed: int,
    errors: int,
) -> None:  # fmt: skip
    found = tool.row(run(tmp_path, text, status, ranks), 1)
    assert [found[key] for key in ("outcome", "passed", "failed", "skipped", "errors")] == [
        outcome, passed, failed, 1 if "SKIPPED" in text else 0, errors,
    ]  # fmt: skip


def test_run_that_had_to_be_killed_at_its_limit_is_out_of_time(tool: ModuleType, tmp_path: Path) -> None:
    assert tool.row(run(tmp_path, TESTS, 137, seconds=160), 1)["outcome"] == "out of time"


def test_only_runs_that_all_passed_are_a_success(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--command", "tools/gpu_sanitize.sh guard", "--folder", str(tmp_path / "out"), "--backend", "host"]
    assert tool.main(words, [run(tmp_path, TESTS, 124)]) == 1
    assert tool.main(words, []) == 1
    assert tool.main(words, [run(tmp_path, TESTS + INVALID, 99)]) == 1
    said = capsys.readouterr().out
    assert "out of time" in said and f"guard-memcheck ({tmp_path}/run.log):\n=========" in said
    assert tool.main(words, [run(tmp_path, TESTS + END + CLEAN, 0)]) == 0
    (path,) = (tmp_path / "out" / "sanitizer").glob("*.json")
    result = json.loads(path.read_text())
    assert result["command"] == "tools/gpu_sanitize.sh guard"
    (row,) = result["rows"]
    assert row["outcome"] == "passed" and row["filter"] == "Guard/*/cuda_*" and row["commit"] and row["date"]
