"""Velocity, density, pressure and flags of a run over time, in one file for ParaView."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstream.base.core import part
from slipstream.lbm.case import LbmCase
from slipstream.run.series import FieldSeries

if TYPE_CHECKING:
    from slipstream._lbm import Lbm


class Fields(FieldSeries):
    """Writes velocity, density and pressure of a run as a VTKHDF series. Its units are the length, length / reference
    velocity and the reference velocity. Density is relative to that at rest; pressure is above that at rest, over
    density x reference velocity^2. Cases in SI have SI units. Solid cells are hidden from VTK (vtkGhostType)."""

    _case: LbmCase

    def __init__(self, lbm: "Lbm", case: LbmCase, path: Path, goes_on: bool = False) -> None:
        """Creates the VTKHDF file of a run or, with `goes_on`, continues it. Collective."""
        super().__init__(lbm, case, path, [], goes_on)
        converter, speed = case.converter, case.scales.reference_velocity
        self._arguments = (1.0 / speed, ""), (1.0, ""), (speed**-2, "")
        if converter:
            self._arguments = (converter.velocity, "m/s"), (converter.density, "kg/m^3"), (converter.pressure, "Pa")

    def _time(self) -> float:
        converter = self._case.converter
        return self._engine.step * converter.time if converter else super()._time()

    def _open(self, path: str, up_to: float | None) -> Any:
        return part("lbm").Series(self._engine, path, (self._case.spacing,) * 3, (0.0, 0.0, 0.0), True, up_to)
