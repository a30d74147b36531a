"""`slipstream bench dns`: milliseconds per step of a pseudo-spectral flow in a periodic box.

The minimum time is the longer of two. One is that of the bytes to move at the copy rate, the other that of the bytes to
send at the link rate. The 2/3 rule keeps a fraction k of the modes along each axis. The three passes of each of the 9
transforms of a right-hand side then read and write k^3, k^2, k^2, k, k and 1 components. The curl reads and writes 6
k^3, and the cross product 9. The stages of a step read and write 51 k^3 with rk4 and 21 k^3 with rk2.

`transforms_ms` is the time of a step's transforms alone, with their moves, packed or stored; the rest is pointwise.
`message_ms` is the time of the bytes to send at the link rate. `pack_ms` is the additional time of packed moves; it is
0 if the transforms store their results.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from rich.console import Console
from slipstream.base.core import as_case_error, core, part
from slipstream.machine import predict

from slipstream_bench import exchange_setups, options, record
from slipstream_bench.fft import cut
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import measure, need, number

#: Default numbers of cells along each axis of the cube, by backend.
SIZES = {"host": (32,), "cuda": (256, 512)}
BYTES = {"f32": 4, "f64": 8}
#: Number of evaluations of the right-hand side per step, by time integration scheme.
STAGES = {"rk2": 2, "rk4": 4}
TRANSFORMS = 9
#: Number of components read or written for a right-hand side: modes for the curl, cells for the cross product.
CURL, CROSS = 6, 9
#: Components of modes that the stages of a step read or write: right-hand side, velocity, sum and next velocity. The
#: first stage reads no sum; the last writes one result.
UPDATES = {"rk2": 12 + 9, "rk4": 12 + 15 + 15 + 9}
REPEATS = {"host": 3, "cuda": 10}
STEPS = {"host": 1, "cuda": 10}
FIGURES = frozenset(
    {
        "ms_per_step",
        "mcells_per_s",
        "transforms_ms",
        "pointwise_ms",
        "message_ms",
        "travels_by",
        "pack_ms",
        "copy_gbs",
        "link_gbs",
        "share",
        "device_bytes",
    }
)


def add_options(parser: argparse.ArgumentParser) -> None:
    options.sizes(parser, "boxes of N^3 cells")
    parser.add_argument("--types", nargs="+", default=["f64"], choices=sorted(BYTES), help="number formats")
    parser.add_argument("--schemes", nargs="+", default=["rk4"], choices=sorted(STAGES), help="time schemes")
    parser.add_argument("--weak", action="store_true", help="weak scaling: boxes longer along z with more devices")
    options.transforms(parser)
    options.routes(parser)
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures times of steps of turbulence and prints a table; rank 0 writes the result file. Collective."""
    need("dns", 4, sizes=arguments.sizes)
    measure("dns", arguments, console, lambda machine, backend: _rows(arguments, machine, backend), COLUMNS, FIGURES)


def _rows(arguments: argparse.Namespace, machine: Any, backend: str) -> Iterator[record.Row]:
    devices = len(machine.devices())
    copy = predict.measure_memory(machine.devices())
    link = float(core().measure_rates(machine)[1]) if devices > 1 else 0.0
    for n in arguments.sizes or SIZES[backend]:
        for dtype in arguments.types:
            for scheme in arguments.schemes:
                for decomposition in arguments.decompositions if devices > 1 else ["slab"]:
                    for store in arguments.store if arguments.store and devices > 1 else [""]:
                        yield _row(arguments, machine, backend, (copy, link), n, dtype, scheme, decomposition, store)


