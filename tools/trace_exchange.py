"""Records streams, host and messages of exchanges between two ranks with one device each, by one route after another.

Usage: python tools/trace_exchange.py [--routes direct staged] [--cells 128] [--dtype f32] [--coding raw cast]
       [--backend cuda] [--folder bench/results]
Writes FOLDER/trace/ROUTE-rank0.json and ROUTE-rank1.json (Chrome traces), and ROUTE.png with two exchanges from the
middle. With a coding the names are ROUTE-CODING. Prints the minimum time of each kind of work: `send` packs and
`receive` unpacks.
"""

import argparse
import ctypes
import itertools
import json
import math
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import slipstream as slip
from slipstream.base.core import core, launched_size
from slipstream.base.errors import CaseError
from slipstream.base.registry import benchmarks
from slipstream.machine import start
from slipstream.pictures import timeline

record = benchmarks("record")

RANKS = 2
QUANTITIES = 4
RADIUS = 3
#: Number of exchanges that are traced; the middle ones are shown, because the first ones load kernels.
EXCHANGES = 9


def gpu_array(shape: tuple[int, ...], dtype: str, device: int) -> Any:
    """Array in GPU memory that is kept until the process ends."""
    words = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    runtime = ctypes.CDLL(next(word for word in words if "/libcudart.so" in word))
    pointer = ctypes.c_void_p()
    if runtime.cudaSetDevice(device) or runtime.cudaMalloc(
        ctypes.byref(pointer), ctypes.c_size_t(np.dtype(dtype).itemsize * math.prod(shape))
    ):
        raise CaseError(f"GPU {device} has no room for an array of {shape} {dtype} values")
    interface = {"data": (pointer.value, False), "shape": shape, "typestr": f"<{dtype}", "version": 3}
    return SimpleNamespace(__cuda_array_interface__=interface)


def exchange(route: str, coding: str, asked: argparse.Namespace) -> slip.Exchange:
    """Makes a halo exchange between cubes of cells that lie side by side in x, in a periodic box."""
    cells, dtype = asked.cells, f"f{int(asked.dtype[1:]) // 8}"
    grid = slip.Grid((RANKS * cells, cells, cells), periodic=(True,) * 3, backend=asked.backend, devices_per_rank=1)
    shape = grid.array_shape(RADIUS, layout=grid.suited_layout)
    device = grid.local[0].device_index
    arrays = {
        f"q{n}": np.zeros(shape, dtype) if grid.backend == "host" else gpu_array(shape, dtype, device)
        for n in range(QUANTITIES)
    }
    how = {"layout": grid.suited_layout, "routes": ["kernel", route], "coding": coding}
    return slip.Exchange(grid, arrays, RADIUS, trace=True, **how)


def fastest(file: Path) -> str:
    """Text with the least time of each kind of work on streams, in microseconds, from a trace."""
    times: dict[str, float] = {}
    for event in json.loads(file.read_text(encoding="utf-8"))["traceEvents"]:
        if event.get("cat") in ("kernel", "copy"):
            times[event["name"]] = min(event["dur"], times.get(event["name"], math.inf))
    return ", ".join(f"{name} {time:.1f}" for name, time in times.items())


def recorded(route: str, coding: str, asked: argparse.Namespace) -> list[Path]:
    """Writes the traces of an exchange by one route, and their picture. Collective; returns the files."""
    module = core()
    folder = asked.folder / "trace"
    halo = exchange(route, coding, asked)
    for _ in range(EXCHANGES):
        halo.begin()
        halo.end()
    halo.write_trace(folder)
    build = module.build_info()
    told = {
        "machine": record.describe_machine(halo.grid.machine)["name"],
        "commit": build["commit"],
        "date": date.today().isoformat(),
        "route": route,
        "coding": coding,
        "cells_per_device": [asked.cells] * 3,
        "quantities": QUANTITIES,
        "dtype": asked.dtype,
        "radius": RADIUS,
        "exchanges": EXCHANGES,
    }
    name = route if coding == "raw" else f"{route}-{coding.replace(' ', '-')}"
    own = folder / f"rank{module.rank()}.json"
    # The trace file keeps one line per event, and gets metadata for trace viewers.
    text = own.read_text(encoding="utf-8").replace("{", f'{{"otherData": {json.dumps(told)},\n', 1)
    (folder / f"{name}-{own.name}").write_text(text.rstrip() + "\n", encoding="utf-8")
    own.unlink()
    module.barrier()
    files = [folder / f"{name}-rank{rank}.json" for rank in range(RANKS)]
    picture = folder / f"{name}.png"
    if module.rank() == 0:
        title = (
            f"Two exchanges by the route {name}: {asked.cells}³ cells a device, {QUANTITIES} {asked.dtype} quantities, "
            f"radius {RADIUS}, {told['machine']}"
        )
        timeline.trace(files, picture, title, "send", 2)
        print(f"{name}: at least {fastest(files[0])} us")
    return [*files, picture]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--routes", nargs="+", default=["direct", "staged"])
    parser.add_argument("--cells", type=int, default=128, help="cells along each axis of a device's cube")
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32", help="type of the quantities")
    parser.add_argument("--coding", nargs="+", default=["raw"], help="coding of messages, as in bench exchange")
    parser.add_argument("--backend", choices=["auto", "host", "cuda"], default="auto")
    parser.add_argument("--folder", type=Path, default=Path("bench/results"))
    arguments = parser.parse_args(words)
    if launched_size() is None:
        return start.start(RANKS, words, [__file__])
    if core().size() != RANKS:
        raise CaseError(f"started on {core().size()} ranks: this takes {RANKS}")
    for route, coding in itertools.product(arguments.routes, arguments.coding):
        for path in recorded(route, coding, arguments):
            if core().rank() == 0:
                print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
