"""Taylor and Green's vortex by spectral elements: `slipstream.run.compare.Vortex`."""

import math
from typing import Any

import numpy as np

from slipstream.base import rows
from slipstream.base.errors import CaseError
from slipstream.case.case import Case
from slipstream.flow.energy import Decay

title = "Spectral elements"

ORDER = 7


def tables(cells: int, time: float) -> dict[str, Any]:
    if cells % ORDER:
        below = max(ORDER, cells // ORDER * ORDER)
        raise CaseError(
            f"a vortex by spectral elements of order {ORDER} has a multiple of {ORDER} points along each axis, not "
            f"{cells}: take {below} or {below + ORDER}",
            given=cells,
            allowed=f"multiples of {ORDER}",
        )
    # The Courant number is below 0.4: speeds are below 1, and the nearest points lie 0.064 of an element apart.
    time_step = 0.02 * 8 / (cells / ORDER) / 1.6
    return {
        "grid": {"cells": [cells // ORDER] * 3, "periodic": [True] * 3},
        "sem": {
            "equation": "navier_stokes",
            "order": ORDER,
            "lengths": [2 * math.pi] * 3,
            "viscosity": 1 / 1600,
            "time_step": time_step,
        },
        "initial": {"flow": "taylor_green"},
        "run": {"time": time, "check_every": max(1, round(0.1 / time_step))},
    }


def decay(case: Case) -> Decay:
    header, lines = rows.read(case.folder / "statistics.csv")
    column = dict(zip(header, np.array(lines, dtype=float).T, strict=True))
    return Decay(column["time"], column["energy"], column["dissipation"], column["decay"])
