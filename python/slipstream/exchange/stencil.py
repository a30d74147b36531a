"""Your own point-wise update of a grid of cells, with the cut, the halo exchange and the overlap done for you."""

import operator
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Self, Unpack

import numpy as np

from slipstream.base.errors import ArgumentError, ErrorCode, RangeError
from slipstream.base.faults import unknown
from slipstream.base.records import Closing
from slipstream.base.terminal import count, show_extent
from slipstream.exchange.grid import Grid, refused_by_all
from slipstream.exchange.halo import Exchange
from slipstream.exchange.options import StencilOptions, UnknownOption, check
from slipstream.exchange.records import Block, LocalBlock

#: Type of a range of a block's cells along x, y and z: the first cell, and one past the last.
Cells = list[tuple[int, int]]

#: Largest number of axes along which an update may read a shifted cell. It depends on which ghost cells of a block the
#: halo exchange fills: those at faces, those at faces and edges, or all.
_AXES = {"faces": 1, "faces_and_edges": 2, "all": 3}
#: Options of an Exchange that Stencil derives from the radius and the arrays.
_OWN = frozenset({"ghost", "low", "high", "combine", "layout", "padding"})


class Shifted:
    """A field as an update reads it. The values at the computed cells, shifted by dx, dy and dz cells, are u[dx, dy,
    dz]; in two dimensions u[dx, dy]. `u.x`, `u.y`, `u.z` are the coordinates of the computed cells' centres in cells
    of the whole grid, shaped to broadcast with it."""

    def __init__(self, array: Any, cells: Cells, ghost: int, low: Sequence[int], xp: Any, reach: str) -> None:
        self._array, self._cells, self._ghost, self._low, self._xp = array, cells, ghost, low, xp
        self._reach = reach

    def __getitem__(self, shift: tuple[int, ...]) -> Any:
        shift = shift if isinstance(shift, tuple) else (shift,)
        if not all(isinstance(d, int | np.integer) for d in shift):
            raise RangeError(f"a shift is made of whole numbers, not {shift}", given=shift)
        if len(shift) != len(self._cells):
            raise RangeError(
                f"a grid of {len(self._cells)} axes takes so many shifts, not {len(shift)}",
                ErrorCode.MISMATCH,
                given=len(shift),
                needed=len(self._cells),
            )
        if any(abs(d) > self._ghost for d in shift):
            raise RangeError(
                f"a shift by {shift} reaches beyond the radius {self._ghost} of the stencil",
                given=shift,
                allowed=self._ghost,
            )
        if (along := sum(map(bool, shift))) > _AXES[self._reach]:
            wider = "faces_and_edges" if along == 2 and len(shift) == 3 else "all"
            raise RangeError(
                f"a shift by {shift} goes along {along} axes, and reach is '{self._reach}'; give reach=\"{wider}\"",
                given=shift,
                reach=self._reach,
                needed=wider,
            )
        places = [slice(a + self._ghost + d, b + self._ghost + d) for (a, b), d in zip(self._cells, shift, strict=True)]
        return self._array[tuple(reversed(places))]

    def _along(self, axis: int) -> Any:
        low, high = self._cells[axis]
        shape = [1] * len(self._cells)
        shape[len(self._cells) - 1 - axis] = high - low
        return (self._xp.arange(low, high) + self._low[axis] + 0.5).reshape(shape)

    @property
    def x(self) -> Any:
        return self._along(0)

    @property
    def y(self) -> Any:
        return self._along(1)

    @property
    def z(self) -> Any:
        return self._along(2)


