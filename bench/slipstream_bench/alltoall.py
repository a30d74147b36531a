"""`slipstream bench alltoall`: compares all-to-all methods with MPI_Alltoall.

Each rank is a separate node, so that no message uses memory shared by ranks. A cube of N^3 values is redistributed from
slabs along z to slabs along y. `MPI_Alltoall` moves the same bytes between packed host arrays. The other rows are
exchanges on route staged, including packing and unpacking. `over_mpi` is their time over that of MPI_Alltoall, with
packing. Ravikumar, Appelhans & Yeung (2018) found no faster method. Their effective bandwidth is twice the bytes of a
node per second, in units of 1024^3 bytes.
"""

import argparse
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from rich.console import Console
from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError, ErrorCode

from slipstream_bench import options, record
from slipstream_bench.timed import timed
from slipstream_bench.transpose import BYTES, TURNS, WAYS, device_grids
from slipstream_bench.whole_machine import measure, need, number

#: Default numbers of cells along each axis of the cube, by backend.
SIZES = {"host": (64, 128), "cuda": (256, 512, 1024)}
REPEATS = {"host": 11, "cuda": 20}
MPI = "MPI_Alltoall"
TURN = "xyz"
FIGURES = frozenset({"time_us", "effective_gbs", "over_mpi", "travels_by"})


def add_options(parser: argparse.ArgumentParser) -> None:
    options.sizes(parser, "cubes of N^3 values")
    parser.add_argument("--types", nargs="+", default=["f32"], choices=sorted(BYTES), help="number formats")
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints all-to-all exchanges; rank 0 writes. Collective."""
    need("alltoall", 2, sizes=arguments.sizes)
    if core().size() == 1:
        raise CaseError("bench alltoall: messages go between ranks: start more with -n", ErrorCode.UNSUPPORTED, ranks=1)
    measure(
        "alltoall", arguments, console, lambda machine, backend: _rows(arguments, machine, backend, console), COLUMNS,
        FIGURES,
    )  # fmt: skip


def _rows(arguments: argparse.Namespace, machine: Any, backend: str, console: Console) -> Iterator[record.Row]:
    ranks = machine.ranks
    ways = []
    for way, (asked, nodes) in WAYS.items():
        if nodes is not None and (ranks % nodes or ranks == nodes):
            continue
        why = timed().refusal_of_mpi(asked.get("mpi", "sends"))
        console.print(f"{way}: left out: {why}", soft_wrap=True) if why else ways.append(way)
    for n in arguments.sizes or SIZES[backend]:
        for dtype in arguments.types:
            bytes_of_rank = n**3 * BYTES[dtype] // ranks
            alone = float(timed().mpi_alltoall(bytes_of_rank // ranks, REPEATS[backend]))
            yield _row(machine, n, dtype, MPI, bytes_of_rank, alone, alone, "MPI")
            for way in ways:
                time, routes = _exchange(arguments, backend, machine, n, dtype, way)
                yield _row(machine, n, dtype, way, bytes_of_rank, time, alone, ", ".join(routes))


def _exchange(
    arguments: argparse.Namespace, backend: str, machine: Any, n: int, dtype: str, way: str
) -> tuple[float, list[str]]:
    """Microseconds of one all-to-all exchange by the host's clock."""
    asked, nodes = WAYS[way]
    with as_case_error():
        apart = core().Machine.discover(
            backend, devices_per_rank=arguments.devices or 1, ranks_per_node=machine.ranks // (nodes or machine.ranks)
        )
        source, target = device_grids("slabs", TURN, len(apart.devices()))
        (found,) = timed().transpose(
            apart, (n, n, n), source, target, TURNS[TURN][0], dtype, {"routes": ["kernel", "staged"], **asked},
            ("host",), REPEATS[backend],
        )  # fmt: skip
    return found["time_us"], sorted(found["routes"])


def _row(
    machine: Any, n: int, dtype: str, way: str, bytes_of_rank: int, time: float, alone: float, by: str
) -> record.Row:
    return {
        "ranks": machine.ranks,
        "devices": len(machine.devices()),
        "n": n,
        "dtype": dtype,
        "way": way,
        "clock": "host",
        "bytes": bytes_of_rank // machine.ranks,
        "time_us": record.digits(time),
        "effective_gbs": record.digits(2 * bytes_of_rank / time * 1e6 / 1024**3),
        "over_mpi": record.digits(time / alone),
        "travels_by": by,
    }


COLUMNS = {
    "values": lambda row: f"{row['n']}^3",
    "format": itemgetter("dtype"),
    "way": itemgetter("way"),
    "MB a message": number("bytes", factor=1e-6),
    "us": number("time_us"),
    "effective GB/s a rank": number("effective_gbs"),
    "over MPI_Alltoall": number("over_mpi"),
}
