"""The tables of a case of finite differences beside [stencil]."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Finite, Positive, Table, Vector
from slipstream.case.sides import SidesTable
from slipstream.case.tables import OutputTable, RunTable

_NAMES = "A number, or an expression in x, y, z (centres of cells, from the box's low corner) and the sides Lx, Ly, Lz"


class SideTable(Table):
    """[boundaries.SIDE]: a side of the box that is not periodic."""

    kind: Literal["fixed", "insulated", "free"] = Field(description="Condition on this side, as in stencil.sides.")


class StencilSidesTable(SidesTable[SideTable]):
    """[boundaries]: the sides of the box that differ from stencil.sides."""


class StartTable(Table):
    """[initial]: the initial state; left out: zero."""

    in_units: ClassVar[Mapping[str, str]] = {"u": "value", "u / time": "rate"}

    value: float | str = Field(0.0, description=f"Initial u. {_NAMES}.")
    rate: float | str = Field(0.0, description=f"wave: initial du/dt. {_NAMES}.")


class SolutionTable(Table):
    """[exact]: the exact solution at the end of the run, for comparison."""

    in_units: ClassVar[Mapping[str, str]] = {"u": "value"}

    value: float | str = Field(description=f"Exact u. {_NAMES}, and the time t.")


class SourceTable(Table):
    """[sources.NAME]: Ricker's wavelet, (1 - 2 a) exp(-a) amplitude with a = (pi frequency (t - delay))^2, added to
    d2u/dt2 in the cell that contains the point `at`."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length": "at",
        "1 / time": "frequency",
        "u / time^2": "amplitude",
        "time": "delay",
    }

    at: Vector = Field(description="Position of the source, in lengths from the box's low corner.")
    frequency: Positive = Field(description="Peak frequency of the wavelet.")
    amplitude: Finite = Field(1.0, description="Largest value of the source in d2u/dt2.")
    delay: Finite | None = Field(None, description="Time at which the wavelet peaks. Left out: 1.5 / frequency.")


class ReceiverTable(Table):
    """[receivers.NAME]: u in the cell that contains the point `at`, written to seismograms.csv after each step."""

    in_units: ClassVar[Mapping[str, str]] = {"length": "at"}

    at: Vector = Field(description="Position of the receiver, in lengths from the box's low corner.")


class StencilRunTable(RunTable):
    """[run]: limits of a run, which ends at the first one reached."""

    residual: Positive | None = Field(None, description="The run ends when the largest |du/dt| is below this value.")


class StencilOutputTable(OutputTable):
    """[output]: the files that a run writes."""

    fields: bool = Field(True, description="Write u to fields.vtkhdf, for ParaView.")
    pictures: bool = Field(True, description="Draw seismograms.png if there are receivers.")