class Stencil(Closing):
    """Steps of `update` on the blocks of a grid. All ranks construct, run and close together.

    update: takes a Shifted for each field, in their order, and returns the new values of the first field, or a tuple
        for the first ones; the others stay. It is called for parts of blocks. Each cell must get the same value in any
        part, which arithmetic on whole arrays ensures.
    fields: their names.
    radius: the farthest shift, along any axis.
    outside: the value of cells beyond sides that are not periodic.
    reach: "faces" where no shift goes along two axes at once, "faces_and_edges" where none goes along three, else
        "all".
    Keyword arguments beyond these are those of Exchange: routes, tune, trace, wait_limit and so on. Raises TypeError
    for others.

    The interior of each block is computed while the halos travel. Arrays are NumPy's on the host backend, CuPy's on
    GPUs.
    """

    def __init__(
        self,
        grid: Grid,
        update: Callable[..., Any],
        fields: Sequence[str] = ("u",),
        *,
        radius: int = 1,
        dtype: Any = "float64",
        outside: float = 0.0,
        reach: str = "all",
        **options: Unpack[StencilOptions],
    ) -> None:
        with refused_by_all(grid.comm):
            if taken := _OWN & options.keys():
                raise UnknownOption(
                    f"{min(taken)}: no option of a Stencil, whose radius and reach say what travels", option=min(taken)
                )
            check("a stencil", Stencil, options, StencilOptions)
            radius = _count("radius: a stencil reaches one cell at least", radius, 1)
            dtype, names = _number_format(dtype, outside), _names(fields)
            _check_sizes(grid, radius, reach)
        self.grid, self.radius, self.names = grid, radius, names
        self._reach = reach
        self.steps = 0
        self._update = update
        self._xp: Any = import_module("cupy") if grid.backend == "cuda" else np
        local = range(len(grid.local))

        def arrays() -> list[Any]:
            return [self._full(grid.array_shape(radius, block=block), outside, dtype, block) for block in local]

        self._copies: dict[str, list[list[Any]]] = {name: [arrays(), arrays()] for name in self.names}
        pairs = {name: tuple(copies) for name, copies in self._copies.items()}
        self._exchange = Exchange(grid, pairs, radius, reach=reach, **options)

    def _full(self, shape: Sequence[int], value: float, dtype: Any, block: int) -> Any:
        with self._on(block):
            return self._xp.full(shape, value, dtype)

    def _on(self, block: int) -> Any:
        """Context in which the device of a block is the current one."""
        if self.grid.backend == "host":
            return np.errstate()
        return self._xp.cuda.Device(self.grid.local[block].device_index)

    def _shifted(self, name: str, block: int, cells: Cells) -> Shifted:
        low = self.grid.local[block].lo
        return Shifted(self._copies[name][0][block], cells, self.radius, low, self._xp, self._reach)

    def _whole(self, block: int) -> Cells:
        return [(0, n) for n in _extent(self.grid.local[block], self.grid.axes)]

    def fill(self, **values: Any) -> Self:
        """Sets fields, by name, to numbers or to functions of the centres' coordinates x, y (and z), in cells."""
        for name, value in values.items():
            self._known(name)
            for block in range(len(self.grid.local)):
                with self._on(block):
                    at = self._shifted(name, block, self._whole(block))
                    given = value(*(at._along(axis) for axis in range(self.grid.axes))) if callable(value) else value
                    try:
                        self.interior(name, block)[...] = given
                    except (TypeError, ValueError) as error:
                        raise ArgumentError(
                            f"fill: the values of {name} are no numbers for its cells: {error}",
                            ErrorCode.MISMATCH,
                            field=name,
                        ) from None
        return self

    def interior(self, name: str, block: int = 0) -> Any:
        """The cells of a local block, without ghosts, [z, y, x]: a view of the present values. Raises ValueError for a
        name that no field has."""
        self._known(name)
        if not 0 <= block < len(self.grid.local):
            raise RangeError(
                f"this rank has {len(self.grid.local)} blocks, counted from 0, and no block {block}",
                ErrorCode.NOT_FOUND,
                block=block,
                available=len(self.grid.local),
            )
        inner = slice(self.radius, -self.radius)
        return self._copies[name][0][block][(inner,) * self.grid.axes]

    def blocks(self, name: str) -> Iterator[tuple[LocalBlock, Any]]:
        """This rank's blocks and their cells [z, y, x]."""
        self._known(name)
        return ((entry, self.interior(name, block)) for block, entry in enumerate(self.grid.local))

    def _known(self, name: str) -> None:
        if name not in self.names:
            raise ArgumentError(unknown(f"no field '{name}'; ", name, self.names, field=name))

    def _streams(self) -> list[Any] | None:
        """CuPy's current stream of each device of this rank, on which the update runs."""
        if self.grid.backend == "host":
            return None
        cuda, rank, found = self._xp.cuda, self.grid.comm.rank, []
        for device in self.grid.machine.devices():
            if device["rank"] == rank:
                with cuda.Device(device["index"]):
                    found.append(cuda.get_current_stream())
        return found

    def run(self, steps: int = 1) -> Self:
        """Makes steps, on GPUs after the work of CuPy's current streams, and waits for them. Raises errors of the
        exchanges, as check() of an Exchange does. Collective."""
        steps = _count("steps", steps, 0)
        streams = self._streams()
        for _ in range(steps):
            self._exchange.begin(streams)
            split = [_split(self._whole(block), self.radius) for block in range(len(self.grid.local))]
            written = [self._compute(block, interior) for block, (interior, _) in enumerate(split)]
            self._exchange.end()
            for block, (_, boundary) in enumerate(split):
                for cells in boundary:
                    written[block] = max(written[block], self._compute(block, cells))
            for name in self.names[: max(written, default=len(self.names))]:
                self._copies[name].reverse()
                self._exchange.swap(name)
            self.steps += 1
        for stream in streams or []:
            stream.synchronize()
        self._exchange.check()
        return self

    def _compute(self, block: int, cells: Cells) -> int:
        """Applies the update to a range of cells, and returns the number of fields that it wrote."""
        if any(a >= b for a, b in cells):
            return 0
        with self._on(block):
            found = self._update(*(self._shifted(name, block, cells) for name in self.names))
            news = found if isinstance(found, tuple) else (found,)
            if any(new is None for new in news):
                raise ArgumentError(
                    "the update returned None: it must return the new values", argument="update", given="None"
                )
            if len(news) > len(self.names):
                raise ArgumentError(
                    f"the update returned {len(news)} arrays for {len(self.names)} fields",
                    ErrorCode.MISMATCH,
                    argument="update",
                    given=len(news),
                    needed=len(self.names),
                )
            place = tuple(slice(a + self.radius, b + self.radius) for a, b in reversed(cells))
            for name, new in zip(self.names, news, strict=False):
                self._copies[name][1][block][place] = new
        return len(news)

    def close(self) -> None:
        """Ends the exchange. Collective."""
        self._exchange.close()

    def __repr__(self) -> str:
        where = f"{show_extent(self.grid.cells)} cells on {self.grid.backend} devices"
        what = f"{', '.join(self.names)} with radius {self.radius} on {where}"
        return f"<slipstream.Stencil: {what}; {count(self.steps, 'step')}>"


