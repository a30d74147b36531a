"""Tables of the sides of the box: walls and open boundaries."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Generic, Literal, TypeVar

from pydantic import Field

from slipstream.base.keys import Finite, Positive, Table

SIDES = ("x-", "x+", "y-", "y+", "z-", "z+")


Side = TypeVar("Side")


class SidesTable(Table, Generic[Side]):
    """Base of tables with an entry per side of the box."""

    x_low: Side | None = Field(None, alias="x-")
    x_high: Side | None = Field(None, alias="x+")
    y_low: Side | None = Field(None, alias="y-")
    y_high: Side | None = Field(None, alias="y+")
    z_low: Side | None = Field(None, alias="z-")
    z_high: Side | None = Field(None, alias="z+")

    def given(self) -> Iterator[tuple[str, Side]]:
        """Pairs of a side of the box and its table in the case, for all sides that the case describes."""
        for side, name in zip(SIDES, type(self).model_fields, strict=True):
            entry = getattr(self, name)
            if entry is not None:
                yield side, entry


class Wall(Table):
    """[walls.SIDE]: a wall that moves in its own plane."""

    in_units: ClassVar[Mapping[str, str]] = {"reference velocity, or m/s": "velocity"}

    velocity: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0),
        description="Velocity of the wall in units of the reference velocity, or in m/s with units.speeds.",
    )


class WallsTable(SidesTable[Wall]):
    """[walls]: the sides of the box; sides that are neither here nor periodic are walls at rest."""

    def velocity(self, side: str) -> tuple[float, float, float]:
        """Velocity of a wall, in the unit of the case."""
        return next((wall.velocity for name, wall in self.given() if name == side), (0.0, 0.0, 0.0))


class Boundary(Table):
    """[boundaries.SIDE]: a side of the box that is neither a wall nor periodic."""

    in_units: ClassVar[Mapping[str, str]] = {
        "reference velocity, or m/s": "velocity speed",
        "density at rest": "density",
        "Pa": "pressure",
        "-": "relaxation",
    }

    kind: Literal["velocity", "pressure", "convective", "slip"] = Field(
        description="Condition on the side: given velocity, given pressure, convective outlet, or free slip. "
        "Fluid may enter or leave at a given velocity or pressure. A convective outlet relaxes the "
        "mean pressure towards a far-field value."
    )
    velocity: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="velocity: the velocity on the side, in units of the reference velocity, or in m/s with "
        "units.speeds. Components are numbers or expressions in x, y, z (cells, or m in SI, from the "
        "box's low corner), the box's sides Lx, Ly, Lz and physics.length L, such as "
        '"4*y*(Ly-y)/Ly^2".',
    )
    density: Positive | None = Field(
        None,
        description="pressure or convective: density, or far-field density, over that of the fluid at rest. The "
        "pressure is density / 3. Left out: 1.",
    )
    pressure: Finite | None = Field(
        None,
        description="SI: pressure in place of density, minus that of the fluid at rest, in Pa. For the kinds "
        "pressure and convective.",
    )
    speed: Positive | None = Field(
        None,
        description="convective: velocity at which the flow leaves, in units of the reference velocity, or in "
        "m/s with units.speeds. Left out: the reference velocity.",
    )
    relaxation: Annotated[float, Field(ge=0, le=2)] | None = Field(
        None,
        description="convective: inverse number of sound crossings of the box in which the mean pressure "
        "relaxes; 0: no relaxation. It relaxes to the far-field pressure. Left out: 0.25.",
    )


class BoundariesTable(SidesTable[Boundary]):
    """[boundaries]: the sides of the box that are neither walls nor periodic."""
