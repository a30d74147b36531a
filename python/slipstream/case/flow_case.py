"""The case of a flow: its units, its sides, its bodies, and the scales that follow from them.

Lengths are in cells, speeds in cells per step, unless a name says otherwise; the density is 1. With units.system = "SI"
the keys of [physics] are in metres and seconds, and the converter of [units] maps them to the lattice. Velocities
elsewhere are ratios to the reference velocity, or in m/s with units.speeds.
"""

from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from pydantic import Field

from slipstream.base.errors import ArgumentError
from slipstream.case.body import Body
from slipstream.case.case import Case
from slipstream.case.expression import evaluate
from slipstream.case.field_units import FlowUnits
from slipstream.case.flow_tables import (
    DomainTable,
    ExactTable,
    FlowGuardTable,
    FlowOutputTable,
    FlowRunTable,
    InitialTable,
    PhysicsTable,
    UnitsTable,
)
from slipstream.case.sides import BoundariesTable, Boundary, WallsTable
from slipstream.case.tables import BodyName
from slipstream.case.units import Converter, Scales, whole

Speed = TypeVar("Speed", float, np.ndarray)


def _is_area(key: str) -> bool:
    """Whether a key is the area of a body, the reference area of its coefficients."""
    return key.startswith("bodies.") and key.endswith(".area")


