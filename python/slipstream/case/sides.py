"""What bounds the fluid of a case: the sides of the box, and the bodies in it."""

from collections.abc import Iterator
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Vector = tuple[Finite, Finite, Finite]
SIDES = ("x-", "x+", "y-", "y+", "z-", "z+")


class Table(BaseModel):
    """Strict types, no unknown keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


Side = TypeVar("Side")


class SidesTable(Table, Generic[Side]):
    """What a case says of the sides of the box that it names."""

    x_low: Side | None = Field(None, alias="x-")
    x_high: Side | None = Field(None, alias="x+")
    y_low: Side | None = Field(None, alias="y-")
    y_high: Side | None = Field(None, alias="y+")
    z_low: Side | None = Field(None, alias="z-")
    z_high: Side | None = Field(None, alias="z+")

    def given(self) -> Iterator[tuple[str, Side]]:
        """Sides that the case names, with what it says of them."""
        for side, name in zip(SIDES, type(self).model_fields, strict=True):
            entry = getattr(self, name)
            if entry is not None:
                yield side, entry


class Wall(Table):
    """A wall that moves in its own plane."""

    velocity: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0), description="In units of the lid speed; in m/s with units.speeds."
    )


class WallsTable(SidesTable[Wall]):
    """[walls]: the sides of the box; sides that are neither here nor periodic are walls at rest."""

    def velocity(self, side: str) -> tuple[float, float, float]:
        """Velocity of a side, in the unit of the case."""
        return next((wall.velocity for name, wall in self.given() if name == side), (0.0, 0.0, 0.0))


class Boundary(Table):
    """A side of the box that is neither a wall nor periodic."""

    kind: Literal["velocity", "pressure", "convective", "slip"] = Field(
        description="The fluid comes in (or leaves) at a velocity; it leaves (or comes in) at a pressure; it is "
        "carried out at a speed, its pressure drawn gently to one far away; a mirror."
    )
    velocity: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="Of kind velocity, in units of the lid speed, or in m/s with units.speeds; parts may be "
        "expressions in x, y, z (cells, or m in SI, from the box's low corner), the box's sides Lx, Ly, Lz and "
        "physics.length L: "
        '"4*y*(Ly-y)/Ly^2".',
    )
    density: Positive | None = Field(
        None,
        description="Of kind pressure, or far away of kind convective, over that of the fluid at rest: pressure is "
        "density / 3. Left out: 1.",
    )
    pressure: Finite | None = Field(
        None,
        description="SI, of kind pressure or convective, in place of density: above that of the fluid at rest, in Pa.",
    )
    speed: Positive | None = Field(
        None,
        description="Of kind convective: that of what leaves, in units of the lid speed, or in m/s with units.speeds. "
        "Left out: the lid speed.",
    )
    relaxation: Annotated[float, Field(ge=0, le=2)] | None = Field(
        None,
        description="Of kind convective: 1 over the ways of sound through the box in which the mean pressure goes to "
        "that far away; 0: nothing holds it. Left out: 0.25.",
    )


class BoundariesTable(SidesTable[Boundary]):
    """[boundaries]: the sides of the box that are neither walls nor periodic."""


class Body(Table):
    """[bodies.NAME]: a solid in the flow, at rest: a mesh from a file, or a simple shape. In cells, or m in SI."""

    mesh: str | None = Field(
        None,
        description="An OBJ or STL file, its surface closed: beside the case file, or else from the working directory. "
        "Either this or shape.",
    )
    shape: Literal["cylinder", "sphere", "beads"] | None = Field(
        None, description="A cylinder goes through the whole box; beads are a disordered pack of spheres that fills it."
    )
    centre: Vector | None = Field(None, description="Of the cylinder or sphere.")
    radius: Positive | None = Field(None, description="Of the shape.")
    solid: Annotated[float, Field(gt=0, lt=0.63)] | None = Field(
        None, description="Of beads: the part of the box that they fill, as nearly as whole beads can."
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="Of beads: another one, another pack.")
    axis: Literal["x", "y", "z"] = Field("z", description="Of the cylinder.")
    part: str | None = Field(None, description="Only this object, group or solid of the mesh's file.")
    units: Literal["m", "cm", "mm", "um", "km", "in", "ft"] | None = Field(
        None, description="SI: of the mesh's coordinates. Left out: m; in a case in cells they are cells."
    )
    scale: Positive = Field(1.0, description="Factor on the mesh's coordinates; then rotate, then translate.")
    rotate: Vector = Field((0.0, 0.0, 0.0), description="Degrees about x, then y, then z, through the mesh's origin.")
    translate: Vector = Field((0.0, 0.0, 0.0), description="Displacement.")
    orient: bool = Field(False, description="Turn triangles round until neighbours face the same way.")
    weld: Annotated[float, Field(ge=0)] = Field(0.0, description="Join vertices that lie at most so far apart.")
    area: Positive | None = Field(
        None,
        description="For the coefficients of drag and lift; in 2-D that of one cell's depth. Left out: forces only.",
    )
    about: Vector | None = Field(
        None,
        description="The point about which its moment is taken, as translate and centre say places; with an area the "
        "moment gets a coefficient, too. Left out: the low corner of the box, and no coefficient.",
    )
