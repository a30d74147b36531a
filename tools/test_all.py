"""Runs the tests by part, prints how long each took, and finally the slowest ten.

Usage: python tools/test_all.py [PART...] [--quick | --changed [BASE] | --gpus FOLDER] [--again] [--lanes N] [--list]
       python tools/test_all.py --slowest

Without a PART all parts run. These are all cells of all matrices, tests marked `thorough`, exchanges with random
delays, the installed package, and the C++ tests with both sanitizers. A PART is a name of --list or a prefix: `asan`,
`every_mpi_4`. --quick: the parts of `make test`. --changed: only those of its tests that changes since BASE, or on this
branch, can break. It needs a build of the changes, and prints which change selects which tests.

As many parts run concurrently as there are cores, one process each, because most tests wait: for each other, for files
or for a timeout. With more parts, waiting ranks would get their core back too late. Parts that passed at this commit
are skipped, unless --again is given or files have changed. The result of each part is written to bench/results/tests
when it ends, so that an interrupted run can continue. --quick writes nothing there.

--gpus: the parts of `make gpu-test`, from the GPU build in a folder, one after the other on all GPUs. With --lanes they
run concurrently, each on its share of the GPUs; tests that need more devices are skipped. Exits with 1 unless all parts
passed. Needs a build of preset host, and builds other presets itself.
"""

import argparse
import itertools
import os
import queue
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import change
import changed_tests
import test_reports

ROOT = Path(__file__).resolve().parents[1]
PYTHON_TESTS = ROOT / "tests" / "python"
#: Time limit of `make test` in seconds on two idle cores.
BUDGET = 720
SLOWEST = 10
#: Limits of the printed text on failures: their number, lines of each, and characters per line.
SHOWN_FAILURES, SHOWN_LINES, SHOWN_WIDTH = 20, 20, 300
#: Columns with results in the rows of bench/results/tests; each row is a part of the test suite. A new row replaces the
#: row that equals it in all other columns, such as the name of the part.
FIGURES = frozenset({"passed", "failed", "skipped", "seconds", "cpu_seconds", "outcome"})
#: Folders of tests/python that run in one process, by the part's name; "flow" has all folders not named elsewhere.
PYTHON_ROOMS = {
    "run": ("run", "base", "cli"),
    "exchange": ("exchange", "fft", "machine"),
    "bench": ("bench", "case", "house"),
}
PYTHON_ROOMS["flow"] = tuple(
    sorted({path.parent.name for path in PYTHON_TESTS.glob("*/test_*.py")}.difference(*PYTHON_ROOMS.values()))
)
#: Environment of Open MPI with which waiting ranks yield their core, even if there are enough cores.
YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1"}
#: Number of shards of the tests on each number of ranks, in `make test-all`. Each shard takes some minutes.
SHARDS = {1: 1, 2: 2, 4: 4, 8: 8}
#: Number of shards on GPUs for the tests on each number of ranks, and for each part of the Python tests. Passed shards
#: are not repeated, and an interrupted run loses only its current shard.
GPU_SHARDS = {1: 4, 2: 8, 4: 4, 8: 4}
GPU_PYTHON_SHARDS = {"run": 4, "exchange": 2, "bench": 2, "flow": 4}
#: Number of shards under the sanitizers by number of ranks (tests/mpi/rank_table.cpp gives the reasons): two ranks take
#: over 20 minutes.
SANITIZED = {1: 1, 2: 4, 4: 1}
#: Numbers of ranks on which exchanges are tested with random delays.
CHAOTIC = (1, 2)


