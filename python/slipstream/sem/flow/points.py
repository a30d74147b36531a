"""Velocity and pressure at points: receivers.csv, profiles.csv, planes.csv, published cavities."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slipstream.base import rows
from slipstream.base.core import core
from slipstream.case.solver import Monitor
from slipstream.flow.reference import Reference
from slipstream.run.plain import History
from slipstream.run.troubles import Troubles
from slipstream.sem.flow.case import FlowCase
from slipstream.sem.receivers import along, probe

if TYPE_CHECKING:
    from slipstream._sem import Flow, Probe

Array = np.ndarray
#: Columns of receivers.csv: name, field of the solver's state and its component.
COLUMNS = {"u": ("velocity", 0), "v": ("velocity", 1), "w": ("velocity", 2), "p": ("pressure", 0)}
#: Columns of planes.csv after the position: means over a plane of velocities u, v, w, pressure p and products of
#: velocities.
OF_PLANES = (*COLUMNS, "uu", "vv", "ww", "uv", "uw", "vw")


def _values(engine: "Flow", there: "Probe") -> dict[str, Array]:
    return {name: np.asarray(engine.at(there, *of)) for name, of in COLUMNS.items()}


def monitors(engine: "Flow", case: FlowCase, goes_on: bool) -> Sequence[Monitor]:
    """Monitor of receivers.csv, if some receivers are single points. All points are located before the first step."""
    for name, one in case.receivers.items():
        probe(engine, np.array([one.at]) if one.to is None else along(one), f"receivers.{name}")
    names = [name for name, one in case.receivers.items() if one.to is None]
    if not names:
        return []
    there = probe(engine, np.array([case.receivers[name].at for name in names]), "receivers")
    path = case.folder / "receivers.csv"
    history = History(path, engine, case, goes_on, [f"{name}.{part}" for name in names for part in COLUMNS])

    def take() -> None:
        found: Mapping[str, Array] = _values(engine, there)
        history.add({f"{name}.{part}": f"{found[part][n]:.17g}" for n, name in enumerate(names) for part in COLUMNS})

    return [Monitor(path, take, at_start=True)]


def write_profiles(engine: "Flow", case: FlowCase, troubles: Troubles) -> None:
    """Writes profiles.csv: line, point, distance along the line, coordinates, velocity and pressure. Collective."""
    table: list[list[str]] = []
    for name, one in case.receivers.items():
        if one.to is None:
            continue
        points = along(one)
        values = _values(engine, probe(engine, points, f"receivers.{name}"))
        far = np.linalg.norm(points - points[0], axis=1)
        columns = zip(far, *points.T, *values.values(), strict=True)
        table += [[name, *(f"{value:.17g}" for value in row)] for row in columns]
    if table and core().rank() == 0:
        path = case.folder / "profiles.csv"
        with troubles.with_data(path, "it", engine.step):
            rows.replace(path, ["line", "along", "x", "y", "z", *COLUMNS], table)


def write_planes(engine: "Flow", case: FlowCase, troubles: Troubles) -> None:
    """Writes planes.csv: means over planes of points across an axis. Collective."""
    axis = case.output.planes
    if axis is None:
        return
    found = engine.planes("xyz".index(axis))
    if core().rank() == 0:
        path = case.folder / "planes.csv"
        with troubles.with_data(path, "it", engine.step):
            rows.replace(path, [axis, *OF_PLANES], [[f"{value:.17g}" for value in row] for row in found])


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
