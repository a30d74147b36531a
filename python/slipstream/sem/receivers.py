"""Writes u and further scalars at points: receivers.csv over time, profiles.csv along lines at the end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slipstream.base import rows
from slipstream.base.core import as_case_error, core
from slipstream.case.solver import Monitor
from slipstream.run.plain import History
from slipstream.run.troubles import Troubles
from slipstream.sem.case import SemCase
from slipstream.sem.tables import SemReceiverTable

if TYPE_CHECKING:
    from slipstream._sem import Flow, Probe, Sem

Array = np.ndarray


def along(one: SemReceiverTable) -> Array:
    """Coordinates of the points along a receiver that is a line, [point][x y z]."""
    assert one.to is not None
    return np.linspace(one.at, one.to, one.points)


def probe(engine: "Sem | Flow", points: Array, key: str) -> "Probe":
    """Locates points in the elements, and returns the object that evaluates fields there. Raises CaseError with the key
    if a point is in no element. Collective."""
    with as_case_error(key):
        return engine.probe([(float(x), float(y), float(z)) for x, y, z in points])


def monitors(engine: "Sem", case: SemCase, goes_on: bool) -> Sequence[Monitor]:
    """Monitor of receivers.csv, if some receivers are single points. All points are located before the first step."""
    for name, one in case.receivers.items():
        probe(engine, np.array([one.at]) if one.to is None else along(one), f"receivers.{name}")
    names = [name for name, one in case.receivers.items() if one.to is None]
    if not names:
        return []
    there = probe(engine, np.array([case.receivers[name].at for name in names]), "receivers")
    path = case.folder / "receivers.csv"
    columns = {"u": names, **{scalar: [f"{name} {scalar}" for name in names] for scalar in case.sem.scalars}}
    history = History(path, engine, case, goes_on, [column for all_of in columns.values() for column in all_of])

    def take() -> None:
        found: dict[str, float] = {}
        for field, of_field in columns.items():
            found |= zip(of_field, engine.at(there, field), strict=True)
        history.add({name: f"{value:.17g}" for name, value in found.items()})

    return [Monitor(path, take, at_start=True)]


def write_profiles(engine: "Sem", case: SemCase, troubles: Troubles) -> None:
    """Writes profiles.csv: line, point, distance along the line, coordinates, u and further scalars. Collective."""
    table: list[list[str]] = []
    fields = ["u", *case.sem.scalars]
    for name, one in case.receivers.items():
        if one.to is None:
            continue
        points = along(one)
        there = probe(engine, points, f"receivers.{name}")
        values = [engine.at(there, field) for field in fields]
        far = np.linalg.norm(points - points[0], axis=1)
        columns = zip(far, *points.T, *values, strict=True)
        table += [[name, *(f"{value:.17g}" for value in row)] for row in columns]
    if table and core().rank() == 0:
        path = case.folder / "profiles.csv"
        with troubles.with_data(path, "it", engine.step):
            rows.replace(path, ["line", "along", "x", "y", "z", *fields], table)