class FlowCase(Case):
    """A case file of a flow in a box with walls, open sides and bodies."""

    free_tables: ClassVar[frozenset[str]] = Case.free_tables | {"exact"}
    file_keys: ClassVar[tuple[tuple[str, ...], ...]] = (("bodies", "*", "mesh"),)

    domain: DomainTable | None = Field(
        None, description="A box around the meshes of the bodies, in place of grid.cells."
    )
    units: UnitsTable = UnitsTable()
    physics: PhysicsTable
    walls: WallsTable = WallsTable()
    boundaries: BoundariesTable = BoundariesTable()
    bodies: dict[BodyName, Body] = Field({}, description="Solid bodies, by name.")
    initial: InitialTable | None = Field(None, description="The initial flow; left out: at rest.")
    exact: ExactTable | None = Field(None, description="The exact velocity at the end of the run.")
    run: FlowRunTable = FlowRunTable()
    output: FlowOutputTable = FlowOutputTable()
    guard: FlowGuardTable = FlowGuardTable()

    @property
    def si(self) -> bool:
        return self.units.system == "SI"

    @property
    def scales(self) -> Scales:
        physics, units, viscosity = self.physics, self.units, self.physics.viscosity
        if not self.si:
            length = self.given_length or float(self._lid_distance())
            speed = physics.reference_velocity or _usual_speed(length)
        else:
            assert units.cell is not None and physics.reference_velocity is not None
            length = whole(self.given_length / units.cell) if self.given_length else float(self._lid_distance())
            speed = units.lattice_speed or _usual_speed(length)
            if units.step:
                speed = physics.reference_velocity * units.step / units.cell
            if physics.viscosity is not None:
                # The Reynolds number gives the lattice viscosity, as in a case in cells, so both give the same bits.
                reynolds = whole(physics.reference_velocity * (length * units.cell) / physics.viscosity)
                viscosity = speed * length / reynolds
        if viscosity is None:
            assert physics.reynolds is not None
            viscosity = speed * length / physics.reynolds
        return Scales(length, speed, viscosity)

    @property
    def converter(self) -> Converter | None:
        """Converter from the lattice to SI; None for a case in cells and steps."""
        if not self.si:
            return None
        units, speed = self.units, self.physics.reference_velocity
        assert units.cell is not None and units.density is not None and speed is not None
        return Converter(units.cell, units.step or self.scales.reference_velocity * units.cell / speed, units.density)

    @property
    def spacing(self) -> float:
        """Length of a cell's edge as output files and printed messages state it: in m, or as a multiple of the case's
        reference length."""
        converter = self.converter
        return converter.length if converter else 1.0 / self.scales.length

    @property
    def field_units(self) -> FlowUnits:
        return FlowUnits(self.si)

    @property
    def up(self) -> str:
        """The axis that points up in pictures: normal to a moving wall, else z."""
        return next((side[0] for side, wall in self.walls.given() if any(wall.velocity)), "z")

    @property
    def cell_edge(self) -> float:
        """Length of a cell's edge in the case's unit of length: m, or 1."""
        return self.units.cell if self.si and self.units.cell else 1.0

    @property
    def length_unit(self) -> str:
        """Unit of the case's lengths, for messages."""
        return "m" if self.si else "cells"

    @property
    def given_length(self) -> float | None:
        """physics.length as a number. Raises ValueError for an expression that has no value, or none above 0."""
        length = self.physics.length
        if not isinstance(length, str):
            return length
        value = float(evaluate(length, self._sides()))
        if value <= 0:
            raise ArgumentError(f"'{length}' is {value:g}; a length is above 0", given=length, value=f"{value:g}")
        return value

    def _sides(self) -> dict[str, float]:
        return {f"L{axis}": n * self.cell_edge for axis, n in zip("xyz", self.grid.cells, strict=True)}

    def names(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> dict[str, Any]:
        """Names that expressions in the coordinates may use, with their values."""
        return {"x": x, "y": y, "z": z, **self._sides(), "L": self.scales.length * self.cell_edge}

    def in_reference_velocities(self, velocity: Speed) -> Speed:
        """Converts a velocity of [walls], [boundaries], [initial] or [exact] to units of the reference velocity."""
        reference_velocity = self.physics.reference_velocity if self.units.speeds else None
        return velocity if reference_velocity is None else velocity / reference_velocity

    def wall_velocity(self, side: str) -> tuple[float, float, float]:
        """Velocity of a wall of the box, in units of the reference velocity."""
        x, y, z = self.walls.velocity(side)
        return (self.in_reference_velocities(x), self.in_reference_velocities(y), self.in_reference_velocities(z))

    def side_velocity(self, side: str) -> np.ndarray | None:
        if self.grid.periodic["xyz".index(side[0])] or side in dict(self.boundaries.given()):
            return None
        return np.asarray(self.wall_velocity(side)) * (self.physics.reference_velocity if self.si else 1.0)

    def side_density(self, boundary: Boundary) -> float:
        """Density at a pressure boundary, or far away from it, relative to the fluid at rest."""
        if boundary.pressure is not None and self.converter:
            return 1.0 + 3.0 * boundary.pressure / self.converter.pressure
        return boundary.density or 1.0

    def time_of(self, step: int) -> float:
        """Time of a step, in units of length / reference velocity."""
        return step / self.scales.steps_per_time

    def profile(self, side: str, boundary: Boundary) -> np.ndarray:
        """Velocities at points half a cell apart on a side, including its edges, in units of the reference velocity:
        [slower axis][faster axis][component]. Raises ValueError for an expression that has no value."""
        normal, edge, cells = "xyz".index(side[0]), self.cell_edge, self.grid.cells
        place = [np.arange(2 * n + 1) * (edge / 2) for n in cells]
        place[normal] = np.array([0.0 if side[1] == "-" else cells[normal] * edge])
        z, y, x = np.meshgrid(place[2], place[1], place[0], indexing="ij")
        names = self.names(x, y, z)
        parts = [evaluate(p, names) if isinstance(p, str) else p for p in boundary.velocity or (0.0, 0.0, 0.0)]
        return self.in_reference_velocities(
            np.stack([np.broadcast_to(part, x.shape).reshape(-1) for part in parts], axis=1)
        )

    def boundary_options(self, side: str, boundary: Boundary) -> dict[str, Any]:
        """Options of an open side for compiled solvers, in lattice units."""
        options: dict[str, Any] = {"kind": boundary.kind}
        if boundary.kind in ("pressure", "convective"):
            options["density"] = self.side_density(boundary)
        if boundary.kind == "convective":
            if boundary.relaxation is not None:
                options["relaxation"] = boundary.relaxation
            speed = self.in_reference_velocities(boundary.speed) if boundary.speed else 1.0
            options["speed"] = speed * self.scales.reference_velocity
        if boundary.kind == "velocity":
            options["profile"] = np.ascontiguousarray(self.profile(side, boundary) * self.scales.reference_velocity)
        return options

    @property
    def force(self) -> tuple[float, float, float]:
        """Body force per volume, in lattice units."""
        converter = self.converter
        x, y, z = self.physics.force
        unit = converter.force_density if converter else 1.0
        return (x / unit, y / unit, z / unit)

    @property
    def density_drop(self) -> tuple[float, float, float]:
        """Density difference from the low end of each axis to its high end, in lattice units, in which the pressure
        is a third of the density."""
        unit = self.converter.pressure if self.converter else 1.0
        x, y, z = self.physics.pressure_drop
        return (3.0 * x / unit, 3.0 * y / unit, 3.0 * z / unit)

    def _lid_distance(self) -> int:
        moving = [side for side, wall in self.walls.given() if any(wall.velocity)]
        return self.grid.cells["xyz".index(moving[0][0])] if moving else self.grid.cells[0]

    @classmethod
    def is_free(cls, key: str) -> bool:
        return super().is_free(key) or _is_area(key)

    @classmethod
    def moves_findings(cls, key: str) -> bool:
        return super().moves_findings(key) or _is_area(key)

    @property
    def time_step(self) -> float:
        """Length of a step in units of length / reference velocity, or in s for SI."""
        converter = self.converter
        return converter.time if converter else 1.0 / self.scales.steps_per_time

    def show_time(self, step: int) -> str:
        return f"{step * self.time_step:.4g} s" if self.si else f"{self.time_of(step):.2f} L/U"

    @property
    def check_every(self) -> int:
        return self.run.check_every or max(1, round(self.scales.steps_per_time))

    @property
    def last_step(self) -> int:
        limits = [self.run.steps] if self.run.steps else []
        if self.run.time_units:
            limits.append(max(1, round(self.run.time_units * self.scales.steps_per_time)))
        if self.run.time and self.converter:
            limits.append(max(1, round(self.run.time / self.converter.time)))
        return min(limits)

    @property
    def loads_every(self) -> int:
        """Steps between rows of loads.csv."""
        return self.output.loads_every or min(self.check_every, max(1, self.last_step // 100))

    @property
    def output_period(self) -> float | None:
        output, converter = self.output, self.converter
        if output.every_time and converter:
            return output.every_time / converter.time
        return output.every * self.scales.steps_per_time if output.every else None

    def resolved(self, backend: str | None = None) -> Self:
        scales, converter, units = self.scales, self.converter, {}
        physics = {"reference_velocity": scales.reference_velocity, "length": scales.length}
        if converter:
            physics = {"length": self.given_length or scales.length * converter.length}
            units = {} if self.units.step else {"lattice_speed": scales.reference_velocity}
        return super().resolved(backend).changed(units=units, physics=physics)

    def to_toml(self, header: str = "", exclude: frozenset[str] = frozenset(), folder: str | Path | None = None) -> str:
        # A case in cells and steps omits [units], as case files did before [units] existed.
        return super().to_toml(header, exclude if self.si else exclude | {"units"}, folder)


def _usual_speed(length: float) -> float:
    """Default reference velocity, in cells per step."""
    return min(0.1, 6.4 / length)
