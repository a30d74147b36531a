"""The tables of a case of incompressible flow on spectral elements beside [sem]."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Finite, Table
from slipstream.case.sides import SidesTable
from slipstream.sem.tables import SemOutputTable, SemRunTable

_NAMES = "Numbers, or expressions in x, y, z (from the box's low corner), the sides Lx, Ly, Lz"
_AND_TIME = f"{_NAMES} and the time t"
Parts = tuple[Finite | str, Finite | str, Finite | str]


class FlowSideTable(Table):
    """[boundaries.SIDE]: a side of the box that is not periodic; a side without this table is a wall at rest."""

    in_units: ClassVar[Mapping[str, str]] = {"length / time": "velocity"}

    kind: Literal["wall", "velocity", "symmetry"] = Field(
        description="A wall at rest, a given velocity (an inlet or a moving wall), or a symmetry plane normal to "
        "x, y or z."
    )
    velocity: Parts | None = Field(None, description=f"velocity: the velocity on the side. {_AND_TIME}.")
    where: str | None = Field(
        None,
        description="An expression in x, y, z, Lx, Ly, Lz: the condition holds on element faces at whose centres "
        "it is above 0.",
    )
    otherwise: "FlowSideTable | None" = Field(None, description="With where: the condition on the other faces.")


class FlowSidesTable(SidesTable[FlowSideTable]):
    """[boundaries]: the sides of the box, x- to z+."""


class FlowStartTable(Table):
    """[initial]: the initial velocity; left out: that of [exact] at time 0, or rest. Give flow or velocity."""

    in_units: ClassVar[Mapping[str, str]] = {"length / time": "velocity"}

    flow: Literal["taylor_green"] | None = Field(
        None, description="The Taylor-Green vortex of 1937, (sin x cos y cos z, - cos x sin y cos z, 0)."
    )
    velocity: Parts | None = Field(None, description=f"Initial velocity. {_NAMES}.")


class FlowSolutionTable(Table):
    """[exact]: the exact flow, for comparison."""

    in_units: ClassVar[Mapping[str, str]] = {"length / time": "velocity", "length^2 / time^2": "pressure"}

    velocity: Parts | None = Field(None, description=f"Exact velocity. {_AND_TIME}.")
    pressure: Finite | str | None = Field(None, description=f"Exact pressure, up to a constant. {_AND_TIME}.")


class FlowRunTable(SemRunTable):
    """[run]: limits of a run, which ends at the first one reached."""


class FlowOutputTable(SemOutputTable):
    """[output]: the files that a run writes."""

    fields: bool = Field(
        True, description="Write velocity and pressure to fields.vtkhdf, as curved high-order elements for ParaView."
    )
    nek: Literal["no", "f32", "f64"] = Field(
        "no", description="Also write field files of Nek5000 with coordinates, velocity (U) and pressure (P)."
    )
    planes: Literal["x", "y", "z"] | None = Field(
        None,
        description="Write planes.csv at the end of the run: means over planes normal to this axis. With "
        "sem.mean_from they are those of the running means.",
    )
    reference: Literal["auto", "none", "taylor_green1600", "albensoeder2005"] = Field(
        "auto",
        description="Flow for comparison: the Taylor-Green decay at Reynolds number 1600, or a lid-driven cubic "
        "cavity. The cavity has edge 1, and its lid y+ has the speed 1 along x. auto: the decay.",
    )