@dataclass(frozen=True)
class Part:
    """A part of the tests: those that run in one process, or under one launcher of ranks."""

    name: str
    command: tuple[str, ...]
    preset: str = "host"
    environment: dict[str, str] = field(default_factory=dict)
    quick: bool = False
    thorough: bool = True
    #: This part of the tests runs alone, because it needs all cores or prepares what later parts need.
    alone: bool = False
    #: Whether this part of the tests may use all cores while others run, because its kernels share one thread pool.
    spread: bool = False

    def report(self, folder: Path) -> Path:
        """Path of the report of how each test ended."""
        return folder / f"{self.name}.{'xml' if 'pytest' in self.command else 'json'}"


def ctest(preset: str, pattern: str) -> tuple[str, ...]:
    return ("ctest", "--preset", preset, "-R", f"^{pattern}$")


def shard_name(name: str, shard: int, shards: int) -> str:
    return name + (f"_{shard + 1}of{shards}" if shards > 1 else "")


def sharded(part: Part, shards: int) -> Iterator[Part]:
    """Splits a part of C++ tests into shards, which run one by one."""
    for shard in range(shards):
        chosen = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)}
        yield replace(part, name=shard_name(part.name, shard, shards), environment=part.environment | chosen)


def python_part(name: str, marked: str, quick: bool, places: Sequence[str] = ()) -> Part:
    paths = [f"tests/python/{place}" for place in places] or ["tests/python"]
    return Part(name, (sys.executable, "-m", "pytest", "-q", "-m", marked, *paths), quick=quick)


def python_shards(name: str, rooms: tuple[str, ...], shards: int) -> Iterator[Part]:
    """All tests in some folders of tests/python; their files are distributed over the shards."""
    files = [f"{room}/{path.name}" for room in rooms for path in sorted((PYTHON_TESTS / room).glob("test_*.py"))]
    for shard in range(shards):
        yield python_part(shard_name(name, shard, shards), "", False, files[shard::shards])


def build_part(preset: str) -> Part:
    command = ("bash", "-c", f"cmake --preset {preset} && cmake --build --preset {preset}")
    return Part(f"{preset}_build", command, preset, alone=True)


def quick_parts() -> list[Part]:
    """The parts of `make test`, longest first, so that the concurrent lanes of parts end together."""
    python = {name: python_part(f"python_{name}", "not thorough", True, rooms) for name, rooms in PYTHON_ROOMS.items()}
    mpi = {n: Part(f"mpi_{n}", ctest("host", f"mpi_{n}"), quick=True, thorough=False) for n in SHARDS}
    unit = Part("unit", ctest("host", "unit"), quick=True, spread=True)
    first = [mpi[2], python["flow"], python["run"], mpi[4], python["bench"], mpi[1]]
    return [*first, unit, mpi[8], python["exchange"]]


def parts() -> Iterator[Part]:
    yield from quick_parts()
    yield python_part("python_thorough", "thorough", quick=False)
    for ranks, shards in SHARDS.items():
        every = {"SLIPSTREAM_TESTS": "every"}
        command = ctest("host", f"mpi_{ranks}")
        yield from sharded(Part(f"every_mpi_{ranks}", command, environment=every, spread=ranks == 1), shards)
    for ranks in CHAOTIC:
        # Random delays before each task of a stream reveal work that is in order only by chance.
        chosen = {"SLIPSTREAM_CHAOS": "27", "SLIPSTREAM_TESTS": "every", "GTEST_FILTER": "Routes/*:Backends/*"}
        yield Part(f"chaos_mpi_{ranks}", ctest("host", f"mpi_{ranks}"), environment=chosen)
    yield Part("installed", ctest("host", "installed"), alone=True)
    for preset in ("asan", "tsan"):
        yield build_part(preset)
        yield Part(f"{preset}_unit", ctest(preset, "unit"), preset, spread=True)
        for ranks, shards in SANITIZED.items():
            yield from sharded(Part(f"{preset}_mpi_{ranks}", ctest(preset, f"mpi_{ranks}"), preset), shards)
    yield Part("tsan_omitted_wait", ctest("tsan", "omitted_wait.*"), "tsan")


