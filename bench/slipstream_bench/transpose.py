"""`slipstream bench transpose`: microseconds to redistribute a cube of values between two decompositions.

The minimum time is the longer of two. One is the time of the bytes that leave a device, at the link rate. The other is
the time of the bytes moved within it, at the copy rate. Both rates are measured in the same run. `effective_gbs` is the
effective bandwidth of Ravikumar, Appelhans and Yeung (2018). It is twice the data of a node's ranks in the transpose,
including data that stays, in 1024^3 bytes per second.

With several host ranks there is also a row for each way in which MPI carries messages of route staged (or of --routes).
These are sends and receives, one collective call, and one message per pair of nodes. Each rank, or each half of the
ranks, is then a separate node, so that messages between nodes use no memory shared by ranks.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from operator import itemgetter
from typing import Any

from rich.console import Console
from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.machine import predict

from slipstream_bench import exchange_setups, options, record
from slipstream_bench.exchange_setups import Triple
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import measure, need, number

#: Default numbers of cells along each axis, by backend: on two GPUs 16 KB to 2 GB per message.
SIZES = {"host": (64,), "cuda": (20, 64, 128, 256, 512, 1024)}
#: Bytes of a value by number format.
BYTES = {"f16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16}
#: Permutations of the axes x, y and z, and the axis along which the target is cut; the source is cut along z.
TURNS = {"xyz": ((0, 1, 2), 1), "zyx": ((2, 1, 0), 2), "yzx": ((2, 0, 1), 2)}
#: Variants of transposes by MPI: options of the exchange, and the number of nodes formed by the ranks; None: one per
#: rank.
WAYS: dict[str, tuple[dict[str, str], int | None]] = {
    "sends": ({"mpi": "sends"}, None),
    "alltoallv": ({"mpi": "alltoallv"}, None),
    "ialltoallv": ({"mpi": "ialltoallv"}, None),
    "put_fence": ({"mpi": "put_fence"}, None),
    "put_lock": ({"mpi": "put_lock"}, None),
    "nodes": ({"grouping": "nodes"}, 2),
}
#: Decompositions: slabs along z become slabs along another axis, or pencils along y; pencils along x become pencils
#: along y; boxes become slabs.
DECOMPOSITIONS = ("slabs", "slabs_to_pencils", "pencils", "bricks")
#: Default decompositions; no two of them are the same for any number of devices.
USUAL = ("slabs", "slabs_to_pencils", "pencils")
REPEATS = {"host": 5, "cuda": 20}
#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"time_us", "gbs", "effective_gbs", "copy_gbs", "link_gbs", "share", "setup_s", "travels_by"})


def add_options(parser: argparse.ArgumentParser) -> None:
    options.sizes(parser, "cubes of N^3 values")
    parser.add_argument(
        "--turns", nargs="+", default=["xyz", "zyx"], choices=sorted(TURNS), help="axis order of the target"
    )
    parser.add_argument(
        "--types", nargs="+", default=["c64"], choices=sorted(BYTES), help="number formats (default: c64)"
    )
    parser.add_argument(
        "--decompositions", nargs="+", choices=DECOMPOSITIONS,
        help=f"decompositions of source and target (default: those of {', '.join(USUAL)} that differ)",
    )  # fmt: skip
    parser.add_argument(
        "--ways", nargs="*", choices=sorted(WAYS),
        help="how MPI carries messages of staged, or of gpu_mpi if given by --routes (default: all on several ranks "
        "of the host, none elsewhere)",
    )  # fmt: skip
    options.routes(parser)
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures times of distributed transposes and prints a table; rank 0 writes the result file. Collective."""
    need("transpose", 1, sizes=arguments.sizes)

    def rows(machine: Any, backend: str) -> Iterator[record.Row]:
        return _all(arguments, machine, backend, console)

    measure("transpose", arguments, console, rows, COLUMNS, FIGURES)


def _all(arguments: argparse.Namespace, machine: Any, backend: str, console: Console) -> Iterator[record.Row]:
    rates = (predict.measure_memory(machine.devices()), _link_rate(machine) if len(machine.devices()) > 1 else 0.0)
    ways = []
    for way in _ways(arguments, machine, backend):
        why = timed().refusal_of_mpi(WAYS[way][0].get("mpi", "sends"))
        console.print(f"{way}: left out: {why}", soft_wrap=True) if why else ways.append(way)
    yield from _rows(arguments, machine, backend, rates, options.routes_of(arguments), {})
    for way in ways:
        yield from _rows_by(arguments, machine, backend, rates, way)


