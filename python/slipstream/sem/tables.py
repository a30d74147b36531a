"""The tables of a case of spectral elements."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, Finite, NotNegative, Positive, Table, Vector
from slipstream.case.sides import SidesTable
from slipstream.case.tables import BodyName, OutputTable, RunTable

_NAMES = "A number, or an expression in x, y, z (from the box's low corner), the sides Lx, Ly, Lz"
_AND_TIME = f"{_NAMES} and, of diffusion, the time t"

#: Edges of the box, and by how much the elements along them differ.
Edges = tuple[Positive, Positive, Positive]


class ElementsTable(Table):
    """[sem]: the elements. [grid] has how many there are along x, y and z, and the periodic axes. Lengths and times are
    in any units that fit together."""

    in_units: ClassVar[Mapping[str, str]] = {"-": "order stretch deformation", "length": "lengths map"}

    order: Annotated[int, Field(ge=1, le=15)] = Field(7, description="Of the polynomials in an element, 1 to 15.")
    lengths: Edges = Field((1.0, 1.0, 1.0), description="Edges of the box.")
    stretch: Edges = Field((1.0, 1.0, 1.0), description="Width of the last element along an axis over the first's.")
    deformation: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        0.0,
        description="Amplitude of a sine map that bends the elements, as a share of the box; above 0.137 it folds.",
    )
    map: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None,
        description=f"Where the places of the box, stretched and deformed, are in truth: x, y and z. {_NAMES}. All "
        "other expressions have the mapped places.",
    )
    factors: Literal["auto", "stored", "affine"] = Field(
        "auto",
        description="Geometric factors: at each point, 48 B; or six numbers an element, where elements are "
        "parallelepipeds. auto: affine where nothing is deformed or mapped.",
    )


class SolveTable(Table):
    """Keys that each unknown may have of its own: coefficients, and how it is solved for."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length^2 / time": "diffusivity",
        "1 / length^2": "reaction",
        "-": "tolerance degree",
        "u x length^3 / time": "absolute_tolerance",
        "iterations": "most_iterations restart",
        "solutions": "projection",
    }

    diffusivity: Positive | str = Field(
        1.0, description=f"In lengths squared a unit of time, above 0 everywhere. {_NAMES}."
    )
    reaction: NotNegative | str = Field(0.0, description=f"helmholtz: the factor of u, 0 or more everywhere. {_NAMES}.")
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
    restart: int = Field(
        30, ge=1, le=63, description="fgmres: iterations between restarts, 63 at most; each keeps two vectors."
    )
    projection: int = Field(
        0,
        ge=0,
        le=63,
        description="diffusion: the first guess comes from the span of so many last solutions, too; 63 at most.",
    )
    preconditioner: Literal["jacobi", "chebyshev", "multigrid", "schwarz"] = Field(
        "jacobi",
        description="The diagonal; Chebyshev's polynomial with it; or p-multigrid whose smoothers are Chebyshev "
        "polynomials in the diagonal (multigrid) or in overlapping Schwarz (schwarz).",
    )
    degree: Count | None = Field(
        None,
        description="Of Chebyshev's polynomials: chebyshev 4, multigrid 3, schwarz 2 where left out; more operators an "
        "iteration, and fewer iterations.",
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
        description="-diffusivity Lap u = source; the same with + reaction u on the left; or du/dt = diffusivity Lap u "
        "+ source."
    )
    source: Finite | str = Field(0.0, description=f"{_AND_TIME}.")
    velocity: tuple[Finite | str, Finite | str, Finite | str] | None = Field(
        None, description=f"diffusion: what carries u, along x, y and z: du/dt + velocity . grad u = ... {_AND_TIME}."
    )
    target_courant: Positive | None = Field(
        None,
        description="With velocity: each time step is made in equal parts, as few as keep the Courant number at this.",
    )
    time_step: Positive | None = Field(None, description="diffusion: the same all through.")
    time_order: Literal[1, 2, 3] = Field(2, description="diffusion: of the backward differences.")
    start: Literal["lower", "exact"] = Field(
        "lower",
        description="diffusion: the first steps are of lower order, which leaves an error of order 2 in the time step; "
        "or of full order, from [exact] at the times before.",
    )
    scalars: dict[BodyName, "ScalarTable"] = Field(
        {}, description="Further unknowns of the same equation by name, carried by the same velocity."
    )


