"""Scales of a run in cells and steps, and conversion to SI."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scales:
    """Dimensionless scales that decide whether a lattice Boltzmann run is stable and accurate."""

    length: float  #: cells
    reference_velocity: float  #: cells per step
    viscosity: float  #: cells squared per step

    @property
    def reynolds(self) -> float:
        return self.reference_velocity * self.length / self.viscosity

    @property
    def tau(self) -> float:
        """Relaxation time in steps: viscosity / c_s^2 + 1/2, c_s^2 = 1/3."""
        return 3.0 * self.viscosity + 0.5

    @property
    def mach(self) -> float:
        return self.reference_velocity * math.sqrt(3.0)

    @property
    def grid_reynolds(self) -> float:
        """Reynolds number of one cell."""
        return self.reference_velocity / self.viscosity

    @property
    def steps_per_time(self) -> float:
        """Steps in one length / reference velocity."""
        return self.length / self.reference_velocity


@dataclass(frozen=True)
class Converter:
    """SI values of one lattice unit. All follow from the cell, the step and the density at rest."""

    length: float  #: m, one cell
    time: float  #: s, one step
    density: float  #: kg/m^3, 1 in the lattice

    @property
    def velocity(self) -> float:
        """m/s."""
        return self.length / self.time

    @property
    def viscosity(self) -> float:
        """Kinematic, m^2/s."""
        return self.length**2 / self.time

    @property
    def pressure(self) -> float:
        """Pa. A density difference of 1 in the lattice is a pressure of c_s^2 = 1/3 of this."""
        return self.density * self.velocity**2

    @property
    def force(self) -> float:
        """N, on a body."""
        return self.pressure * self.length**2

    @property
    def force_density(self) -> float:
        """N/m^3, on the fluid."""
        return self.pressure / self.length

    def rows(self) -> list[tuple[str, float, str]]:
        """Name, value and unit of each."""
        return [
            ("length", self.length, "m"),
            ("time", self.time, "s"),
            ("velocity", self.velocity, "m/s"),
            ("density", self.density, "kg/m^3"),
            ("viscosity", self.viscosity, "m^2/s"),
            ("force", self.force, "N"),
            ("force a volume", self.force_density, "N/m^3"),
            ("pressure", self.pressure, "Pa"),
        ]


def whole(value: float) -> float:
    """Rounds a quotient to an integer if it differs from it by rounding errors only."""
    near = round(value)
    return float(near) if math.isclose(value, near, rel_tol=1e-12) else value
