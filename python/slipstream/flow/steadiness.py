"""Reference speed of the residual, which tells when a flow is steady."""

import math
from typing import Any

import numpy as np

from slipstream.case.flow_case import FlowCase


def side_speeds(case: FlowCase) -> list[float]:
    """Largest speed of each given wall and inlet, in units of the reference velocity."""
    speeds = [math.hypot(*case.wall_velocity(side)) for side, _ in case.walls.given()]
    for side, boundary in case.boundaries.given():
        try:
            speeds.append(float(np.linalg.norm(case.profile(side, boundary), axis=1).max()))
        except ValueError:
            continue  # skipped, because another check reports expressions that have no value
    return speeds


def pushed(case: FlowCase) -> bool:
    """Whether a force or a pressure difference drives the flow, so that the case does not determine its speed."""
    pressures = [case.side_density(b) for _, b in case.boundaries.given() if b.kind == "pressure"]
    return any(case.force) or any(case.density_drop) or any(density != 1.0 for density in pressures)


def scale(engine: Any, case: FlowCase) -> float:
    """The reference speed of changes in velocity, in cells a step: the reference velocity, if walls or inlets have it.
    A flow that is pushed, or whose sides are all slower, may be far slower than the reference velocity. Then the
    reference is the root mean square of its velocity, at most the reference velocity. A decaying flow keeps the
    reference velocity: relative to its own speed its changes would never become small. Collective."""
    lid = case.scales.reference_velocity
    fastest = max(side_speeds(case), default=0.0) * lid
    if fastest >= lid or not (fastest > 0 or pushed(case)):
        return lid
    kinetic, _ = engine.energy()
    own = max(math.sqrt(max(2.0 * kinetic, 0.0) / max(engine.fluid_cells(), 1)), fastest)
    return min(own, lid) or lid
