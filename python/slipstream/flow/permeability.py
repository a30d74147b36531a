"""Permeability of a periodic bed of bodies by Darcy's law, from the mean velocity."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from slipstream.base.core import core
from slipstream.case.flow_case import FlowCase


@dataclass(frozen=True)
class Permeability:
    """Permeability of a periodic bed along the force, in cells and steps or in SI."""

    superficial_velocity: float  #: mean velocity over the whole box, in which solids count as at rest
    #: Permeability, an area: viscosity times superficial velocity over the force per volume.
    permeability: float
    solid_share: float

    def figures(self) -> dict[str, float]:
        return asdict(self)


def applies(case: FlowCase) -> bool:
    """Whether the box is periodic in all directions, with bodies and a force."""
    return all(case.grid.periodic) and bool(case.bodies) and any(case.force)


def measure(engine: Any, case: FlowCase) -> Permeability | None:
    """The permeability on rank 0, else None. Collective."""
    force = np.asarray(case.force)
    strength = float(np.linalg.norm(force))
    nx, ny, nz = case.grid.cells
    # The sum runs plane by plane, because no rank can hold the velocities of a large box.
    total = np.zeros(3)
    for z in range(nz):
        plane = engine.gather("velocity", (0, 0, z), (nx, ny, z + 1))
        if plane is not None:
            total += plane.sum(axis=(0, 1, 2), dtype=np.float64)
    fluid = engine.fluid_cells()
    if core().rank() != 0:
        return None
    velocity = float(total @ force) / case.cell_count / strength
    permeability = case.scales.viscosity * velocity / strength
    if case.converter:
        permeability *= case.converter.length**2
        velocity *= case.converter.velocity
    return Permeability(velocity, permeability, 1.0 - fluid / case.cell_count)
