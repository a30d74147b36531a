"""Statistics of problems on spectral elements."""

from dataclasses import dataclass

import numpy as np

from slipstream.base.records import Record

Array = np.ndarray


@dataclass(frozen=True)
class Statistics(Record):
    """Statistics of an unknown u over the domain. The errors `distance` and `largest_off` are None if the case has no
    exact solution e."""

    volume: float  #: volume of the domain, in length^3
    mean: float
    least: float
    largest: float
    distance: float | None = None  #: relative L2 error: root of int (u - e)^2 over int e^2
    largest_off: float | None = None  #: largest |u - e| at a grid point, where e is the exact solution


@dataclass(frozen=True)
class FlowStatistics(Record):
    """Statistics of a flow. Energies are means over the domain. The last three are None without [exact] in the case."""

    volume: float  #: volume of the domain, in length^3
    energy: float  #: kinetic energy u.u / 2, in length^2 / time^2
    enstrophy: float  #: enstrophy w.w / 2 with w = curl u, in 1 / time^2
    dissipation: float  #: dissipation rate 2 nu S : S, in length^2 / time^3
    decay: float  #: decay -d energy / dt of the kinetic energy, in length^2 / time^3
    divergence: float  #: relative divergence: root of int (div u)^2 over int |grad u|^2
    courant: float  #: Courant number of the last step, or of its last part if it was divided
    distance: float | None = None  #: relative L2 error of the velocity against [exact]
    largest_off: float | None = None
    pressure_off: float | None = None  #: relative L2 error of the pressure against [exact]


@dataclass(frozen=True, eq=False)
class Means(Record):
    """Running means over time at the points of this rank. Each step has the weight of its length."""

    velocity: Array  #: mean velocity over time, [element][t][s][r][u v w]
    pressure: Array  #: mean pressure over density, over time, [element][t][s][r]
    squares: Array  #: means over time of squared velocities, [element][t][s][r][uu vv ww]
    products: Array  #: means over time of products of velocities, [element][t][s][r][uv uw vw]


@dataclass(frozen=True, eq=False)
class PlaneMeans(Record):
    """Means of velocity, pressure and products over planes across an axis, [plane] from low to high; the pressure is
    over density."""

    place: Array  #: coordinate of each averaging plane along the axis that is normal to the planes
    u: Array
    v: Array
    w: Array
    p: Array
    uu: Array
    vv: Array
    ww: Array
    uv: Array
    uw: Array
    vw: Array


@dataclass(frozen=True, eq=False)
class SideForce(Record):
    """Force of the fluid on a side over density, [x y z], in length^4 / time^2. n is the outward normal of the side."""

    pressure: Array  #: force by pressure: int p n dS
    viscous: Array  #: force by viscous stress: - int nu (grad u + grad u^T) n dS
