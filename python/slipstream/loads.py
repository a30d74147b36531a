"""Forces and moments on walls and bodies, in the units of the case, and their coefficients."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.case import Case
from slipstream.core import core
from slipstream.rows import Rows

AXES = "xyz"


def measure(lbm: Any, case: Case, about: Sequence[float] | None = None) -> dict[str, dict[str, Any]]:
    """By name of the wall or the body: force and moment, in cells and steps, or in N and N m. Collective.

    Moments are about the point `about` in the box, in cells or m; without it about that of the body, or the low corner
    of the box. A body with an area has the coefficient force / (density lid_speed^2 area / 2), and where a point is
    given the moment_coefficient moment / (density lid_speed^2 area length / 2).
    """
    converter, scales, edge = case.converter, case.scales, case.cell_edge
    force, length = (converter.force, converter.length) if converter else (1.0, 1.0)
    found: dict[str, dict[str, Any]] = {}
    for load in core().loads(lbm, (0.0, 0.0, 0.0)):
        body = case.bodies.get(load["name"])
        point = about if about is not None or body is None else body.about
        moment = load["moment"]
        if point is not None:
            # About a point p: the sum of (x - p) x f.
            moment = np.subtract(moment, np.cross(np.divide(point, edge), load["force"])).tolist()
        entry: dict[str, Any] = {
            "force": [part * force for part in load["force"]],
            "moment": [part * force * length for part in moment],
        }
        if body is not None and body.area is not None:
            push = scales.lid_speed**2 * (body.area / edge**2)
            entry["coefficient"] = [2.0 * part / push for part in load["force"]]
            if point is not None:
                entry["moment_coefficient"] = [2.0 * part / (push * scales.length) for part in moment]
        found[load["name"]] = entry
    return found


def _columns(loads: dict[str, dict[str, Any]], unit: dict[str, str]) -> Iterator[tuple[str, float]]:
    for name, entry in loads.items():
        for quantity, parts in entry.items():
            for axis, part in zip(AXES, parts, strict=True):
                yield f"{name} {quantity.replace('_', ' ')} {axis}{unit.get(quantity, '')}", part


class History:
    """The loads on the bodies of a run as rows of loads.csv, one for each look at the residual. A restarted run goes on
    with those up to its own step."""

    def __init__(self, lbm: Any, case: Case, path: Path, goes_on: bool) -> None:
        self._lbm, self._case = lbm, case
        #: The newest ones, on every rank.
        self.last: dict[str, dict[str, Any]] = {}
        self._step = -1
        self._rows = Rows(path, lbm.step if goes_on else -1) if core().rank() == 0 else None

    def take(self) -> None:
        """Adds a row for this step, if there is none. Collective."""
        if self._step == self._lbm.step:
            return
        self._step = self._lbm.step
        self.last = measure(self._lbm, self._case)
        if self._rows is None:
            return
        si = self._case.si
        unit = {"force": " (N)", "moment": " (N m)"} if si else {}
        bodies = {name: entry for name, entry in self.last.items() if name in self._case.bodies}
        time = self._step * self._case.converter.time if self._case.converter else self._case.time_of(self._step)
        self._rows.add(dict([("step", self._step), ("time (s)" if si else "time", time), *_columns(bodies, unit)]))
