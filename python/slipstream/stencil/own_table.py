"""The table [stencil] of a case file. Made by tools/from_compiled.py."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, NotNegative, Positive, Table


class StencilTable(Table):
    """[stencil]: the equation and its discretisation. Lengths and times are in any consistent units."""

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
        description="heat: explicit Euler, implicit Euler of order 1, or Crank-Nicolson of order 2. The step of "
        "explicit Euler has a limit. The implicit methods have none, but solve a linear system per step. With steps "
        "far above that limit, Crank-Nicolson makes rough data oscillate.",
    )
    points: Literal[7, 27] = Field(
        7, description="heat: number of points of the stencil in three dimensions; 27 is the isotropic stencil."
    )
    order: Literal[2, 4, 6, 8] = Field(
        2, description="wave: order of the central differences in space; their radius is order / 2."
    )
    precision: Literal["f32", "f64"] = Field("f32", description="Number format.")
    spacing: Positive = Field(1.0, description="Edge of a cell.")
    time_step: Positive | None = Field(
        None, description="Time step. Left out: 0.9 of the largest stable step; required for implicit methods."
    )
    diffusivity: Positive = Field(1.0, description="heat: diffusivity, in spacing^2 per unit of time.")
    speed: Positive | str = Field(
        1.0,
        description="wave: speed of waves, in lengths per unit of time. A number, or an expression in x, y, z "
        "(centres of cells, from the box's low corner) and the sides Lx, Ly, Lz.",
    )
    sides: Literal["fixed", "insulated", "free"] = Field(
        "fixed",
        description="Condition on sides that are neither periodic nor in [boundaries]. fixed: u = 0 at the centres of "
        "the first cells beyond the side. insulated (heat) and free (wave): du/dn = 0 at the faces of the outermost "
        "cells.",
    )
    absorbing: Annotated[int, Field(ge=0)] = Field(
        0, description="wave: layers of cells in front of fixed sides that damp waves; two wavelengths are enough."
    )
    steps_per_exchange: Count | Literal["auto"] = Field(
        1,
        description="Steps per exchange, with ghost layers for as many steps; auto: the fastest by measurement. All "
        "give the same bits.",
    )
    tolerance: Positive | None = Field(
        None,
        description="implicit: the solver ends when the norm of the residual is at most this fraction of that of the "
        "right side. Left out: 1e-10, with f32 1e-7.",
    )
    absolute_tolerance: NotNegative = Field(
        0.0,
        description="implicit: the solver also ends when the root of the sum of squared residuals is at most this, in "
        "units of u.",
    )
    most_iterations: Count = Field(
        1000, description="implicit: largest number of iterations of conjugate gradients per step."
    )
    not_converged: Literal["stop", "go on"] = Field(
        "stop",
        description="implicit: whether a run stops or goes on if conjugate gradients do not reach the tolerance.",
    )
