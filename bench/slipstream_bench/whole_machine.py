"""Common parts of benchmarks that measure all devices of a machine at once, by size."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError
from slipstream.machine import discovery

from slipstream_bench import record

#: Type of a benchmark: a function that measures on a machine with a backend, and returns rows of results.
Rows = Callable[[Any, str], Iterable[record.Row]]
#: Functions that format a row's value, by heading of the column.
Columns = dict[str, Callable[[record.Row], str]]


def need(name: str, least: int, **given: int | Sequence[int] | None) -> None:
    """Raises CaseError if an option is below its minimum."""
    for option, value in given.items():
        values = [] if value is None else [value] if isinstance(value, int) else list(value)
        if values and min(values) < least:
            are = "is" if isinstance(value, int) else "are"
            raise CaseError(f"bench {name}: --{option} {are} {least} or more", option=option, limit=least)


def discover(arguments: argparse.Namespace) -> tuple[str, Any]:
    """Discovers the machine. Returns the backend and the machine. Collective."""
    backend = discovery.choose_backend(arguments.backend)
    with as_case_error():
        return backend, core().Machine.discover(backend, devices_per_rank=arguments.devices)


def measure(
    name: str,
    arguments: argparse.Namespace,
    console: Console,
    rows: Rows,
    columns: Columns,
    figures: frozenset[str],
    draw: record.Draw | None = None,
) -> None:
    """Runs a benchmark on all devices: measures, prints and, on rank 0, writes. `figures`: columns of a row that are
    results and not inputs; `draw`: draws the rows that were written. Collective."""
    backend, machine = discover(arguments)
    described = record.describe_machine(machine)
    found = list(record.kept_on_the_way(arguments.folder, name, described, rows(machine, backend), figures))
    shown = [[show(row) for show in columns.values()] for row in found]
    console.print(terminal.table(f"{name.replace('_', '-')}, {counts(machine)}", list(columns), shown))
    record.keep(arguments.folder, name, record.describe_machine(machine), found, figures, console, draw)


def counts(machine: Any) -> str:
    """Text with the numbers of ranks and devices, such as `2 ranks, 4 devices`."""
    return f"{terminal.count(machine.ranks, 'rank')}, {terminal.count(len(machine.devices()), 'device')}"


def number(key: str, form: str = ".4g", factor: float = 1.0) -> Callable[[record.Row], str]:
    """Makes a function that formats the number in one column of a row; `-` if the row lacks it."""
    return lambda row: "-" if row[key] is None else f"{factor * row[key]:{form}}"
