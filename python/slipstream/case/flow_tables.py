"""Tables of a flow: initial state, exact solution, units, physics, and limits of a run."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, Finite, Positive, Table
from slipstream.case.tables import GuardTable, OutputTable, RunTable

Part = Finite | str

_NAMES = (
    "Numbers or expressions in x, y, z (cells, or m in SI, from the box's low corner), the box's sides Lx, Ly, Lz and "
    "physics.length L"
)


class InitialTable(Table):
    """[initial]: the initial flow; left out: at rest."""

    in_units: ClassVar[Mapping[str, str]] = {
        "reference velocity, or m/s": "velocity",
        "density x reference velocity^2, or Pa": "pressure",
    }

    velocity: tuple[Part, Part, Part] = Field(
        (0.0, 0.0, 0.0), description=f"In units of the reference velocity, or in m/s with units.speeds. {_NAMES}."
    )
    pressure: Part = Field(
        0.0,
        description="Above that at rest, in density x reference velocity^2, or in Pa with units.speeds; the density "
        "follows. A "
        "number or an expression.",
    )


class ExactTable(Table):
    """[exact]: the exact velocity at the end of the run; the error relative to it goes to comparison.json."""

    in_units: ClassVar[Mapping[str, str]] = {"reference velocity, or m/s": "velocity"}

    velocity: tuple[Part, Part, Part] = Field(
        description=f"In units of the reference velocity. {_NAMES}, and the time t in length / reference velocity. "
        f"With units.speeds in "
        "m/s and s."
    )


class DomainTable(Table):
    """[domain] replaces grid.cells by a box around the meshes of the bodies, with margins, enlarged until whole blocks
    fill it (Zheng 2023, 1.1). Bodies then move with the box, whose low corner is the origin."""

    in_units: ClassVar[Mapping[str, str]] = {"cells; SI: m": "margin_low margin_high", "cells": "block"}

    bodies: list[str] = Field([], description="Whose box; none named: of all bodies that are meshes.")
    margin_low: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0), description="To keep free before them, on x-, y- and z-: cells, or m in SI."
    )
    margin_high: tuple[Finite, Finite, Finite] = Field((0.0, 0.0, 0.0), description="The same behind them.")
    block: tuple[Count, Count, Count] = Field(description="Cells of a block; it becomes exchange.block.")
    keep_low: tuple[bool, bool, bool] = Field(
        (False, False, False),
        description="Axes whose low side stays where the margin puts it (a road); along the others what whole blocks "
        "need more is added on both sides.",
    )


class UnitsTable(Table):
    """[units]: the units of [physics], run.time, output.every_time and the files of the run. Ratios (time_units,
    residual, output.every, guard.density, and without speeds velocities in the reference velocity) stay ratios."""

    in_units: ClassVar[Mapping[str, str]] = {
        "m": "cell",
        "kg/m^3": "density",
        "cells a step": "lattice_speed",
        "s": "step",
    }

    system: Literal["lattice", "SI"] = Field("lattice", description="Cells and steps, or metres, seconds and kg.")
    cell: Positive | None = Field(None, description="SI: edge of a cell in m.")
    density: Positive | None = Field(None, description="SI: of the fluid at rest in kg/m^3; water 998, air 1.2.")
    lattice_speed: Positive | None = Field(
        None,
        description="SI: the reference velocity in cells per step, from which the step follows in s. "
        "Left out: 6.4 / length in cells, at most 0.1. Either this or step.",
    )
    step: Positive | None = Field(None, description="SI: a step in s. Either this or lattice_speed.")
    speeds: Literal["m/s"] | None = Field(
        None,
        description="SI: the velocities of [walls], [boundaries], [initial] and [exact] are in m/s, with them "
        "initial.pressure in Pa and the time of [exact] in s. Left out: in units of the reference velocity.",
    )


class PhysicsTable(Table):
    """[physics]: the flow, in lattice units or in SI as units.system says."""

    in_units: ClassVar[Mapping[str, str]] = {
        "-": "reynolds",
        "cells^2 a step; SI: m^2/s": "viscosity",
        "cells a step^2; SI: N/m^3": "force",
        "cells a step; SI: m/s": "reference_velocity",
        "density x cells^2 a step^2; SI: Pa": "pressure_drop",
        "cells; SI: m": "length",
    }

    reynolds: Positive | None = Field(
        None, description="Reference velocity x length / viscosity. Either this or viscosity."
    )
    viscosity: Positive | None = Field(None, description="Kinematic viscosity in lattice units; SI: m^2/s.")
    force: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0),
        description="On all of the fluid, per volume, in lattice units: at density 1 the acceleration in cells per "
        "step squared; SI: N/m^3.",
    )
    reference_velocity: Positive | None = Field(
        None,
        description="The velocity of reference, in cells per step; the Mach number is sqrt(3) times it. "
        "Left out: 6.4 / length, at most 0.1, so that the error of compressibility falls with that of the grid. "
        "SI: m/s, to be given.",
    )
    pressure_drop: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0),
        description="Of a periodic axis: pressure at its low end less that at its high end, in lattice units (a third "
        "of the density); SI: Pa.",
    )
    length: Positive | str | None = Field(
        None,
        description="Of the Reynolds number, in cells; SI: m; or an expression in the box's sides Lx, Ly, Lz: "
        '"Lx/(2*pi)". Left out: from the lid to its opposite.',
    )


class FlowRunTable(RunTable):
    """[run]: when to stop, whichever comes first."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length / reference velocity": "time_units",
        "s": "time",
        "reference velocity^2 / length": "residual",
    }

    time_units: Positive | None = Field(None, description="At most so many times length / reference velocity.")
    time: Positive | None = Field(None, description="SI: at most so many seconds of the flow.")
    residual: Positive | None = Field(
        None,
        description="Steady: largest change of velocity per length / reference velocity, over the reference velocity, "
        "below this. Where "
        "a force, pressure or slower sides drive the flow, over its own speed (the root of the mean square) if less.",
    )
    check_every: Count | None = Field(
        None, description="Steps between residuals. Left out: length / reference velocity."
    )


class FlowOutputTable(OutputTable):
    """[output]: the files that a run writes."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length / reference velocity": "every",
        "s": "every_time",
        "steps": "loads_every",
    }

    fields: bool = Field(True, description="Velocity, density, pressure and flags as fields.vtkhdf, for ParaView.")
    every: Positive | None = Field(
        None, description="Length / reference velocity between fields, from the start on. Left out: the last only."
    )
    every_time: Positive | None = Field(
        None, description="SI: seconds of the flow between fields, from the start on. Or every."
    )
    profiles: bool = Field(True, description="Centreline profiles as profiles.csv, and the comparison.")
    pictures: bool = Field(True, description="profiles.png, streamlines.png and, of bodies, loads.png.")
    energy: bool = Field(False, description="Energy and dissipation over time as energy.csv, a row per residual.")
    loads_every: Count | None = Field(
        None,
        description="Steps between rows of loads.csv. Left out: a hundredth of the run, or run.check_every if less.",
    )
    reference: Literal["auto", "none", "ghia1982", "botella1998", "albensoeder2005", "taylor_green1600"] = Field(
        "auto", description="Published flow to compare with; auto: the best cavity for this Reynolds number, if any."
    )


class FlowGuardTable(GuardTable):
    """[guard]: the conditions under which a diverged run ends."""

    in_units: ClassVar[Mapping[str, str]] = {"density at rest": "density"}

    density: tuple[Finite, Finite] = Field((0.2, 5.0), description="Lowest and highest density of a sound flow.")
