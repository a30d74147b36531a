"""The table [sem] of a case file. Made by tools/from_compiled.py."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, TypedDict

from pydantic import Field

from slipstream.base.keys import Count, Finite, NotNegative, Positive, Table


class ElementsTable(Table):
    """[sem]: the elements; [grid] has their numbers along x, y and z, and the periodic axes. Lengths and times are
    in any units that fit together."""

    in_units: ClassVar[Mapping[str, str]] = {"-": "order stretch deformation", "length": "lengths map"}

    order: Annotated[int, Field(ge=1, le=15)] = Field(
        7, description="Degree of the polynomials in an element, 1 to 15."
    )
    lengths: tuple[Positive, Positive, Positive] = Field((1.0, 1.0, 1.0), description="Edges of the box along x, y, z.")
    stretch: tuple[Positive, Positive, Positive] = Field(
        (1.0, 1.0, 1.0), description="Width of the last element along each axis, divided by that of the first."
    )
    deformation: NotNegative = Field(
        0.0,
        description="Amplitude of a sine map that bends the elements, as a fraction of the box; above 0.137 elements "
        "fold.",
    )
    map: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="Mapping of the box: new x, y and z of its points, after stretch and deformation. A number, or an "
        "expression in x, y, z (from the box's low corner), the sides Lx, Ly, Lz. All other expressions use the "
        "mapped coordinates.",
    )
    factors: Literal["auto", "stored", "affine"] = Field(
        "auto",
        description="Geometric factors: stored at each point, 48 bytes; or affine, six numbers for each element, "
        "which must be a parallelepiped. auto: affine unless elements are deformed or mapped.",
    )


class SolveTable(Table):
    """[sem]: coefficients and linear solver of an unknown; each further scalar may have its own."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length^2 / time": "diffusivity",
        "1 / length^2": "reaction",
        "-": "tolerance degree",
        "u x length^3 / time": "absolute_tolerance",
        "iterations": "most_iterations restart",
        "solutions": "projection",
    }

    diffusivity: Positive | str = Field(
        1.0,
        description="Diffusivity of the unknown, above 0 everywhere. A number, or an expression in x, y, z (from the "
        "box's low corner), the sides Lx, Ly, Lz.",
    )
    reaction: NotNegative | str = Field(
        0.0,
        description="helmholtz: coefficient of u, 0 or more everywhere. A number, or an expression in x, y, z (from "
        "the box's low corner), the sides Lx, Ly, Lz.",
    )
    tolerance: Positive = Field(
        1e-10,
        description="The solver ends when the norm of the residual is at most this fraction of that of the right "
        "side, without the part that constant data contribute.",
    )
    absolute_tolerance: NotNegative = Field(
        0.0,
        description="The solver also ends when the root of the sum of squared residuals over the points is at most "
        "this; residuals are integrals, in units of diffusivity x u x length.",
    )
    most_iterations: Count = Field(1000, description="Largest number of iterations for each solution.")
    method: Literal["cg", "fgmres"] = Field(
        "cg", description="Linear solver: conjugate gradients, or restarted flexible GMRES."
    )
    restart: Annotated[int, Field(ge=1, le=63)] = Field(
        30, description="fgmres: iterations between restarts, at most 63; each stores two vectors."
    )
    projection: Annotated[int, Field(ge=0, le=63)] = Field(
        0, description="diffusion: number of earlier solutions onto which the initial guess is projected; at most 63."
    )
    preconditioner: Literal["jacobi", "chebyshev", "multigrid", "schwarz"] = Field(
        "jacobi",
        description="Jacobi; Chebyshev polynomials with Jacobi; or p-multigrid whose smoothers are Chebyshev "
        "polynomials with Jacobi (multigrid) or with overlapping Schwarz (schwarz).",
    )
    degree: Count | None = Field(
        None,
        description="Degree of the Chebyshev polynomials; left out: chebyshev 4, multigrid 3, schwarz 2. Higher "
        "degrees need fewer iterations, which cost more.",
    )
    not_converged: Literal["stop", "go on"] = Field(
        "stop", description="Whether a run stops or goes on if the linear solver does not reach the tolerance."
    )


class SemTable(ElementsTable, SolveTable):
    """[sem]: the equation and how it is computed."""

    in_units: ClassVar[Mapping[str, str]] = {
        "u / time": "source",
        "length / time": "velocity",
        "-": "target_courant",
        "time": "time_step",
    }

    equation: Literal["poisson", "helmholtz", "diffusion"] = Field(
        description="poisson: -diffusivity Lap u = source; helmholtz: with + reaction u on the left; diffusion: du/dt "
        "= diffusivity Lap u + source.",
    )
    source: Finite | str = Field(
        0.0,
        description="Source term of the equation. A number, or an expression in x, y, z (from the box's low corner), "
        "the sides Lx, Ly, Lz and, of diffusion, the time t.",
    )
    velocity: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="diffusion: velocity that advects u: du/dt + velocity . grad u = ... A number, or an expression "
        "in x, y, z (from the box's low corner), the sides Lx, Ly, Lz and, of diffusion, the time t.",
    )
    target_courant: Positive | None = Field(
        None,
        description="With velocity: each time step has as many equal substeps as keep the Courant number below this.",
    )
    time_step: Positive | None = Field(None, description="diffusion: the time step, which is constant.")
    time_order: Literal[1, 2, 3] = Field(2, description="diffusion: order of the backward differences.")
    start: Literal["lower", "exact"] = Field(
        "lower",
        description="diffusion: lower: the first steps have lower order, which leaves an error of order 2 in the time "
        "step; exact: they have full order, because [exact] gives the values at earlier times.",
    )


