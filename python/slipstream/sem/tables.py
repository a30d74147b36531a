"""The tables of a case of spectral elements."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, Finite, NotNegative, Positive, Table, Vector
from slipstream.case.sides import SidesTable
from slipstream.case.tables import BodyName, OutputTable, RunTable

_NAMES = "A number, or an expression in x, y, z (from the box's low corner), the sides Lx, Ly, Lz"
_AND_TIME = f"{_NAMES} and, of diffusion, the time t"

#: Edges of the box, or ratios of element lengths along them.
Edges = tuple[Positive, Positive, Positive]


class ElementsTable(Table):
    """[sem]: the elements. [grid] has their numbers along x, y and z, and the periodic axes. Lengths and times are in
    any consistent units.
    """

    in_units: ClassVar[Mapping[str, str]] = {"-": "order stretch deformation", "length": "lengths map"}

    order: Annotated[int, Field(ge=1, le=15)] = Field(7, description="Order of the polynomials in an element.")
    lengths: Edges = Field((1.0, 1.0, 1.0), description="Edges of the box along x, y, z.")
    stretch: Edges = Field(
        (1.0, 1.0, 1.0), description="Ratio of the widths of the last and the first element along each axis."
    )
    deformation: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        0.0,
        description="Amplitude of a sine map that bends the elements, as a fraction of the box; the map folds "
        "above 0.137.",
    )
    map: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="Coordinates x, y, z of the domain as functions of those of the box. The box is stretched "
        f"and deformed before. {_NAMES}. All other expressions use the mapped coordinates.",
    )
    factors: Literal["auto", "stored", "affine"] = Field(
        "auto",
        description="Geometric factors: stored at each point (48 B), or six numbers per element for "
        "parallelepipeds (affine). auto: affine if nothing is deformed or mapped.",
    )


class SolveTable(Table):
    """Keys that each unknown may have for itself: coefficients, and options of its solver."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length^2 / time": "diffusivity",
        "1 / length^2": "reaction",
        "-": "tolerance degree",
        "u x length^3 / time": "absolute_tolerance",
        "iterations": "most_iterations restart",
        "solutions": "projection",
    }

    diffusivity: Positive | str = Field(1.0, description=f"Diffusivity, above 0 everywhere. {_NAMES}.")
    reaction: NotNegative | str = Field(0.0, description=f"helmholtz: the factor of u, 0 or more everywhere. {_NAMES}.")
    tolerance: Positive = Field(
        1e-10,
        description="The solver ends when the norm of the residual is at most this fraction of that of the right "
        "side. The right side is that of the change from the first guess, so constants in the data "
        "do not matter.",
    )
    absolute_tolerance: NotNegative = Field(
        0.0,
        description="The solver also ends when the root of the sum of squared residuals is at most this. The "
        "residual of a point is an integral, in units of diffusivity times u times length.",
    )
    most_iterations: Count = Field(1000, description="Largest number of iterations per solution.")
    method: Literal["cg", "fgmres"] = Field(
        "cg", description="Solver: conjugate gradients (cg), or restarted flexible GMRES (fgmres)."
    )
    restart: int = Field(
        30, ge=1, le=63, description="fgmres: iterations between restarts; each one stores two vectors."
    )
    projection: int = Field(
        0,
        ge=0,
        le=63,
        description="diffusion: number of earlier solutions whose span gives the first guess.",
    )
    preconditioner: Literal["jacobi", "chebyshev", "multigrid", "schwarz"] = Field(
        "jacobi",
        description="Diagonal, Chebyshev polynomial of it, or p-multigrid with Chebyshev or overlapping Schwarz "
        "smoothers.",
    )
    degree: Count | None = Field(
        None,
        description="Degree of the Chebyshev polynomials: more operators per iteration, but fewer iterations. "
        "Left out: chebyshev 4, multigrid 3, schwarz 2.",
    )
    not_converged: Literal["stop", "go on"] = Field(
        "stop", description="Whether a run stops or goes on if the solver does not reach the tolerance."
    )


class SemTable(ElementsTable, SolveTable):
    """[sem]: the equation and its discretisation."""

    in_units: ClassVar[Mapping[str, str]] = {
        "u / time": "source",
        "length / time": "velocity",
        "-": "target_courant",
        "time": "time_step",
    }

    equation: Literal["poisson", "helmholtz", "diffusion"] = Field(
        description="-diffusivity Lap u = source; the same with + reaction u on the left; or du/dt = diffusivity "
        "Lap u + source."
    )
    source: Finite | str = Field(0.0, description=f"Source of the equation. {_AND_TIME}.")
    velocity: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description="diffusion: velocity that transports u; the term velocity . grad u is added to du/dt. "
        f"{_AND_TIME}.",
    )
    target_courant: Positive | None = Field(
        None,
        description="With velocity: each time step has as few equal substeps as keep the Courant number below this.",
    )
    time_step: Positive | None = Field(None, description="diffusion: the time step, which is constant.")
    time_order: Literal[1, 2, 3] = Field(2, description="diffusion: order of the backward differences in time.")
    start: Literal["lower", "exact"] = Field(
        "lower",
        description="diffusion: first steps of lower order, or of full order from [exact] at earlier times. "
        "Steps of lower order leave an error of order 2 in the time step.",
    )
    scalars: dict[BodyName, "ScalarTable"] = Field(
        {}, description="Further unknowns of the same equation by name, carried by the same velocity."
    )