def _ways(arguments: argparse.Namespace, machine: Any, backend: str) -> list[str]:
    """Variants of transposes in the order of the table. The variant `nodes`, one message per pair of nodes, needs two
    ranks per node."""
    if arguments.ways is None:
        several = backend == "host" and machine.ranks > 1
        return [way for way in WAYS if several and (way != "nodes" or machine.ranks % 4 == 0)]
    if machine.ranks == 1 and arguments.ways:
        raise CaseError(
            "bench transpose: --ways are those of several ranks: start more with -n",
            ErrorCode.UNSUPPORTED,
            option="ways",
            ranks=machine.ranks,
        )
    if "nodes" in arguments.ways and "gpu_mpi" in (arguments.routes or ""):
        raise CaseError(
            "bench transpose: --ways nodes is one of the route staged, and --routes names gpu_mpi",
            ErrorCode.UNSUPPORTED,
            option="ways",
            other="routes",
        )
    if "nodes" in arguments.ways and machine.ranks % 2:
        raise CaseError(
            f"bench transpose: --ways nodes makes two nodes, and {machine.ranks} ranks have no halves",
            ErrorCode.UNSUPPORTED,
            option="ways",
            ranks=machine.ranks,
        )
    return [way for way in WAYS if way in arguments.ways]


def _rows_by(
    arguments: argparse.Namespace, machine: Any, backend: str, rates: tuple[float, float], way: str
) -> Iterator[record.Row]:
    asked, nodes = WAYS[way]
    with as_case_error():
        apart = core().Machine.discover(
            backend, devices_per_rank=arguments.devices, ranks_per_node=machine.ranks // (nodes or machine.ranks)
        )
    routes = arguments.routes or "kernel,staged"
    yield from _rows(
        arguments, apart, backend, rates, {"routes": routes.split(","), **asked}, {"routes": routes, "mpi": way}
    )


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
    setups = product(arguments.sizes or SIZES[backend], arguments.turns, arguments.types)
    for (size, turn, dtype), decomposition in (
        (setup, one) for setup in setups for one in arguments.decompositions or _usual(setup[1], devices)
    ):
        axes, _ = TURNS[turn]
        source, target = device_grids(decomposition, turn, devices)
        with as_case_error():
            found = timed().transpose(
                machine, (size, size, size), source, target, axes, dtype, exchange, clocks, REPEATS[backend]
            )
        for clock, figures in zip(clocks, found, strict=True):
            effective = 2 * figures["bytes"] / machine.nodes / figures["time_us"] * 1e6 / 1024**3
            yield {
                "ranks": machine.ranks,
                "devices": devices,
                "n": [size, size, size],
                "dtype": dtype,
                "axes": turn,
                **({} if decomposition == "slabs" else {"decomposition": decomposition}),
                "routes": arguments.routes or "rules",
                "clock": clock,
                "bytes": int(figures["message_bytes"]),
                **named,
                "travels_by": exchange_setups.travels_by(figures["routes"]),
                "effective_gbs": record.digits(effective),
                **_rates(figures, machine.devices(), *rates),
            }


def _usual(turn: str, devices: int) -> list[str]:
    by_grids: dict[tuple[Triple, Triple], str] = {}
    for decomposition in USUAL:
        by_grids.setdefault(device_grids(decomposition, turn, devices), decomposition)
    return list(by_grids.values())


def device_grids(decomposition: str, turn: str, devices: int) -> tuple[Triple, Triple]:
    """Numbers of devices along each axis of the source and of the target."""
    axes, cut = TURNS[turn]
    target = [1, 1, 1]
    target[cut] = devices
    if decomposition == "slabs":
        return (1, 1, devices), (target[0], target[1], target[2])
    if decomposition == "bricks":
        source = exchange_setups.device_grid(devices)
        return source, (target[0], target[1], target[2])
    # A grid as close to square as possible, with the longer side along y.
    short = max(n for n in range(1, devices + 1) if devices % n == 0 and n * n <= devices)
    for axis, count in zip(axes, (devices // short, 1, short), strict=True):
        target[axis] = count
    source = (1, 1, devices) if decomposition == "slabs_to_pencils" else (1, devices // short, short)
    return source, (target[0], target[1], target[2])


def _rates(figures: dict[str, float], found: Sequence[record.Row], copy: float, link: float) -> record.Row:
    devices = len(found)
    sent, moved = figures["sent_bytes"] / devices, (figures["bytes"] - figures["sent_bytes"]) / devices
    within = 2 * moved / (copy * 1e3)
    least = max(within, sent / (link * 1e3)) if sent else within
    return {
        "time_us": record.digits(figures["time_us"]),
        "gbs": record.digits((sent or 2 * moved) / figures["time_us"] / 1e3),
        "copy_gbs": record.digits(copy),
        "link_gbs": record.digits(link),
        **record.share_of(least, figures["time_us"], 2 * figures["bytes"] / devices, found),
        "setup_s": record.digits(figures["setup_s"]),
    }


def _link_rate(machine: Any) -> float:
    """Measured GB/s of one direction between the first two devices."""
    rates = core().measure_rates(machine)
    return float(rates[1])


COLUMNS = {
    "values": lambda row: f"{row['n'][0]}^3",
    "format": itemgetter("dtype"),
    "axes": itemgetter("axes"),
    "from": lambda row: row.get("decomposition", "slabs"),
    "way": lambda row: row.get("mpi", row["routes"]),
    "MB a message": number("bytes", factor=1e-6),
    "clock": itemgetter("clock"),
    "us": number("time_us"),
    "GB/s a device": number("gbs"),
    "effective GB/s a node": number("effective_gbs"),
    "% of the least time": number("share", ".3g", 100),
}
