"""`slipstream bench out_of_core`: Fourier transforms and flow steps on arrays in host memory, in batches within a
device memory limit.

The least time is that of the bytes that pass between host and device at the rate of large copies both ways at once.
That rate is measured before and after each row, and the larger one counts. A row of `--synchronous` has no copy beside
work. The budget `resident` is no budget: a flow in the devices' memory. Ravikumar, Appelhans & Yeung (2018) took 31.7 s
a step of 1536^3 f32 rk2 by processors, 8.67 s by 12 V100 with zero-copy and 5.07 s with pitched copies: `published_s`.

`--kinds beside` times transforms in device memory concurrent with rows copied in both directions, and the reverse.
"""

import argparse
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from rich.console import Console
from slipstream.base.core import as_case_error, part
from slipstream.base.keys import bytes_of

from slipstream_bench import options, record
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import measure, need, number

#: Default numbers of cells along each axis of the cube, by backend.
SIZES = {"host": (32,), "cuda": (1024,)}
PIECE = {"host": 1 << 20, "cuda": 1 << 29}
REPEATS = {"host": 2, "cuda": 3}
COPIES = ("measured", "single", "pitched", "kernel", "mixed")
FIGURES = frozenset(
    {
        "time_ms",
        "backward_ms",
        "host_bytes",
        "duplex_gbs",
        "published_s",
        "share",
        "backward_share",
        "device_bytes",
        "driver_bytes",
        "batches",
        "alone_ms",
        "rows_gbs",
        "rows_alone_gbs",
    }
)
#: Sizes for measuring transforms beside copies: cells along each axis of the transforms, and total bytes of the copied
#: rows.
BESIDE = {"host": (16, 1 << 16), "cuda": (512, 1 << 26)}
RESIDENT = "resident"
#: Published seconds of a step of 1536^3 f32 rk2 on 12 V100, by the way rows travel (Ravikumar, Appelhans & Yeung 2018).
PUBLISHED_S = {"kernel": 8.67, "pitched": 5.07}


