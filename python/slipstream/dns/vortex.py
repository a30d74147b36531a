"""The Taylor-Green vortex by Fourier modes: `slipstream.run.compare.Vortex`."""

from typing import Any

from slipstream.base import rows
from slipstream.base.errors import CaseError
from slipstream.case.case import Case
from slipstream.flow.energy import Decay

title = "Fourier modes"
precisions: tuple[str, ...] = ("f32", "f64")

#: With fewer cells the 2/3 rule would remove nearly all harmonics of the vortex.
FEWEST_CELLS = 8


def points(case: Case) -> int:
    return case.grid.cells[0]


def tables(cells: int, time: float) -> dict[str, Any]:
    if cells < FEWEST_CELLS:
        raise CaseError(
            f"a vortex by Fourier modes needs {FEWEST_CELLS} cells or more along each axis, not {cells}",
            given=cells,
            allowed=f">= {FEWEST_CELLS}",
        )
    # The Courant number sums |velocity| times time step over cell size for 3 axes. Velocities are at most 1, cells have
    # size 2 pi / N, and the step is 1.28 / N. The number stays below about 3 * 1.28 / (2 pi) = 0.6.
    time_step = 1.28 / cells
    return {
        "grid": {"cells": [cells] * 3},
        "dns": {"viscosity": 1 / 1600, "time_step": time_step},
        "initial": {"flow": "taylor_green"},
        "run": {"time": time, "check_every": max(1, round(0.1 / time_step))},
    }


def decay(case: Case) -> Decay:
    column = rows.columns(case.folder / "statistics.csv")
    return Decay(column["time"], column["energy"], column["dissipation"], column["dissipation"])
