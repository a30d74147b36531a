"""`slipstream bench setup`: memory and time of one rank's plan, on simulated machines of up to thousands of ranks."""

import argparse
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError, ErrorCode

from slipstream_bench import record
from slipstream_bench.record import Row
from slipstream_bench.timed import timed

PATTERNS = ("halo", "gather_scatter", "transpose")
#: Numbers of ranks of the simulated machines. The last is 3072 nodes with 6 ranks each, as in a talk of 2018 on
#: turbulence (Ravikumar, Appelhans, Yeung).
RANKS = (8, 64, 512, 4096, 18432)
#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"messages", "machine_kb", "grid_kb", "plan_kb", "machine_ms", "grid_ms", "plan_ms", "plan_kb_per_message"}
)


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench setup`: simulated machines, and how often an exchange is planned on each."""

    machines: list[int]  #: numbers of ranks of the simulated machines
    repeats: int  #: how often an exchange is planned; the median time counts


def _row(pattern: str, ranks: int, repeats: int) -> Row:
    """Measures time and memory of one rank's plan of an exchange. The memory is that of the last of several plans,
    because the first also fills caches of the library."""
    with as_case_error():
        plans = [timed().setup_costs(pattern, ranks) for _ in range(repeats)]
    last, timings = plans[-1], {key: median(plan[key] for plan in plans) for key in ("machine_s", "grid_s", "plan_s")}
    return {
        "pattern": pattern,
        "ranks": ranks,
        "backend": "host",
        "clock": "host",
        "messages": last["messages"],
        **{f"{what}_kb": record.digits(last[f"{what}_bytes"] / 1e3) for what in ("machine", "grid", "plan")},
        "plan_kb_per_message": record.digits(last["plan_bytes"] / 1e3 / last["messages"]),
        **{f"{what}_ms": record.digits(timings[f"{what}_s"] * 1e3) for what in ("machine", "grid", "plan")},
    }


def _show(console: Console, rows: list[Row]) -> None:
    columns = ["pattern", "ranks", "messages", "plan kB", "plan ms", "grid kB", "grid ms", "machine kB", "machine ms"]
    figures = ("plan_kb", "plan_ms", "grid_kb", "grid_ms", "machine_kb", "machine_ms")
    shown = [
        (row["pattern"], str(row["ranks"]), str(row["messages"]), *(f"{row[key]:.4g}" for key in figures))
        for row in rows
    ]
    console.print(terminal.table("one rank's plan on a simulated machine, nodes of 8", columns, shown, left=1))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--machines", type=int, nargs="+", default=list(RANKS), metavar="N", help="multiples of 8")
    parser.add_argument("--repeats", type=int, default=5, help="plans per machine; the median time counts")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures plans of exchanges on one rank, because all other ranks are simulated; prints and writes."""
    choice = record.chosen(Choice, arguments)
    if core().size() != 1:
        raise CaseError(
            "bench setup: it simulates all ranks but one: start it on one rank",
            ErrorCode.UNSUPPORTED,
            ranks=core().size(),
            limit=1,
        )
    if choice.repeats < 1:
        raise CaseError("bench setup: --repeats counts from 1", option="repeats", limit=1)
    if wrong := [ranks for ranks in choice.machines if ranks < 8 or ranks % 8]:
        raise CaseError(
            f"bench setup: --machines {wrong[0]}: nodes have 8 ranks, so give multiples of 8",
            option="machines",
            limit=8,
        )
    rows = [_row(pattern, ranks, choice.repeats) for pattern in PATTERNS for ranks in choice.machines]
    _show(console, rows)
    with as_case_error():
        machine = record.describe_machine(core().Machine.discover("host"))
    record.keep(arguments.folder, "setup", machine, rows, FIGURES, console)
