"""Types of a Simulation's arguments for type checkers and completion: tables of a case file."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

import numpy as np

from slipstream.base.errors import CaseError
from slipstream.lbm.case import LbmCase

Side = Literal["x-", "x+", "y-", "y+", "z-", "z+"]
#: Three numbers, along x, y and z.
Vector = Sequence[float] | np.ndarray
#: Three numbers or expressions of a case file.
Parts = Sequence[float | str] | np.ndarray


class Boundary(TypedDict, total=False):
    """[boundaries] of a side."""

    kind: Required[Literal["velocity", "pressure", "convective", "slip"]]
    velocity: Parts
    density: float
    pressure: float
    speed: float
    relaxation: float


class Body(TypedDict, total=False):
    """[bodies.NAME]."""

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
    """[initial]."""

    velocity: Parts
    pressure: float | str


class Units(TypedDict, total=False):
    """[units]."""

    system: Literal["lattice", "SI"]
    cell: float
    density: float
    lattice_speed: float
    step: float
    speeds: Literal["m/s"]


class Domain(TypedDict, total=False):
    """[domain]."""

    bodies: Sequence[str]
    margin_low: Vector
    margin_high: Vector
    block: Required[Sequence[int]]
    keep_low: Sequence[bool]


class Guard(TypedDict, total=False):
    """[guard]."""

    every: int
    density: Sequence[float]


class Checkpoint(TypedDict, total=False):
    """[checkpoint]."""

    every: int
    final: bool
    keep: int
    folder: str
    convert: bool
    snapshot: Literal["pinned", "device", "mpi"]
    wall_clock_limit: float


class Options(TypedDict, total=False):
    """Keys of [lbm], [machine] and [exchange]; docs/lbm.md and docs/exchange.md describe them. The first table counts
    if two have a key of one name: chunk is that of [lbm]."""

    lattice: Literal["D2Q9", "D3Q19", "D3Q27"]
    representation: Literal["populations", "moments"]
    collision: Literal["SRT", "TRT", "MRT", "cumulant", "regularised", "recursive"]
    magic: float
    smagorinsky: float
    precision: Literal["f16", "f32", "f64"]
    streaming: Literal["two", "in_place"]
    solids: Literal["auto", "dense", "flags", "sparse"]
    layout: Literal["auto", "soa", "aos", "soa_z"]
    alignment: int | Literal["auto"]
    tile: Literal["auto", "64x4", "32x8", "64x8", "32x16"]
    chunk: int | Literal["auto"]

    backend: Literal["auto", "host", "cuda"]
    devices_per_rank: int
    ranks_per_node: int
    cyclic: bool
    bind: bool
    threads: int

    routes: Sequence[str]
    tune: Literal["rules", "measure"]
    retune: bool
    coding: str
    measure_errors: bool
    throttle: str
    poison: bool
    pack: Literal["fused", "per_direction", "memcpy3d", "zero_copy"]
    streams: Literal["one", "per_direction"]
    sync: bool
    grouping: Literal["devices", "nodes"]
    mpi: Literal["sends", "alltoallv", "ialltoallv", "put_fence", "put_lock"]
    teams: int
    overlap: Literal["auto", "on", "off"]
    rim: Sequence[int] | Literal["auto"]
    rim_processors: int
    placement: Literal["trivial", "random", "theoretical", "measured"]
    placement_seed: int
    blocks_per_device: Sequence[int]
    block: Sequence[int]
    node_grid: Sequence[int]
    device_grid: Sequence[int]
    wait_limit: float


Walls = Mapping[Side, Vector]
Boundaries = Mapping[Side, Boundary]
Bodies = Mapping[str, Body]

#: Tables of a case file whose keys are keywords here.
_TABLES = ("lbm", "machine", "exchange")


def plain(value: Any) -> Any:
    """Converts tuples, NumPy numbers and mappings to the types of a case file."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return [plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def velocity_of(side: str, given: Any) -> list[float]:
    """The velocity of a wall. Raises CaseError where it is no vector."""
    try:
        return list(map(float, given))
    except (TypeError, ValueError):
        raise CaseError(
            f"walls: {side} takes its velocity alone, as (1, 0, 0), not {given!r}",
            key=f"walls.{side}",
            given=repr(given),
        ) from None


def _keys_of(table: str) -> list[str]:
    return list(type(LbmCase.model_fields[table].default).model_fields)


def table_of(key: str) -> str:
    """The table of a key of Options."""
    return next(table for table in _TABLES if key in _keys_of(table))
