"""`slipstream bench coding`: packing and unpacking with each coding, contiguous and strided, compared
with raw values.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.machine import discovery

from slipstream_bench import curves, options, record
from slipstream_bench.record import Row
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import need

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"time_us", "gbs", "share_of_raw", "ratio", "largest_error", "rms_error", "bound", "break_even_gbs"}
)

#: Codings that are compared with uncoded messages, by number format.
CODINGS = {
    "f64": ("cast", "blockfloat, rate 16", "blockfloat, rate 32", "zfp, rate 8", "zfp, rate 16", "zfp, rate 32"),
    "f32": ("cast", "blockfloat, rate 8", "blockfloat, rate 16", "zfp, rate 8", "zfp, rate 16"),
}
#: Shapes of messages: boundary regions of a cube, a permuted cube, and a contiguous cube; each with whether its cells
#: are strided in memory.
PATTERNS = {"halo": True, "transpose": True, "alone": False}
DATA = ("uniform", "smooth", "wide")
RADIUS = 3
CELLS = {"host": 48, "cuda": 384}
#: Smallest and largest number of repeats per result, and time limit of all repeats in seconds.
FEWEST, REPEATS, BUDGET = 3, 50, 0.15


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench coding`: sizes, codings and kinds of data."""

    backend: str
    cells: int | None  #: side of the cube in cells; None: depends on the backend
    dtypes: Sequence[str]
    patterns: Sequence[str]
    data: Sequence[str]
    quick: bool


@dataclass(frozen=True)
class _Times:
    """Microseconds of packing and unpacking a message."""

    encode: float
    decode: float

    @classmethod
    def of(cls, bench: Any, quick: bool) -> "_Times":
        return cls(*(_median(measure, quick) for measure in (bench.encode_us, bench.decode_us)))


def _median(measure: Callable[[int], float], quick: bool) -> float:
    """Median time of a kernel that encodes or decodes, in microseconds. Each sample times ten launches of the kernel.
    There are as many samples as the time limit allows."""
    first = measure(FEWEST)
    return first if quick else measure(max(FEWEST, min(REPEATS, int(BUDGET * 1e5 / first))))


def rate_of(coding: str) -> float | None:
    """Bits per value of a coding, if its text states them."""
    return float(coding.rpartition(" rate ")[2]) if " rate " in coding else None


def break_even(raw_bytes: int, coded_bytes: int, lost_us: float) -> float | None:
    """Link rate in GB/s at which coded and raw messages take equally long; coding pays on slower links. None if coding
    pays on every link.
    """
    saved = raw_bytes - coded_bytes
    return None if lost_us <= 0 else saved / lost_us * 1e-3


def _rows(choice: Choice, backend: str, cells: int) -> Iterator[Row]:
    for dtype in choice.dtypes:
        for pattern in choice.patterns:
            raw = _Times.of(timed().Coding(backend, pattern, cells, RADIUS, dtype, "raw"), choice.quick)
            for coding in ("raw", *CODINGS[dtype]):
                for data in choice.data[:1] if coding == "raw" else choice.data:
                    if coding == "cast" and data == "wide":
                        continue  # skipped, because these values exceed the range of f32
                    yield from _of_one(choice, backend, pattern, cells, dtype, coding, data, raw)


def _of_one(
    choice: Choice, backend: str, pattern: str, cells: int, dtype: str, coding: str, data: str, raw: _Times
) -> Iterator[Row]:
    bench = timed().Coding(backend, pattern, cells, RADIUS, dtype, coding, data)
    times = _Times.of(bench, choice.quick)
    # Packing and unpacking both cost time, but the link time is saved once.
    lost = times.encode + times.decode - raw.encode - raw.decode
    for direction, us, plain in (("encode", times.encode, raw.encode), ("decode", times.decode, raw.decode)):
        yield {
            "ranks": 1,
            "devices": 1,
            "backend": backend,
            "coding": coding.partition(",")[0],
            "rate": rate_of(coding),
            "dtype": dtype,
            "pattern": pattern,
            "cells": cells,
            "data": data,
            "direction": direction,
            "fused": PATTERNS[pattern],
            "bytes": bench.raw_bytes,
            "clock": "events",
            "time_us": record.digits(us),
            "gbs": record.digits(bench.raw_bytes / us * 1e-3),
            "share_of_raw": record.digits(plain / us),
            "ratio": record.digits(bench.raw_bytes / bench.bytes),
            "largest_error": record.digits(bench.largest_error()),
            "rms_error": record.digits(bench.rms_error()),
            "bound": record.digits(bench.bound),
            "break_even_gbs": None
            if coding == "raw" or (even := break_even(bench.raw_bytes, bench.bytes, lost)) is None
            else record.digits(even),
        }


