"""`slipstream bench sentinels`: twelve rows that show within minutes whether a change is slower than its parent.

With `--parent FOLDER`, a built tree, each row is set up by one process per tree. Both measure alternately: parent,
change, change, parent, and so on. `ratio` is the median over rounds of change over parent. A row with a ratio above
`DOUBTFUL` gets twice the rounds. Each process is a single rank that drives all devices. `sentinel_probes.py` of this
tree measures, with the package of either tree.
"""

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import slipstream as slip
from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.machine import discovery

from slipstream_bench import options, record, sentinel_probes
from slipstream_bench.record import Row
from slipstream_bench.sentinel_probes import ANSWER, NAMES, Times
from slipstream_bench.whole_machine import need

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"time_us", "parent_us", "parent_commit", "ratio", "least_ratio", "most_ratio", "rounds", "seconds"}
)
#: Limits of the ratio of times, changed source tree over parent commit: above the first a row is measured again, above
#: the second it counts as slower.
DOUBTFUL, SLOWER = 1.01, 1.02
ROUNDS = 5
#: Seconds after which a process that does not answer has failed.
TIMEOUT = 120.0
#: Root of the source tree that contains this package.
TREE = Path(slip.__file__).resolve().parents[2]
#: Locations of the benchmarks' package in source trees, newest first: a folder of packages, and the package in it.
PLACES = (Path("bench", "slipstream_bench"), Path("python", "slipstream", "bench"))


class ProbeError(Exception):
    """The process that measures one source tree returned an error instead of results."""


def place_of(tree: Path) -> Path:
    """The location of the benchmarks' package in a source tree; the oldest known location if the tree has none."""
    return next((place for place in PLACES if (tree / place).is_dir()), PLACES[-1])


