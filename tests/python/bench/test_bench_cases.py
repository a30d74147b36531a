"""`slipstream bench cases`: which case files it runs, what it writes, and its reports on failures."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import CASES, ROOT, SMALL, Cli
from errors import is_error, raises
from rich.console import Console
from slipstream.base.errors import CaseError
from slipstream_bench import cases
from slipstream_bench.cases import Entry, entries, files

#: A flow that decays from a known start, and a variant with an impossible expectation.
DECAY = """\
[grid]
cells = [4, 8, 1]
periodic = [true, true, false]
[lbm]
lattice = "D2Q9"
precision = "f64"
[physics]
reynolds = 10
length = 8
reference_velocity = 0.05
[walls]
[initial]
velocity = ["sin(2*pi*y/Ly)", 0, 0]
[exact]
velocity = ["sin(2*pi*y/Ly)*exp(-(2*pi)^2*t/10)", 0, 0]
[run]
time_units = 0.1
[output]
reference = "none"
[expected]
"exact.distance" = [0, 0.1]
[variants.strict.expected]
"exact.distance" = [0, 1e-9]
"no.such" = [0, 1]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two case files."""
    there = tmp_path / "mine"
    there.mkdir()
    (there / "decay.toml").write_text(DECAY)
    (there / "small.toml").write_text(SMALL)
    return there


def written(folder: Path) -> list[dict[str, Any]]:
    (path,) = (folder / "out" / "cases").glob("*.json")
    return json.loads(path.read_text())["rows"]


def test_all_shipped_cases_are_run_unless_some_are_named() -> None:
    assert files([]) == sorted(CASES.glob("*.toml"))
    assert files(["sphere", "car", "sphere"]) == [CASES / "sphere.toml", CASES / "car.toml"]


def test_files_and_folders_are_named_by_their_paths(folder: Path) -> None:
    assert files([str(folder)]) == [folder / "decay.toml", folder / "small.toml"]
    assert files([str(folder / "small.toml")]) == [folder / "small.toml"]


def test_names_that_are_no_cases_are_refused(tmp_path: Path) -> None:
    with raises(CaseError, "not_found", file="spere"):
        files(["spere"])
    with raises(CaseError, "not_found", file=tmp_path):
        files([str(tmp_path)])


def test_variants_are_run_of_the_cases_that_have_them(folder: Path) -> None:
    paths = files([str(folder)])
    assert entries(paths, []) == [Entry(path) for path in paths]
    assert entries(paths, ["strict"]) == [Entry(folder / "decay.toml", "strict")]
    with raises(CaseError, "not_found", option="variant", unknown="fine"):
        entries(paths, ["strict", "fine"])


def test_cheap_cases_find_what_they_expect(cli: Cli, tmp_path: Path) -> None:
    names = ["poiseuille", "couette", "bead_array"]
    result = cli("bench", "cases", *names, "--backend", "host", "--folder", "out")
    assert result.returncode == 0, result.stdout + result.stderr
    rows = written(tmp_path)
    assert [row["case"] for row in rows] == names
    assert all(row["met"] and row["low"] <= row["found"] <= row["high"] for row in rows)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_collisions_are_run_beside_one_another_with_their_orders(cli: Cli, tmp_path: Path) -> None:
    words = ["--variant", "tau100", "--collision", "TRT", "recursive", "--refine", "2", "1", "--folder", "out"]
    result = cli("bench", "cases", "poiseuille", *words, "--backend", "host")
    assert result.returncode == 0, result.stdout + result.stderr
    rows = written(tmp_path)
    assert [(row["collision"], row["cells"]) for row in rows] == [
        ("TRT", [4, 8, 2]), ("TRT", [8, 16, 2]), ("recursive", [4, 8, 2]), ("recursive", [8, 16, 2])
    ]  # fmt: skip
    assert {row["comparison"] for row in rows} == {"collisions"}
    coarse, fine = rows[2:]
    assert coarse["error_percent"] == pytest.approx(100 * coarse["found"]) and "order" not in coarse
    assert fine["order"] == pytest.approx(2, abs=0.05)
    # The error of TRT comes from rounding only, so it has no order.
    assert all(row["error_percent"] < 1e-4 and "order" not in row for row in rows[:2])


def test_a_prediction_counts_the_steps_that_were_made() -> None:
    before = {"seconds": 100.0, "steps": 400}
    assert cases.predicted({"steps": 100}, before) == pytest.approx(25)
    assert cases.predicted({"steps": 100}, {}) is None and cases.predicted({"steps": 0}, before | {"steps": 0}) is None


def test_predicted_times_stand_beside_the_measured_ones() -> None:
    times = {"cavity": (10.0, 8.5), "car": (10.0, 7.0), "heat": (0.1, None), "bad": (None, None)}
    made = [
        (Entry(Path(f"{name}.toml")), {"seconds": took, "predicted_s": before})
        for name, (took, before) in times.items()
        for _ in range(2)
    ]
    console = Console(width=100)
    with console.capture() as captured:
        console.print(cases.prediction_table(made))
    title, _, *lines = filter(None, captured.get().splitlines())
    assert title == "predicted times: 1 of 2 within 25 % of the measured ones"
    assert [line.split() for line in lines] == [
        ["cavity", "8.5", "10", "0.85", "yes"],
        ["car", "7", "10", "0.70", "NO"],
        ["heat", "-", "0.1", "-", "-"],
    ]


def test_errors_are_told_of_what_was_published() -> None:
    entry = Entry(CASES / "sphere.toml", "fine", "recursive")
    quantity = {"quantity": "ball.x.last", "value": 1.1118, "met": True}
    assert cases._finding(entry, "ball.x.last", quantity)["error_percent"] == pytest.approx(2.0)
    assert cases._finding(entry, "ball.y.last", quantity)["error_percent"] is None


@pytest.mark.parametrize(
    ("name", "solver"), [("heat", "stencil"), ("decaying_turbulence", "dns"), ("poiseuille", "lbm")]
)
def test_number_formats_are_those_of_the_cases_solver(name: str, solver: str) -> None:
    case = Entry(CASES / f"{name}.toml", precision="f32").load([])
    assert case.solver == solver and getattr(case, solver).precision == "f32"


@pytest.mark.parametrize(
    ("name", "collision", "said"),
    [
        ("heat", "TRT", "heat takes no --collision TRT: its solver has no collisions"),
        ("poiseuille", "trt", "poiseuille takes no --collision trt: it is run by SRT, TRT, MRT, cumulant, regularised"),
    ],
)
def test_collisions_are_those_of_the_cases_solver(
    cli: Cli, tmp_path: Path, name: str, collision: str, said: str
) -> None:
    result = cli("bench", "cases", name, "--collision", collision, "--backend", "host", "--folder", "out", "-n", "2")
    assert result.returncode == 2 and result.stderr.count(said) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["sphere", "heat"])
def test_cases_that_cannot_be_refined_are_refused(cli: Cli, name: str) -> None:
    result = cli("bench", "cases", name, "--refine", "2", "--backend", "host", "--no-write")
    is_error(result, "unsupported", option="refine", case=name)
    result = cli("bench", "cases", name, "--refine", "0", "--backend", "host", "--no-write")
    is_error(result, "invalid_argument", option="refine", limit=1)


@pytest.mark.parametrize("ranks", ["1", "2"])
def test_what_falls_short_is_named_at_the_end(cli: Cli, tmp_path: Path, folder: Path, ranks: str) -> None:
    words = ["--variant", "strict", "--backend", "host", "--folder", "out", "mine", "-n", ranks]
    result = cli("bench", "cases", *words)
    assert result.returncode == 1, result.stderr
    rows = written(tmp_path)
    assert [(row["quantity"], row["met"]) for row in rows] == [("exact.distance", False), ("no.such", False)]
    assert rows[0]["found"] > 1e-9 and rows[1]["found"] is None
    assert {row["variant"] for row in rows} == {"strict"} and {row["ranks"] for row in rows} == {int(ranks)}
    said = "1 of 1 did not find what they expect: decay strict (exact.distance, no.such)"
    assert result.stderr.count(said) == 1


def test_case_that_fails_is_named_and_the_others_are_run(cli: Cli, tmp_path: Path, folder: Path) -> None:
    unstable = {
        "reference_velocity = 0.1": "reference_velocity = 0.17",
        "reynolds = 100": "reynolds = 3500",
        "steps = 40": "steps = 4000",
    }
    text = SMALL + '[lbm]\ncollision = "SRT"\n'
    for old, new in unstable.items():
        text = text.replace(old, new)
    (folder / "bad.toml").write_text(text)
    result = cli("bench", "cases", "mine", "--backend", "host", "--folder", "out")
    assert result.returncode == 1, result.stderr
    assert "1 of 3 did not find what they expect: bad (failed: the flow is no longer sound" in result.stderr
    rows = {row["case"]: row for row in written(tmp_path)}
    assert [rows[name]["met"] for name in ("bad", "decay", "small")] == [False, True, None]
    assert rows["bad"]["seconds"] is None and rows["decay"]["steps"] == 16


def test_other_benchmarks_take_no_names(cli: Cli) -> None:
    result = cli("bench", "lbm", "sphere")
    is_error(result, "invalid_argument", benchmark="lbm", unknown="sphere")


def test_the_program_beside_the_cases_finds_the_second_order() -> None:
    command = [sys.executable, str(CASES / "convergence.py"), str(CASES / "couette.toml")]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    orders = re.findall(r"distance \S+   order (\S+)", ended.stdout)
    assert len(orders) == 2 and 1.9 < float(orders[-1]) < 2.1, ended.stderr
