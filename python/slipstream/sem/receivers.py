"""Writes fields at points: receivers.csv over time, profiles.csv along lines at the end."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slipstream.base import rows
from slipstream.base.core import as_case_error, core
from slipstream.case.solver import Monitor
from slipstream.run.plain import history
from slipstream.run.troubles import Troubles
from slipstream.sem.case import SemCase
from slipstream.sem.tables import SemReceiverTable

if TYPE_CHECKING:
    from slipstream._sem import Flow, Probe, Sem

Array = np.ndarray
#: Function that returns the values of each field, by name, at the points that a probe has located.
Values = Callable[["Probe"], Mapping[str, Sequence[float]]]


def _points(one: SemReceiverTable) -> Array:
    """Coordinates of a point, or of the points of a line, [point][x y z]."""
    return np.array([one.at]) if one.to is None else np.linspace(one.at, one.to, one.points)


def probe(engine: "Sem | Flow", points: Array, key: str) -> "Probe":
    """Locates points in the elements, and returns the object that evaluates fields there. Raises CaseError with the key
    if a point is in no element. Collective."""
    with as_case_error(key):
        return engine.probe([(float(x), float(y), float(z)) for x, y, z in points])


def monitors(
    engine: "Sem | Flow",
    case: Any,
    goes_on: bool,
    values: Values,
    columns: Callable[[Sequence[str]], Mapping[str, tuple[str, int]]],
) -> Sequence[Monitor]:
    """Monitor of receivers.csv, if some receivers are single points. `columns` takes their names and gives the field
    and the number of the point for each column. All points are located before the first step."""
    for name, one in case.receivers.items():
        probe(engine, _points(one), f"receivers.{name}")
    names = [name for name, one in case.receivers.items() if one.to is None]
    if not names:
        return []
    there = probe(engine, np.array([case.receivers[name].at for name in names]), "receivers")
    places = columns(names)

    def row() -> dict[str, str]:
        found = values(there)
        return {column: f"{found[field][n]:.17g}" for column, (field, n) in places.items()}

    return [history(engine, case, goes_on, "receivers.csv", [*places], row, at_start=True)]


def write_profiles(engine: "Sem | Flow", case: Any, troubles: Troubles, values: Values) -> None:
    """Writes profiles.csv: line, point, distance along the line, coordinates, fields. Collective."""
    table: list[list[str]] = []
    found: Mapping[str, Sequence[float]] = {}
    for name, one in case.receivers.items():
        if one.to is None:
            continue
        points = _points(one)
        found = values(probe(engine, points, f"receivers.{name}"))
        far = np.linalg.norm(points - points[0], axis=1)
        columns = zip(far, *points.T, *found.values(), strict=True)
        table += [[name, *(f"{value:.17g}" for value in row)] for row in columns]
    write_table(engine, case, troubles, "profiles.csv", ["line", "along", "x", "y", "z", *found], table)


def write_table(
    engine: "Sem | Flow", case: Any, troubles: Troubles, name: str, columns: Sequence[str], table: Sequence[Any]
) -> None:
    """Writes a CSV file with values at receivers in this step, if the table has rows. Rank 0 writes."""
    path = case.folder / name
    if table and core().rank() == 0:
        with troubles.with_data(path, "it", engine.step):
            rows.replace(path, columns, table)


def of_scalars(engine: "Sem", case: SemCase, there: "Probe") -> dict[str, Sequence[float]]:
    """Values of u and of further scalars at points."""
    return {one.name: engine.at(there, one.name) for one in case.unknowns}


def columns_of_scalars(case: SemCase, names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Columns of receivers.csv: the unknown, and the index of the receiver. A column of the main unknown u has the
    receiver's name; that of another unknown has both names."""
    numbered = list(enumerate(names))
    return {f"{name} {one.name}" if one.path else name: (one.name, n) for one in case.unknowns for n, name in numbered}
