"""The tables of a case of finite differences."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, Finite, NotNegative, Positive, Table, Vector
from slipstream.case.sides import SidesTable
from slipstream.case.tables import OutputTable, RunTable

_NAMES = "A number, or an expression in x, y, z (centres of cells, from the box's low corner) and the sides Lx, Ly, Lz"


class StencilTable(Table):
    """[stencil]: the equation and how it is computed. Lengths and times are in any units that fit together."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length": "spacing",
        "time": "time_step",
        "length^2 / time": "diffusivity",
        "length / time": "speed",
        "cells": "absorbing",
        "steps": "steps_per_exchange",
        "-": "tolerance order",
        "u": "absolute_tolerance",
        "iterations": "most_iterations",
    }

    equation: Literal["heat", "wave"] = Field(
        description="du/dt = diffusivity Lap u, or d2u/dt2 = speed^2 Lap u by leapfrog."
    )
    time: Literal["explicit", "backward_euler", "crank_nicolson"] = Field(
        "explicit",
        description="heat: explicit Euler, whose step has a limit; or by a linear system a step, without one: of order "
        "1, or of order 2, where what is rough oscillates with steps far above that limit.",
    )
    points: Literal[7, 27] = Field(7, description="heat: of the stencil in three dimensions; 27 is the isotropic one.")
    order: Literal[2, 4, 6, 8] = Field(2, description="wave: in space, central differences of radius order / 2.")
    precision: Literal["f32", "f64"] = Field("f32", description="Number format.")
    spacing: Positive = Field(1.0, description="Edge of a cell.")
    time_step: Positive | None = Field(
        None, description="Left out: 0.9 of the largest that is stable; implicit steps want it given."
    )
    diffusivity: Positive = Field(1.0, description="heat: in spacing^2 a unit of time.")
    speed: Positive | str = Field(1.0, description=f"wave: in lengths a unit of time. {_NAMES}.")
    sides: Literal["fixed", "insulated", "free"] = Field(
        "fixed",
        description="Sides that are neither periodic nor in [boundaries]: u = 0 at the centres of the first cells "
        "beyond, or du/dn = 0 at the faces of the outermost cells (heat: insulated, wave: free).",
    )
    absorbing: Annotated[int, Field(ge=0)] = Field(
        0,
        description="wave: layers of cells in front of fixed sides that damp waves; take as many as two waves hold.",
    )
    steps_per_exchange: Count | Literal["auto"] = Field(
        1,
        description="Ghosts so many times as wide, and an exchange after so many steps; auto: the fastest by "
        "measurement. The same bits.",
    )
    tolerance: Positive | None = Field(
        None,
        description="implicit: conjugate gradients end at this residual over the right side. Left out: 1e-10, with f32 "
        "1e-7.",
    )
    absolute_tolerance: NotNegative = Field(
        0.0,
        description="implicit: they also end where the root of the residual's sum of squares over the cells is at most "
        "this, in units of u.",
    )
    most_iterations: Count = Field(1000, description="implicit: of conjugate gradients a step.")
    not_converged: Literal["stop", "go on"] = Field(
        "stop",
        description="implicit: what becomes of a run whose conjugate gradients do not reach the tolerance.",
    )


class SideTable(Table):
    """[boundaries.SIDE]: a side of the box that is not periodic."""

    kind: Literal["fixed", "insulated", "free"] = Field(description="As stencil.sides, for this side alone.")


class StencilSidesTable(SidesTable[SideTable]):
    """[boundaries]: the sides of the box that differ from stencil.sides."""


class StartTable(Table):
    """[initial]: the state at the start; left out: zero."""

    in_units: ClassVar[Mapping[str, str]] = {"u": "value", "u / time": "rate"}

    value: float | str = Field(0.0, description=f"u. {_NAMES}.")
    rate: float | str = Field(0.0, description=f"wave: du/dt. {_NAMES}.")


class SolutionTable(Table):
    """[exact]: the solution that is known for the end of the run."""

    in_units: ClassVar[Mapping[str, str]] = {"u": "value"}

    value: float | str = Field(description=f"u. {_NAMES}, and the time t.")


class SourceTable(Table):
    """[sources.NAME]: Ricker's wavelet, (1 - 2 a) exp(-a) amplitude with a = (pi frequency (t - delay))^2, added to
    d2u/dt2 in the cell that holds a point."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length": "at",
        "1 / time": "frequency",
        "u / time^2": "amplitude",
        "time": "delay",
    }

    at: Vector = Field(description="The point, in lengths from the box's low corner.")
    frequency: Positive = Field(description="Of the wavelet's peak.")
    amplitude: Finite = Field(1.0, description="Largest d2u/dt2.")
    delay: Finite | None = Field(None, description="When it peaks. Left out: 1.5 / frequency.")


class ReceiverTable(Table):
    """[receivers.NAME]: u of the cell that holds a point after each step, in seismograms.csv."""

    in_units: ClassVar[Mapping[str, str]] = {"length": "at"}

    at: Vector = Field(description="The point, in lengths from the box's low corner.")


class StencilRunTable(RunTable):
    """[run]: when to stop, whichever comes first."""

    residual: Positive | None = Field(None, description="Steady: the largest |du/dt| below this.")


class StencilOutputTable(OutputTable):
    """[output]: what stays."""

    fields: bool = Field(True, description="u as fields.vtkhdf, for ParaView.")
    pictures: bool = Field(True, description="seismograms.png, where there are receivers.")
