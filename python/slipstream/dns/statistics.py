"""Statistics of a turbulent flow. `dns.lengths` and the viscosity set the units of length and time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from slipstream.base.records import Record

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ScalarStatistics(Record):
    """Statistics of one scalar theta. Its unit is that of its gradient times length."""

    variance: float  #: mean of the scalar's square, in the square of its unit
    dissipation: float  #: dissipation 2 diffusivity <|grad theta|^2>, in unit^2 / time
    flux: tuple[float, float, float]  #: mean of velocity times scalar, in the scalar's unit x length / time
    spectrum: Array  #: variance of the scalar in each wave-number shell 0, 1, ..., in the scalar's unit^2

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """Makes the statistics from the dictionary that the compiled C++ module returns for a scalar."""
        return cls(**{**found, "flux": tuple(found["flux"]), "spectrum": np.array(found["spectrum"])})


@dataclass(frozen=True, eq=False)
class Statistics(Record):
    """Statistics of one step; docs/dns.md has the definitions. v is the velocity, and u is v less its mean."""

    time: float
    energy: float  #: kinetic energy <u.u> / 2, in length^2 / time^2
    dissipation: float  #: dissipation rate, in length^2 / time^3
    enstrophy: float  #: enstrophy <w.w> / 2 with w = curl u, in 1 / time^2
    power: float  #: energy input of the forcing, in length^2 / time^3
    velocity: float  #: root mean square u' = sqrt(<u.u> / 3), in length / time
    taylor_scale: float  #: Taylor's microscale, in length
    taylor_reynolds: float
    kolmogorov_scale: float  #: Kolmogorov length eta, in length
    largest_mode_eta: float  #: resolution: largest wave number times eta
    courant: float
    time_step: float  #: length of the next time step, in units of time
    skewness: float  #: skewness of the longitudinal derivatives; 0 where nothing moves
    flatness: float
    budget_error: float  #: largest error of the energy budget; NaN without `budget`
    mean_velocity: tuple[float, float, float]  #: mean velocity, in length / time
    integral_scale: float  #: longitudinal integral scale, in length; 0 where nothing fluctuates
    c_epsilon: float  #: normalised dissipation; 0 where nothing fluctuates
    spectrum: Array  #: energy of the shells 0, 1, ..., in length^2 / time^2, [shell]
    scalars: tuple[ScalarStatistics, ...]  #: statistics of the scalars, in the order of `schmidt`

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """Converts the dictionary of flow statistics that the compiled module returns to this class."""
        typed = {
            "mean_velocity": tuple(found["mean_velocity"]),
            "spectrum": np.array(found["spectrum"]),
            "scalars": tuple(map(ScalarStatistics.of, found["scalars"])),
        }
        return cls(**{**found, **typed})


@dataclass(frozen=True, eq=False)
class Transfer(Record):
    """Kinetic energy that advection moves between shells of wave numbers, in length^2 / time^3."""

    transfer: Array  #: rate at which advection adds kinetic energy to each wave-number shell 0, 1, ...
    flux: Array  #: energy flux from the shells 0 to k to those above, [shell k]
