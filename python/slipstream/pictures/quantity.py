"""Scalar quantities on a plane of a frame, for colour maps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Quantity:
    """A quantity that pictures show: a number in each cell of a plane."""

    values: Callable[[Any], Any]  #: computes an array [up][across] from a slipstream.pictures.planes.Plane
    label: Callable[[str], str]  #: makes the label of the colour bar, with unit, from the axis normal to the plane
    signed: bool = True  #: whether colours are symmetric about zero; else they begin at zero
    usual: bool = False  #: whether the quantity is drawn by default


def of_field(name: str, label: str, component: int = 0, usual: bool = False) -> Quantity:
    """Quantity that is one component of a field in the file."""
    return Quantity(lambda plane: plane.field(name)[..., component], lambda _: label, usual=usual)


def speed(label: str = "speed") -> Quantity:
    """Quantity that is the magnitude of the velocity; it is drawn by default."""
    return Quantity(lambda plane: np.linalg.norm(plane.vectors("velocity"), axis=-1), lambda _: label, False, True)


def velocity_parts() -> dict[str, Quantity]:
    """Quantities that are the components of the field `velocity`, by name; the first is drawn by default."""
    return {name: of_field("velocity", name, n, usual=n == 0) for n, name in enumerate("uvw")}