def _count(what: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ArgumentError(
            f"{what}: give a whole number from {least} on, not {value!r}",
            argument=what.partition(":")[0],
            given=repr(value),
            allowed=f">= {least}",
        )
    return number


def _check_sizes(grid: Grid, radius: int, reach: str) -> None:
    """Raises ValueError for an unknown `reach`, the name of a set of neighbour cells such as "faces". Raises it, too,
    if a block has fewer cells along an axis than the stencil's radius.
    """
    if reach not in _AXES:
        raise ArgumentError(
            f"reach: give {', '.join(map(repr, _AXES))}, not {reach!r}",
            argument="reach",
            given=repr(reach),
            allowed=", ".join(_AXES),
        )
    smallest = min((n for block in grid.blocks for n in _extent(block, grid.axes)), default=radius)
    if smallest < radius:
        raise ArgumentError(
            f"radius: {radius} is more than the {smallest} cells of the thinnest block; take fewer devices, more "
            "cells or a smaller radius, or leave z out of the grid where it has one cell",
            ErrorCode.UNSUPPORTED,
            argument="radius",
            given=radius,
            available=smallest,
        )


def _number_format(dtype: Any, outside: Any) -> np.dtype[Any]:
    """NumPy's number format for the values of a field. It must be able to hold `outside`, the value of cells beyond
    sides of the domain that are not periodic. Raises ValueError."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise ArgumentError(
            f'dtype: {dtype!r} is no number format; give one of NumPy\'s, as "float64"',
            argument="dtype",
            given=repr(dtype),
        ) from None
    try:
        np.full((), outside, found)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"outside: give a number, not {outside!r}", argument="outside", given=repr(outside)
        ) from None
    return found


def _names(fields: Any) -> tuple[str, ...]:
    """Checks the names of a Stencil's fields, and returns them. Raises ValueError."""
    given = tuple(fields) if isinstance(fields, list | tuple) else ()
    if not given or not all(isinstance(name, str) for name in given) or len(set(given)) < len(given):
        raise ArgumentError(
            f'fields: give a list of different names, as ["u", "v"], not {fields!r}',
            argument="fields",
            given=repr(fields),
        )
    return given


def _extent(block: Block, axes: int) -> list[int]:
    return [b - a for a, b in zip(block.lo, block.hi, strict=True)][:axes]


def _split(cells: Cells, width: int) -> tuple[Cells, list[Cells]]:
    """Splits a block into the box of cells farther than `width` from its sides, and disjoint boxes of all other
    cells."""
    inner = [(a + width, b - width) for a, b in cells]
    if any(a >= b for a, b in inner):
        return [(0, 0)] * len(cells), [cells]
    boundary, rest = [], list(cells)
    for axis in reversed(range(len(cells))):
        (a, b), (low, high) = cells[axis], inner[axis]
        boundary += [[*rest[:axis], (a, low), *rest[axis + 1 :]], [*rest[:axis], (high, b), *rest[axis + 1 :]]]
        rest[axis] = (low, high)
    return inner, boundary
