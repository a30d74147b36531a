"""The table of a body in the flow."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Positive, Table, Vector


class Body(Table):
    """[bodies.NAME]: a solid in the flow, at rest: a mesh from a file, or a simple shape. In cells, or m in SI."""

    in_units: ClassVar[Mapping[str, str]] = {
        "cells; SI: m": "centre radius translate weld about",
        "-": "solid seed scale",
        "degrees": "rotate",
        "cells^2; SI: m^2": "area",
    }

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
    links: Literal["interpolated", "half-way"] = Field(
        "interpolated",
        description="Where the surface lies on links between cells: where it cuts them (Bouzidi 2001), or half-way, so "
        "that the body has steps. Both keep the mass of a closed flow.",
    )
    area: Positive | None = Field(
        None,
        description="For the coefficients of drag and lift; in 2-D that of one cell's depth. Left out: forces only.",
    )
    about: Vector | None = Field(
        None,
        description="The point about which its moment is taken, as translate and centre say places; with an area the "
        "moment gets a coefficient, too. Left out: the low corner of the box, and no coefficient.",
    )
