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
        description="An OBJ or STL file with a closed surface. It is looked for beside the case file, then in "
        "the working directory. Either this or shape.",
    )
    shape: Literal["cylinder", "sphere", "beads"] | None = Field(
        None,
        description="A cylinder through the whole box, a sphere, or a random pack of spheres (beads) in the whole box.",
    )
    centre: Vector | None = Field(None, description="Centre of the cylinder or sphere.")
    radius: Positive | None = Field(None, description="Radius of the cylinder, the sphere or each bead.")
    solid: Annotated[float, Field(gt=0, lt=0.63)] | None = Field(
        None, description="beads: volume fraction of the spheres, as closely as a whole number of spheres allows."
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="beads: seed of the random pack.")
    axis: Literal["x", "y", "z"] = Field("z", description="Axis of the cylinder.")
    part: str | None = Field(
        None, description="Name of the object, group or solid to take from the mesh file. Left out: all of the file."
    )
    units: Literal["m", "cm", "mm", "um", "km", "in", "ft"] | None = Field(
        None, description="SI: unit of the mesh's coordinates. Left out: m; in a case in cells they are cells."
    )
    scale: Positive = Field(1.0, description="Factor on the mesh's coordinates, applied before rotate and translate.")
    rotate: Vector = Field(
        (0.0, 0.0, 0.0), description="Rotation of the mesh about x, then y, then z, through its origin, in degrees."
    )
    translate: Vector = Field((0.0, 0.0, 0.0), description="Displacement of the mesh, applied last.")
    orient: bool = Field(False, description="Flip triangles of the mesh until neighbours have the same orientation.")
    weld: Annotated[float, Field(ge=0)] = Field(
        0.0, description="Join vertices of the mesh whose distance is at most this."
    )
    links: Literal["interpolated", "half-way"] = Field(
        "interpolated",
        description="Where the surface cuts a link between cells: at the computed place (Bouzidi 2001), or "
        "half-way. Half-way links give the body steps. Both keep the mass of a closed flow.",
    )
    area: Positive | None = Field(
        None,
        description="Reference area of the drag and lift coefficients; in 2-D that of a depth of one cell. Left "
        "out: forces only.",
    )
    about: Vector | None = Field(
        None,
        description="Reference point of the moment, in the coordinates of centre and translate. With an area the "
        "moment also gets a coefficient. Left out: the low corner of the box, and no coefficient.",
    )
