"""`slipstream bench axhelm`: the stiffness operator of spectral elements, element by element.

The minimum time is that of the bytes per point at the copy rate of the same run. These are value and result (16 B), and
six stored geometric factors (48 B). Trilinear factors are computed from eight corners per element.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from rich.console import Console
from slipstream.base.core import as_case_error
from slipstream.base.errors import CaseError
from slipstream.machine import predict

from slipstream_bench import options, record, whole_machine
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import need, number

FACTORS = ("stored", "trilinear", "affine")
#: Number of elements along each axis of a device's cube, by backend.
ELEMENTS = {"host": 8, "cuda": 32}
REPEATS = {"host": 5, "cuda": 30}
#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"time_us", "gpoints_per_s", "copy_gbs", "share"})
_BYTES = {"stored": 64, "trilinear": 16, "affine": 16}


def add_options(parser: argparse.ArgumentParser) -> None:
    options_of_elements(parser, orders=(1, 3, 5, 7, 9, 11))
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints times of the Helmholtz operator on elements; rank 0 writes. Collective."""

    def time_us(machine: Any, elements: tuple[int, int, int], order: int, factors: str, repeats: int) -> float:
        return float(timed().axhelm(machine, elements, order, factors, repeats))

    measure(arguments, console, "axhelm", "events", [({}, time_us)], _BYTES)


def options_of_elements(parser: argparse.ArgumentParser, orders: Sequence[int]) -> None:
    names = " ".join(map(str, orders))
    parser.add_argument("--orders", type=int, nargs="+", default=list(orders), metavar="N", help=f"default: {names}")
    parser.add_argument("--elements", type=int, nargs="+", default=[], metavar="N", help="N^3 elements per device")
    parser.add_argument("--factors", choices=FACTORS, nargs="+", default=list(FACTORS), help="default: all")


def check(name: str, arguments: argparse.Namespace) -> None:
    if min(arguments.orders) < 1 or max(arguments.orders) > 15:
        raise CaseError(f"bench {name}: --orders are from 1 to 15", option="orders", limit="1 to 15")
    need(name, 1, elements=arguments.elements)


Time = Callable[[Any, tuple[int, int, int], int, str, int], float]
#: Variants of an operator, each with its additional input columns and a function that times it.
Ways = Sequence[tuple[record.Row, Time]]


def measure(
    arguments: argparse.Namespace, console: Console, name: str, clock: str, ways: Ways, bytes_of: dict[str, int]
) -> None:
    """Measures one row per polynomial order, number of elements, kind of geometric factors and variant. Collective."""
    check(name, arguments)

    def rows(machine: Any, backend: str) -> Iterator[record.Row]:
        return _rows(arguments, machine, backend, clock, ways, bytes_of)

    columns = {key: itemgetter(key) for key in ways[0][0]} | COLUMNS
    whole_machine.measure(name, arguments, console, rows, columns, FIGURES)


def _rows(
    arguments: argparse.Namespace, machine: Any, backend: str, clock: str, ways: Ways, bytes_of: dict[str, int]
) -> Iterator[record.Row]:
    devices = len(machine.devices())
    for n in arguments.elements or [ELEMENTS[backend]]:
        for order in arguments.orders:
            for factors, (more, time_us) in itertools.product(arguments.factors, ways):
                rate = predict.measure_memory(machine.devices())
                with as_case_error():
                    time = time_us(machine, (n, n, n * devices), order, factors, REPEATS[backend])
                components = int(more.get("components", 1))
                # Stored geometric factors are read once for all components.
                bytes_each = bytes_of[factors] - (48 * (components - 1) // components if factors == "stored" else 0)
                points = n**3 * devices * (order + 1) ** 3 * components
                least_us = points * bytes_each / (rate * 1e9 * devices) * 1e6
                row = {
                    "ranks": machine.ranks,
                    "devices": devices,
                    "order": order,
                    "elements": n**3 * devices,
                    "dtype": "f64",
                    "factors": factors,
                    "clock": clock,
                }
                if hasattr(arguments, "routes"):
                    row["routes"] = arguments.routes or "rules"
                yield (
                    row
                    | more
                    | {
                        "bytes_per_point": bytes_each,
                        "time_us": record.digits(time),
                        "gpoints_per_s": record.digits(points / time / 1e3),
                        "copy_gbs": record.digits(rate),
                        **record.share_of(least_us, time, points * bytes_each / devices, machine.devices()),
                    }
                )


COLUMNS = {
    "elements": lambda row: str(row["elements"]),
    "order": lambda row: str(row["order"]),
    "factors": itemgetter("factors"),
    "us": number("time_us"),
    "Gpoint/s": number("gpoints_per_s", ".3g"),
    "% of the copy": number("share", ".3g", 100),
}
