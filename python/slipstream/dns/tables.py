"""The tables of a case of a pseudo-spectral flow beside [dns], whose lengths set the unit of lengths."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, Positive, Table
from slipstream.case.tables import OutputTable, RunTable


class BeginTable(Table):
    """[initial]: the initial flow."""

    in_units: ClassVar[Mapping[str, str]] = {"1 / length": "peak", "length^2 / time^2": "energy", "-": "seed"}

    flow: Literal["taylor_green", "random", "file"] = Field(
        "taylor_green",
        description="Taylor & Green 1937, of energy 1/8; solenoidal modes of random phases; or the velocity of a file.",
    )
    peak: Positive = Field(3.0, description="random: wave number of the spectrum k^4 exp(-2 (k/peak)^2).")
    energy: Positive = Field(0.5, description="random: <u.u>/2.")
    spectrum: str | None = Field(
        None,
        description="random: file of a table k, E(k), as spectrum.csv, whose energy each shell then has, in place of "
        "peak and energy; looked for beside the case file, then in the working directory.",
    )
    file: str | None = Field(
        None,
        description="file: velocity [z][y][x][component] of all cells, as .npy of f32 or f64, or the last of a "
        "folder of results or its fields.vtkhdf, or 'velocity' in another file of HDF5; looked for beside the case "
        "file, then in the working directory. What diverges, or has modes above the 2/3 rule, is left out.",
    )
    seed: Annotated[int, Field(ge=0)] = Field(1, description="random: the same flow on any number of devices.")


class DnsRunTable(RunTable):
    """[run]: when to stop, whichever comes first."""

    residual: None = Field(None, description="A turbulent flow does not become steady.")
    check_every: Count | None = Field(
        None, description="Steps between rows of statistics.csv. Left out: a hundredth of the run."
    )


class DnsOutputTable(OutputTable):
    """[output]: the files that a run writes."""

    in_units: ClassVar[Mapping[str, str]] = {"time": "mean_from"}

    fields: bool = Field(False, description="Velocity as fields.vtkhdf, for ParaView. Left out: where every is given.")
    transfer: bool = Field(
        False,
        description="transfer.csv: energy a time that each shell gets by advection, with every row of statistics.csv.",
    )
    lines: bool = Field(
        False,
        description="lines.csv: longitudinal spectrum and structure functions along x, with every row of "
        "statistics.csv.",
    )
    pictures: bool = Field(True, description="spectrum.png and dissipation.png.")
    mean_from: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Time from which spectra are averaged in spectrum.csv, and statistics in the findings NAME.mean. "
        "Left out: the second half of the run.",
    )
    reference: Literal["auto", "none", "taylor_green1600"] = Field(
        "auto", description="Published decay to compare with; auto: of Taylor-Green at Reynolds number 1600."
    )
