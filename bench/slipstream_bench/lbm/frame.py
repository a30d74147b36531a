"""`slipstream bench lbm_frame`: the width of the boundary region that waits for halos, in 14 scenarios.

Shuxin Zheng: Vectorization and communication based optimizations for waLBerla, 2023, 2.1: table 2.2, whose
innerOuterSplit is `exchange.rim` here. Its speed-ups are relative to the step without overlap, on 8 to 128 nodes. Here
every axis is cut, if necessary within a device, so that each width matters. The report has a slow network:
--throttle simulates its rate for messages, which the host then sends (`staged`).
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.reader import Source, parse
from slipstream.lbm import running
from slipstream.lbm.case import LbmCase
from slipstream.machine import discovery
from slipstream.run import engine

from slipstream_bench import charts, options, record
from slipstream_bench.exchange_setups import device_grid
from slipstream_bench.lbm import common
from slipstream_bench.lbm.common import any_case, devices_here, smallest_time_within, travels_by
from slipstream_bench.record import Row
from slipstream_bench.whole_machine import need

Triple = tuple[int, int, int]

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"repeats", "time_ms", "mlups", "speedup", "travels_by"})
NODES = (8, 16, 32, 64, 128)
#: Widths of boundary regions along x, y and z (None: no overlap), and the published speed-up by number of nodes (Zheng
#: 2023, table 2.2).
SCENARIOS: Sequence[tuple[Triple | None, tuple[float, ...]]] = (
    (None, (1.0, 1.0, 1.0, 1.0, 1.0)),
    ((1, 1, 1), (1.27, 1.18, 1.10, 1.30, 0.93)),
    ((4, 1, 1), (1.28, 1.23, 1.11, 1.27, 0.98)),
    ((8, 1, 1), (1.29, 1.25, 1.24, 1.31, 1.01)),
    ((16, 1, 1), (1.37, 1.35, 1.30, 1.22, 1.18)),
    ((32, 1, 1), (1.28, 1.27, 1.29, 1.29, 1.0)),
    ((4, 4, 1), (1.29, 1.23, 1.33, 1.28, 1.04)),
    ((8, 8, 1), (1.32, 1.28, 1.33, 1.26, 0.99)),
    ((16, 16, 1), (1.32, 1.31, 1.34, 1.33, 1.40)),
    ((32, 32, 1), (1.17, 1.17, 1.21, 1.25, 1.24)),
    ((4, 4, 4), (1.29, 1.24, 1.25, 1.29, 1.05)),
    ((8, 8, 8), (1.31, 1.30, 1.35, 1.35, 1.22)),
    ((16, 16, 16), (1.25, 1.24, 1.29, 1.33, 1.32)),
    ((32, 32, 32), (1.22, 1.12, 1.13, 1.13, 1.10)),
)
#: Default sides of a device's cube in cells, by backend.
CELLS = {"host": [32], "cuda": [128, 256]}


@dataclass(frozen=True)
class Choice(common.Choice):
    """Options of `slipstream bench lbm_frame`, with those of the simulated network."""

    throttle: str

    def exchange(self) -> dict[str, Any]:
        """Keys of [exchange] for the simulated network, and columns of a row that name it."""
        return {} if self.throttle == "none" else {"throttle": self.throttle}


def blocks_of(grid: Triple) -> Triple:
    """Number of blocks per device, along axes that are not cut between devices."""
    x, y, z = (2 if count == 1 else 1 for count in grid)
    return x, y, z


def case_of(choice: Choice, cells: int, grid: Triple, nodes: int, rim: Triple | None) -> LbmCase:
    """A case with one periodic cube per device."""
    # On one node the device grid is the requested one; for several nodes the rules of partition choose it.
    cut = {"device_grid": list(grid)} if nodes == 1 else {}
    data: dict[str, Any] = {
        "grid": {"cells": record.grid_of(cells, grid), "periodic": [True] * 3},
        "lbm": common.method_keys(choice),
        "physics": {"viscosity": 0.05, "reference_velocity": 0.05},
        "run": {"steps": 1},
        "machine": {"backend": choice.backend, "threads": choice.threads},
        "exchange": {"blocks_per_device": list(blocks_of(grid)), "overlap": "on" if rim else "off"} | cut,
    }
    data["exchange"] |= choice.exchange()
    if rim:
        data["exchange"]["rim"] = list(rim)
    return parse(data, Source("bench"))


def measure(choice: Choice, machine: Any, grid: Triple, cells: int) -> list[Row]:
    """Measures time steps with each tested width of the boundary region (cells of a block that wait for halos), for one
    size of the cube. Collective."""
    rows = []
    for scenario, (rim, paper) in enumerate(SCENARIOS, 1):
        case = case_of(choice, cells, grid, machine.nodes, rim)
        lbm = running.compiled(engine.prepare(case, machine))
        seconds, repeats = smallest_time_within(lbm, common.ENOUGH)
        rows.append(
            {
                "ranks": machine.ranks,
                "devices": len(machine.devices()),
                "nodes": machine.nodes,
                "experiment": "frame",
                "scenario": scenario,
                "overlap": "on" if rim else "off",
                "rim": list(rim) if rim else None,
                "cells_per_device": [cells] * 3,
                "blocks_per_device": list(blocks_of(grid)),
                **common.method(choice),
                **choice.exchange(),
                "periodic": True,
                "steps": common.STEPS,
                "repeats": repeats,
                "clock": "host",
                "travels_by": travels_by(lbm.report()),
                "time_ms": record.digits(1e3 * seconds),
                "mlups": record.digits(case.cell_count * common.STEPS / seconds / 1e6),
                "speedup": record.digits(rows[0]["time_ms"] / (1e3 * seconds)) if rows else 1.0,
                **{f"paper_speedup_{nodes}_nodes": value for nodes, value in zip(NODES, paper, strict=True)},
            }
        )
    return rows


def add_options(parser: argparse.ArgumentParser) -> None:
    common.add_options(parser)
    options.throttle(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures time steps for several widths of the blocks' boundary region, which is updated apart from the interior.
    Prints a table; rank 0 writes results. Collective."""
    module, choice = core(), record.chosen(Choice, arguments)
    backend = discovery.choose_backend(choice.backend)
    machine = discovery.discover(any_case(choice, choice.devices or devices_here(backend, module.size())).machine)
    devices = len(machine.devices())
    if devices < 2:
        raise CaseError("bench lbm_frame: needs two devices; take --devices 2, or -n 2", ErrorCode.UNSUPPORTED, limit=2)
    cells = choice.cells or CELLS[backend]
    need("lbm_frame", 8, cells=cells)
    grid = device_grid(devices)
    sizes = {n: measure(choice, machine, grid, n) for n in cells}
    rows = [row for found in sizes.values() for row in found]
    console.print(_table(choice, machine.name, rows))
    described = record.describe_machine(machine)
    record.keep(
        arguments.folder, "lbm_frame", described, rows, FIGURES, console, lambda path, name: picture(path, name, sizes)
    )