def add_options(parser: argparse.ArgumentParser) -> None:
    options.sizes(parser, "cubes of N^3 values")
    parser.add_argument("--kinds", nargs="+", default=["fft", "dns"], choices=["fft", "dns", "beside"])
    parser.add_argument(
        "--budgets",
        nargs="+",
        default=["2 GiB"],
        metavar="SIZE",
        help='memory limit per device, such as "2 GiB"; resident: no limit',
    )
    parser.add_argument(
        "--types", nargs="+", default=["c64"], choices=["f32", "f64", "c64", "c128"], help="types for fft"
    )
    parser.add_argument("--in-place", action="store_true", help="transform in place (fft)")
    parser.add_argument("--precisions", nargs="+", default=["f32"], choices=["f32", "f64"], help="for dns")
    parser.add_argument("--schemes", nargs="+", default=["rk2"], choices=["rk2", "rk4"], help="time schemes for dns")
    parser.add_argument("--copies", nargs="+", default=["measured"], choices=COPIES, help="how rows are copied")
    parser.add_argument("--synchronous", action="store_true", help="add a row without overlap of copies and work")
    parser.add_argument("--rows", nargs="+", type=int, default=[8192], help="bytes per row for `beside`")
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints transforms of values in host memory; rank 0 writes. Collective."""
    need("out_of_core", 4, sizes=arguments.sizes)
    measure(
        "out_of_core", arguments, console, lambda machine, backend: _rows(arguments, machine, backend), COLUMNS, FIGURES
    )


def _rows(arguments: argparse.Namespace, machine: Any, backend: str) -> Iterator[record.Row]:
    if "beside" in arguments.kinds:
        yield from _beside(arguments, machine, backend)
    if set(arguments.kinds) == {"beside"}:
        return
    link = _Link(machine, backend)
    for n in arguments.sizes or SIZES[backend]:
        for budget in arguments.budgets:
            for copies in arguments.copies if budget != RESIDENT else ["-"]:
                for synchronous in (False, True) if arguments.synchronous and budget != RESIDENT else (False,):
                    how = {}
                    if budget != RESIDENT:
                        how = {"device_memory": bytes_of(budget), "host_copies": copies, "synchronous": synchronous}
                    inputs = {"ranks": machine.ranks, "devices": len(machine.devices()), "n": n, "budget": budget,
                              "copies": copies, "synchronous": synchronous, "clock": "host"}  # fmt: skip
                    if "fft" in arguments.kinds:
                        for dtype in arguments.types:
                            figures = _transform(machine, backend, n, dtype, arguments.in_place, how, link)
                            yield {"kind": "fft", "dtype": dtype, "in_place": arguments.in_place, **inputs, **figures}
                    if "dns" in arguments.kinds:
                        for precision in arguments.precisions:
                            for scheme in arguments.schemes:
                                figures = _flow(machine, backend, n, precision, scheme, how, link)
                                yield {"kind": "dns", "dtype": precision, "scheme": scheme, **inputs, **figures}


class _Link:
    """Measures the link between host and devices in both directions at once, before each row of results."""

    def __init__(self, machine: Any, backend: str) -> None:
        self._measure = lambda: float(timed().host_duplex(machine, PIECE[backend], REPEATS[backend])) / 1e3
        self._last = self._measure()

    def rate(self) -> float:
        """Rate of the link between host and devices in GB/s: the larger of two measurements, one before and one after
        the last benchmark run."""
        before, self._last = self._last, self._measure()
        return max(before, self._last)


def _beside(arguments: argparse.Namespace, machine: Any, backend: str) -> Iterator[record.Row]:
    n, all_bytes = BESIDE[backend]
    for row in arguments.rows:
        for copies in ("pitched", "kernel", "mixed"):
            with as_case_error():
                found = timed().work_with_rows(machine, (n, n, n), row, all_bytes // row, copies, REPEATS[backend])
            yield {
                "kind": "beside",
                "dtype": "c64",
                "ranks": machine.ranks,
                "devices": len(machine.devices()),
                "n": n,
                "row_bytes": row,
                "copies": copies,
                "clock": "events",
                "time_ms": record.digits(found["transform_with_rows_us"] / 1e3),
                "alone_ms": record.digits(found["transform_us"] / 1e3),
                "rows_gbs": record.digits(found["rows_with_work_gbs"]),
                "rows_alone_gbs": record.digits(found["rows_gbs"]),
            }


def _freed(machine: Any, backend: str, used: int) -> int | None:
    """Bytes by which the memory in use, as the driver counts it, has fallen since `used` was read. Context and kernels
    stay. None on the host.
    """
    return used - timed().memory_used(machine) if backend == "cuda" else None


def _transform(
    machine: Any, backend: str, n: int, dtype: str, in_place: bool, how: dict[str, Any], link: _Link
) -> record.Row:
    """Measures a transform of values in host memory. On one device the axes of the result keep the order x, y, z,
    which transforms in place and transforms of large planes need. On several devices results stay transposed."""
    chosen = {"type": dtype, "transposed": len(machine.devices()) > 1, "scaled": False, **how}
    with as_case_error():
        found = timed().fft_by_batches(machine, (n, n, n), chosen, in_place, REPEATS[backend])
    rate = link.rate()
    times = {way: found[f"{way}_us"] / 1e3 for way in ("forward", "backward")}
    share = {
        way: record.digits(found[f"{way}_bytes"] / (rate * 1e6) / times[way]) if found[f"{way}_bytes"] else None
        for way in times
    }
    return {
        "time_ms": record.digits(times["forward"]),
        "backward_ms": record.digits(times["backward"]),
        "host_bytes": found["forward_bytes"],
        "duplex_gbs": record.digits(rate),
        "share": share["forward"],
        "backward_share": share["backward"],
        "device_bytes": found["device_bytes"],
        "driver_bytes": _freed(machine, backend, found["memory_used"]),
        "batches": found["batches"],
    }


def _flow(
    machine: Any, backend: str, n: int, precision: str, scheme: str, how: dict[str, Any], link: _Link
) -> record.Row:
    with as_case_error():
        dns = part("dns").Dns(
            machine, {"cells": (n, n, n), "type": precision, "scheme": scheme, "time_step": 0.25 / n, **how}
        )
        dns.taylor_green()
        dns.advance(1)
        before = dns.host_bytes_moved
        dns.advance(1)
        moved = int(timed().sum_of_ranks(dns.host_bytes_moved - before))
        time = timed().dns_step_us(dns, 1, REPEATS[backend]) / 1e3
    device_bytes, batches = max(dns.bytes()), dns.describe_batches()
    used = timed().memory_used(machine)
    del dns
    freed = _freed(machine, backend, used)
    rate = link.rate()
    published = PUBLISHED_S.get(how.get("host_copies", "")) if (n, precision, scheme) == (1536, "f32", "rk2") else None
    return {
        "time_ms": record.digits(time),
        **({"published_s": published} if published else {}),
        "backward_ms": None,
        "host_bytes": moved,
        "duplex_gbs": record.digits(rate),
        "share": record.digits(moved / (rate * 1e6) / time) if moved else None,
        "backward_share": None,
        "device_bytes": device_bytes,
        "driver_bytes": freed,
        "batches": batches,
    }


def _figure(key: str, form: str = ".4g", factor: float = 1.0) -> Callable[[record.Row], str]:
    """Makes a function that formats the number in one column of a row; `-` if the row has no such column."""
    return lambda row: number(key, form, factor)({key: None, **row})


COLUMNS = {
    "kind": lambda row: row["kind"] + (" " + row["scheme"] if "scheme" in row else ""),
    "values": lambda row: f"{row['n']}^3",
    "format": itemgetter("dtype"),
    "budget": lambda row: row.get("budget", f"rows of {row.get('row_bytes')} bytes"),
    "copies": lambda row: row["copies"] + (", one by one" if row.get("synchronous") else ""),
    "ms": _figure("time_ms"),
    "alone ms": _figure("alone_ms"),
    "rows GB/s": _figure("rows_gbs"),
    "rows alone GB/s": _figure("rows_alone_gbs"),
    "published s": _figure("published_s"),
    "backward ms": _figure("backward_ms"),
    "GB both ways": _figure("host_bytes", factor=1e-9),
    "duplex GB/s": _figure("duplex_gbs"),
    "% of the least time": _figure("share", ".3g", 100),
    "MB of the device": _figure("device_bytes", factor=1e-6),
    "MB by the driver": _figure("driver_bytes", factor=1e-6),
}