def environment(tree: Path, own: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Environment of a process that runs the tree `tree`: search paths into the `own` tree are redirected to `tree` or
    dropped. Variables of a launcher are removed, because each process is a separate job."""
    found = {name: value for name, value in given.items() if not name.startswith(("PMIX_", "PMI_", "OMPI_COMM_"))}
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH"):
        places = []
        for place in filter(None, found.get(name, "").split(os.pathsep)):
            path = Path(place).resolve()
            there = tree / path.relative_to(own) if path.is_relative_to(own) and not path.is_relative_to(tree) else path
            # A search-path folder of other packages that exists in one source tree alone serves both trees' processes.
            alone = not there.exists() and not list(path.glob("*slipstream*"))
            places.append(str(path if alone else there))
        if name == "PYTHONPATH":
            places[:0] = [str(tree / "python"), str(tree / place_of(tree).parts[0])]
        if places:
            found[name] = os.pathsep.join(dict.fromkeys(places))
    return found


class Worker:
    """A process that runs short benchmarks with the package of one source tree."""

    def __init__(self, tree: Path, words: Sequence[str]) -> None:
        self.tree, self.words = tree, words
        # Python's option -P is used, because the script's folder contains modules with names of the standard library.
        package = ".".join(place_of(tree).parts[1:])
        command = [sys.executable, "-P", sentinel_probes.__file__, package, *words]
        self.process = subprocess.Popen(
            command, env=environment(tree, TREE, os.environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if ANSWER in line:
                self.answers.put(line.partition(ANSWER)[2])
        self.process.wait()
        self._say_that_it_ended()

    def _say_that_it_ended(self) -> None:
        self.answers.put(json.dumps({"error": f"the process of {self.tree} has ended"}))

    def send(self, command: str) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(f"{command}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self._say_that_it_ended()

    def answer(self) -> dict[str, Any]:
        """Waits for the answer of the process to the oldest pending command. Raises ProbeError."""
        try:
            answer: dict[str, Any] = json.loads(self.answers.get(timeout=TIMEOUT))
        except queue.Empty:
            self.process.kill()
            self.process.wait()
            raise ProbeError(f"the process of {self.tree} gave no answer for {TIMEOUT:g} s") from None
        if "error" in answer:
            raise ProbeError(str(answer["error"]).splitlines()[0])
        return answer

    def close(self) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.close()
            self.process.wait(TIMEOUT)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None


def ask_all(workers: Sequence[Worker], command: str) -> list[dict[str, Any]]:
    """Sends a command to all processes, which run concurrently, and returns their answers. Raises ProbeError after all
    have answered."""
    for worker in workers:
        worker.send(command)
    answers, problem = [], None
    for worker in workers:
        try:
            answers.append(worker.answer())
        except ProbeError as error:
            problem = error
    if problem:
        raise problem
    return answers


def rounds_of(workers: Sequence[Worker], rounds: int) -> list[list[Times]]:
    """Measures times of each source tree by round; the order of the trees alternates between rounds, so that drift
    cancels."""
    found: list[list[Times]] = [[] for _ in workers]
    for number in range(rounds):
        order = range(len(workers)) if number % 2 == 0 else reversed(range(len(workers)))
        for place in order:
            found[place] += ask_all([workers[place]], "measure")
    return found


def ratios(times: Sequence[Sequence[Times]], row: str) -> list[float]:
    """Ratios of times by round, changed source tree over parent commit, which are the last and the first in `times`."""
    pairs = zip(times[0], times[-1], strict=True)
    return [mine[row] / theirs[row] if theirs[row] > 0 else float("inf") for theirs, mine in pairs]


def measure(workers: Sequence[Worker], name: str, rounds: int) -> list[Row]:
    """Measures the rows of one short benchmark in all source trees. Raises ProbeError."""
    began = time.perf_counter()
    ask_all(workers, f"open {name}")
    times = rounds_of(workers, rounds)
    if len(workers) > 1 and any(statistics.median(ratios(times, row)) > DOUBTFUL for row in times[0][0]):
        times = [first + more for first, more in zip(times, rounds_of(workers, rounds), strict=True)]
    ask_all(workers, "close")
    if least := [row for tree in times for one in tree for row, us in one.items() if us <= 0]:
        raise ProbeError(f"{least[0]} takes no time that can be told from none")
    spent = time.perf_counter() - began
    rows = []
    for row in times[-1][0]:
        found: Row = {
            "sentinel": row,
            "time_us": record.digits(statistics.median(one[row] for one in times[-1])),
            "rounds": len(times[-1]),
            "seconds": record.digits(spent),
        }
        if len(workers) > 1:
            over = ratios(times, row)
            found["parent_us"] = record.digits(statistics.median(one[row] for one in times[0]))
            found["ratio"] = record.digits(statistics.median(over))
            found["least_ratio"], found["most_ratio"] = record.digits(min(over)), record.digits(max(over))
        rows.append(found)
    return rows


def verdict(rows: Sequence[Row]) -> str:
    """Text that names the rows that became slower."""
    compared = [row for row in rows if "ratio" in row]
    slower = [f"{row['sentinel']} {100 * (row['ratio'] - 1):+.1f} %" for row in compared if row["ratio"] > SLOWER]
    limit = f"{100 * (SLOWER - 1):.0f} %"
    return f"slower by more than {limit}: {'; '.join(slower)}" if slower else f"no row is slower by more than {limit}"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parent", type=Path, metavar="FOLDER", help="a built tree to compare with")
    parser.add_argument(
        "--parent-commit",
        default="",
        metavar="NAME",
        help="name of the parent's commit, if its build does not report one",
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds; the median counts (default: {ROUNDS})")
    parser.add_argument("--small", action="store_true", help="small sizes, as on the host backend")
    parser.add_argument("--probes", nargs="+", choices=NAMES, default=list(NAMES), help="default: all")
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures short benchmarks in this source tree and in its parent's; prints and writes the times."""
    need("sentinels", 1, rounds=arguments.rounds)
    if core().size() > 1:
        raise CaseError(
            "bench sentinels: one process drives all devices: start it without -n",
            ErrorCode.UNSUPPORTED,
            ranks=core().size(),
            limit=1,
        )
    parent = arguments.parent and arguments.parent.resolve()
    if parent and not list(parent.glob("python/slipstream/_core*.so")):
        raise CaseError(
            f"bench sentinels: --parent {arguments.parent} holds no python/slipstream/_core: build that tree",
            ErrorCode.NOT_FOUND,
            option="parent",
            file=arguments.parent,
        )
    backend = discovery.choose_backend(arguments.backend)
    small = arguments.small or backend == "host"
    words = [backend, str(arguments.devices), "small" if small else "large"]
    workers = [Worker(tree, words) for tree in ([parent] if parent else []) + [TREE]]
    try:
        _measure_all(arguments, workers, small, console)
    except ProbeError as error:
        raise CaseError(f"bench sentinels: {error}", ErrorCode.INTERNAL) from None
    finally:
        for worker in workers:
            worker.close()


def _measure_all(arguments: argparse.Namespace, workers: list[Worker], small: bool, console: Console) -> None:
    """Runs the chosen benchmarks of speed in both source trees, the change and its parent. Prints the times, and writes
    them to a file of results. Restarts measuring processes that have ended."""
    began = time.perf_counter()
    found = ask_all(workers, "describe")
    change = found[-1]
    if both := [path for path in found[0]["files"] if len(found) > 1 and path in change["files"]]:
        raise CaseError(
            f"bench sentinels: the parent's process uses {both[0]}, which is this tree's: is it built there?",
            ErrorCode.MISMATCH,
            option="parent",
            file=both[0],
        )
    inputs = {"ranks": 1, "devices": change["devices"], "backend": change["backend"], "small": small}
    of_parent = {"parent_commit": arguments.parent_commit or found[0]["commit"]} if len(workers) > 1 else {}
    rows: list[Row] = []
    for name in arguments.probes:
        try:
            rows += [inputs | row | of_parent for row in measure(workers, name, arguments.rounds)]
        except ProbeError as error:
            console.print(f"{name}: left out: {error}", soft_wrap=True, highlight=False)
            for place, worker in enumerate(workers):
                if worker.ended:
                    workers[place] = Worker(worker.tree, worker.words)
            ask_all(workers, "close")
    described = change["machine"]
    console.print(_table(described["name"], rows, change["commit"], of_parent.get("parent_commit")))
    if of_parent:
        console.print(verdict(rows), soft_wrap=True, highlight=False)
    console.print(f"{time.perf_counter() - began:.0f} s")
    if arguments.folder is not None:
        path = record.write(arguments.folder, "sentinels", described, change["commit"], rows, FIGURES)
        console.print(f"written: {path}", soft_wrap=True)


def _table(machine: str, rows: Sequence[Row], commit: str, parent: str | None) -> Any:
    title = f"sentinels on {machine}: {commit}" + (f" beside {parent}" if parent else "")
    if parent is None:
        lines = [(row["sentinel"], f"{row['time_us']:.5g}", row["rounds"], f"{row['seconds']:.3g}") for row in rows]
        return terminal.table(title, ["row", "us", "rounds", "s"], lines, left=1)
    lines = [
        (row["sentinel"], f"{row['parent_us']:.5g}", f"{row['time_us']:.5g}", f"{row['ratio']:.4f}",
         f"{row['least_ratio']:.3f} to {row['most_ratio']:.3f}", row["rounds"], f"{row['seconds']:.3g}")
        for row in rows
    ]  # fmt: skip
    columns = ["row", "parent us", "change us", "ratio", "of all rounds", "rounds", "s"]
    return terminal.table(title, columns, lines, left=1)