def moved_bytes(cells: Sequence[int], dtype: str, scheme: str) -> float:
    """Minimum bytes read and written in a step, over all devices."""
    highest = [(n - 1) // 3 for n in cells]
    # With real values there are half as many modes along x, and they are complex.
    x, y, z = (2 * (highest[0] + 1) / cells[0], *((2 * h + 1) / n for h, n in zip(highest[1:], cells[1:], strict=True)))
    modes = x * y * z
    transform = modes + 2 * x * y + 2 * x + 1
    of_stage = TRANSFORMS * transform + CURL * modes + CROSS
    return (STAGES[scheme] * of_stage + UPDATES[scheme] * modes) * math.prod(cells) * BYTES[dtype]


def _row(
    arguments: argparse.Namespace,
    machine: Any,
    backend: str,
    rates: tuple[float, float],
    n: int,
    dtype: str,
    scheme: str,
    decomposition: str,
    store: str,
) -> record.Row:
    devices = len(machine.devices())
    copy, link = rates
    cells = (n, n, n * devices if arguments.weak else n)
    transforms = {
        "type": dtype,
        "overlap": arguments.overlap,
        "exchange": options.routes_of(arguments),
        **cut(decomposition, devices, store),
    }
    with as_case_error():
        dns = part("dns").Dns(machine, {"cells": cells, "scheme": scheme, "time_step": 0.5 / max(cells), **transforms})
        dns.taylor_green()
        ms = timed().dns_step_us(dns, STEPS[backend], REPEATS[backend]) / 1e3
        process_grid, held = list(dns.process_grid), max(dns.bytes())
        del dns
        own = {"scaled": False, "highest": tuple((along - 1) // 3 for along in cells)}
        (three,) = timed().fft(machine, cells, transforms | own, 3, ["host"], REPEATS[backend], moves=True)
    # A right-hand side transforms one vector field forward and two backward.
    of_step = STAGES[scheme] * (three["forward_us"] + 2 * three["backward_us"]) / 1e3
    sent = STAGES[scheme] * 3 * three["sent_bytes"] / devices
    moves = STAGES[scheme] * (three["forward_moves_us"] + 2 * three["backward_moves_us"]) / 1e3
    packed = STAGES[scheme] * (three["forward_packed_bytes"] + 2 * three["backward_packed_bytes"]) / devices
    pack = max(moves - packed / (link * 1e6), 0.0) if packed else 0.0
    message = sent / (link * 1e6) if sent else 0.0
    moved = moved_bytes(cells, dtype, scheme) / devices
    least = max(moved / (copy * 1e6), message)
    return {
        "ranks": machine.ranks,
        "devices": devices,
        "n": n,
        **({"weak": True} if arguments.weak else {}),
        "dtype": dtype,
        "scheme": scheme,
        "decomposition": decomposition,
        "process_grid": process_grid,
        "overlap": arguments.overlap,
        **({"store": store} if store else {}),
        "mode": "resident",
        "routes": arguments.routes or "rules",
        "clock": "host",
        "travels_by": exchange_setups.travels_by(three["routes"]),
        "ms_per_step": record.digits(ms),
        "mcells_per_s": record.digits(math.prod(cells) / ms / 1e3),
        "transforms_ms": record.digits(of_step),
        "pointwise_ms": record.digits(ms - of_step),
        "pack_ms": record.digits(pack),
        "message_ms": record.digits(message),
        "copy_gbs": record.digits(copy),
        "link_gbs": record.digits(link),
        **record.share_of(least, ms, moved, machine.devices()),
        "device_bytes": held,
    }


COLUMNS = {
    "cells": lambda row: f"{row['n']}^3" + (" a device" if "weak" in row else ""),
    "format": itemgetter("dtype"),
    "scheme": itemgetter("scheme"),
    "devices": lambda row: " x ".join(map(str, row["process_grid"])),
    "stored": lambda row: row.get("store", ""),
    "ms a step": number("ms_per_step"),
    "Mcells/s": number("mcells_per_s"),
    "transforms ms": number("transforms_ms"),
    "point-wise ms": number("pointwise_ms"),
    "pack ms": number("pack_ms"),
    "messages ms": number("message_ms"),
    "MB a device": number("device_bytes", factor=1e-6),
    "% of the least time": number("share", ".3g", 100),
}
