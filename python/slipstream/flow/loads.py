"""Forces and moments on walls and bodies, in the units of the case, and their coefficients."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.base.core import core, part
from slipstream.base.records import Record
from slipstream.base.rows import Rows
from slipstream.case.flow_case import FlowCase

AXES = "xyz"
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Load(Record):
    """Force and moment of the fluid on a wall or a body; in cells and steps at density 1, or in N and N m. The
    coefficients of a body without an area are None, and so is the moment coefficient without a point. keys() leaves out
    coefficients that are None."""

    force: Vector
    moment: Vector
    coefficient: Vector | None = None  #: force coefficient: force / (density reference_velocity^2 area / 2)
    #: Moment coefficient: moment / (density reference_velocity^2 area length / 2).
    moment_coefficient: Vector | None = None

    def keys(self) -> list[str]:
        return [name for name in super().keys() if getattr(self, name) is not None]


def _times(factor: float, parts: Sequence[float]) -> Vector:
    x, y, z = parts
    return (factor * x, factor * y, factor * z)


def measure(engine: Any, case: FlowCase, about: Sequence[float] | None = None) -> dict[str, Load]:
    """Force and moment by name of the wall or the body, in cells and steps, or in N and N m. Collective.

    Moments are about the point `about` in the box, in cells or m. The default is the point of the body, or the low
    corner of the box. A body with an area has the coefficient force / (density reference_velocity^2 area / 2). With a
    point it also has the moment_coefficient moment / (density reference_velocity^2 area length / 2).
    """
    converter = case.converter
    force, length = (converter.force, converter.length) if converter else (1.0, 1.0)
    found: dict[str, Load] = {}
    for load in part("lbm").loads(engine, (0.0, 0.0, 0.0)):
        body = case.bodies.get(load["name"])
        point = about if about is not None or body is None else body.about
        moment = load["moment"]
        if point is not None:
            # The moment about a point p is the sum of (x - p) x f over the forces f at places x.
            moment = np.subtract(moment, np.cross(np.divide(point, case.cell_edge), load["force"])).tolist()
        entry = Load(_times(force, load["force"]), _times(length, _times(force, moment)))
        if body is not None and body.area is not None:
            entry = _with_coefficients(case, body.area, entry, point is not None)
        found[load["name"]] = entry
    return found


def _with_coefficients(case: FlowCase, area: float, load: Load, about: bool) -> Load:
    """Adds the force coefficient to a load, and the moment coefficient if a point was given (`about`)."""
    unit, cell = (case.converter.force, case.converter.length) if case.converter else (1.0, 1.0)
    push = unit * case.scales.reference_velocity**2 * (area / case.cell_edge**2)
    turn = push * cell * case.scales.length
    x, y, z = (2.0 * part / push for part in load.force)
    a, b, c = (2.0 * part / turn for part in load.moment)
    return replace(load, coefficient=(x, y, z), moment_coefficient=(a, b, c) if about else None)


def _columns(loads: Mapping[str, Mapping[str, Vector]], unit: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    for name, entry in loads.items():
        for quantity, parts in entry.items():
            for axis, value in zip(AXES, parts, strict=True):
                yield f"{name} {quantity.replace('_', ' ')} {axis}{unit.get(quantity, '')}", value


class History:
    """Loads on the bodies of a run as rows of loads.csv, one each FlowCase.loads_every steps. A restarted run keeps the
    rows up to its own step, and recomputes their coefficients with the areas of its case."""

    def __init__(self, engine: Any, case: FlowCase, path: Path, goes_on: bool) -> None:
        self._engine, self._case = engine, case
        #: The latest forces and moments by name of the wall or the body, on every rank.
        self.last: dict[str, Load] = {}
        self._step = -1
        self._unit = {"force": " (N)", "moment": " (N m)"} if case.si else {}
        self._rows: Rows | None = None
        if core().rank() == 0:
            self._rows = Rows(path, engine.step if goes_on else -1, self._by_areas, case.loads_every)

    def take(self) -> None:
        """Adds the row of loads.csv for this step, if there is none. Collective."""
        if self._step == self._engine.step:
            return
        self._step = self._engine.step
        self.last = measure(self._engine, self._case)
        if self._rows is None:
            return
        bodies = {name: dict(entry) for name, entry in self.last.items() if name in self._case.bodies}
        time = self._step * self._case.converter.time if self._case.converter else self._case.time_of(self._step)
        when = {"step": self._step, "time (s)" if self._case.si else "time": time}
        self._rows.add(when | dict(_columns(bodies, self._unit)))

    def _by_areas(self, row: Mapping[str, str]) -> dict[str, Any]:
        """A row that an earlier run wrote, with coefficients recomputed for the areas of this case."""
        found: dict[str, Any] = {}
        for column, value in row.items():
            name, _, rest = column.partition(" ")
            if "coefficient " in rest:
                continue
            found[column] = value
            body = self._case.bodies.get(name)
            if rest.startswith("moment z") and body is not None and body.area is not None:
                load = Load(*(self._read(row, f"{name} {quantity}") for quantity in ("force", "moment")))
                whole = dict(_with_coefficients(self._case, body.area, load, body.about is not None))
                coefficients = {quantity: whole[quantity] for quantity in whole if "coefficient" in quantity}
                found |= _columns({name: coefficients}, self._unit)
        return found

    def _read(self, row: Mapping[str, str], load: str) -> Vector:
        unit = self._unit.get(load.rpartition(" ")[2], "")
        x, y, z = (float(row[f"{load} {axis}{unit}"]) for axis in AXES)
        return (x, y, z)
