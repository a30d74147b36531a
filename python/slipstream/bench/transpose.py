"""`slipstream bench transpose`: microseconds in which a cube of values goes from slabs to other slabs.

The least time is that of what leaves a device, at the rate of its links, or of what moves within it, read and written
once, at the rate of a copy, whichever is longer; both rates are measured in the same run.

On several ranks of the host there is a row, too, for each way in which MPI carries the messages of the route staged:
sends and receives, one call for all ranks, and one message for each pair of nodes. Every rank is then a node of its
own, or every half of the ranks, so that no message between nodes goes through memory that ranks share.
"""

import argparse
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from rich.console import Console

from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError
from slipstream.bench import options, record
from slipstream.bench.whole_machine import measure, need, number
from slipstream.machine import predict

#: Cells along each axis.
SIZES = {"host": (64,), "cuda": (128, 256, 512, 1024)}
#: Bytes of a value.
BYTES = {"f16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16}
#: Where the axes x, y and z go, and along which axis the target is cut; the source is cut along z.
TURNS = {"xyz": ((0, 1, 2), 1), "zyx": ((2, 1, 0), 2), "yzx": ((2, 0, 1), 2)}
#: Ways of MPI: options of the exchange, and how many nodes the ranks make; None: each is one.
WAYS: dict[str, tuple[dict[str, str], int | None]] = {
    "sends": ({"mpi": "sends"}, None),
    "alltoallv": ({"mpi": "alltoallv"}, None),
    "ialltoallv": ({"mpi": "ialltoallv"}, None),
    "put_fence": ({"mpi": "put_fence"}, None),
    "put_lock": ({"mpi": "put_lock"}, None),
    "nodes": ({"grouping": "nodes"}, 2),
}
REPEATS = {"host": 5, "cuda": 20}
#: Columns of a row that are results and not inputs.
FIGURES = frozenset({"time_us", "gbs", "copy_gbs", "link_gbs", "share", "setup_s"})


def add_options(parser: argparse.ArgumentParser) -> None:
    options.sizes(parser, "cubes of N^3 values")
    parser.add_argument(
        "--turns", nargs="+", default=["xyz", "zyx"], choices=sorted(TURNS), help="order of the target's axes"
    )
    parser.add_argument(
        "--types", nargs="+", default=["c64"], choices=sorted(BYTES), help="number formats (default: c64)"
    )
    parser.add_argument(
        "--ways", nargs="*", choices=sorted(WAYS),
        help="how MPI carries messages of staged (default: all on several ranks of the host, none elsewhere)",
    )  # fmt: skip
    options.routes(parser)
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures, prints and, on rank 0, writes. Collective."""
    need("transpose", 1, sizes=arguments.sizes)

    def rows(machine: Any, backend: str) -> Iterator[record.Row]:
        return _all(arguments, machine, backend, console)

    measure("transpose", arguments, console, rows, COLUMNS, FIGURES)


def _all(arguments: argparse.Namespace, machine: Any, backend: str, console: Console) -> Iterator[record.Row]:
    rates = (predict.measure_memory(machine.devices()), _link_rate(machine) if len(machine.devices()) > 1 else 0.0)
    ways = []
    for way in _ways(arguments, machine, backend):
        why = core().refusal_of_mpi(WAYS[way][0].get("mpi", "sends"))
        console.print(f"{way}: left out: {why}", soft_wrap=True) if why else ways.append(way)
    yield from _rows(arguments, machine, backend, rates, options.routes_of(arguments), {})
    for way in ways:
        yield from _rows_by(arguments, machine, backend, rates, way)


def _ways(arguments: argparse.Namespace, machine: Any, backend: str) -> list[str]:
    """In the order of the table; messages of nodes need two ranks a node."""
    if arguments.ways is None:
        several = backend == "host" and machine.ranks > 1
        return [way for way in WAYS if several and (way != "nodes" or machine.ranks % 4 == 0)]
    if machine.ranks == 1 and arguments.ways:
        raise CaseError("bench transpose: --ways are those of several ranks: start more with -n")
    if "nodes" in arguments.ways and machine.ranks % 2:
        raise CaseError(f"bench transpose: --ways nodes makes two nodes, and {machine.ranks} ranks have no halves")
    return [way for way in WAYS if way in arguments.ways]


def _rows_by(
    arguments: argparse.Namespace, machine: Any, backend: str, rates: tuple[float, float], way: str
) -> Iterator[record.Row]:
    asked, nodes = WAYS[way]
    with as_case_error():
        apart = core().Machine.discover(
            backend, devices_per_rank=arguments.devices, ranks_per_node=machine.ranks // (nodes or machine.ranks)
        )
    exchange = {"routes": ["kernel", "staged"], **asked}
    yield from _rows(arguments, apart, backend, rates, exchange, {"routes": "kernel,staged", "mpi": way})


def _rows(
    arguments: argparse.Namespace,
    machine: Any,
    backend: str,
    rates: tuple[float, float],
    exchange: dict[str, Any],
    named: dict[str, str],
) -> Iterator[record.Row]:
    clocks = ("events", "host")
    devices = len(machine.devices())
    for size in arguments.sizes or SIZES[backend]:
        for turn in arguments.turns:
            for dtype in arguments.types:
                axes, cut = TURNS[turn]
                target = [1, 1, 1]
                target[cut] = devices
                with as_case_error():
                    found = core().bench_transpose(
                        machine, (size, size, size), (1, 1, devices), tuple(target), axes, dtype, exchange, clocks,
                        REPEATS[backend],
                    )  # fmt: skip
                for clock, figures in zip(clocks, found, strict=True):
                    yield {
                        "ranks": machine.ranks,
                        "devices": devices,
                        "n": [size, size, size],
                        "dtype": dtype,
                        "axes": turn,
                        "routes": arguments.routes or "rules",
                        "clock": clock,
                        "bytes": int(figures["message_bytes"]),
                        **named,
                        **_rates(figures, devices, *rates),
                    }


def _rates(figures: dict[str, float], devices: int, copy: float, link: float) -> record.Row:
    sent, moved = figures["sent_bytes"] / devices, (figures["bytes"] - figures["sent_bytes"]) / devices
    within = 2 * moved / (copy * 1e3)
    least = max(within, sent / (link * 1e3)) if sent else within
    return {
        "time_us": record.digits(figures["time_us"]),
        "gbs": record.digits((sent or 2 * moved) / figures["time_us"] / 1e3),
        "copy_gbs": record.digits(copy),
        "link_gbs": record.digits(link),
        "share": record.digits(least / figures["time_us"]),
        "setup_s": record.digits(figures["setup_s"]),
    }


def _link_rate(machine: Any) -> float:
    """GB/s of one direction between the first two devices."""
    rates = core().measure_rates(machine)
    return float(rates[1])


COLUMNS = {
    "values": lambda row: f"{row['n'][0]}^3",
    "format": itemgetter("dtype"),
    "axes": itemgetter("axes"),
    "way": lambda row: row.get("mpi", row["routes"]),
    "MB a message": number("bytes", factor=1e-6),
    "clock": itemgetter("clock"),
    "us": number("time_us"),
    "GB/s a device": number("gbs"),
    "% of the least time": number("share", ".3g", 100),
}
