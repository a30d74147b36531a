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
    """[boundaries]: conditions on the sides of the box, x- to z+. A side has one here unless its axis is periodic."""


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
