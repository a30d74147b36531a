"""Case files of spectral elements, and the results of their runs."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

#: Case of diffusion with two blocks of elements, so that two devices have some.
DIFFUSION = """
[case]
name = "spread"
[grid]
cells = [5, 5, 3]
periodic = [true, false, true]
[sem]
equation = "diffusion"
order = 3
deformation = 0.04
diffusivity = 0.2
source = "exp(y)*(1 + t)"
time_step = 0.02
time_order = 3
[boundaries]
"y-" = { value = "t*sin(2*pi*x)" }
"y+" = { flux = "t + cos(2*pi*z)" }
[initial]
value = "y*cos(2*pi*x)*sin(2*pi*z)"
[run]
steps = 6
"""

POISSON = """
[case]
name = "still"
[grid]
cells = [2, 3, 2]
[sem]
equation = "poisson"
order = 4
lengths = [2.0, 3.0, 1.0]
stretch = [1.0, 2.0, 1.0]
deformation = 0.05
[boundaries]
"x-" = { flux = -1.0 }
"x+" = { flux = 1.0 }
"y-" = { flux = 0.0 }
"y+" = { flux = 0.0 }
"z-" = { flux = 0.0 }
"z+" = { flux = 0.0 }
[exact]
value = "x"
"""


#: Case of 3 u - 2 Lap u = source on slightly deformed elements.
HELMHOLTZ = """
[case]
name = "screened"
[grid]
cells = [2, 2, 3]
periodic = [false, false, true]
[sem]
equation = "helmholtz"
order = 6
deformation = 0.03
diffusivity = 2.0
reaction = 3.0
source = "(3 - 2*(4 + 1 - 4*pi^2))*exp(2*x - y)*cos(2*pi*z)"
preconditioner = "chebyshev"
degree = 3
[boundaries]
"x-" = { value = "exp(-y)*cos(2*pi*z)" }
"x+" = { flux = "4*exp(2 - y)*cos(2*pi*z)" }
"y-" = { flux = "2*exp(2*x)*cos(2*pi*z)" }
"y+" = { value = "exp(2*x - 1)*cos(2*pi*z)" }
[exact]
value = "exp(2*x - y)*cos(2*pi*z)"
"""

#: Product of sines by which the key `deformation`, and mapped_by_sines() here, displace the points of the box.
SINES = "sin(2*pi*x/Lx)*sin(2*pi*y/Ly)*sin(2*pi*z/Lz)"


def mapped_by_sines(amplitude: float) -> str:
    parts = [f"'{axis} + {amplitude}*L{axis}*{SINES}'" for axis in "xyz"]
    return f"sem.map=[{', '.join(parts)}]"


def case(folder: Path, text: str) -> str:
    (folder / "a.toml").write_text(text)
    return "a.toml"


def findings(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / "results" / name / "findings.json").read_text())


def last_u(path: Path) -> np.ndarray:
    with h5py.File(path) as file:
        begin = file["VTKHDF/Steps/PointDataOffsets/u"][-1]
        return file["VTKHDF/PointData/u"][begin:]


#: Case with Robin sides, a divided side, and variable coefficients.
MIXED = """
[case]
name = "mixed"
[grid]
cells = [3, 3, 2]
[sem]
equation = "helmholtz"
order = 5
deformation = 0.05
diffusivity = "1 + 0.5*x*y"
reaction = "0.1 + z"
source = "1 + x"
[boundaries]
"x-" = { flux = 1.0, transfer = 0.5 }
"x+" = { value = 1.0, where = "y - 0.5", otherwise = { flux = 0.0 } }
"y-" = { flux = 0.0 }
"y+" = { flux = 0.0 }
"z-" = { flux = 0.0 }
"z+" = { flux = 0.0 }
"""
