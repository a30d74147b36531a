"""Scales of a run in cells and steps, and conversion to SI."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scales:
    """Dimensionless scales that decide whether a lattice Boltzmann run is stable and accurate."""

    length: float  #: reference length in cells
    reference_velocity: float  #: reference velocity in cells per step
    viscosity: float  #: kinematic viscosity in cells squared per step

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
        """Number of steps in one unit of time, length / reference velocity."""
        return self.length / self.reference_velocity


@dataclass(frozen=True)
class Converter:
    """SI values of one lattice unit. They follow from the cell, the step and the density at rest."""

    length: float  #: length of a cell in m
    time: float  #: length of a step in s
    density: float  #: density in kg/m^3 of the lattice density 1

    @property
    def velocity(self) -> float:
        """Velocity of one cell per step in m/s."""
        return self.length / self.time

    @property
    def viscosity(self) -> float:
        """Kinematic viscosity of one lattice unit in m^2/s."""
        return self.length**2 / self.time

    @property
    def pressure(self) -> float:
        """Pressure in Pa. A density difference of 1 in the lattice is a pressure of c_s^2 = 1/3 of this."""
        return self.density * self.velocity**2

    @property
    def force(self) -> float:
        """Force on a body, of one lattice unit, in N."""
        return self.pressure * self.length**2

    @property
    def force_density(self) -> float:
        """Force density on the fluid, of one lattice unit, in N/m^3."""
        return self.pressure / self.length

    def rows(self) -> list[tuple[str, float, str]]:
        """Name, value and unit of each factor that converts lattice units to SI."""
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
    """Rounds a quotient to the nearest integer, if only rounding errors separate them."""
    near = round(value)
    return float(near) if math.isclose(value, near, rel_tol=1e-12) else value
