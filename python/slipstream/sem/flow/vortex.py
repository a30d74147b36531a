"""The Taylor-Green vortex by spectral elements: `slipstream.run.compare.Vortex`."""

import math
from typing import Any

from slipstream.base import rows
from slipstream.base.errors import CaseError
from slipstream.case.case import Case
from slipstream.flow.energy import Decay
from slipstream.sem.flow.case import FlowCase

title = "Spectral elements"
precisions: tuple[str, ...] = ()

#: Orders of the elements for the comparison of solvers: the first one that divides the number of points is used.
ORDERS = (7, 8, 6, 9, 5, 10)


def points(case: Case) -> int:
    assert isinstance(case, FlowCase)
    return case.grid.cells[0] * case.sem.order


def tables(cells: int, time: float) -> dict[str, Any]:
    order = next((n for n in ORDERS if cells % n == 0 and cells >= 2 * n), None)
    if order is None:
        raise CaseError(
            f"a vortex by spectral elements has a multiple of {', '.join(map(str, sorted(ORDERS)))} points along each "
            f"axis, and two elements or more, not {cells}",
            given=cells,
            allowed="multiples of 5 to 10, from 10 on",
        )
    # This time step keeps the Courant number below 0.4 on grids of many points. Speeds are near 1, and the nearest
    # points of order 7 are 0.064 of an element apart.
    time_step = 0.085 * (7 / order) ** 2 / (cells // order)
    return {
        "grid": {"cells": [cells // order] * 3, "periodic": [True] * 3},
        "sem": {
            "equation": "navier_stokes",
            "order": order,
            "lengths": [2 * math.pi] * 3,
            "viscosity": 1 / 1600,
            "time_step": time_step,
            # On few points speeds overshoot when the vortex breaks down, so the Courant number is limited.
            "target_courant": 0.4,
        },
        "initial": {"flow": "taylor_green"},
        "run": {"time": time, "check_every": max(1, round(0.1 / time_step))},
    }


def decay(case: Case) -> Decay:
    # The first row of statistics.csv is left out: no step precedes it, so the decay of energy is unknown there.
    column = {name: values[1:] for name, values in rows.columns(case.folder / "statistics.csv").items()}
    return Decay(column["time"], column["energy"], column["dissipation"], column["decay"])
