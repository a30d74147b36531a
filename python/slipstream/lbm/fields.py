"""Velocity, density, pressure and flags of a run over time, in one file for ParaView."""

from pathlib import Path
from typing import TYPE_CHECKING

from slipstream.base.core import part
from slipstream.lbm.case import LbmCase
from slipstream.run.series import is_there

if TYPE_CHECKING:
    from slipstream._lbm import Lbm


class Fields:
    """Writes velocity, density and pressure of a run as a VTKHDF series. Its units are the length, length / reference
    velocity and the reference velocity. Density is relative to that at rest; pressure is above that at rest, over
    density x reference velocity^2. Cases in SI have SI units. Solid cells are hidden from VTK (vtkGhostType). Between
    two writes the file is closed and complete."""

    def __init__(self, lbm: "Lbm", case: LbmCase, path: Path, goes_on: bool = False) -> None:
        """Creates the file or, with `goes_on`, continues it. Collective."""
        self._lbm, self._case = lbm, case
        now = self._time()
        edges, corner = (case.spacing,) * 3, (0.0, 0.0, 0.0)
        self._series = part("lbm").Series(lbm, str(path), edges, corner, True, now if goes_on else None)
        self._written = lbm.step if is_there(now, self._series.last_time) else -1

    def _time(self) -> float:
        step, converter = self._lbm.step, self._case.converter
        return float(step * converter.time if converter else step / self._case.scales.steps_per_time)

    def write(self) -> None:
        """Adds the fields of this step to the file, unless it has them. Collective."""
        step, converter, scales = self._lbm.step, self._case.converter, self._case.scales
        if step == self._written:
            return
        if converter:
            units = (converter.velocity, "m/s"), (converter.density, "kg/m^3"), (converter.pressure, "Pa")
        else:
            units = (1.0 / scales.reference_velocity, ""), (1.0, ""), (scales.reference_velocity**-2, "")
        self._series.write(self._time(), *units)
        self._written = step

    def close(self) -> None:
        """Closes the file of fields; nothing can be added afterwards."""
        self._series.close()