class FlowTable(ElementsTable):
    """[sem]: with equation = "navier_stokes": du/dt + u . grad u = - grad p + viscosity Lap u + force, div u = 0."""

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

    equation: Literal["navier_stokes"] = Field(description="Incompressible Navier-Stokes equations.")
    viscosity: Positive = Field(description="Kinematic viscosity.")
    force: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="Body force per mass along x, y and z. Numbers, or expressions in x, y, z (from the box's low "
        "corner), the sides Lx, Ly, Lz and the time t.",
    )
    time_step: Positive = Field(
        description="The time step, which is constant; with target_courant it is divided into substeps."
    )
    time_order: Literal[1, 2, 3] = Field(3, description="Order of the backward differences and of the extrapolation.")
    start: Literal["lower", "exact"] = Field(
        "lower",
        description="lower: the first steps have lower order, which leaves an error of order 2 in the time step; "
        "exact: they have full order, because [exact] gives the flow at earlier times.",
    )
    target_courant: Positive | None = Field(
        None, description="Each time step has as many equal substeps as keep the Courant number below this."
    )
    courant_limit: Positive | None = Field(
        None,
        description="Courant number above which the run ends. Left out: the stability limit of advection by a uniform "
        "velocity.",
    )
    divergence_damping: Annotated[float, Field(ge=0, le=16, allow_inf_nan=False)] = Field(
        1.0,
        description="Number of explicit steps after each time step that damp the divergence within elements, which "
        "the pressure does not remove; 0: none.",
    )
    filter: NotNegative = Field(
        0.0,
        description="Rate at which the highest modes are damped (a high-pass filter): du/dt = - filter (u - G u); 0: "
        "none.",
    )
    filter_modes: Count = Field(1, description="Number of the highest modes along each axis that the filter damps.")
    mean_from: NotNegative | None = Field(
        None,
        description="Time from which running means are computed, for fields.vtkhdf and checkpoints: mean_velocity, "
        "mean_pressure, mean_squares (uu vv ww) and mean_products (uv uw vw).",
    )
    pressure_tolerance: Positive = Field(
        1e-05,
        description="The solution for the pressure ends when the root mean square of the residual r is at most this: "
        "sqrt((r, r) / volume).",
    )
    velocity_tolerance: Positive = Field(
        1e-07, description="Root mean square of the residual at which the solution for each velocity component ends."
    )
    most_iterations: Count = Field(1000, description="Largest number of iterations for each solution.")
    method: Literal["cg", "fgmres"] = Field(
        "cg", description="Solver for the pressure: flexible conjugate gradients, or restarted flexible GMRES."
    )
    restart: Annotated[int, Field(ge=1, le=63)] = Field(
        30, description="fgmres: iterations between restarts; each stores two vectors."
    )
    projection: Annotated[int, Field(ge=0, le=63)] = Field(
        10, description="Number of earlier pressures onto which the initial guess of the pressure is projected."
    )
    preconditioner: Literal["jacobi", "multigrid", "schwarz"] = Field(
        "schwarz",
        description="Preconditioner of the pressure: Jacobi; or p-multigrid whose smoothers are Chebyshev polynomials "
        "with Jacobi (multigrid) or with overlapping Schwarz (schwarz).",
    )
    degree: Count | None = Field(
        None, description="Degree of the Chebyshev polynomials; left out: multigrid 3, schwarz 2."
    )
    not_converged: Literal["stop", "go on"] = Field(
        "stop", description="Whether a run stops or goes on if a solution does not reach its tolerance."
    )


class ElementsKeywords(TypedDict, total=False):
    """Keys of [sem] that may be left out."""

    order: int
    lengths: Sequence[float]
    stretch: Sequence[float]
    deformation: float
    map: Sequence[float | str]
    factors: Literal["auto", "stored", "affine"]


class SolveKeywords(TypedDict, total=False):
    """Keys of [sem] that may be left out."""

    diffusivity: float | str
    reaction: float | str
    tolerance: float
    absolute_tolerance: float
    most_iterations: int
    method: Literal["cg", "fgmres"]
    restart: int
    projection: int
    preconditioner: Literal["jacobi", "chebyshev", "multigrid", "schwarz"]
    degree: int
    not_converged: Literal["stop", "go on"]


class SemKeywords(ElementsKeywords, SolveKeywords, total=False):
    """Keys of [sem] that may be left out."""

    source: float | str
    velocity: Sequence[float | str]
    target_courant: float
    time_step: float
    time_order: Literal[1, 2, 3]
    start: Literal["lower", "exact"]


class FlowKeywords(ElementsKeywords, total=False):
    """Keys of [sem] that may be left out."""

    force: Sequence[float | str]
    time_order: Literal[1, 2, 3]
    start: Literal["lower", "exact"]
    target_courant: float
    courant_limit: float
    divergence_damping: float
    filter: float
    filter_modes: int
    mean_from: float
    pressure_tolerance: float
    velocity_tolerance: float
    most_iterations: int
    method: Literal["cg", "fgmres"]
    restart: int
    projection: int
    preconditioner: Literal["jacobi", "multigrid", "schwarz"]
    degree: int
    not_converged: Literal["stop", "go on"]
