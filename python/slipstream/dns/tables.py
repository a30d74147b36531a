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
        description="Initial flow: the Taylor-Green vortex of 1937 with energy 1/8, random solenoidal modes, or "
        "velocities from a file.",
    )
    peak: Positive = Field(3.0, description="random: peak wave number of the spectrum k^4 exp(-2 (k/peak)^2).")
    energy: Positive = Field(0.5, description="random: mean kinetic energy <u.u>/2.")
    spectrum: str | None = Field(
        None,
        description="random: file with a table k, E(k), such as spectrum.csv, that replaces peak and energy. "
        "Each shell gets the energy of the table. The file is looked for beside the case file, then "
        "in the working directory.",
    )
    file: str | None = Field(
        None,
        description="file: velocity [z][y][x][component] of all cells, as .npy or .vtkhdf, or a folder of "
        "results. The numbers are f32 or f64. A folder or its fields.vtkhdf gives the last state; "
        "another HDF5 file has the dataset 'velocity'. The file is looked for beside the case file, "
        "then in the working directory. Divergent parts, and modes above the 2/3 rule, are removed.",
    )
    seed: Annotated[int, Field(ge=0)] = Field(
        1, description="random: seed of the phases; the flow is the same on any number of devices."
    )


class DnsRunTable(RunTable):
    """[run]: limits of a run, which ends at the first one reached."""

    residual: None = Field(None, description="Not available, because a turbulent flow does not become steady.")
    check_every: Count | None = Field(
        None, description="Steps between rows of statistics.csv. Left out: a hundredth of the run."
    )


class DnsOutputTable(OutputTable):
    """[output]: the files that a run writes."""

    in_units: ClassVar[Mapping[str, str]] = {"time": "mean_from"}

    fields: bool = Field(
        False, description="Write the velocity to fields.vtkhdf, for ParaView. With `every` it is written by default."
    )
    transfer: bool = Field(
        False,
        description="Write transfer.csv with each row of statistics.csv: rate of energy transfer to each shell "
        "by advection.",
    )
    lines: bool = Field(
        False,
        description="Write lines.csv with each row of statistics.csv: longitudinal spectrum and structure "
        "functions along x.",
    )
    pictures: bool = Field(True, description="Draw spectrum.png and dissipation.png.")
    mean_from: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Time from which spectrum.csv and the findings NAME.mean are averaged. Left out: the second "
        "half of the run.",
    )
    reference: Literal["auto", "none", "taylor_green1600"] = Field(
        "auto",
        description="Published decay for comparison; auto: that of the Taylor-Green vortex at Reynolds number 1600.",
    )
