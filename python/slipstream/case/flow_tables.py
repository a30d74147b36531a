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
        (0.0, 0.0, 0.0),
        description=f"Initial velocity, in units of the reference velocity, or in m/s with units.speeds. {_NAMES}.",
    )
    pressure: Part = Field(
        0.0,
        description="Initial pressure minus that at rest, in density x reference velocity^2, or in Pa with "
        "units.speeds. A number or an expression. It determines the density.",
    )


class ExactTable(Table):
    """[exact]: the exact velocity at the end of the run; the error relative to it goes to comparison.json."""

    in_units: ClassVar[Mapping[str, str]] = {"reference velocity, or m/s": "velocity"}

    velocity: tuple[Part, Part, Part] = Field(
        description=f"Exact velocity in units of the reference velocity. {_NAMES}, and the time t in length / "
        "reference velocity. With units.speeds in m/s and s."
    )


class DomainTable(Table):
    """[domain]: a box around the meshes of the bodies, in place of grid.cells (Zheng 2023, 1.1). It has margins and is
    extended to whole blocks. Its low corner becomes the origin, and bodies move with it."""

    in_units: ClassVar[Mapping[str, str]] = {"cells; SI: m": "margin_low margin_high", "cells": "block"}

    bodies: list[str] = Field([], description="Bodies that the box encloses; empty: all bodies with a mesh.")
    margin_low: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0), description="Distance between the bodies and the low sides x-, y- and z-: cells, or m in SI."
    )
    margin_high: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0), description="Distance between the bodies and the high sides x+, y+ and z+: cells, or m in SI."
    )
    block: tuple[Count, Count, Count] = Field(description="Cells of a block along each axis; sets exchange.block.")
    keep_low: tuple[bool, bool, bool] = Field(
        (False, False, False),
        description="Axes whose low side stays at margin_low, such as the axis normal to a road. Along other "
        "axes, cells that complete whole blocks are added on both sides.",
    )


class UnitsTable(Table):
    """[units]: the units of [physics], run.time, output.every_time and the files of the run. The keys time_units,
    residual, output.every and guard.density are ratios in any units. Without units.speeds, the velocities in a case are
    multiples of the reference velocity."""

    in_units: ClassVar[Mapping[str, str]] = {
        "m": "cell",
        "kg/m^3": "density",
        "cells / step": "lattice_speed",
        "s": "step",
    }

    system: Literal["lattice", "SI"] = Field(
        "lattice", description='"lattice": units are cells and steps; "SI": metres, seconds and kilograms.'
    )
    cell: Positive | None = Field(None, description="SI: edge of a cell in m.")
    density: Positive | None = Field(
        None, description="SI: density of the fluid at rest in kg/m^3; water 998, air 1.2."
    )
    lattice_speed: Positive | None = Field(
        None,
        description="SI: reference velocity in cells per step, which determines the time step. Left out: 6.4 / "
        "length in cells, at most 0.1. Either this or step.",
    )
    step: Positive | None = Field(None, description="SI: time step in s. Either this or lattice_speed.")
    speeds: Literal["m/s"] | None = Field(
        None,
        description="SI: velocities in [walls], [boundaries], [initial] and [exact] are in m/s. initial.pressure "
        "is then in Pa, and the time of [exact] in s. Left out: in units of the reference velocity.",
    )


class PhysicsTable(Table):
    """[physics]: viscosity, forces and scales of the flow, in the units of units.system."""

    in_units: ClassVar[Mapping[str, str]] = {
        "-": "reynolds",
        "cells^2 / step; SI: m^2/s": "viscosity",
        "cells / step^2; SI: N/m^3": "force",
        "cells / step; SI: m/s": "reference_velocity",
        "density x cells^2 / step^2; SI: Pa": "pressure_drop",
        "cells; SI: m": "length",
    }

    reynolds: Positive | None = Field(
        None, description="Reynolds number, reference velocity x length / viscosity. Either this or viscosity."
    )
    viscosity: Positive | None = Field(None, description="Kinematic viscosity in lattice units; SI: m^2/s.")
    force: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0),
        description="Body force per volume in lattice units; SI: N/m^3. At density 1 it is the acceleration in "
        "cells per step squared.",
    )
    reference_velocity: Positive | None = Field(
        None,
        description="Reference velocity in cells per step; SI: m/s. The Mach number is sqrt(3) times the value "
        "in cells per step. Left out: 6.4 / length, at most 0.1. The error of compressibility then "
        "falls with that of the grid. In SI the key is required.",
    )
    pressure_drop: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0),
        description="Pressure at the low end of a periodic axis minus that at its high end, in lattice units; "
        "SI: Pa. In lattice units the pressure is a third of the density.",
    )
    length: Positive | str | None = Field(
        None,
        description="Reference length in cells; SI: m; or an expression in the sides Lx, Ly, Lz of the box, such "
        'as "Lx/(2*pi)". Left out: from the lid to its opposite.',
    )


class FlowRunTable(RunTable):
    """[run]: limits of a run, which ends at the first one reached."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length / reference velocity": "time_units",
        "s": "time",
        "reference velocity^2 / length": "residual",
    }

    time_units: Positive | None = Field(
        None, description="The run ends at this time, in units of length / reference velocity."
    )
    time: Positive | None = Field(None, description="SI: the run ends at this time, in seconds of the flow.")
    residual: Positive | None = Field(
        None,
        description="The run ends when the relative change of velocity per length / reference velocity is below "
        "this value. The change is relative to the reference velocity. If a force, a pressure or "
        "slower sides drive the flow, it is relative to the root mean square velocity, if that is "
        "less.",
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

    fields: bool = Field(
        True, description="Write velocity, density, pressure and flags to fields.vtkhdf, for ParaView."
    )
    every: Positive | None = Field(
        None,
        description="Time between fields, in length / reference velocity, from the start of the run. Left out: "
        "the last only.",
    )
    every_time: Positive | None = Field(
        None,
        description="SI: time between fields, in seconds of the flow, from the start of the run. Either this or every.",
    )
    profiles: bool = Field(
        True, description="Write centreline profiles to profiles.csv, and the comparison to comparison.json."
    )
    pictures: bool = Field(True, description="Draw profiles.png, streamlines.png and, for bodies, loads.png.")
    energy: bool = Field(False, description="Write energy and dissipation over time to energy.csv, a row per residual.")
    loads_every: Count | None = Field(
        None,
        description="Steps between rows of loads.csv. Left out: a hundredth of the run, or run.check_every if less.",
    )
    reference: Literal["auto", "none", "ghia1982", "botella1998", "albensoeder2005", "taylor_green1600"] = Field(
        "auto", description="Published flow for comparison; auto: the best for this cavity and Reynolds number, if any."
    )


class FlowGuardTable(GuardTable):
    """[guard]: checks that end a diverged run."""

    in_units: ClassVar[Mapping[str, str]] = {"density at rest": "density"}

    density: tuple[Finite, Finite] = Field((0.2, 5.0), description="Lowest and highest density that a run may reach.")
