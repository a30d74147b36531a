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

    equation: Literal["navier_stokes"] = Field(description="Selects the incompressible Navier-Stokes equations.")
    viscosity: Positive = Field(description="Kinematic viscosity.")
    force: Parts | None = Field(None, description=f"Body force per mass along x, y and z. {_AND_TIME}.")
    time_step: Positive = Field(
        description="The time step, which is constant; target_courant may split it into substeps."
    )
    time_order: Literal[1, 2, 3] = Field(
        3, description="Order of the backward differences in time and of the extrapolation."
    )
    start: Literal["lower", "exact"] = Field(
        "lower",
        description="First steps of lower order, or of full order from [exact] at earlier times. Steps of lower "
        "order leave an error of order 2 in the time step.",
    )
    target_courant: Positive | None = Field(
        None, description="Each time step has as few equal substeps as keep the Courant number below this."
    )
    courant_limit: Positive | None = Field(
        None,
        description="A Courant number above this ends the run. Left out: where advection by a uniform velocity "
        "begins to grow.",
    )
    divergence_damping: NotNegative = Field(
        1.0,
        le=16,
        description="Sum of the factors of the explicit steps that damp the divergence after each time step; 0: "
        "none. They reduce the divergence that the projection leaves inside elements.",
    )
    filter: NotNegative = Field(
        0.0,
        description="Rate at which a high-pass filter damps the highest modes: du/dt = - filter (u - G u); 0: none.",
    )
    filter_modes: Count = Field(1, description="Number of highest modes that the filter damps along each axis.")
    mean_from: NotNegative | None = Field(
        None,
        description="Time from which running means are kept in fields.vtkhdf and checkpoints. They are "
        "mean_velocity, mean_pressure, mean_squares (uu vv ww) and mean_products (uv uw vw).",
    )
    pressure_tolerance: Positive = Field(
        1e-5,
        description="The pressure solver ends when the root mean square residual, sqrt((r, r) / volume), is at "
        "most this. The residual r of a point is an integral.",
    )
    velocity_tolerance: Positive = Field(1e-7, description="The same tolerance for each component of the velocity.")
    most_iterations: Count = Field(1000, description="Largest number of iterations per solution.")
    method: Literal["cg", "fgmres"] = Field(
        "cg", description="Pressure solver: flexible conjugate gradients (cg), or restarted flexible GMRES (fgmres)."
    )
    restart: int = Field(
        30, ge=1, le=63, description="fgmres: iterations between restarts; each one stores two vectors."
    )
    projection: int = Field(
        10, ge=0, le=63, description="Number of earlier pressures whose span gives the first guess of the pressure."
    )
    preconditioner: Literal["jacobi", "multigrid", "schwarz"] = Field(
        "schwarz",
        description="Preconditioner of the pressure: diagonal, or p-multigrid with Chebyshev or overlapping "
        "Schwarz smoothers.",
    )
    degree: Count | None = Field(
        None, description="Degree of the Chebyshev polynomials. Left out: multigrid 3, schwarz 2."
    )
    not_converged: Literal["stop", "go on"] = Field(
        "stop", description="Whether a run stops or goes on if a solver does not reach its tolerance."
    )


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
