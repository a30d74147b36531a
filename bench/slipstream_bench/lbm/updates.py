"""`slipstream bench lbm`: updates per second of an empty periodic box, and their share of the copy rate.

The copy rate is measured in the same run, right before the steps. Without options it measures a few rows that
characterise the machine within a minute or two.
"""

import argparse
import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.reader import Source, parse
from slipstream.lbm import running
from slipstream.lbm.case import LbmCase
from slipstream.machine import discovery, predict
from slipstream.run import engine

from slipstream_bench import options, record, registry
from slipstream_bench.lbm.common import travels_by
from slipstream_bench.record import Row, digits, grid_of, share_of
from slipstream_bench.whole_machine import need

#: Default numbers of cells along the side of the cube, and default precisions, if --cells or --precision is missing.
DEFAULT_CELLS = {"host": [64, 128], "cuda": [128, 256, 512]}
DEFAULT_PRECISIONS = ("f32", "f64")
#: Precisions and cubes to measure if both options are missing: the most informative rows first; none begins after a
#: time limit.
UNASKED: Mapping[str, Sequence[tuple[str, int]]] = {
    "host": [("f32", 64), ("f64", 64), ("f32", 128), ("f64", 128)],
    "cuda": [("f32", 512), ("f32", 256), ("f16", 512), ("f64", 512), ("f32", 128), ("f64", 256)],
}
UNASKED_SECONDS = 75.0
#: Seconds of steps per measurement, in several parts. The copy rate is measured before each part, because the rate
#: drifts if others use the machine. Rates are medians. The share of the copy rate is the median over all pairs of copy
#: rate and step rate.
DURATION = 2.0
PAIRS = 7
#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"mlups", "gbs", "roof_gbs", "share", "least_share", "most_share", "travels_by"})


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench lbm`."""

    backend: str
    precision: Sequence[str] | None
    cells: Sequence[int]
    devices: int
    threads: int
    lattice: str
    representation: str
    collision: str | None  #: name of the collision; None: the default for populations or moments
    streaming: str
    layout: str
    overlap: str
    grid: str  #: numbers of devices along x, y and z, such as 2x2x1; default: as the machine is partitioned

    def asked(self, backend: str) -> Sequence[tuple[str, int]]:
        """Pairs to measure: precision, and number of cells along a cube's side. Empty if the options name none."""
        if not self.precision and not self.cells:
            return ()
        cells = self.cells or DEFAULT_CELLS[backend]
        return [(precision, n) for precision in self.precision or DEFAULT_PRECISIONS for n in cells]


def _case(choice: Choice, cells: Sequence[int], precision: str, nodes: int = 1) -> LbmCase:
    data = {
        "grid": {"cells": list(cells), "periodic": [True, True, True]},
        "lbm": {
            "precision": precision,
            "lattice": choice.lattice,
            "representation": choice.representation,
            "streaming": choice.streaming,
            "layout": choice.layout,
            **({"collision": choice.collision} if choice.collision else {}),
        },
        "physics": {"viscosity": 0.05, "reference_velocity": 0.05},
        "run": {"steps": 1},
        "machine": {"backend": choice.backend, "devices_per_rank": choice.devices, "threads": choice.threads},
        "exchange": {"overlap": choice.overlap},
    }
    if choice.grid:
        data["exchange"]["device_grid" if nodes == 1 else "node_grid"] = list(options.parse_grid(choice.grid))
    return parse(data, Source("bench"))


def _counts(plan: dict[str, Any]) -> list[int]:
    return [n * d for n, d in zip(plan["partition"]["nodes"], plan["partition"]["devices"], strict=True)]


def _timed(lbm: Any, steps: int) -> float:
    """Seconds of some steps between barriers, including the wait for devices, by rank 0's clock. Collective."""
    module = core()
    module.barrier()
    began = time.perf_counter()
    lbm.advance(steps)
    module.barrier()
    return float(module.broadcast(repr(time.perf_counter() - began), 0))


def _pairs(lbm: Any, devices: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Seconds per step and the copy rate right before it, measured PAIRS times after a warm-up. Collective."""
    steps, least = 2, DURATION / PAIRS
    while (seconds := _timed(lbm, steps)) < least:
        steps = max(2 * steps, min(8 * steps, int(1.2 * least * steps / max(seconds, 1e-6))))
    return [(predict.measure_memory(devices), _timed(lbm, steps) / steps) for _ in range(PAIRS)]


def _setup(choice: Choice, machine: Any, cells: int, precision: str) -> tuple[engine.Setup, list[int]]:
    """A case with one cube per device. The device grid is that of a whole cube cut for the same machine."""
    cube = _case(choice, [cells] * 3, precision, machine.nodes)
    counts = _counts(engine.prepare(cube, machine, check_memory=False).plan)
    case = _case(choice, grid_of(cells, counts), precision, machine.nodes)
    return engine.prepare(case, machine, check_memory=False), counts


def _row(choice: Choice, machine: Any, cells: int, precision: str) -> Row:
    """Measures cell updates per second for one cube size and precision, and returns a row of the result table. Raises
    CaseError if memory is insufficient. Collective."""
    devices = len(machine.devices())
    setup, counts = _setup(choice, machine, cells, precision)
    if problem := engine.memory_problem(setup):
        raise CaseError(problem, ErrorCode.UNSUPPORTED)
    lbm = running.compiled(setup)
    roofs, seconds = zip(*_pairs(lbm, machine.devices()), strict=True)
    rate = setup.case.cell_count / statistics.median(seconds) / 1e6
    bytes_a_step = setup.case.cell_count * setup.plan["bytes_per_cell"]
    shares = [bytes_a_step / s / (1e9 * roof * devices) for roof, s in zip(roofs, seconds, strict=True)]
    return {
        "ranks": machine.ranks,
        "devices": devices,
        "split": counts,
        "cells_per_device": [cells] * 3,
        "lattice": choice.lattice,
        "representation": choice.representation,
        "collision": setup.case.lbm.collision,
        "storage": precision,
        "arithmetic": "f64" if precision == "f64" else "f32",
        "streaming": choice.streaming,
        "layout": setup.plan["layout"],
        "overlap": choice.overlap,
        "periodic": True,
        "clock": "host",
        "travels_by": travels_by(lbm.report()),
        "mlups": digits(rate),
        "gbs": digits(rate * setup.plan["bytes_per_cell"] / 1e3),
        "roof_gbs": digits(statistics.median(roofs) * devices),
        **share_of(statistics.median(shares), 1.0, bytes_a_step / devices, machine.devices()),
        "least_share": digits(min(shares)),
        "most_share": digits(max(shares)),
    }


def _unasked(choice: Choice, machine: Any, backend: str, console: Console) -> Iterator[Row]:
    """Measures the rate of lattice Boltzmann cell updates, for default precisions and cubes of cells within the limits
    on memory and time. Collective.
    """
    began = time.perf_counter()
    for precision, n in UNASKED[backend]:
        name = f"{n}^3 a device, {precision}"
        if float(core().broadcast(repr(time.perf_counter() - began), 0)) > UNASKED_SECONDS:
            console.print(f"{name}: left out for want of time; ask for it: --cells {n} --precision {precision}")
        elif engine.memory_problem(_setup(choice, machine, n, precision)[0]):
            console.print(f"{name}: left out for want of memory")
        else:
            yield _row(choice, machine, n, precision)


def _rows(choice: Choice, machine: Any, backend: str, console: Console) -> list[Row]:
    if asked := choice.asked(backend):
        return [_row(choice, machine, n, precision) for precision, n in asked]
    return [*_unasked(choice, machine, backend, console)]


def _show(choice: Choice, machine: str, rows: Sequence[Row], console: Console) -> None:
    shown = [
        (f"{row['cells_per_device'][0]}^3", row["storage"], " x ".join(map(str, row["split"])),
         f"{row['mlups']:.0f}", f"{row['gbs']:.1f}", f"{row['roof_gbs']:.1f}", f"{100 * row['share']:.1f}",
         f"{100 * row['least_share']:.0f} to {100 * row['most_share']:.0f}")
        for row in rows
    ]  # fmt: skip
    columns = ["cells a device", "precision", "devices", "MLUPS", "GB/s", "copy GB/s", "% of the copy", "of all pairs"]
    arrays = ", in place" if choice.streaming == "in_place" else ""
    collision = f" {rows[0]['collision']}" if rows else ""
    title = f"lattice Boltzmann {choice.lattice}{collision} by {choice.representation}{arrays} on {machine}"
    console.print(terminal.table(title, columns, shown, left=2))


def add_options(parser: argparse.ArgumentParser) -> None:
    options.precisions(parser, "f32 and f64; with no --cells either, f16 too on GPUs")
    options.cells(parser)
    options.devices(parser)
    options.threads(parser)
    options.method(parser)
    parser.set_defaults(collision=None)
    options.representation(parser)
    options.streaming(parser)
    parser.add_argument("--layout", choices=["auto", "soa", "aos", "soa_z"], default="auto",
                        help="memory layout of the populations")  # fmt: skip
    options.overlap(parser)
    parser.add_argument("--grid", default="", metavar="AxBxC", help="devices along x, y and z")
    parser.add_argument("--experiment", choices=registry.EXPERIMENTS, metavar="NAME",
                        help="the benchmark lbm_NAME, which has its own options")  # fmt: skip


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints updates per second; rank 0 writes. Collective."""
    choice = record.chosen(Choice, arguments)
    backend = discovery.choose_backend(choice.backend)
    need("lbm", 4, cells=choice.cells)
    machine = discovery.discover(_case(replace(choice, grid=""), [8] * 3, "f32").machine)
    if choice.grid and math.prod(options.parse_grid(choice.grid)) != len(machine.devices()):
        raise CaseError(
            f"bench lbm: --grid {choice.grid}: there are {len(machine.devices())} devices",
            ErrorCode.MISMATCH,
            option="grid",
            devices=len(machine.devices()),
        )
    rows = _rows(choice, machine, backend, console)
    _show(choice, machine.name, rows, console)
    record.keep(arguments.folder, "lbm", record.describe_machine(machine), rows, FIGURES, console)
