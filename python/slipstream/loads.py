"""Forces and moments on walls and bodies, in the units of the case, and their coefficients."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slipstream.case import Case
from slipstream.core import core
from slipstream.rows import Rows

AXES = "xyz"


def measure(lbm: Any, case: Case) -> dict[str, dict[str, Any]]:
    """By name of the wall or the body: force, moment about the domain's low corner, and for a body with an area the
    coefficients force / (density lid_speed^2 area / 2). In cells and steps, or in N and N m. Collective."""
    converter, scales = case.converter, case.scales
    force, length = (converter.force, converter.length) if converter else (1.0, 1.0)
    found: dict[str, dict[str, Any]] = {}
    for load in core().loads(lbm, (0.0, 0.0, 0.0)):
        entry: dict[str, Any] = {
            "force": [part * force for part in load["force"]],
            "moment": [part * force * length for part in load["moment"]],
        }
        body = case.bodies.get(load["name"])
        if body is not None and body.area is not None:
            area = body.area / case.cell_edge**2
            entry["coefficient"] = [2.0 * part / (scales.lid_speed**2 * area) for part in load["force"]]
        found[load["name"]] = entry
    return found


def _columns(loads: dict[str, dict[str, Any]], unit: dict[str, str]) -> Iterator[tuple[str, float]]:
    for name, entry in loads.items():
        for quantity, parts in entry.items():
            for axis, part in zip(AXES, parts, strict=True):
                yield f"{name} {quantity} {axis}{unit.get(quantity, '')}", part


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
