"""`slipstream bench gather_scatter`: microseconds in which all points of a cube of elements get their copies' sum.

The least time is that of a copy of all points (8 or 16 bytes each) and of the indices of those on the surfaces of
elements (4 bytes each), at the rate that a copy has in the same run.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from slipstream.base import terminal
from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError
from slipstream.bench import options, record
from slipstream.machine import discovery, predict

ORDERS = (1, 3, 7, 11)
#: Elements along each axis of the cube that all devices share.
ELEMENTS = {"host": 8, "cuda": 64}
BYTES = {"f32": 4, "f64": 8}
REPEATS = {"host": 5, "cuda": 30}
#: Columns of a row that are results and not inputs.
FIGURES = frozenset(
    {"time_us", "setup_s", "points", "shared_points", "sent_values", "gpoints_per_s", "copy_gbs", "share"}
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--orders", type=int, nargs="+", default=list(ORDERS), metavar="N", help="default: 1 3 7 11")
    parser.add_argument("--elements", type=int, nargs="+", default=[], metavar="N", help="cubes of N^3 elements in all")
    options.routes(parser)
    parser.add_argument("--components", type=int, default=1, help="values a point (default: 1)")
    options.precision(parser, "f64")
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures, prints and, on rank 0, writes. Collective."""
    _check(arguments)
    backend = discovery.choose_backend(arguments.backend)
    with as_case_error():
        machine = core().Machine.discover(backend, devices_per_rank=arguments.devices)
    rows = list(_rows(arguments, machine, backend))
    console.print(_table(machine, rows))
    record.keep(arguments.folder, "gather_scatter", record.describe_machine(machine), rows, FIGURES, console)


def _check(arguments: argparse.Namespace) -> None:
    if min(arguments.orders) < 1 or max(arguments.orders) > 31:
        raise CaseError("bench gather_scatter: --orders are from 1 to 31")
    if arguments.elements and min(arguments.elements) < 1:
        raise CaseError("bench gather_scatter: --elements are 1 or more")
    if arguments.components < 1:
        raise CaseError("bench gather_scatter: --components are 1 or more")


def _rows(arguments: argparse.Namespace, machine: Any, backend: str) -> Iterator[record.Row]:
    exchange = options.routes_of(arguments)
    clocks = ("events", "host")
    for elements in arguments.elements or [ELEMENTS[backend]]:
        for order in arguments.orders:
            rate = predict.measure_memory(machine.devices())
            with as_case_error():
                found = core().bench_gather_scatter(
                    machine, elements, order, arguments.precision, arguments.components, exchange, clocks,
                    REPEATS[backend],
                )  # fmt: skip
            for clock, figures in zip(clocks, found, strict=True):
                yield _row(arguments, machine, elements, order, clock, rate, figures)


def _row(
    arguments: argparse.Namespace,
    machine: Any,
    elements: int,
    order: int,
    clock: str,
    rate: float,
    figures: dict[str, float],
) -> record.Row:
    devices = len(machine.devices())
    points, shared = figures["points"], figures["shared_points"]
    moved = points * 2 * BYTES[arguments.precision] * arguments.components + 4 * shared
    least_us = moved / (rate * 1e9 * devices) * 1e6
    return {
        "ranks": machine.ranks,
        "devices": devices,
        "order": order,
        "elements": elements**3,
        "dtype": arguments.precision,
        "components": arguments.components,
        "routes": arguments.routes or "rules",
        "clock": clock,
        "points": int(points),
        "shared_points": int(shared),
        "sent_values": int(figures["sent_values"]),
        "time_us": record.digits(figures["time_us"]),
        "gpoints_per_s": record.digits(points * arguments.components / figures["time_us"] / 1e3),
        "copy_gbs": record.digits(rate),
        "share": record.digits(least_us / figures["time_us"]),
        "setup_s": record.digits(figures["setup_s"]),
    }


def _table(machine: Any, rows: Sequence[record.Row]) -> Any:
    counts = f"{terminal.count(machine.ranks, 'rank')}, {terminal.count(len(machine.devices()), 'device')}"
    shown = [
        (
            f"{round(row['elements'] ** (1 / 3))}^3",
            row["order"],
            f"{row['points'] / 1e6:.4g}",
            f"{row['sent_values']}",
            row["clock"],
            f"{row['time_us']:.4g}",
            f"{row['gpoints_per_s']:.3g}",
            f"{100 * row['share']:.3g}",
            f"{row['setup_s']:.3g}",
        )
        for row in rows
    ]
    columns = [
        "elements",
        "order",
        "10^6 points",
        "values sent",
        "clock",
        "us",
        "Gpoint/s",
        "% of the copy",
        "set-up s",
    ]
    return terminal.table(f"gather-scatter, {counts}", columns, shown)
