"""The tables of a case of spectral elements beside the keys of [sem]."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Finite, NotNegative, Positive, Table, Vector
from slipstream.case.sides import SidesTable
from slipstream.case.tables import BodyName, OutputTable, RunTable
from slipstream.sem import own_table
from slipstream.sem.own_table import SolveTable

_NAMES = "A number, or an expression in x, y, z (from the box's low corner), the sides Lx, Ly, Lz"
_AND_TIME = f"{_NAMES} and, of diffusion, the time t"


class SemTable(own_table.SemTable):
    """[sem]: the equation and how it is computed."""

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
