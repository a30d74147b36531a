"""Scalar quantities on a plane of a frame, for colour maps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quantity:
    """A number in each cell of a plane."""

    values: Callable[[Any], Any]  #: from a slipstream.pictures.planes.Plane to an array [up][across]
    label: Callable[[str], str]  #: with its unit, by the normal of the plane
    signed: bool = True  #: colours symmetric about zero, else from zero on
    usual: bool = False  #: drawn by default


def of_field(name: str, label: str, component: int = 0, signed: bool = True, usual: bool = False) -> Quantity:
    """A component of a field as stored in the file."""
    return Quantity(lambda plane: plane.field(name)[..., component], lambda _: label, signed, usual)