def name_of(rim: Sequence[int] | None) -> str:
    return ", ".join(map(str, rim)) if rim else "none"


def picture(path: Path, machine: str, sizes: dict[int, list[Row]]) -> None:
    """Draws the speed-up by overlap of exchange and computation, by width of the boundary region. Circles show that of
    Zheng 2023 on the smallest published number of nodes."""
    places = [name_of(rim).replace(", ", "\n") for rim, _ in SCENARIOS]
    lines = {f"{n}^3 a device": (places, [row["speedup"] for row in rows]) for n, rows in sizes.items()}
    marks = {f"Zheng 2023, {NODES[0]} nodes": (places, [paper[0] for _, paper in SCENARIOS])}
    charts.categories(
        path, f"width of the rim: {machine}", "rim along x, y, z", "speed-up over no overlap", lines, marks
    )


def _table(choice: Choice, machine: str, rows: Sequence[Row]) -> Any:
    lines = [
        (f"{row['cells_per_device'][0]}^3", str(row["scenario"]), name_of(row["rim"]), f"{row['time_ms']:.4g}",
         f"{row['mlups']:.4g}", f"{row['speedup']:.3f}",
         *(f"{row[f'paper_speedup_{nodes}_nodes']:.2f}" for nodes in NODES))
        for row in rows
    ]  # fmt: skip
    columns = ["cells a device", "", "rim", "ms", "MLUPS", "speed-up", *(f"Zheng, {n} nodes" for n in NODES)]
    title = f"frame, {choice.lattice} {choice.collision} {choice.precision} on {machine}: "
    return terminal.table(
        title + f"{common.STEPS} steps, the smallest of at most {common.REPEATS} times",
        columns,
        lines,
        left=3,
    )
