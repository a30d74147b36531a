"""What a plane of a frame can be coloured by."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quantity:
    """A number in each cell of a plane."""

    values: Callable[[Any], Any]  #: of a slipstream.pictures.planes.Plane: an array [up][across]
    label: Callable[[str], str]  #: with its unit, by the normal of the plane
    signed: bool = True  #: coloured alike to both sides of zero, else from zero on
    usual: bool = False  #: drawn where nothing is named


def of_field(name: str, label: str, component: int = 0, signed: bool = True, usual: bool = False) -> Quantity:
    """A component of a field as it stands in the file."""
    return Quantity(lambda plane: plane.field(name)[..., component], lambda _: label, signed, usual)
