"""The table [stencil] of a case file. Made by tools/from_compiled.py."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, NotNegative, Positive, Table


class StencilTable(Table):
    """[stencil]: the equation and how it is computed. Lengths and times are in any units that fit together."""

    in_units: ClassVar[Mapping[str, str]] = {
        "-": "order tolerance",
        "length": "spacing",
        "time": "time_step",
        "length^2 / time": "diffusivity",
        "length / time": "speed",
        "cells": "absorbing",
        "steps": "steps_per_exchange",
        "u": "absolute_tolerance",
        "iterations": "most_iterations",
    }

    equation: Literal["heat", "wave"] = Field(
        description="du/dt = diffusivity Lap u, or d2u/dt2 = speed^2 Lap u by leapfrog."
    )
    time: Literal["explicit", "backward_euler", "crank_nicolson"] = Field(
        "explicit",
        description="heat: explicit Euler, whose step has a limit; or by a linear system a step, without one: of "
        "order 1, or of order 2, where what is rough oscillates with steps far above that limit.",
    )
    points: Literal[7, 27] = Field(7, description="heat: of the stencil in three dimensions; 27 is the isotropic one.")
    order: Literal[2, 4, 6, 8] = Field(2, description="wave: in space, central differences of radius order / 2.")
    precision: Literal["f32", "f64"] = Field("f32", description="Number format.")
    spacing: Positive = Field(1.0, description="Edge of a cell.")
    time_step: Positive | None = Field(
        None, description="Step in time. Left out: 0.9 of the largest that is stable; implicit steps want it given."
    )
    diffusivity: Positive = Field(1.0, description="heat: in spacing^2 a unit of time.")
    speed: Positive | str = Field(
        1.0,
        description="wave: in lengths a unit of time. A number, or an expression in x, y, z (centres of cells, from "
        "the box's low corner) and the sides Lx, Ly, Lz.",
    )
    sides: Literal["fixed", "insulated", "free"] = Field(
        "fixed",
        description="Sides that are neither periodic nor in [boundaries]: u = 0 at the centres of the first cells "
        "beyond, or du/dn = 0 at the faces of the outermost cells (heat: insulated, wave: free).",
    )
    absorbing: Annotated[int, Field(ge=0)] = Field(
        0, description="wave: layers of cells in front of fixed sides that damp waves; take as many as two waves hold."
    )
    steps_per_exchange: Count | Literal["auto"] = Field(
        1,
        description="Ghosts so many times as wide, and an exchange after so many steps; auto: the fastest by "
        "measurement. The same bits.",
    )
    tolerance: Positive | None = Field(
        None,
        description="implicit: conjugate gradients end at this residual over the right side. Left out: 1e-10, with "
        "f32 1e-7.",
    )
    absolute_tolerance: NotNegative = Field(
        0.0,
        description="implicit: they also end where the root of the residual's sum of squares over the cells is at "
        "most this, in units of u.",
    )
    most_iterations: Count = Field(1000, description="implicit: of conjugate gradients a step.")
    not_converged: Literal["stop", "go on"] = Field(
        "stop", description="implicit: what becomes of a run whose conjugate gradients do not reach the tolerance."
    )