def changed_parts(asked: str | None) -> Iterator[Part]:
    """The parts of `make test` restricted to tests that a change can break; prints the reasons. Without git history,
    all parts.
    """
    base = change.base_of(ROOT, asked)
    if base is None:
        print(f"git's history does not reach back to {asked or 'the commit before'}: all tests run")
        yield from quick_parts()
        return
    tree = changed_tests.Tree(ROOT)
    breaks = {path: tree.breaks(path) for path in sorted(change.changed_files(ROOT, base))}
    why: dict[str, list[str]] = {}
    for path, files in breaks.items():
        why.setdefault(changed_tests.described(files, tree), []).append(path)
    print(*(f"{', '.join(paths)}:\n    {found}" for found, paths in why.items()), sep="\n")
    yield from parts_of(set().union(*breaks.values()), tree)


def parts_of(files: set[str], tree: changed_tests.Tree) -> Iterator[Part]:
    """The parts of `make test` restricted to these test files."""
    for part in quick_parts():
        name = f"changed_{part.name}"
        if "pytest" in part.command:
            rooms = PYTHON_ROOMS[part.name.removeprefix("python_")]
            if mine := sorted(path for path in files & tree.python_tests.keys() if Path(path).parts[2] in rooms):
                yield python_part(name, "not thorough", True, [path.removeprefix("tests/python/") for path in mine])
            continue
        there = {path for path in tree.cxx_tests if path.startswith(f"tests/{part.name.split('_')[0]}/")}
        if there <= files:
            yield replace(part, name=name)
        elif mine := there & files:
            some = {"GTEST_FILTER": changed_tests.google_filter(map(tree.text, mine)), "SLIPSTREAM_TESTS": "quick"}
            yield replace(part, name=name, environment=part.environment | some)
    if changed_tests.INSTALLED in files:
        yield Part(f"changed_{changed_tests.INSTALLED}", ctest("host", "installed"), alone=True, quick=True)


def gpu_parts(folder: Path, gpus: int, installed: bool) -> Iterator[Part]:
    """The parts of `make gpu-test` from the build in a folder; those that need all GPUs come last. Includes the test of
    the installed package if present, which a kit lacks.
    """

    def built(pattern: str) -> tuple[str, ...]:
        return ("ctest", "--test-dir", str(folder), "--output-on-failure", "--no-tests=error", "-R", f"^{pattern}$")

    mpi = {n: list(sharded(Part(f"mpi_{n}", built(f"mpi_{n}")), shards)) for n, shards in GPU_SHARDS.items()}
    yield from mpi[2]
    for name, rooms in PYTHON_ROOMS.items():
        yield from python_shards(f"python_{name}", rooms, GPU_PYTHON_SHARDS[name])
    yield from [Part("unit", built("unit"), spread=True), *mpi[1]]
    yield from (replace(part, alone=True) for part in (*mpi[4], *mpi[8]))
    if gpus > 1:
        yield Part("late_nvshmem", built("late_nvshmem"), alone=True)
    if installed:
        yield Part("installed", built("installed"), alone=True)


def chosen(names: list[str], quick: bool, there: list[Part] | None = None) -> list[Part]:
    """The parts with these names; all parts if no names are given. Raises SystemExit for an unknown name."""
    there = list(parts()) if there is None else there
    if not names:
        return [part for part in there if (part.quick if quick else part.thorough)]
    found: list[Part] = []
    for name in names:
        begins = [part for part in there if part.name.startswith(name)]
        if not begins:
            sys.exit(f"test_all: no part is called {name}: --list prints their names.")
        found += [part for part in there if part.name == name] or begins
    return [part for part in there if part in found]


