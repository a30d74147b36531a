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

    variance: float  #: mean <theta^2>, in unit^2
    dissipation: float  #: dissipation 2 diffusivity <|grad theta|^2>, in unit^2 / time
    flux: tuple[float, float, float]  #: flux <u theta>, in unit x length / time
    spectrum: Array  #: variance of the shells 0, 1, ..., in unit^2, [shell]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """Converts the dictionary of the compiled module."""
        return cls(**{**found, "flux": tuple(found["flux"]), "spectrum": np.array(found["spectrum"])})


@dataclass(frozen=True, eq=False)
class Statistics(Record):
    """Statistics of one step; docs/dns.md has the definitions. v is the velocity, and u is v less its mean."""

    time: float
    energy: float  #: <u.u> / 2, length^2 / time^2
    dissipation: float  #: length^2 / time^3
    enstrophy: float  #: <w.w> / 2, w = curl u, 1 / time^2
    power: float  #: energy that the forcing puts in, length^2 / time^3
    velocity: float  #: u' = sqrt(<u.u> / 3), length / time
    taylor_scale: float  #: length
    taylor_reynolds: float
    kolmogorov_scale: float  #: eta, length
    largest_mode_eta: float  #: k_max eta
    courant: float
    time_step: float  #: of the next step
    skewness: float  #: of the longitudinal derivatives; 0 where nothing moves
    flatness: float
    budget_error: float  #: NaN without `budget`
    mean_velocity: tuple[float, float, float]  #: length / time
    integral_scale: float  #: length; 0 where nothing fluctuates
    c_epsilon: float  #: 0 where nothing fluctuates
    spectrum: Array  #: [shell], energy of the shells 0, 1, ..., length^2 / time^2
    scalars: tuple[ScalarStatistics, ...]  #: in the order of `schmidt`

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """As the compiled module tells it."""
        typed = {
            "mean_velocity": tuple(found["mean_velocity"]),
            "spectrum": np.array(found["spectrum"]),
            "scalars": tuple(map(ScalarStatistics.of, found["scalars"])),
        }
        return cls(**{**found, **typed})


@dataclass(frozen=True, eq=False)
class Transfer(Record):
    """Energy that advection moves between shells, length^2 / time^3."""

    transfer: Array  #: [shell], energy a time that the shells 0, 1, ... get
    flux: Array  #: [shell], that passes from the shells 0 to k to those above
