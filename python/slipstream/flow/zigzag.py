"""Detects checkerboard oscillations: velocities that alternate from cell to cell."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Zigzag:
    """The largest checkerboard oscillation of a flow: a velocity component along an axis."""

    share: float  #: root mean square of the oscillation, over the mean speed of the fluid; nan if nothing flows
    component: str  #: velocity component: u, v or w
    axis: str  #: axis along which the component oscillates: x, y or z

    def figures(self) -> dict[str, Any]:
        return {"share": self.share if math.isfinite(self.share) else None, "of": self.component, "along": self.axis}


def measure(engine: Any) -> Zigzag:
    """The amplitude of a checkerboard oscillation is the fourth difference of a velocity component along an axis, over
    16. Waves of L cells contribute sin(pi / L)^4 of their amplitude. A cell counts if the five cells of its stencil are
    three or more away from solid cells and from sides that are not periodic. Collective."""
    found = engine.zigzag()
    amplitude, axis, component = max(
        (amplitude, axis, component)
        for axis, row in zip("xyz", found["amplitude"], strict=True)
        for component, amplitude in zip("uvw", row, strict=True)
    )
    speed = found["mean_speed"]
    return Zigzag(amplitude / speed if speed else math.nan, component, axis)
