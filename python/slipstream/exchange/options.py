"""Keyword arguments that several classes take, known to type checkers and to completion."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from slipstream.base.errors import ErrorCode, OptionError
from slipstream.base.faults import unknown

#: Type of the width of ghost layers: a number of cells, or one number for each axis, x first.
Width = int | Sequence[int]


class MessageOptions(TypedDict, total=False):
    """Options of messages, which are keys of [exchange] in a case file, too."""

    retune: bool
    throttle: str
    poison: bool
    measure_errors: bool
    pack: Literal["fused", "per_direction", "memcpy3d", "zero_copy"]
    streams: Literal["one", "per_direction"]
    grouping: Literal["devices", "nodes"]
    mpi: Literal["sends", "alltoallv", "ialltoallv", "put_fence", "put_lock"]
    sync: bool
    teams: int


class ExchangeOptions(MessageOptions, total=False):
    """Options of all classes that exchange values; Exchange documents them."""

    tune: Literal["rules", "measure"]
    tune_with: tuple[str, Callable[[list[int]], object]]
    tuner_cache: str
    wait_limit: float
    trace: bool
    in_place: int
    packet_limit: int
    chunk: int
    ring: int


class StencilOptions(ExchangeOptions, total=False):
    """Options that a Stencil passes to its Exchange."""

    routes: str | Sequence[str]
    coding: str | Mapping[str, str]


class GridOptions(TypedDict, total=False):
    """Options of a grid: numbers of blocks and devices along x, y and z, and the seed of random placement."""

    blocks_per_device: Sequence[int]
    device_grid: Sequence[int]
    node_grid: Sequence[int]
    placement_seed: int


class UnknownOption(OptionError):
    """Error of a call with an unknown keyword argument."""

    code = ErrorCode.NOT_FOUND


def check(what: str, call: Callable[..., Any], options: Iterable[str], kind: type) -> None:
    """Raises UnknownOption, with the nearest name, for keyword arguments that neither `kind`, a TypedDict, nor the
    function `call` has."""
    for key in options:
        if key not in kind.__annotations__:
            own = [name for name in inspect.signature(call).parameters if name != "options"]
            known = [*own, *kind.__annotations__]
            raise UnknownOption(unknown(f"{what} has no option named '{key}'; ", key, known, option=key))
