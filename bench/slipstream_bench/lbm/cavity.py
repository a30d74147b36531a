"""`slipstream bench cavity`: the lid-driven cavity compared with published results."""

import argparse
import time
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from slipstream.base.core import core
from slipstream.lbm.simulation import Simulation

from slipstream_bench import options, record


@dataclass(frozen=True)
class Flow:
    """A cavity flow to compute: number of cells, Reynolds number, number format and end criterion."""

    cells: tuple[int, int, int]
    reynolds: int
    precision: str
    time_units: int  #: latest end of the run, in units of length / reference velocity
    steady: float  #: residual below which the run counts as steady and ends
    lid_speed: float | None = None


SQUARES = tuple(Flow((128, 128, 1), reynolds, "f64", 80, 1e-5, 0.1) for reynolds in (100, 400, 1000))


def cube(side: int, precision: str) -> Flow:
    """Case of the cavity at Re 1000. The lid velocity is scaled with the cell size, so that compressibility errors fall
    with the grid error.
    """
    return Flow((side, side, side), 1000, precision, 80, 1e-5)


def _figures(flow: Flow, run: Simulation) -> dict[str, Any]:
    mass = run.mass
    began = time.perf_counter()
    outcome = run.run(until=flow.time_units, steady=flow.steady, quiet=True)
    seconds = time.perf_counter() - began
    drift = run.mass / mass - 1
    result, spanwise = run.compare(), run.spanwise()
    inputs: dict[str, Any] = {
        "ranks": core().size(),
        "devices": len(run.machine.devices()),
        "backend": run.machine.devices()[0]["backend"],
        "cells": list(flow.cells),
        "lattice": run.case.lbm.lattice,
        "collision": run.case.lbm.collision,
        "precision": flow.precision,
        "reynolds": flow.reynolds,
        "lid_speed": run.case.scales.reference_velocity,
    }
    if result is None or result.reference is None or spanwise is None:
        return inputs
    extrema = {
        f"{entry.name}_error_percent": record.digits(entry.error_percent)
        for entry in result.extrema
        if entry.error_percent is not None
    }
    return inputs | {
        "reference": result.reference.name,
        "steps": outcome.steps,
        "residual": record.digits(outcome.residual or 0.0),
        "points": len(result.points),
        "largest_error_percent_of_lid_speed": record.digits(result.largest_percent or 0.0),
        **extrema,
        "spanwise_percent_of_lid_speed": record.digits(100 * spanwise),
        "mass_drift": record.digits(drift),
        "seconds": record.digits(seconds),
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    options.precisions(parser, "f32")
    options.cells(parser, "cubes of N^3 cells in all (default: 64)")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Runs the cavity as a square at Re 100, 400 and 1000 and as a cube at Re 1000, and prints errors; rank 0 writes.
    Collective."""
    precisions = arguments.precision or ["f32"]
    flows = [*SQUARES, *(cube(side, precision) for side in arguments.cells or [64] for precision in precisions)]
    rows, machine = [], None
    for flow in flows:
        kind = {"precision": flow.precision, "backend": arguments.backend}
        simulation = Simulation(flow.cells, flow.reynolds, flow.lid_speed, **kind)
        row, machine = _figures(flow, simulation), simulation.machine
        rows.append(row)
        console.print(
            f"{' x '.join(map(str, flow.cells))} Re {flow.reynolds} {flow.precision}: largest error "
            f"{row.get('largest_error_percent_of_lid_speed', '-')} % of the lid speed, {row.get('steps', '-')} steps"
        )
    record.keep(arguments.folder, "cavity", record.describe_machine(machine), rows, FIGURES, console)


#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"steps", "residual", "largest_error_percent_of_lid_speed", "u_min_error_percent", "v_min_error_percent"}
    | {"v_max_error_percent", "spanwise_percent_of_lid_speed", "mass_drift", "seconds"}
)
