"""Stripes: velocities that go up and down from cell to cell."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Zigzag:
    """The largest of a flow: a component of the velocity along an axis."""

    share: float  #: root of the mean square of its amplitude, over the mean speed of the fluid; nan: nothing flows
    component: str  #: u, v or w
    axis: str  #: x, y or z

    def figures(self) -> dict[str, Any]:
        return {"share": self.share if math.isfinite(self.share) else None, "of": self.component, "along": self.axis}


def measure(engine: Any) -> Zigzag:
    """The fourth difference of each component of the velocity over 16, along each axis, is the amplitude of a zigzag;
    waves of L cells leave sin(pi / L)^4 of theirs. Cells count whose five are three or more off solid cells and off
    sides that are not periodic. Collective."""
    found = engine.zigzag()
    amplitude, axis, component = max(
        (amplitude, axis, component)
        for axis, row in zip("xyz", found["amplitude"], strict=True)
        for component, amplitude in zip("uvw", row, strict=True)
    )
    speed = found["mean_speed"]
    return Zigzag(amplitude / speed if speed else math.nan, component, axis)
