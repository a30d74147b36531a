"""The table [sem] of a case file. Made by tools/from_compiled.py."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, TypedDict

from pydantic import Field

from slipstream.base.keys import Count, Finite, NotNegative, Positive, Table


class ElementsTable(Table):
    """[sem]: the elements. [grid] has how many there are along x, y and z, and the periodic axes. Lengths and times
    are in any units that fit together."""

    in_units: ClassVar[Mapping[str, str]] = {"-": "order stretch deformation", "length": "lengths map"}

    order: Annotated[int, Field(ge=1, le=15)] = Field(7, description="Of the polynomials in an element, 1 to 15.")
    lengths: tuple[Positive, Positive, Positive] = Field((1.0, 1.0, 1.0), description="Edges of the box.")
    stretch: tuple[Positive, Positive, Positive] = Field(
        (1.0, 1.0, 1.0), description="Width of the last element along an axis over the first's."
    )
    deformation: NotNegative = Field(
        0.0, description="Amplitude of a sine map that bends the elements, as a share of the box; above 0.137 it folds."
    )
    map: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="Where the places of the box, stretched and deformed, are in truth: x, y and z. A number, or an "
        "expression in x, y, z (from the box's low corner), the sides Lx, Ly, Lz. All other expressions have the "
        "mapped places.",
    )
    factors: Literal["auto", "stored", "affine"] = Field(
        "auto",
        description="Geometric factors: at each point, 48 B; or six numbers an element, where elements are "
        "parallelepipeds. auto: affine where nothing is deformed or mapped.",
    )


class SolveTable(Table):
    """[sem]: coefficients, and how an unknown is solved for. A further scalar may have its own."""

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
        description="In lengths squared a unit of time, above 0 everywhere. A number, or an expression in x, y, z "
        "(from the box's low corner), the sides Lx, Ly, Lz.",
    )
    reaction: NotNegative | str = Field(
        0.0,
        description="helmholtz: the factor of u, 0 or more everywhere. A number, or an expression in x, y, z (from "
        "the box's low corner), the sides Lx, Ly, Lz.",
    )
    tolerance: Positive = Field(
        1e-10,
        description="Conjugate gradients end at this residual over the right side of the change, which is free of a "
        "constant in the data.",
    )
    absolute_tolerance: NotNegative = Field(
        0.0,
        description="They also end where the root of the residual's sum of squares over the points is at most this; a "
        "residual is an integral, in units of diffusivity times u times length.",
    )
    most_iterations: Count = Field(1000, description="Of conjugate gradients for a solution.")
    method: Literal["cg", "fgmres"] = Field("cg", description="Conjugate gradients, or restarted flexible GMRES.")
    restart: Annotated[int, Field(ge=1, le=63)] = Field(
        30, description="fgmres: iterations between restarts, 63 at most; each keeps two vectors."
    )
    projection: Annotated[int, Field(ge=0, le=63)] = Field(
        0, description="diffusion: the first guess comes from the span of so many earlier solutions, too; 63 at most."
    )
    preconditioner: Literal["jacobi", "chebyshev", "multigrid", "schwarz"] = Field(
        "jacobi",
        description="The diagonal; Chebyshev's polynomial with it; or p-multigrid whose smoothers are Chebyshev "
        "polynomials in the diagonal (multigrid) or in overlapping Schwarz (schwarz).",
    )
    degree: Count | None = Field(
        None,
        description="Of Chebyshev's polynomials: chebyshev 4, multigrid 3, schwarz 2 where left out; more operators "
        "an iteration, and fewer iterations.",
    )
    not_converged: Literal["stop", "go on"] = Field(
        "stop", description="What becomes of a run whose conjugate gradients do not reach the tolerance."
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
        description="-diffusivity Lap u = source; the same with + reaction u on the left; or du/dt = diffusivity Lap "
        "u + source.",
    )
    source: Finite | str = Field(
        0.0,
        description="A number, or an expression in x, y, z (from the box's low corner), the sides Lx, Ly, Lz and, of "
        "diffusion, the time t.",
    )
    velocity: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="diffusion: what carries u, along x, y and z: du/dt + velocity . grad u = ... A number, or an "
        "expression in x, y, z (from the box's low corner), the sides Lx, Ly, Lz and, of diffusion, the time t.",
    )
    target_courant: Positive | None = Field(
        None,
        description="With velocity: each time step is made in equal parts, as few as keep the Courant number at this.",
    )
    time_step: Positive | None = Field(None, description="diffusion: the same all through.")
    time_order: Literal[1, 2, 3] = Field(2, description="diffusion: of the backward differences.")
    start: Literal["lower", "exact"] = Field(
        "lower",
        description="diffusion: the first steps are of lower order, which leaves an error of order 2 in the time "
        "step; or of full order, from [exact] at the times before.",
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

    equation: Literal["navier_stokes"] = Field(description="Of incompressible flow.")
    viscosity: Positive = Field(description="Kinematic, in lengths squared a unit of time.")
    force: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="By mass, along x, y and z. Numbers, or expressions in x, y, z (from the box's low corner), the "
        "sides Lx, Ly, Lz and the time t.",
    )
    time_step: Positive = Field(description="The same all through; with target_courant of what is made in parts.")
    time_order: Literal[1, 2, 3] = Field(3, description="Of the backward differences and of the extrapolation.")
    start: Literal["lower", "exact"] = Field(
        "lower",
        description="The first steps are of lower order, which leaves an error of order 2 in the time step; or of "
        "full order, from [exact] at the times before.",
    )
    target_courant: Positive | None = Field(
        None, description="Each time step is made in equal parts, as few as keep the Courant number at this."
    )
    courant_limit: Positive | None = Field(
        None,
        description="Courant number that ends the run. Left out: where advection by a uniform velocity begins to grow.",
    )
    divergence_damping: Annotated[float, Field(ge=0, le=16, allow_inf_nan=False)] = Field(
        1.0,
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
        1e-05,
        description="The pressure's solution ends where the root of the residual's mean square is at most this: "
        "sqrt((r, r) / volume), r an integral.",
    )
    velocity_tolerance: Positive = Field(1e-07, description="The same of each part of the velocity.")
    most_iterations: Count = Field(1000, description="Of a solution.")
    method: Literal["cg", "fgmres"] = Field(
        "cg", description="Of the pressure: flexible conjugate gradients, or restarted flexible GMRES."
    )
    restart: Annotated[int, Field(ge=1, le=63)] = Field(
        30, description="fgmres: iterations between restarts; each keeps two vectors."
    )
    projection: Annotated[int, Field(ge=0, le=63)] = Field(
        10, description="The pressure's first guess comes from the span of so many earlier solutions, too."
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
