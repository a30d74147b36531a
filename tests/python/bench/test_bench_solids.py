"""Benchmarks of solid cells."""

import json
import os
import sys
from pathlib import Path

import pytest
from conftest import Cli
from errors import is_error, raises
from rich.console import Console
from slipstream.base.errors import CaseError
from slipstream_bench import registry
from slipstream_bench.lbm import common, counters, flagfield, simd, solids
from slipstream_bench.record import Row

CHOICE = flagfield.Choice("host", 1, "D3Q19", "TRT", "f32", "in_place", [64])


def measured(folder: Path, name: str, cells: int, *more: str) -> list[Row]:
    """Rows of a benchmark that runs in this process."""
    words = ["--backend", "host", "--threads", "1", "--cells", str(cells), "--precision", "f32"]
    arguments = registry.parse([name, *words, *more, "--streaming", "in_place", "--folder", str(folder)])
    arguments.action(arguments, Console(quiet=True))
    (path,) = (folder / name).glob("*.json")
    return json.loads(path.read_text())["rows"]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "STEPS", 2)
    monkeypatch.setattr(common, "REPEATS", 1)
    monkeypatch.setattr(simd, "TOY", {"host": (1024, 10)})


@pytest.mark.usefixtures("short")
def test_flagfield_measures_each_way_at_each_share_of_solid_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flagfield, "SHARES", (solids.PAPER_SHARE, 0.3))
    monkeypatch.setattr(flagfield, "CUBE_SHARES", (0.1, 0.5))
    rows = measured(tmp_path, "lbm_flagfield", 32)
    ways = ["dense", "flags", "sparse"]
    assert [row["solids"] for row in rows] == (["dense"] * 2 + ways * 3) * 2
    assert [row["cells_per_device"] for row in rows[::11]] == [[64, 32, 32], [32, 32, 32]]
    for row in rows:
        assert row["mflups"] == pytest.approx(row["mlups"] * (1 - row["solid_share"]), rel=1e-3)
    assert rows[2]["solid_share"] == pytest.approx(solids.PAPER_SHARE, abs=5e-4)
    assert rows[5]["solid_share"] == pytest.approx(0.3, abs=0.02)
    # Cubic domains are also measured with 10 % and 50 % of solid cells. The automatic choice of how solid cells are
    # stored rests on these rows.
    assert [row["solid_share"] for row in rows[13:19:3]] == pytest.approx([0.1, 0.5], abs=0.02)
    # The published ratio of update rates with and without flags (Zheng 2023, table 1.6) is in the only row that repeats
    # the published case.
    assert [row["paper_ratio"] for row in rows if row["paper_ratio"]] == [pytest.approx(1.2042, abs=1e-3)]


@pytest.mark.usefixtures("short")
def test_flagfield_measures_fluid_cells_by_the_empty_box_of_the_same_run_and_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flagfield, "SHARES", (0.05,))
    rows = measured(tmp_path, "lbm_flagfield", 16, "--shares", "0.05")
    for alike in (rows[:8], rows[8:]):
        empty, walled = alike[:2]
        assert (empty["solid_share"], empty["walls"], empty["to_empty"]) == (0.0, False, 1.0)
        assert (walled["solid_share"], walled["walls"]) == (0.0, True)
        assert [row["walls"] for row in alike[2:]] == [False] * 3 + [True] * 3
        for row in alike[1:]:
            assert row is walled or row["solid_share"] == pytest.approx(0.05, abs=0.01)
            assert row["to_empty"] == pytest.approx(row["mflups"] / empty["mflups"], rel=1e-3)


def test_a_row_takes_fewer_repeats_where_they_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    class Steps:
        def __init__(self, seconds: float) -> None:
            self.seconds, self.now = seconds, 0.0

        def advance(self, steps: int) -> None:
            self.now += self.seconds

    def repeats(seconds: float) -> int:
        lbm = Steps(seconds)
        monkeypatch.setattr(common.time, "perf_counter", lambda: lbm.now)
        best, count = common.smallest_time_within(lbm, 1.0)
        assert best == pytest.approx(seconds)
        return count

    assert [repeats(seconds) for seconds in (0.05, 0.3, 4.0)] == [common.REPEATS, 4, 2]


def test_flagfield_refuses_shares_that_no_pack_has(cli: Cli) -> None:
    result = cli("bench", "lbm_flagfield", "--backend", "host", "--no-write", "--shares", "0.7")
    is_error(result, "invalid_argument", option="shares", limit="0 to 0.64")


@pytest.mark.usefixtures("short")
def test_simd_compares_both_tests_in_each_kernel(tmp_path: Path) -> None:
    rows = measured(tmp_path, "lbm_simd", 16)
    assert [(row["kernel"], row["test"]) for row in rows] == [
        (kernel, test) for kernel in ("outside", "inside", "step") for test in ("plain", "four flags a word")
    ]
    assert [row["paper_ratio"] for row in rows[1::2]] == pytest.approx([1.0, 1.70, 1.0], abs=0.01)


def test_simd_measures_single_cells_on_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simd.discovery, "choose_backend", lambda wanted: "cuda")
    with raises(CaseError, "unsupported", option="precision"):
        measured(tmp_path, "lbm_simd", 16)


def test_simd_takes_one_size() -> None:
    with raises(CaseError, "invalid_argument", option="cells"):
        registry.parse(["lbm_simd", "--cells", "16", "32"])


#: Imitates the profiler: runs its command and reports counters for every step.
PROFILER = """#!{python}
import json, subprocess, sys

if {fails}:
    sys.exit("==ERROR== ERR_NVGPUCTRPERM")
at = sys.argv.index("-m")
subprocess.run(sys.argv[at - 1 :], check=True)
print("==PROF== Connected")
print('"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"')
for launch in range(2 * len(json.loads(sys.argv[at + 2])["ways"])):
    for n, name in enumerate(sys.argv[sys.argv.index("--metrics") + 1].split(",")):
        print(f'"{{launch}}","StreamCollide","{{name}}","unit","{{1000 * launch + n:,}}"')
"""


def profiler(folder: Path, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    program = folder / "ncu"
    program.write_text(PROFILER.format(python=sys.executable, fails=fails))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_counters_are_those_of_the_last_step_of_each_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profiler(tmp_path, monkeypatch, fails=False)
    rows = counters.measure(CHOICE, (16, 8, 8), 0.05, ["dense", "sparse"])
    assert [row["solids"] for row in rows] == ["dense", "sparse"]
    names = list(counters.METRICS)
    assert [row["dram_read_bytes"] for row in rows] == [1000 + names.index("dram_read_bytes"), 3000 + 12]
    # converted from nanoseconds, which the profiler reports
    assert rows[0]["duration_us"] == pytest.approx(1.005, abs=1e-3)


def test_counted_times_stand_beside_those_of_the_paper_under_its_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"dense": 12.0, "flags": 8.0, "sparse": 6.0}
    counted = [{"solids": way, "duration_us": time} for way, time in times.items()]
    monkeypatch.setattr(counters, "measure", lambda *_: [dict(row) for row in counted])
    rows = flagfield.count(CHOICE)
    assert [row["profiled_ratio"] for row in rows] == [1.0, 1.5, 2.0] * 3
    assert [row["paper_ratio"] for row in rows] == [None, pytest.approx(1.116, abs=1e-3)] + [None] * 7


def test_profiler_that_may_not_count_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profiler(tmp_path, monkeypatch, fails=True)
    with raises(CaseError, "unavailable", found=0, limit=2):
        counters.measure(CHOICE, (16, 8, 8), 0.05, ["dense"])