#: Rates of a link in GB/s for which the picture shows the speed-up.
LINKS = [2.0**k for k in range(10)]


def gain(raw_bytes: int, coded_bytes: int, raw_us: float, coded_us: float, link: float) -> float:
    """Speed-up of a coded message over a raw one if packing, link and unpacking are sequential."""
    return (raw_us + raw_bytes / link * 1e-3) / (coded_us + coded_bytes / link * 1e-3)


def picture(path: Path, machine: str, rows: list[Row]) -> None:
    """Draws the speed-up of each coding by link rate; it exceeds 1 left of the break-even rate."""

    def both(row: Row) -> float:
        return sum(float(other["time_us"]) for other in rows if {**other, **_OF_ONE} == {**row, **_OF_ONE})

    panels = []
    for dtype in dict.fromkeys(row["dtype"] for row in rows):
        first = next(row for row in rows if row["dtype"] == dtype)
        here = [r for r in rows if all(r[key] == first[key] for key in ("dtype", "pattern", "data"))]
        raw = next(row for row in here if row["coding"] == "raw")
        lines = []
        for row in here:
            if row["direction"] == "encode" and row["coding"] != "raw":
                coded = round(row["bytes"] / row["ratio"])
                gains = [gain(row["bytes"], coded, both(raw), both(row), link) for link in LINKS]
                name = row["coding"] if row["rate"] is None else f"{row['coding']}, {row['rate']:.0f} bits"
                lines.append(curves.Curve(name, LINKS, gains, row["coding"] == "zfp"))
        panels.append(
            curves.Panel(f"{first['pattern']}, {dtype}", "times as fast as raw", lines, "GB/s of the link", counts=True)
        )
    curves.draw(path, f"Codings on {machine}", panels)


#: Empty values for the columns that differ between a message's row for packing and its row for unpacking.
_OF_ONE: Row = dict.fromkeys((*FIGURES, "direction"))


def add_options(parser: argparse.ArgumentParser) -> None:
    options.one_cube(parser, "a cube of N^3 cells whose boundary regions of three layers are packed")
    parser.add_argument("--dtypes", nargs="+", choices=list(CODINGS), default=[], help="(default: all)")
    parser.add_argument("--patterns", nargs="+", choices=list(PATTERNS), default=list(PATTERNS))
    parser.add_argument("--data", nargs="+", choices=DATA, default=[],
                        help="data for errors; planes of zeros make zfp faster (default: all)")  # fmt: skip
    options.quick(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures encoding and decoding, prints and writes; uses one rank and its first device."""
    module, choice = core(), record.chosen(Choice, arguments)
    choice = replace(
        choice,
        dtypes=choice.dtypes or list(CODINGS)[: 1 if choice.quick else None],
        data=choice.data or list(DATA)[: 1 if choice.quick else None],
    )
    if module.size() > 1:
        raise CaseError(
            "bench coding measures one device from one rank: start it without -n",
            ErrorCode.UNSUPPORTED,
            ranks=module.size(),
            limit=1,
        )
    backend = discovery.choose_backend(choice.backend)
    machine = module.Machine.discover(backend, devices_per_rank=1)
    cells = choice.cells if choice.cells is not None else 16 if choice.quick else CELLS[backend]
    need("coding", 8, cells=cells)
    described = record.describe_machine(machine)
    measured = _rows(choice, backend, cells)
    rows = list(record.kept_on_the_way(arguments.folder, "coding", described, measured, FIGURES))
    heads = ["coding", "rate", "format", "cells", "direction", "data", "GB/s", "of raw", "ratio", "error", "bound"]
    keys = ("gbs", "share_of_raw", "ratio", "largest_error", "bound")
    shown = [
        (
            r["coding"],
            r["rate"] or "",
            r["dtype"],
            r["pattern"],
            r["direction"],
            r["data"],
            *(f"{r[k]:.3g}" for k in keys),
        )
        for r in rows
    ]
    console.print(terminal.table(f"codings on {machine.name}", heads, shown, left=6))
    record.keep(
        arguments.folder, "coding", described, rows, FIGURES, console, lambda path, name: picture(path, name, rows)
    )
