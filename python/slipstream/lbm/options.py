"""Types of a Simulation's arguments for type checkers and completion: tables of a case file."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

import numpy as np

from slipstream.base.errors import CaseError
from slipstream.exchange.options import GridOptions, MessageOptions
from slipstream.lbm.own_table import LbmKeywords
from slipstream.run.simulation import MachineOptions

Side = Literal["x-", "x+", "y-", "y+", "z-", "z+"]
#: Type of a vector: three numbers, along x, y and z.
Vector = Sequence[float] | np.ndarray
#: Type of a vector of numbers, or of texts with expressions as in a case file.
Parts = Sequence[float | str] | np.ndarray


class Boundary(TypedDict, total=False):
    """Keys of a table [boundaries.SIDE] of a case file."""

    kind: Required[Literal["velocity", "pressure", "convective", "slip"]]
    velocity: Parts
    density: float
    pressure: float
    speed: float
    relaxation: float


class Body(TypedDict, total=False):
    """Keys of a table [bodies.NAME] of a case file."""

    mesh: str
    shape: Literal["cylinder", "sphere", "beads"]
    centre: Vector
    radius: float
    solid: float
    seed: int
    axis: Literal["x", "y", "z"]
    part: str
    units: Literal["m", "cm", "mm", "um", "km", "in", "ft"]
    scale: float
    rotate: Vector
    translate: Vector
    orient: bool
    weld: float
    links: Literal["interpolated", "half-way"]
    area: float
    about: Vector


class Initial(TypedDict, total=False):
    """Keys of the table [initial] of a case file."""

    velocity: Parts
    pressure: float | str


class Units(TypedDict, total=False):
    """Keys of the table [units] of a case file."""

    system: Literal["lattice", "SI"]
    cell: float
    density: float
    lattice_speed: float
    step: float
    speeds: Literal["m/s"]


class Domain(TypedDict, total=False):
    """Keys of the table [domain] of a case file."""

    bodies: Sequence[str]
    margin_low: Vector
    margin_high: Vector
    block: Required[Sequence[int]]
    keep_low: Sequence[bool]


class Guard(TypedDict, total=False):
    """Keys of the table [guard] of a case file."""

    every: int
    density: Sequence[float]


class Checkpoint(TypedDict, total=False):
    """Keys of the table [checkpoint] of a case file."""

    every: int
    final: bool
    keep: int
    folder: str
    convert: bool
    snapshot: Literal["pinned", "device", "mpi"]
    wall_clock_limit: float


class Options(MachineOptions, LbmKeywords, MessageOptions, GridOptions, total=False):
    """Keys of [lbm], [machine] and [exchange]; docs/lbm.md and docs/exchange.md say what they do. If two tables have a
    key of one name, the first table counts: chunk is that of [lbm]."""

    cyclic: bool
    bind: bool

    coding: str
    overlap: Literal["auto", "on", "off"]
    rim: Sequence[int] | Literal["auto"]
    rim_processors: int
    placement: Literal["trivial", "random", "theoretical", "measured"]
    block: Sequence[int]


Walls = Mapping[Side, Vector]
Boundaries = Mapping[Side, Boundary]
Bodies = Mapping[str, Body]


def velocity_of(side: str, given: Any) -> list[float]:
    """Three components of a wall's velocity. Raises CaseError if the value is no vector."""
    try:
        return list(map(float, given))
    except (TypeError, ValueError):
        raise CaseError(
            f"walls: {side} takes its velocity alone, as (1, 0, 0), not {given!r}",
            key=f"walls.{side}",
            given=repr(given),
        ) from None
