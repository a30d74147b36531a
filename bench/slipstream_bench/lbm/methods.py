"""`slipstream bench lbm_methods`: cost of a collision, a lattice, an LES model, a force and boundaries.

Fluid cell updates per second on one device, relative to TRT on D3Q19 in an empty periodic box in the same run. D2Q9 has
a square with about as many cells as the cube of others.
"""

import argparse
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.case.reader import Source, parse
from slipstream.lbm import running
from slipstream.lbm.case import LbmCase
from slipstream.machine import discovery
from slipstream.run import engine

from slipstream_bench import options, record
from slipstream_bench.lbm import solids
from slipstream_bench.lbm.common import any_case
from slipstream_bench.record import Row
from slipstream_bench.whole_machine import need

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"time_ms", "mlups", "gbs", "to_trt_d3q19"})
LATTICES: Mapping[str, Sequence[str]] = {
    "D2Q9": ("SRT", "TRT", "MRT"),
    "D3Q19": ("SRT", "TRT", "MRT"),
    "D3Q27": ("SRT", "TRT", "MRT", "cumulant"),
}
EMPTY = "periodic"
BALL = "interpolated ball of 5 %"
INLET = {"kind": "velocity", "velocity": [1.0, 0.0, 0.0]}
#: Kinds of boxes: periodic axes, and the boundary conditions on the sides across x.
SIDES: Mapping[str, tuple[list[bool], dict[str, Any]]] = {
    EMPTY: ([True, True, True], {}),
    "half-way walls": ([False, False, False], {}),
    "velocity inlet, pressure outlet": ([False, True, True], {"x-": INLET, "x+": {"kind": "pressure"}}),
    "velocity inlet, convective outlet": ([False, True, True], {"x-": INLET, "x+": {"kind": "convective"}}),
    BALL: ([True, True, True], {}),
}
SHARE, SMAGORINSKY, FORCE = 0.05, 0.1, 1e-6
#: Default number of cells along the side of the cube, by backend. Next are numbers of steps, few on a host, and of
#: repeats, of which the least time counts.
CELLS = {"host": 64, "cuda": 256}
STEPS = {"host": 20, "cuda": 200}
REPEATS = 10
#: Number of rounds of all measurements, of which the fastest counts, because the load of a shared host varies.
ROUNDS = {"host": 8, "cuda": 1}


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench lbm_methods`."""

    backend: str
    threads: int
    cells: int | None  #: number of cells along the side of the cube; None: depends on the backend
    precision: str


@dataclass(frozen=True)
class Method:
    """A lattice Boltzmann method to measure in one row: lattice, collision, kind of box, LES model and force."""

    lattice: str = "D3Q19"
    collision: str = "TRT"
    box: str = EMPTY
    eddies: bool = field(default=False, kw_only=True)
    force: bool = field(default=False, kw_only=True)


#: The method with which all others are compared.
BASE = Method()


def methods() -> Iterator[Method]:
    """Lists each collision on each of its lattices: plain, with an LES model and with a force; then boxes with
    boundaries.
    """
    for lattice, collisions in LATTICES.items():
        for collision in collisions:
            yield Method(lattice, collision)
            yield Method(lattice, collision, eddies=True)
            yield Method(lattice, collision, force=True)
    yield from (Method(box=box) for box in SIDES if box != EMPTY)


def grid(method: Method, side: int) -> list[int]:
    """Extents of a cube of cells. For D2Q9 it is a square with nearly as many cells, whose edge is a multiple of 32."""
    if method.lattice != "D2Q9":
        return [side] * 3
    return [32 * max(1, round(side**1.5 / 32))] * 2 + [1]


def case_of(choice: Choice, method: Method, side: int) -> LbmCase:
    cells = grid(method, side)
    periodic, sides = SIDES[method.box]
    data: dict[str, Any] = {
        "grid": {"cells": cells, "periodic": periodic},
        "lbm": {"precision": choice.precision, "lattice": method.lattice, "collision": method.collision},
        "physics": {"viscosity": 0.05, "reference_velocity": 0.05, "length": float(side)},
        "boundaries": sides,
        "run": {"steps": 1},
        "machine": {"backend": choice.backend, "threads": choice.threads, "devices_per_rank": 1},
    }
    if method.eddies:
        data["lbm"]["smagorinsky"] = SMAGORINSKY
    if method.force:
        data["physics"]["force"] = [FORCE, 0.0, 0.0]
    if method.box == BALL:
        radius = side * (3.0 * SHARE / (4.0 * math.pi)) ** (1.0 / 3.0)
        data["bodies"] = {"ball": {"shape": "sphere", "centre": [side / 2.0] * 3, "radius": radius}}
    return parse(data, Source("bench"))


def measure(choice: Choice, method: Method, side: int, backend: str) -> Row:
    """Measures steps of one method, and returns its row."""
    case = case_of(choice, method, side)
    setup = engine.prepare(case, discovery.discover(case.machine))
    lbm = running.compiled(setup)
    steps, seconds = STEPS[backend], float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        lbm.advance(steps)
        seconds = min(seconds, time.perf_counter() - began)
    rate = lbm.fluid_cells() * steps / seconds / 1e6
    return {
        "ranks": 1,
        "devices": 1,
        "experiment": "methods",
        "box": method.box,
        "cells_per_device": list(case.grid.cells),
        "lattice": method.lattice,
        "collision": method.collision,
        "eddies": method.eddies,
        "force": method.force,
        "storage": choice.precision,
        "arithmetic": "f64" if choice.precision == "f64" else "f32",
        "steps": steps,
        "repeats": REPEATS,
        "rounds": ROUNDS[backend],
        "clock": "host",
        "time_ms": record.digits(1e3 * seconds),
        "mlups": record.digits(rate),
        "gbs": record.digits(rate * setup.plan["bytes_per_cell"] / 1e3),
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    options.precision(parser, "f32", ("f16", "f32", "f64"))
    options.one_cube(parser, "a cube of N^3 cells, 8 or more along a side")
    options.threads(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures time steps of all lattice Boltzmann methods (by lattice, collision model and further terms), prints a
    table, and writes the result file. Uses one rank with one device."""
    choice = record.chosen(Choice, arguments)
    solids.check_ranks("lbm_methods")
    backend = discovery.choose_backend(choice.backend)
    side = CELLS[backend] if choice.cells is None else choice.cells
    need("lbm_methods", 8, cells=side)
    found = list(methods())
    rounds = [[measure(choice, method, side, backend) for method in found] for _ in range(ROUNDS[backend])]
    rows = [min(same, key=lambda row: row["time_ms"]) for same in zip(*rounds, strict=True)]
    base = rows[found.index(BASE)]["mlups"]
    for row in rows:
        row["to_trt_d3q19"] = record.digits(row["mlups"] / base)
    machine = discovery.discover(any_case(choice, 1).machine)
    console.print(_table(choice, machine.name, rows))
    record.keep(arguments.folder, "lbm_methods", record.describe_machine(machine), rows, FIGURES, console)


def _table(choice: Choice, machine: str, rows: Sequence[Row]) -> Any:
    def yes(value: bool) -> str:
        return "yes" if value else "-"

    lines = [
        (row["box"], terminal.show_extent(row["cells_per_device"]), row["lattice"], row["collision"],
         yes(row["eddies"]), yes(row["force"]), f"{row['mlups']:.4g}", f"{row['gbs']:.4g}",
         f"{row['to_trt_d3q19']:.3f}")
        for row in rows
    ]  # fmt: skip
    columns = ["box", "cells", "lattice", "collision", "eddies", "force", "MLUPS", "GB/s", "to TRT, D3Q19"]
    title = f"methods, {choice.precision} on {machine}: {rows[0]['steps']} steps, the smallest of {rows[0]['repeats']} "
    return terminal.table(title + "times", columns, lines, left=6)
