"""`slipstream bench fft`: milliseconds of a Fourier transform of a cube on all devices, and of one library plan on one
device.

The minimum time is the longer of two. One is the time of three passes over a device's values at the copy rate. The
other is the time to send the bytes at the link rate. Both rates are measured in the same run.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from rich.console import Console
from slipstream.base.core import as_case_error, core
from slipstream.machine import predict

from slipstream_bench import exchange_setups, options, record
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import measure, need, number

#: Default numbers of cells along each axis of the cube, by backend.
SIZES = {"host": (64,), "cuda": (256, 512, 1024)}
#: Bytes of a complex number, by number format of the values.
BYTES = {"f32": 8, "f64": 16, "c64": 8, "c128": 16}
REPEATS = {"host": 5, "cuda": 20}
CLOCKS = ("events", "host")
#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {
        "time_ms",
        "backward_ms",
        "local_ms",
        "of_local",
        "sent_bytes",
        "stored_moves",
        "travels_by",
        "copy_gbs",
        "link_gbs",
        "share",
        "setup_s",
    }
)


def add_options(parser: argparse.ArgumentParser) -> None:
    options.sizes(parser, "cubes of N^3 values")
    parser.add_argument(
        "--types",
        nargs="+",
        default=["c64"],
        choices=sorted(BYTES),
        help="types of the values; f32 and f64: real to complex",
    )
    options.transforms(parser)
    parser.add_argument("--components", type=int, default=1, metavar="C", help="arrays per call")
    parser.add_argument(
        "--cufftxt", action="store_true", help="add a row of cufftXt on all GPUs of one process for each size and type"
    )
    parser.add_argument(
        "--natural", action="store_true", help="leave the spectrum in the order of the values, not transposed"
    )
    options.routes(parser)
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures times of distributed FFTs and prints a table; rank 0 writes the result file. Collective."""
    need("fft", 1, sizes=arguments.sizes, components=arguments.components)

    def rows(machine: Any, backend: str) -> Iterator[record.Row]:
        return _rows(arguments, machine, backend, console)

    measure("fft", arguments, console, rows, COLUMNS, FIGURES)


