"""The tables of a case of incompressible flow on spectral elements."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, Finite, NotNegative, Positive, Table
from slipstream.case.sides import SidesTable
from slipstream.sem.tables import ElementsTable, SemOutputTable, SemRunTable

_NAMES = "Numbers, or expressions in x, y, z (from the box's low corner), the sides Lx, Ly, Lz"
_AND_TIME = f"{_NAMES} and the time t"
Parts = tuple[Finite | str, Finite | str, Finite | str]


class FlowTable(ElementsTable):
    """[sem] with equation = "navier_stokes": du/dt + u . grad u = - grad p + viscosity Lap u + force, div u = 0."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length^2 / time": "viscosity",
        "length / time^2": "force pressure_tolerance velocity_tolerance",
        "time": "time_step mean_from",
        "-": "target_courant courant_limit degree",
        "steps": "divergence_damping",
        "1 / time": "filter",
        "modes": "filter_modes",
        "iterations": "most_iterations restart",
        "solutions": "projection",
    }

    equation: Literal["navier_stokes"] = Field(description="Of incompressible flow.")
    viscosity: Positive = Field(description="Kinematic, in lengths squared a unit of time.")
    force: Parts | None = Field(None, description=f"By mass, along x, y and z. {_AND_TIME}.")
    time_step: Positive = Field(description="The same all through; with target_courant of what is made in parts.")
    time_order: Literal[1, 2, 3] = Field(3, description="Of the backward differences and of the extrapolation.")
    start: Literal["lower", "exact"] = Field(
        "lower",
        description="The first steps are of lower order, which leaves an error of order 2 in the time step; or of full "
        "order, from [exact] at the times before.",
    )
    target_courant: Positive | None = Field(
        None, description="Each time step is made in equal parts, as few as keep the Courant number at this."
    )
    courant_limit: Positive | None = Field(
        None,
        description="Courant number that ends the run. Left out: where advection by a uniform velocity begins to grow.",
    )
    divergence_damping: NotNegative = Field(
        1.0,
        le=16,
        description="Explicit steps that damp the divergence after each time step, which elements leave within "
        "themselves; 0: none.",
    )
    filter: NotNegative = Field(
        0.0,
        description="Rate at which the highest modes are damped (a high-pass filter): du/dt = - filter (u - G u); 0: "
        "none.",
    )
    filter_modes: Count = Field(1, description="Modes that the filter damps along each axis.")
    mean_from: NotNegative | None = Field(
        None,
        description="From this time on, running means are kept: mean_velocity, mean_pressure, mean_squares (uu vv ww) "
        "and mean_products (uv uw vw), in fields.vtkhdf and checkpoints.",
    )
    pressure_tolerance: Positive = Field(
        1e-5,
        description="The pressure's solution ends where the root of the residual's mean square is at most this: "
        "sqrt((r, r) / volume), r an integral.",
    )
    velocity_tolerance: Positive = Field(1e-7, description="The same of each part of the velocity.")
    most_iterations: Count = Field(1000, description="Of a solution.")
    method: Literal["cg", "fgmres"] = Field(
        "cg", description="Of the pressure: flexible conjugate gradients, or restarted flexible GMRES."
    )
    restart: int = Field(30, ge=1, le=63, description="fgmres: iterations between restarts; each keeps two vectors.")
    projection: int = Field(
        10, ge=0, le=63, description="The pressure's first guess comes from the span of so many last solutions, too."
    )
    preconditioner: Literal["jacobi", "multigrid", "schwarz"] = Field(
        "schwarz",
        description="Of the pressure: the diagonal; or p-multigrid whose smoothers are Chebyshev polynomials in the "
        "diagonal (multigrid) or in overlapping Schwarz (schwarz).",
    )
    degree: Count | None = Field(None, description="Of Chebyshev's polynomials: multigrid 3, schwarz 2 where left out.")
    not_converged: Literal["stop", "go on"] = Field(
        "stop", description="What becomes of a run where a solution does not reach its tolerance."
    )


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