class SideTable(Table):
    """[boundaries.SIDE]: a side of the box that is not periodic; a value or a flux."""

    in_units: ClassVar[Mapping[str, str]] = {"u": "value", "u x length / time": "flux", "length / time": "transfer"}

    value: Finite | str | None = Field(None, description=f"Dirichlet: u. {_AND_TIME}.")
    flux: Finite | str | None = Field(
        None, description=f"Neumann: diffusivity du/dn, n outward, what flows in. {_AND_TIME}."
    )
    transfer: NotNegative | str | None = Field(
        None, description=f"With flux, Robin: diffusivity du/dn + transfer u = flux; 0 or more everywhere. {_NAMES}."
    )
    where: str | None = Field(
        None,
        description="An expression in x, y, z, Lx, Ly, Lz: the condition holds on the elements' faces at whose centres "
        "it is above 0.",
    )
    otherwise: "SideTable | None" = Field(None, description="With where: what holds on the other faces.")


class SemSidesTable(SidesTable[SideTable]):
    """[boundaries]: the sides of the box, x- to z+. Each is here or periodic."""


class ScalarTable(SolveTable):
    """[sem.scalars.NAME]: an unknown beside u. It takes keys of diffusivity, reaction and solution that are left
    out from [sem]."""

    in_units: ClassVar[Mapping[str, str]] = {"the scalar / time": "source", "the scalar": "initial exact"}

    source: Finite | str = Field(0.0, description=f"{_AND_TIME}.")
    boundaries: SemSidesTable = Field(SemSidesTable(), description="Its sides, as [boundaries] has those of u.")
    initial: Finite | str | None = Field(None, description=f"At the start of diffusion. {_NAMES}.")
    exact: Finite | str | None = Field(None, description=f"The solution that is known. {_AND_TIME}.")


class SemStartTable(Table):
    """[initial]: the state at the start of diffusion; left out: [exact] at time 0 where that is given, else zero. One
    of value and file."""

    in_units: ClassVar[Mapping[str, str]] = {"u": "value"}

    value: Finite | str | None = Field(None, description=f"u. {_NAMES}.")
    file: str | None = Field(
        None,
        description="A field file of Nek5000 (x0.f00000) of the same elements in the same order, of any order of "
        "polynomials; looked for beside the case file, then in the working directory. The run begins at time 0.",
    )
    field: str = Field("T", description="file: what is u of its fields: P, T, S01, S02 and so on.")


class SemReceiverTable(Table):
    """[receivers.NAME]: u and further scalars, at a point in receivers.csv with each look at the change, or along a
    line in profiles.csv at the end."""

    in_units: ClassVar[Mapping[str, str]] = {"length": "at to", "points": "points"}

    at: Vector = Field(description="The point, or where the line begins.")
    to: Vector | None = Field(None, description="Where the line ends.")
    points: Annotated[int, Field(ge=2)] = Field(50, description="Of the line, both ends among them.")


class SemSolutionTable(Table):
    """[exact]: the solution that is known; with sides that are Neumann's or periodic alone, Poisson's but for a
    constant."""

    in_units: ClassVar[Mapping[str, str]] = {"u": "value"}

    value: Finite | str = Field(description=f"u. {_AND_TIME}.")


class SemRunTable(RunTable):
    """[run]: when to stop, whichever comes first. Poisson's and Helmholtz's equation are one step."""

    residual: Positive | None = Field(None, description="Steady: the largest |du/dt| below this.")


class SemOutputTable(OutputTable):
    """[output]: what stays."""

    fields: bool = Field(
        True, description="u and further scalars as fields.vtkhdf, curved elements of high order for ParaView."
    )
    nek: Literal["no", "f32", "f64"] = Field(
        "no",
        description="Beside fields.vtkhdf, places, u (T) and further scalars (S01 and on) as field files of Nek5000, "
        "fields0.f00000 and on, a file a frame.",
    )


SemTable.model_rebuild()