def process_grid(decomposition: str, devices: int) -> tuple[int, int]:
    """Process grid of a decomposition; pencils use the most nearly square one."""
    if decomposition == "slab":
        return 1, devices
    first = next(n for n in range(math.isqrt(devices), 0, -1) if devices % n == 0)
    return (first, devices // first) if first > 1 else (devices, 1)


def cut(decomposition: str, devices: int, store: str) -> dict[str, Any]:
    """Options of a transform; with an empty `store` it chooses itself whether to store results in remote memory."""
    measured = decomposition == "measured"
    how: dict[str, Any] = (
        {"tune_process_grid": True} if measured else {"process_grid": process_grid(decomposition, devices)}
    )
    return how | ({"store": store == "yes"} if store else {})


def _rows(arguments: argparse.Namespace, machine: Any, backend: str, console: Console) -> Iterator[record.Row]:
    exchange = options.routes_of(arguments)
    devices = len(machine.devices())
    copy = predict.measure_memory(machine.devices())
    link = float(core().measure_rates(machine)[1]) if devices > 1 else 0.0
    for size in arguments.sizes or SIZES[backend]:
        for dtype in arguments.types:
            local = _local_ms(machine, size, dtype, REPEATS[backend])
            if arguments.cufftxt:
                several = timed().fft_several(machine, (size, size, size), dtype, REPEATS[backend])
                if "refused" in several:
                    console.print(f"no row of cufftXt at {size}^3 {dtype}: {several['refused']}", highlight=False)
                else:
                    yield _cufftxt_row(several, size, dtype, devices, local)
            for decomposition in arguments.decompositions if devices > 1 else ["slab"]:
                for store in arguments.store if arguments.store and devices > 1 else [""]:
                    how = {
                        "type": dtype,
                        "transposed": not arguments.natural,
                        "scaled": False,
                        "overlap": arguments.overlap,
                        "exchange": exchange,
                        **cut(decomposition, devices, store),
                    }
                    with as_case_error():
                        found = timed().fft(
                            machine, (size, size, size), how, arguments.components, CLOCKS, REPEATS[backend]
                        )
                    inputs = {
                        "ranks": machine.ranks,
                        "devices": devices,
                        "n": [size, size, size],
                        "kind": "r2c" if dtype in ("f32", "f64") else "c2c",
                        "dtype": dtype,
                        "decomposition": decomposition,
                        "process_grid": list(found[0]["process_grid"]),
                        "transposed": not arguments.natural,
                        "components": arguments.components,
                        "overlap": arguments.overlap,
                        **({"store": store} if store else {}),
                        "mode": "resident",
                        "routes": arguments.routes or "rules",
                    }
                    for clock, figures in zip(CLOCKS, found, strict=True):
                        rates = _rates(figures, size, dtype, arguments.components, machine.devices(), copy, link, local)
                        yield {**inputs, "clock": clock, **rates}


def _cufftxt_row(times: dict[str, float], size: int, dtype: str, devices: int, local: float | None) -> record.Row:
    """Result row of an FFT by NVIDIA's library cufftXt. One row does for the clocks of the host and of devices, because
    a call returns only when its GPUs are done."""
    time = times["forward_us"] / 1e3
    return {
        "ranks": 1,
        "devices": devices,
        "n": [size, size, size],
        "kind": "r2c" if dtype in ("f32", "f64") else "c2c",
        "dtype": dtype,
        "library": "cufftXt",
        "decomposition": "slab",
        "process_grid": [1, devices],
        "transposed": True,
        "components": 1,
        "overlap": False,
        "mode": "resident",
        "clock": "host",
        **dict.fromkeys(("sent_bytes", "stored_moves", "copy_gbs", "link_gbs", "share", "setup_s")),
        "time_ms": record.digits(time),
        "backward_ms": record.digits(times["backward_us"] / 1e3),
        "local_ms": local and record.digits(local),
        "of_local": local and record.digits(time / local),
    }


def _rates(
    figures: dict[str, Any],
    size: int,
    dtype: str,
    components: int,
    found: Sequence[record.Row],
    copy: float,
    link: float,
    local: float | None,
) -> record.Row:
    along_x = size // 2 + 1 if dtype in ("f32", "f64") else size
    moved = components * 3 * 2 * along_x * size * size * BYTES[dtype] / len(found)
    passes = moved / (copy * 1e6)
    sent = figures["sent_bytes"] / len(found)
    least = max(passes, sent / (link * 1e6)) if sent else passes
    time = figures["forward_us"] / 1e3
    return {
        "time_ms": record.digits(time),
        "backward_ms": record.digits(figures["backward_us"] / 1e3),
        "local_ms": local and record.digits(local),
        "of_local": local and record.digits(time / local / components),
        "sent_bytes": int(sent),
        "stored_moves": int(figures["stored_moves"]),
        "travels_by": exchange_setups.travels_by(figures["routes"]),
        "copy_gbs": record.digits(copy),
        "link_gbs": record.digits(link),
        **record.share_of(least, time, moved, found),
        "setup_s": record.digits(figures["setup_s"]),
    }


def _local_ms(machine: Any, size: int, dtype: str, repeats: int) -> float | None:
    """Milliseconds of one plan of FFTW (one thread) or cuFFT on one device; None if its memory does not hold both
    arrays and the workspace."""
    needed = 3 * size**3 * BYTES[dtype]
    if any(device["memory"] and needed > 0.9 * device["memory"] for device in machine.devices()):
        return None
    with as_case_error():
        return float(timed().fft_local(machine, (size, size, size), dtype, repeats)) / 1e3


COLUMNS = {
    "values": lambda row: f"{row['n'][0]}^3",
    "format": itemgetter("dtype"),
    "devices": lambda row: " x ".join(map(str, row["process_grid"])),
    "by": lambda row: row.get("library", "slipstream"),
    "stored": number("stored_moves"),
    "clock": itemgetter("clock"),
    "forward ms": number("time_ms"),
    "backward ms": number("backward_ms"),
    "library ms": number("local_ms"),
    "% of the least time": number("share", ".3g", 100),
}