def why_it_failed(counts: test_reports.Counts, text: str) -> Iterator[str]:
    """Lines with the failed tests and the first lines of each. If none is known, or one did not end, the last lines of
    the output."""
    failures = dict(counts.failures)
    for name, lines in test_reports.of_other_ranks(text).items():
        failures[name] = [*failures.get(name, []), *lines]
    for name, lines in list(failures.items())[:SHOWN_FAILURES]:
        yield f"FAILED: {name}"
        yield from (f"    {line[:SHOWN_WIDTH]}" for line in lines[:SHOWN_LINES])
        if len(lines) > SHOWN_LINES:
            yield f"    ... {len(lines) - SHOWN_LINES} more lines"
    if len(failures) > SHOWN_FAILURES:
        yield f"... {len(failures) - SHOWN_FAILURES} more tests failed"
    if unended := test_reports.last_begun(text):
        yield f"FAILED: {unended} did not end"
        text = text[text.rindex(unended) + len(unended) :]
    if unended or not failures:
        yield from (f"    {line[:SHOWN_WIDTH]}" for line in text.splitlines()[-SHOWN_LINES:] if line)


def run(part: Part, reports: Path, running: set[int] | None = None) -> dict[str, Any]:
    """Runs a part, prints its output at the end and returns its result. `running` contains its process group meanwhile,
    because only this program receives Ctrl-C and must end all parts.
    """
    report, said = part.report(reports), reports / f"{part.name}.log"
    report.unlink(missing_ok=True)
    command = list(part.command)
    if report.suffix == ".xml":
        command.append(f"--junit-xml={report}")
    environment = os.environ | YIELDING | {"GTEST_OUTPUT": f"json:{report}"} | part.environment
    print(f"{part.name}: started", flush=True)
    began = time.monotonic()
    with said.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, process_group=0
        )
        running = set() if running is None else running
        running.add(process.pid)
        # The resource usage of a part includes all descendants that were waited for.
        _, status, used = os.wait4(process.pid, 0)
        running.discard(process.pid)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = said.read_text(encoding="utf-8", errors="replace").rstrip()
    counts = test_reports.read(report) if report.exists() else test_reports.read_log(text)
    good = process.returncode == 0 and counts.failed == 0
    said_of_it = text if good else "\n".join([*why_it_failed(counts, text), f"all that it said: {said}"])
    print(f"\n=== {part.name} ===\n{said_of_it}\n", flush=True)
    if not good and not report.exists():
        print(f"{part.name}: cut off after {counts.passed} passed, {counts.failed} failed", flush=True)
    return {
        "part": part.name,
        "passed": counts.passed,
        "failed": counts.failed if good or counts.failed else 1,
        "skipped": counts.skipped,
        "seconds": round(time.monotonic() - began),
        "cpu_seconds": round(used.ru_utime + used.ru_stime),
        "outcome": "passed" if good else "FAILED",
    }


