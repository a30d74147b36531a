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
    """[boundaries.SIDE]: a side of the box that is not periodic; one that is not named is a wall at rest."""

    in_units: ClassVar[Mapping[str, str]] = {"length / time": "velocity"}

    kind: Literal["wall", "velocity", "symmetry"] = Field(
        description="At rest; the fluid has a velocity there, as at an inlet, or at a wall that moves; or a mirror, on "
        "sides that are planes across x, y or z."
    )
    velocity: Parts | None = Field(None, description=f"Of kind velocity. {_AND_TIME}.")
    where: str | None = Field(
        None,
        description="An expression in x, y, z, Lx, Ly, Lz: the condition holds on the elements' faces at whose centres "
        "it is above 0.",
    )
    otherwise: "FlowSideTable | None" = Field(None, description="With where: what holds on the other faces.")


class FlowSidesTable(SidesTable[FlowSideTable]):
    """[boundaries]: the sides of the box, x- to z+."""


class FlowStartTable(Table):
    """[initial]: the velocity at the start; left out: [exact] at time 0 where that is given, else at rest. One of flow
    and velocity."""

    in_units: ClassVar[Mapping[str, str]] = {"length / time": "velocity"}

    flow: Literal["taylor_green"] | None = Field(
        None, description="Taylor & Green 1937: (sin x cos y cos z, - cos x sin y cos z, 0)."
    )
    velocity: Parts | None = Field(None, description=f"{_NAMES}.")


class FlowSolutionTable(Table):
    """[exact]: the flow that is known."""

    in_units: ClassVar[Mapping[str, str]] = {"length / time": "velocity", "length^2 / time^2": "pressure"}

    velocity: Parts | None = Field(None, description=f"{_AND_TIME}.")
    pressure: Finite | str | None = Field(None, description=f"But for a constant. {_AND_TIME}.")


class FlowRunTable(SemRunTable):
    """[run]: when to stop, whichever comes first."""


class FlowOutputTable(SemOutputTable):
    """[output]: what stays."""

    fields: bool = Field(
        True, description="Velocity and pressure as fields.vtkhdf, curved elements of high order for ParaView."
    )
    nek: Literal["no", "f32", "f64"] = Field(
        "no", description="Beside fields.vtkhdf, places, velocity (U) and pressure (P) as field files of Nek5000."
    )
    planes: Literal["x", "y", "z"] | None = Field(
        None,
        description="planes.csv at the end: means over the planes of points across this axis, of the running means "
        "where sem.mean_from is given.",
    )
    reference: Literal["auto", "none", "taylor_green1600", "albensoeder2005"] = Field(
        "auto",
        description="What to compare with: a published decay (auto: of Taylor-Green at Reynolds number 1600), or a "
        "cubic cavity of edge 1 whose lid y+ has the speed 1 along x.",
    )
