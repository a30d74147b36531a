"""Velocity and pressure at points: receivers.csv, profiles.csv, planes.csv, published cavities."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slipstream.flow.reference import Reference
from slipstream.run.troubles import Troubles
from slipstream.sem.flow.case import FlowCase
from slipstream.sem.receivers import probe, write_table

if TYPE_CHECKING:
    from slipstream._sem import Flow, Probe

#: Columns of receivers.csv: name, field of the solver's state and its component.
COLUMNS = {"u": ("velocity", 0), "v": ("velocity", 1), "w": ("velocity", 2), "p": ("pressure", 0)}
#: Columns of planes.csv after the position: means over a plane of velocities u, v, w, pressure p and products of
#: velocities.
OF_PLANES = (*COLUMNS, "uu", "vv", "ww", "uv", "uw", "vw")


def values(engine: "Flow", there: "Probe") -> dict[str, Sequence[float]]:
    return {name: engine.at(there, *of) for name, of in COLUMNS.items()}


def columns(names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Columns of receivers.csv, each with its field and the number of its receiver."""
    return {f"{name}.{part}": (part, n) for n, name in enumerate(names) for part in COLUMNS}


def write_planes(engine: "Flow", case: FlowCase, troubles: Troubles) -> None:
    """Writes planes.csv: means over planes of points across an axis. Collective."""
    axis = case.output.planes
    if axis is not None:
        table = [[f"{value:.17g}" for value in row] for row in engine.planes("xyz".index(axis))]
        write_table(engine, case, troubles, "planes.csv", [axis, *OF_PLANES], table)


def from_published(engine: "Flow", case: FlowCase, reference: Reference) -> float:
    """Largest error of the velocity at the points of a published cavity, in percent of the lid speed. Collective."""
    largest = 0.0
    for line in reference.lines:
        across, part = (1, 0) if line.name == "u_of_y" else (0, 1)
        places = np.tile(np.array(case.sem.lengths) / 2, (len(line.place), 1))
        places[:, across] = line.place * case.sem.lengths[across]
        found = np.asarray(engine.at(probe(engine, places, "output.reference"), "velocity", part))
        largest = max(largest, float(np.abs(found - line.value).max()))
    return 100 * largest