def run_side_by_side(
    wanted: list[Part],
    lanes: int,
    reports: Path,
    ended: Callable[[dict[str, Any]], None],
    gpus: Sequence[str] = (),
) -> None:
    """Runs parts in order, `lanes` at a time, and calls `ended` with each result. An exception, including Ctrl-C, ends
    running parts and starts no others. Each lane has its share of the cores. Threads and ranks that hand work to each
    other are seven times faster on one core than if they must wake another virtual one. Each lane also has its share of
    the GPUs, if any.
    """
    running: set[int] = set()
    cores = sorted(os.sched_getaffinity(0))
    each = len(gpus) // lanes
    shares = queue.SimpleQueue[tuple[list[int], Sequence[str]]]()
    for lane in range(lanes):
        shares.put((cores[lane % len(cores) :: lanes], gpus[lane * each : (lane + 1) * each]))

    def on_its_share(part: Part) -> dict[str, Any]:
        share = shares.get()
        its_cores, its_gpus = share
        # The restriction to cores applies to this thread and its child processes.
        os.sched_setaffinity(0, cores if part.alone or part.spread else its_cores)
        if part.alone:
            its_gpus = gpus
        seen = {"CUDA_VISIBLE_DEVICES": ",".join(its_gpus)} if gpus else {}
        try:
            row = run(replace(part, environment=part.environment | seen), reports, running)
            return row | ({"gpus": len(its_gpus)} if gpus else {})
        finally:
            shares.put(share)

    for alone, group in itertools.groupby(wanted, key=lambda part: part.alone):
        with ThreadPoolExecutor(1 if alone else lanes) as pool:
            try:
                for done in as_completed([pool.submit(on_its_share, part) for part in group]):
                    ended(done.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for head in tuple(running):
                    os.killpg(head, signal.SIGINT)
                raise


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def commit_of_the_tree() -> str:
    """Name of the last commit that changed more than results; with + if files have changed since."""
    others = ["--", ".", ":!bench/results"]
    changed = git("status", "--porcelain", *others)
    return git("log", "-1", "--format=%h", *others) + ("+" if changed else "")


def passed_before(folder: Path, machine: dict[str, Any], commit: str, gpus: int = 0) -> set[str]:
    """Names of the parts of the test suite that this machine passed at a commit, on `gpus` GPUs or more."""
    import json

    from slipstream.base.registry import benchmarks

    record = benchmarks("record")
    path = folder / "tests" / f"{record.slug(machine['name'])}.json"
    if "+" in commit or not path.exists():
        return set()
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    passed = (row for row in rows if row["commit"] == commit and row["outcome"] == "passed")
    return {row["part"] for row in passed if row.get("gpus", 0) >= gpus}


def has_test(folder: Path, name: str) -> bool:
    """Whether ctest knows a test of the build in a folder."""
    listed = subprocess.run(["ctest", "--test-dir", folder, "-N"], capture_output=True, text=True, check=True).stdout
    return any(line.endswith(f": {name}") for line in listed.splitlines())


def visible_gpus() -> list[str]:
    """Names of the GPUs, in the format of CUDA_VISIBLE_DEVICES."""
    from slipstream.base.core import core

    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return named.split(",") if named else [str(n) for n in range(core().device_count("cuda"))]


def this_machine(gpus: int) -> dict[str, Any]:
    from slipstream.base.core import core
    from slipstream.base.registry import benchmarks

    machine = core().Machine.discover("cuda" if gpus else "host", devices_per_rank=gpus or 1)
    return benchmarks("record").describe_machine(machine)


def summary(rows: list[dict[str, Any]]) -> list[str]:
    shown = ("part", "passed", "failed", "skipped", "seconds", "cpu_seconds", "outcome")
    cells = [list(shown), *([str(row[key]) for key in shown] for row in rows)]
    widths = [max(len(line[n]) for line in cells) for n in range(len(shown))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def slowest(reports: Path, names: list[str]) -> list[str]:
    """Lines with the slowest tests of the last run of these parts."""
    timed = [
        (seconds, name, part)
        for part in names
        for path in reports.glob(f"{part}.*")
        if path.suffix in (".json", ".xml")
        for name, seconds in test_reports.read(path).seconds.items()
    ]
    return [f"{seconds:7.1f} s  {part}  {name}" for seconds, name, part in sorted(timed, reverse=True)[:SLOWEST]]


def quick_times(reports: Path) -> list[str]:
    """Times of the parts of `make test` with their limit, and their slowest tests."""
    names = [part.name for part in parts() if part.quick]
    took = reports / "quick_seconds"
    lines = [f"the slowest {SLOWEST} tests:", *slowest(reports, names)]
    if took.exists():
        lines.append(f"all tests: {took.read_text(encoding='utf-8').strip()} s (budget {BUDGET} s on two idle cores)")
    return lines


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="PART")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--quick", action="store_true", help="the parts of `make test`")
    which.add_argument(
        "--changed", nargs="?", const="", metavar="BASE", help="the tests that changes since BASE can break"
    )
    which.add_argument(
        "--gpus", type=Path, metavar="FOLDER", help="the parts of `make gpu-test`, from the build in FOLDER"
    )
    parser.add_argument("--again", action="store_true", help="repeat parts that passed at this commit")
    parser.add_argument("--lanes", type=int, help="concurrent parts (default: one per core; on GPUs one)")
    parser.add_argument("--list", action="store_true", help="print the parts and run nothing")
    parser.add_argument("--slowest", action="store_true", help="print the slowest tests of the last `make test`")
    parser.add_argument("--folder", type=Path, default=ROOT / "bench" / "results")
    arguments = parser.parse_args(words)
    gpus = visible_gpus() if arguments.gpus else []
    if arguments.gpus and not gpus:
        parser.error("no GPU is seen here")
    if arguments.changed is not None:
        arguments.quick = True
        there = list(changed_parts(arguments.changed or None))
    else:
        there = list(gpu_parts(arguments.gpus, len(gpus), has_test(arguments.gpus, "installed")) if gpus else parts())
    wanted = chosen(arguments.names, arguments.quick, there)
    reports = ROOT / "build" / "tests"
    if arguments.list:
        print("\n".join(part.name for part in wanted))
        return 0
    if arguments.slowest:
        print("\n".join(quick_times(reports)))
        return 0
    reports.mkdir(parents=True, exist_ok=True)
    return _run_all(wanted, reports, arguments, gpus)


def _run_all(wanted: list[Part], reports: Path, arguments: argparse.Namespace, gpus: list[str]) -> int:
    from slipstream.base.core import core
    from slipstream.base.registry import benchmarks

    record = benchmarks("record")
    machine = this_machine(len(gpus))
    # GPU tests may have been built elsewhere, so the commit comes from the build.
    commit = core().build_info()["commit"] if gpus else commit_of_the_tree()
    lanes = max(1, arguments.lanes or (1 if gpus else len(os.sched_getaffinity(0))))
    if gpus:
        lanes = min(lanes, len(gpus))
    look = not (arguments.quick or arguments.again)
    before = passed_before(arguments.folder, machine, commit, len(gpus) // lanes) if look else set()
    for part in wanted:
        if part.name in before:
            print(f"{part.name}: passed at {commit} before")
    rows: list[dict[str, Any]] = []

    def ended(row: dict[str, Any]) -> None:
        rows.append(row)
        if not arguments.quick:
            typed = " ".join(["tools/gpu_test.sh" if gpus else "tools/test_all.py", *arguments.names])
            record.write(arguments.folder, "tests", machine, commit, [row], FIGURES, command=typed)

    began = time.monotonic()
    left = [part for part in wanted if part.name not in before]
    run_side_by_side(left, lanes, reports, ended, gpus)
    print("\n".join(summary(rows)))
    if arguments.quick and arguments.changed is None and not arguments.names:
        (reports / "quick_seconds").write_text(str(round(time.monotonic() - began)), encoding="utf-8")
        print("\n".join(quick_times(reports)))
    else:
        print("\n".join([f"the slowest {SLOWEST} tests:", *slowest(reports, [row["part"] for row in rows])]))
    failed = [row["part"] for row in rows if row["outcome"] != "passed"]
    print(f"tests: {'FAILED: ' + ', '.join(failed) if failed else 'passed'}", flush=True)
    return 1 if failed else 0


def until_interrupted(words: list[str]) -> int:
    """Runs `main`; Ctrl-C or SIGTERM ends it and its running parts. Background jobs of a shell ignore SIGINT, so the
    handlers are set explicitly.
    """
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.default_int_handler)
    try:
        return main(words)
    except KeyboardInterrupt:
        sys.exit("test_all: interrupted; started again it goes on with the parts that have not passed.")


if __name__ == "__main__":
    if not shutil.which("ctest"):
        sys.exit("test_all: no ctest on the path: run `make set-up`.")
    sys.exit(until_interrupted(sys.argv[1:]))
