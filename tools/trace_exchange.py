"""Records what streams, host and messages do in exchanges of two ranks, a device each, by one route after another.

Usage: python tools/trace_exchange.py [--routes direct staged] [--cells 128] [--backend cuda] [--folder bench/results]
Writes FOLDER/trace/ROUTE-rank0.json, ROUTE-rank1.json (Chrome traces) and ROUTE.png, two exchanges from the middle.
"""

import argparse
import ctypes
import json
import math
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import slipstream as ss
from slipstream.base.core import core, launched_size
from slipstream.base.errors import CaseError
from slipstream.bench import record
from slipstream.machine import start
from slipstream.pictures import timeline

RANKS = 2
QUANTITIES = 4
RADIUS = 3
#: Of which the middle ones are shown: the first load kernels.
EXCHANGES = 9


def gpu_array(shape: tuple[int, ...], device: int) -> Any:
    """Room for f32 values in the memory of a GPU, kept until the process ends."""
    words = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    runtime = ctypes.CDLL(next(word for word in words if "/libcudart.so" in word))
    pointer = ctypes.c_void_p()
    if runtime.cudaSetDevice(device) or runtime.cudaMalloc(
        ctypes.byref(pointer), ctypes.c_size_t(4 * math.prod(shape))
    ):
        raise CaseError(f"GPU {device} has no room for an array of {shape} f32 values")
    interface = {"data": (pointer.value, False), "shape": shape, "typestr": "<f4", "version": 3}
    return SimpleNamespace(__cuda_array_interface__=interface)


def exchange(route: str, cells: int, backend: str) -> ss.Exchange:
    """Cubes of cells, periodic, side by side in x."""
    grid = ss.Grid((RANKS * cells, cells, cells), periodic=(True,) * 3, backend=backend, devices_per_rank=1)
    shape = grid.array_shape(RADIUS, layout=grid.suited_layout)
    device = grid.local[0]["device_index"]
    arrays = {
        f"q{n}": np.zeros(shape, np.float32) if grid.backend == "host" else gpu_array(shape, device)
        for n in range(QUANTITIES)
    }
    return ss.Exchange(grid, arrays, RADIUS, layout=grid.suited_layout, routes=["kernel", route], trace=True)


def recorded(route: str, cells: int, backend: str, folder: Path) -> list[Path]:
    """Writes the traces and the picture of a route. Collective; returns what there is now."""
    module = core()
    halo = exchange(route, cells, backend)
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
        "cells_per_device": [cells] * 3,
        "quantities": QUANTITIES,
        "dtype": "f32",
        "radius": RADIUS,
        "exchanges": EXCHANGES,
    }
    own = folder / f"rank{module.rank()}.json"
    # A line an event, as it was, with what the viewers show as metadata.
    text = own.read_text(encoding="utf-8").replace("{", f'{{"otherData": {json.dumps(told)},\n', 1)
    (folder / f"{route}-{own.name}").write_text(text.rstrip() + "\n", encoding="utf-8")
    own.unlink()
    module.barrier()
    files = [folder / f"{route}-rank{rank}.json" for rank in range(RANKS)]
    picture = folder / f"{route}.png"
    if module.rank() == 0:
        title = (
            f"Two exchanges by the route {route}: {cells}³ cells a device, {QUANTITIES} f32 quantities, radius "
            f"{RADIUS}, {told['machine']}"
        )
        timeline.trace(files, picture, title, "send", 2)
    return [*files, picture]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--routes", nargs="+", default=["direct", "staged"])
    parser.add_argument("--cells", type=int, default=128, help="of the cube of a device, along each axis")
    parser.add_argument("--backend", choices=["auto", "host", "cuda"], default="auto")
    parser.add_argument("--folder", type=Path, default=Path("bench/results"))
    arguments = parser.parse_args(words)
    if launched_size() is None:
        return start.start(RANKS, words, [__file__])
    if core().size() != RANKS:
        raise CaseError(f"started on {core().size()} ranks: this takes {RANKS}")
    for route in arguments.routes:
        for path in recorded(route, arguments.cells, arguments.backend, arguments.folder / "trace"):
            if core().rank() == 0:
                print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
