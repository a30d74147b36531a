"""The Taylor-Green vortex by lattice Boltzmann: `slipstream.run.compare.Vortex`."""

import math
from typing import Any

from slipstream.base.errors import CaseError
from slipstream.case.case import Case
from slipstream.flow import energy
from slipstream.lbm.case import LbmCase
from slipstream.lbm.scales import MACH_HIGH, TAU_LOW

title = "lattice Boltzmann"
precisions: tuple[str, ...] = ("f32", "f64")

REYNOLDS = 1600
#: Speed of the vortex in cells a step, if the relaxation time allows it. The compressibility error is then below that
#: of the grid.
USUAL_SPEED = 0.05


def points(case: Case) -> int:
    return case.grid.cells[0]


def tables(cells: int, time: float) -> dict[str, Any]:
    # Because tau = 1/2 + 3 U L / Re with L = cells / (2 pi), only a fast vortex keeps tau above its limit on few cells.
    slowest = 1.01 * (TAU_LOW - 0.5) / 3 * REYNOLDS * 2 * math.pi
    speed = max(USUAL_SPEED, slowest / cells)
    if speed * math.sqrt(3.0) > MACH_HIGH:
        fewest = math.ceil(slowest * math.sqrt(3.0) / MACH_HIGH)
        raise CaseError(
            f"a vortex of Reynolds number {REYNOLDS} needs {fewest} cells or more along each axis by lattice "
            f"Boltzmann, not {cells}: below, relaxation asks for a Mach number above {MACH_HIGH}",
            given=cells,
            allowed=f">= {fewest}",
        )
    steps_per_time = cells / (2 * math.pi) / speed
    return {
        "grid": {"cells": [cells] * 3, "periodic": [True, True, True]},
        "lbm": {"lattice": "D3Q27", "collision": "cumulant"},
        "physics": {"reynolds": REYNOLDS, "length": "Lx/(2*pi)", "reference_velocity": speed},
        "walls": {},
        "initial": {
            "velocity": ["sin(x/L)*cos(y/L)*cos(z/L)", "-cos(x/L)*sin(y/L)*cos(z/L)", 0],
            "pressure": "(cos(2*x/L)+cos(2*y/L))*(cos(2*z/L)+2)/16",
        },
        "run": {"time_units": time, "check_every": max(1, round(0.1 * steps_per_time))},
        "output": {"energy": True},
    }


def decay(case: Case) -> energy.Decay:
    assert isinstance(case, LbmCase)
    return energy.read(case.folder / energy.FILE, case)