class SideTable(Table):
    """[boundaries.SIDE]: a value or a flux on a side of the box that is not periodic."""

    in_units: ClassVar[Mapping[str, str]] = {"u": "value", "u x length / time": "flux", "length / time": "transfer"}

    value: Finite | str | None = Field(None, description=f"Dirichlet condition: u on the side. {_AND_TIME}.")
    flux: Finite | str | None = Field(
        None, description=f"Neumann condition: inward flux, diffusivity du/dn with the outward normal n. {_AND_TIME}."
    )
    transfer: NotNegative | str | None = Field(
        None,
        description="Robin condition with flux: diffusivity du/dn + transfer u = flux; 0 or more everywhere. "
        f"{_NAMES}.",
    )
    where: str | None = Field(
        None,
        description="An expression in x, y, z, Lx, Ly, Lz: the condition holds on element faces at whose centres "
        "it is above 0.",
    )
    otherwise: "SideTable | None" = Field(None, description="With where: the condition on the other faces.")


class SemSidesTable(SidesTable[SideTable]):
    """[boundaries]: the sides of the box, x- to z+. Each is here or periodic."""


class ScalarTable(SolveTable):
    """[sem.scalars.NAME]: a further unknown beside u. Keys that it leaves out, such as diffusivity and tolerance, have
    the values of [sem]."""

    in_units: ClassVar[Mapping[str, str]] = {"the scalar / time": "source", "the scalar": "initial exact"}

    source: Finite | str = Field(0.0, description=f"Source of the scalar's equation. {_AND_TIME}.")
    boundaries: SemSidesTable = Field(
        SemSidesTable(), description="Conditions on the sides, as [boundaries] has them for u."
    )
    initial: Finite | str | None = Field(None, description=f"diffusion: initial value of the scalar. {_NAMES}.")
    exact: Finite | str | None = Field(None, description=f"Exact solution, for comparison. {_AND_TIME}.")


class SemStartTable(Table):
    """[initial]: the initial state of diffusion; left out: [exact] at time 0, or zero. Give value
    or file.
    """

    in_units: ClassVar[Mapping[str, str]] = {"u": "value"}

    value: Finite | str | None = Field(None, description=f"Initial u. {_NAMES}.")
    file: str | None = Field(
        None,
        description="Field file of Nek5000 (x0.f00000) with the same elements in the same order, of any "
        "polynomial order. It is looked for beside the case file, then in the working directory. The "
        "run begins at time 0.",
    )
    field: str = Field("T", description="file: the field of the file that becomes u: P, T, S01, S02 and so on.")


class SemReceiverTable(Table):
    """[receivers.NAME]: a point or a line at which u and further scalars are written. A point is written to
    receivers.csv with each check of the residual, a line to profiles.csv at the end.
    """

    in_units: ClassVar[Mapping[str, str]] = {"length": "at to", "points": "points"}

    at: Vector = Field(description="Position of the receiver, or the first point of the line.")
    to: Vector | None = Field(None, description="Last point of the line.")
    points: Annotated[int, Field(ge=2)] = Field(50, description="Number of points on the line, including both ends.")


class SemSolutionTable(Table):
    """[exact]: the exact solution, for comparison. Poisson's equation with Neumann or periodic sides only determines it
    up to a constant.
    """

    in_units: ClassVar[Mapping[str, str]] = {"u": "value"}

    value: Finite | str = Field(description=f"Exact u. {_AND_TIME}.")


class SemRunTable(RunTable):
    """[run]: limits of a run, which ends at the first one reached. Poisson's and Helmholtz's equation take one step."""

    residual: Positive | None = Field(None, description="The run ends when the largest |du/dt| is below this value.")


class SemOutputTable(OutputTable):
    """[output]: the files that a run writes."""

    fields: bool = Field(
        True, description="Write u and further scalars to fields.vtkhdf, as curved high-order elements for ParaView."
    )
    nek: Literal["no", "f32", "f64"] = Field(
        "no",
        description="Also write field files of Nek5000 with coordinates, u (T) and further scalars (S01 and so "
        "on). Each frame has a file: fields0.f00000 and so on.",
    )


SemTable.model_rebuild()
