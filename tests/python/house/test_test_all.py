"""tools/test_all.py runs every test somewhere, counts results, and continues after an interruption."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

GOOGLETEST = {
    "testsuites": [
        {
            "testsuite": [
                {"classname": "Box", "name": "Holds", "time": "0.25s", "result": "COMPLETED"},
                {"classname": "Box", "name": "Grows", "time": "1.5s", "result": "COMPLETED", "failures": [{}]},
                {"classname": "Box", "name": "OnGpu", "time": "0s", "result": "SKIPPED"},
            ]
        }
    ]
}

PYTEST = """<testsuites><testsuite>
<testcase classname="tests.python.test_run" name="test_a" time="2.5"/>
<testcase classname="tests.python.test_run" name="test_b" time="0.1"><failure message="no"/></testcase>
<testcase classname="tests.python.test_run" name="test_c" time="0"><skipped message="no GPU"/></testcase>
</testsuite></testsuites>"""

# Coloured output, as under an MPI launcher, whose output is a terminal.
PRINTED = """[ RUN      ] Box.Holds
[       OK ] Box.Holds (250 ms)
[ RUN      ] Sizes/Box.Grows/3
box_test.cpp:7: Failure
\x1b[0;31m[  FAILED  ] \x1b[mSizes/Box.Grows/3, where GetParam() = 3 (1500 ms)
[ RUN      ] Box.OnGpu
[  SKIPPED ] Box.OnGpu (0 ms)
[ RUN      ] Box.TakesLong
"""

NINJA = """# ninja log v5
0\t4000\t1\ttests/CMakeFiles/unit_tests.dir/unit/box_test.cpp.o\tab
0\t9000\t1\tCMakeFiles/slipstream.dir/src/grid/box.cpp.o\tcd
0\t12000\t1\tlibslipstream.a\tef
5000\t6000\t2\ttests/CMakeFiles/unit_tests.dir/unit/box_test.cpp.o\tab
6000\t8000\t2\ttests/CMakeFiles/unit_tests.dir/__/build/joined/unit/grid_1.cpp.o\tgh
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return imported("test_all")


def imported(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return __import__(name)
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize(
    ("name", "text", "slowest"),
    [("unit.json", json.dumps(GOOGLETEST), "Box.Grows"), ("python.xml", PYTEST, "test_run::test_a")],
)
def test_reports_of_both_frameworks_are_counted(tmp_path: Path, name: str, text: str, slowest: str) -> None:
    (tmp_path / name).write_text(text)
    counts = imported("test_reports").read(tmp_path / name)
    assert (counts.passed, counts.failed, counts.skipped) == (1, 1, 1)
    assert max(counts.seconds, key=counts.seconds.get) == slowest


WHY = "box_test.cpp:7\nExpected equality of these values:\n" + "".join(f"  line {n}\n" for n in range(28))
LONG_FILTER = f"Note: Google Test filter = {'Suite.Test:' * 8000}\n"
NOT_TWO = "<failure>def test_b():\n    a = 1\n>   assert a == 2\nE   1 == 2</failure>"
OF_RANKS = """a line of rank 0, rank 1: Sizes/Box.Grows/3: box_test.cpp:7: 1
  is not 2
rank 2: Box.Holds: here: 3
2 of 3 ranks failed
"""
FAILED = {
    "GoogleTest's report": (
        "box.json",
        json.dumps(GOOGLETEST).replace("[{}]", json.dumps([{"failure": WHY}])),
        "",
        ["FAILED: Box.Grows", "    box_test.cpp:7", "    Expected equality of these values:"],
    ),
    "pytest's report": (
        "box.xml",
        PYTEST.replace('<failure message="no"/>', NOT_TWO),
        "",
        ["FAILED: test_run::test_b", "    >   assert a == 2", "    E   1 == 2"],
    ),
    "output that was cut off": (
        None,
        "",
        LONG_FILTER + PRINTED + "a crash",
        [
            "FAILED: Sizes/Box.Grows/3",
            "    box_test.cpp:7: Failure",
            "FAILED: Box.TakesLong did not end",
            "    a crash",
        ],
    ),
    "other ranks": (
        "box.json",
        json.dumps({"testsuites": []}),
        LONG_FILTER + OF_RANKS,
        [
            "FAILED: Sizes/Box.Grows/3",
            "    rank 1: box_test.cpp:7: 1",
            "      is not 2",
            "FAILED: Box.Holds",
            "    rank 2: here: 3",
        ],
    ),
    "a program that does not start": (None, "", f"{LONG_FILTER}no such library\n", ["    no such library"]),
}


@pytest.mark.parametrize(("name", "report", "log", "said"), FAILED.values(), ids=FAILED)
def test_failed_tests_are_told_with_the_assertion_and_no_filter(
    tool: ModuleType, tmp_path: Path, name: str | None, report: str, log: str, said: list[str]
) -> None:
    reports = imported("test_reports")
    if name:
        (tmp_path / name).write_text(report)
    counts = reports.read(tmp_path / name) if name else reports.read_log(log)
    lines = list(tool.why_it_failed(counts, log))
    assert [line for line in lines if line in said] == said
    assert len("\n".join(lines)) < 2000


def test_twenty_lines_of_a_failure_are_told(tool: ModuleType) -> None:
    counts = imported("test_reports").Counts(failures={"Box.Grows": WHY.splitlines()})
    assert len(list(tool.why_it_failed(counts, ""))) == 1 + 20 + 1


def test_parts_hold_every_test_of_cmake_and_pytest(tool: ModuleType) -> None:
    patterns = [part.command[-1] for part in tool.parts() if part.command[0] == "ctest" and part.preset == "host"]
    text = (ROOT / "tests" / "CMakeLists.txt").read_text()
    counts = re.search(r"foreach\(ranks ([\d ]+)\)", text).group(1).split()
    names = ["unit", *(f"mpi_{ranks}" for ranks in counts)]
    assert len(re.findall(r"add_test\(NAME", text)) == 5, "a new kind of test needs a part in tools/test_all.py"
    assert all(any(re.match(pattern, name) for pattern in patterns) for name in [*names, "installed"])
    on_gpus = list(tool.gpu_parts(Path("built"), 4, installed=True))
    patterns = [part.command[-1] for part in on_gpus if part.command[0] == "ctest"]
    assert all(any(re.match(pattern, name) for pattern in patterns) for name in [*names, "late_nvshmem", "installed"])
    marked: dict[str, list[str]] = {"thorough": [], "not thorough": []}
    for part in tool.parts():
        if "pytest" in part.command:
            mark, *folders = part.command[part.command.index("-q") + 2 :]
            marked[mark] += folders
    files = [path.relative_to(ROOT) for path in (ROOT / "tests" / "python").glob("*/test_*.py")]
    there = {path.parent.name for path in files}
    assert sorted(marked["not thorough"]) == sorted(f"tests/python/{room}" for room in there), "each room once"
    assert marked["thorough"] == ["tests/python"]
    python = [part.command for part in on_gpus if "pytest" in part.command]
    assert sorted(name for command in python for name in command[6:]) == sorted(map(str, files)), "each file once"
    assert {command[4:6] for command in python} == {("-m", "")}, "marked and unmarked"


def test_tests_lie_in_the_rooms_of_what_they_test() -> None:
    tested = {path.parent.name for path in (ROOT / "tests" / "python").glob("*/test_*.py")}
    rooms = {path.parent.name for path in (ROOT / "python" / "slipstream").glob("*/*.py")}
    assert tested == rooms | {"bench", "house"}
    for kind in ("unit", "mpi"):
        tested = {path.parent.name for path in (ROOT / "tests" / kind).glob("*/*.cpp")}
        assert tested <= {"bench", *(path.name for path in (ROOT / "src").iterdir())}


def test_shards_hold_all_cells_once(tool: ModuleType) -> None:
    for ranks, shards in tool.SHARDS.items():
        found = [part for part in tool.parts() if part.name.startswith(f"every_mpi_{ranks}")]
        assert [part.environment["GTEST_SHARD_INDEX"] for part in found] == [str(n) for n in range(shards)]
        assert {part.environment["SLIPSTREAM_TESTS"] for part in found} == {"every"}


def test_part_is_chosen_by_how_its_name_begins(tool: ModuleType) -> None:
    sanitized = [tool.shard_name(f"asan_mpi_{n}", k, of) for n, of in tool.SANITIZED.items() for k in range(of)]
    assert [part.name for part in tool.chosen(["asan_mpi"], quick=False)] == sanitized
    assert [part.name for part in tool.chosen(["mpi_1"], quick=True)] == ["mpi_1"]
    with pytest.raises(SystemExit, match="no part is called smoke"):
        tool.chosen(["smoke"], quick=False)


def test_part_that_passed_at_this_commit_is_not_run_again(tool: ModuleType, tmp_path: Path) -> None:
    rows = [
        {"part": "unit", "commit": "abc", "outcome": "passed"},
        {"part": "installed", "commit": "abc", "outcome": "FAILED"},
        {"part": "mpi_1", "commit": "abd", "outcome": "passed"},
        {"part": "mpi_2", "commit": "abe", "outcome": "passed", "gpus": 2},
    ]
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a-box.json").write_text(json.dumps({"rows": rows}))
    assert tool.passed_before(tmp_path, {"name": "a box"}, "abc") == {"unit"}
    assert tool.passed_before(tmp_path, {"name": "a box"}, "abc+") == set(), "changed files"
    assert tool.passed_before(tmp_path, {"name": "another"}, "abc") == set()
    assert tool.passed_before(tmp_path, {"name": "a box"}, "abe", 2) == {"mpi_2"}
    assert tool.passed_before(tmp_path, {"name": "a box"}, "abe", 4) == set(), "skips what needs more GPUs"


def test_program_that_ends_without_a_report_has_failed(tool: ModuleType, tmp_path: Path) -> None:
    crash = tool.Part("crash", (sys.executable, "-c", "raise SystemExit(3)"))
    row = tool.run(crash, tmp_path)
    assert (row["passed"], row["failed"], row["outcome"]) == (0, 1, "FAILED")


def test_program_reports_how_its_tests_ended(tool: ModuleType, tmp_path: Path) -> None:
    good = {"testsuites": [{"testsuite": [GOOGLETEST["testsuites"][0]["testsuite"][0]]}]}
    script = f"import os; open(os.environ['GTEST_OUTPUT'][5:], 'w').write({json.dumps(good)!r})"
    row = tool.run(tool.Part("good", (sys.executable, "-c", script)), tmp_path)
    assert (row["passed"], row["failed"], row["outcome"]) == (1, 0, "passed")
    assert tool.slowest(tmp_path, ["good"]) == ["    0.2 s  good  Box.Holds"]


def test_parts_run_side_by_side_but_for_those_that_need_all_cores(tool: ModuleType, tmp_path: Path) -> None:
    # Each of two parts waits until the other one has started; the last part finds both finished.
    meet = "import pathlib, sys, time; me, other = map(pathlib.Path, sys.argv[1:]); me.touch()\n"
    meet += "for _ in range(3000):\n  if other.exists(): sys.exit(0)\n  time.sleep(0.01)\nsys.exit(1)"
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    both = [tool.Part(name, (sys.executable, "-c", meet, *files)) for name, files in (("one", (a, b)), ("two", (b, a)))]
    last = tool.Part("last", ("rm", a, b), alone=True)
    rows: list[dict[str, object]] = []
    tool.run_side_by_side([*both, last], 2, tmp_path, rows.append)
    assert [row["outcome"] for row in rows] == ["passed"] * 3
    assert sorted(str(row["part"]) for row in rows[:2]) == ["one", "two"] and rows[2]["part"] == "last"


def test_each_lane_has_its_share_of_the_cores(tool: ModuleType, tmp_path: Path) -> None:
    mine = os.sched_getaffinity(0)
    told = "import os, sys, time; print(sorted(os.sched_getaffinity(0))); time.sleep(0.5)"
    parts = [tool.Part(name, (sys.executable, "-c", told)) for name in ("one", "two")]
    spread = tool.Part("spread", (sys.executable, "-c", told), spread=True)
    try:
        # restores all cores, because this process may be bound to one
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        cores = sorted(os.sched_getaffinity(0))
        tool.run_side_by_side([*parts, spread], 2, tmp_path, lambda row: None)
        seen = {name: json.loads((tmp_path / f"{name}.log").read_text()) for name in ("one", "two", "spread")}
    finally:
        os.sched_setaffinity(0, mine)
    assert seen["spread"] == cores
    assert sorted(seen["one"] + seen["two"]) == (cores if len(cores) > 1 else 2 * cores)


def test_each_lane_has_its_share_of_the_gpus(tool: ModuleType, tmp_path: Path) -> None:
    told = "import os, time; print(os.environ['CUDA_VISIBLE_DEVICES']); time.sleep(0.5)"
    parts = [tool.Part(name, (sys.executable, "-c", told)) for name in ("one", "two")]
    last = tool.Part("last", (sys.executable, "-c", told), alone=True)
    rows: list[dict[str, object]] = []
    mine = os.sched_getaffinity(0)
    try:
        tool.run_side_by_side([*parts, last], 2, tmp_path, rows.append, ("0", "1", "4", "5"))
    finally:
        os.sched_setaffinity(0, mine)
    seen = {name: (tmp_path / f"{name}.log").read_text().strip() for name in ("one", "two", "last")}
    assert seen["last"] == "0,1,4,5" and {seen["one"], seen["two"]} == {"0,1", "4,5"}
    assert {row["part"]: row["gpus"] for row in rows} == {"one": 2, "two": 2, "last": 4}


def test_shards_on_gpus_hold_all_tests_once(tool: ModuleType) -> None:
    shards = [
        part.environment for part in tool.gpu_parts(Path("built"), 4, installed=False) if part.name.startswith("mpi_2")
    ]
    assert [shard["GTEST_SHARD_INDEX"] for shard in shards] == [
        str(n) for n in range(int(shards[0]["GTEST_TOTAL_SHARDS"]))
    ]


def wait_until_it_runs(log: Path) -> None:
    """Waits until a command of the test run has started: then its log file exists."""
    deadline = time.monotonic() + 30
    while not log.exists():
        assert time.monotonic() < deadline, f"{log.stem} did not start within 30 s"
        time.sleep(0.01)
    time.sleep(0.1)


def test_ctrl_c_ends_the_parts_that_run_and_starts_no_other(tool: ModuleType, tmp_path: Path) -> None:
    endless = tool.Part("endless", (sys.executable, "-c", "import time; time.sleep(300)"))
    last = tool.Part("last", ("true",), alone=True)

    def interrupt(row: dict[str, object]) -> None:
        wait_until_it_runs(tmp_path / "endless.log")
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        tool.run_side_by_side([tool.Part("short", ("true",)), endless, last], 2, tmp_path, interrupt)
    assert time.monotonic() - began < 200 and not (tmp_path / "last.log").exists()


def test_a_part_that_is_cut_off_tells_what_had_failed(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = f"import os, signal; print({PRINTED!r}, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    row = tool.run(tool.Part("killed", (sys.executable, "-c", killed)), tmp_path)
    assert (row["passed"], row["failed"], row["skipped"], row["outcome"]) == (1, 1, 1, "FAILED")
    assert "killed: cut off after 1 passed, 1 failed" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_to_a_job_in_the_background_ends_the_parts_that_run(tmp_path: Path, name: str) -> None:
    # SIGINT is restored, because shells start background jobs with SIGINT ignored.
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "tools")!r})
import test_all
part = test_all.Part("endless", (sys.executable, "-c", "import time; time.sleep(300)"))
test_all.main = lambda words: test_all.run_side_by_side([part], 1, test_all.Path({str(tmp_path)!r}), print)
sys.exit(test_all.until_interrupted([]))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    wait_until_it_runs(tmp_path / "endless.log")
    process.send_signal(getattr(signal, name))
    out, said = process.communicate(timeout=60)
    assert process.returncode == 1 and "interrupted" in said and "endless: cut off after 0 passed, 0 failed" in out


def test_slowest_units_of_a_build_are_named_as_their_sources() -> None:
    tool = imported("slowest")
    assert tool.units(tool.times(NINJA)) == [
        (9.0, "src/grid/box.cpp"),
        (2.0, "build/joined/unit/grid_1.cpp"),
        (1.0, "tests/unit/box_test.cpp"),
    ]


def test_demo_builds_no_tests() -> None:
    recipe = (ROOT / "Makefile").read_text().split("\ndemo:")[1].split("\n\n")[0]
    assert "--target demo" in recipe and "build" not in recipe.splitlines()[0]
