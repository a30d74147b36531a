"""A box of cells, cut into blocks on the devices of all ranks."""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from slipstream.base.core import core
from slipstream.base.errors import ArgumentError, ErrorCode, Fault, OptionError
from slipstream.base.terminal import count, show_extent
from slipstream.exchange import arrays
from slipstream.exchange.options import GridOptions, UnknownOption, Width, check
from slipstream.exchange.records import Block, LocalBlock
from slipstream.machine.discovery import choose_backend
from slipstream.machine.told import Triple

if TYPE_CHECKING:
    from slipstream import _core as core_types
    from slipstream._core import Communicator, Machine


def world() -> "Communicator":
    """The communicator of all ranks of the job; starts MPI if it does not run. It has rank, size, barrier() and
    all_gather(text).
    """
    found: Communicator = core().Communicator.world()
    return found


def communicator(comm: Any = None) -> "Communicator":
    """Slipstream's communicator from one of mpi4py, or from an integer of MPI_Comm_c2f; None: world(). Collective."""
    if comm is None:
        return world()
    found: Communicator
    if isinstance(comm, core().Communicator):
        found = comm
        return found
    if not isinstance(comm, int) and not hasattr(comm, "py2f"):
        raise OptionError(
            f"comm: give slip.world(), a communicator of mpi4py or its integer, not {comm!r}",
            argument="comm",
            given=repr(comm),
        )
    found = core().Communicator.from_handle(comm if isinstance(comm, int) else comm.py2f())
    return found


@contextmanager
def refused_by_all(comm: Any) -> Iterator[None]:
    """Raises an error about the arguments of one rank, an UnknownOption or an ArgumentError, on all ranks, so that none
    is left waiting. Collective at its end."""
    mine = ""
    try:
        yield
    except (TypeError, ValueError) as error:
        mine = f"{isinstance(error, UnknownOption):d}{ArgumentError(Fault.of(error)).packed()}"
    for rank, theirs in enumerate(comm.all_gather(mine)):
        if theirs:
            kind = UnknownOption if theirs[0] == "1" else ArgumentError
            raise kind.unpacked((f"rank {rank}: " if comm.size > 1 else "") + theirs[1:])


class Grid:
    """A box of cells, cut into blocks on the devices of all ranks. Collective.

    cells: (nx, ny, nz), or (nx, ny) in two dimensions, without ghosts along z. comm: from world() or mpi4py.
    periodic: per axis.
    backend: "host", "cuda", or "auto": cuda where there is a GPU. devices_per_rank: 0 shares the node's GPUs out.
    ranks_per_node: k lets each k ranks act as a node, to try on one host what several would do.
    boxes: own blocks as (lo, hi, device) with global cells lo <= cell < hi and devices counted over all ranks.
    placement: which device holds which part: "trivial" (in order), "random" (placement_seed shuffles), "theoretical"
        (by the rates that the links are known to have) or "measured" (by rates that are measured here and now, some
        seconds long).
    cyclic: with ranks_per_node, deals the ranks out to the nodes in turn, not in blocks.
    blocks, local: all blocks, with lo, hi, device and rank, and those of this rank, with device_index, too.
    More options: blocks_per_device, device_grid, node_grid (three counts each). Raises TypeError for any other.
    """

    def __init__(
        self,
        cells: Sequence[int],
        comm: Any = None,
        *,
        periodic: Sequence[bool] = (False, False, False),
        backend: str = "auto",
        devices_per_rank: int = 0,
        ranks_per_node: int = 0,
        boxes: Sequence[tuple[Sequence[int], Sequence[int], int]] | None = None,
        bind: bool = False,
        cyclic: bool = False,
        placement: str = "theoretical",
        **options: Unpack[GridOptions],
    ) -> None:
        self.comm = communicator(comm)
        with refused_by_all(self.comm):
            check("a grid", Grid, options, GridOptions)
            extents = _each("cells", cells, operator.index, "whole numbers")
            if len(extents) not in (2, 3):
                raise ArgumentError(
                    f"cells: give two or three extents, not {len(extents)}",
                    argument="cells",
                    given=len(extents),
                    allowed="2, 3",
                )
            closed = _each("periodic", periodic, operator.index, "True or False")
            own = _boxes(boxes or ())
        self.axes = len(extents)
        self.cells = _triple(extents, 1)
        self.periodic = tuple(map(bool, (*closed, False)[:3]))
        self.backend = choose_backend(backend)
        self.machine: Machine = core().Machine.discover(
            self.backend,
            devices_per_rank=devices_per_rank,
            ranks_per_node=ranks_per_node,
            cyclic=cyclic,
            bind=bind,
            comm=self.comm,
        )
        how: dict[str, Any] = {"periodic": self.periodic, "placement": placement, "dimensions": self.axes, **options}
        if boxes is not None:
            how["boxes"] = own
        elif placement == "measured":
            how["measured_gb_per_s"] = core().measure_rates(self.machine, comm=self.comm)
        self._take(core().Grid(self.cells, self.machine, self.comm, how))

    @classmethod
    def _cut_as(cls, like: "Grid", cells: Triple, inner: "core_types.Grid") -> "Grid":
        """Wraps a compiled grid with this number of cells, which lies on the same devices as the grid `like`."""
        grid = cls.__new__(cls)
        grid.axes, grid.cells, grid.periodic = 3, cells, (False, False, False)
        grid.comm, grid.backend, grid.machine = like.comm, like.backend, like.machine
        grid._take(inner)
        return grid

    def _take(self, inner: "core_types.Grid") -> None:
        self._grid = inner
        found, devices, mine = inner.blocks(), self.machine.devices(), inner.local()
        for block in mine:
            found[block]["device_index"] = devices[found[block]["device"]]["index"]
        self.local = tuple(LocalBlock.of(found[block]) for block in mine)
        own = dict(zip(mine, self.local, strict=True))
        self.blocks = tuple(own.get(number) or Block.of(each) for number, each in enumerate(found))

    def __repr__(self) -> str:
        along = ", ".join(axis for axis, closed in zip("xyz", self.periodic, strict=True) if closed)
        cells = f"{show_extent(self.cells)} cells" + (f", periodic along {along}" if along else "")
        blocks = f"{count(len(self.blocks), 'block')} on {self.backend} devices"
        return f"<slipstream.Grid: {cells}, {blocks}, {len(self.local)} of rank {self.comm.rank}>"

    @property
    def suited_layout(self) -> str:
        """The layout in which exchanges cost least: "soa_z" where GPUs share x, and z is whole and 32 cells long or
        more, else "soa"."""
        return self._grid.suited_layout

    def extent(self, block: int = 0) -> Triple:
        """Cells of a local block along x, y and z, without ghosts."""
        lo, hi = self.local[block].lo, self.local[block].hi
        return (hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2])

    def array_shape(
        self,
        ghost: Width = 1,
        components: int | None = None,
        *,
        block: int = 0,
        layout: str = "soa",
        padding: Width = 0,
    ) -> tuple[int, ...]:
        """Shape that the array of a local block must have, ghosts on both sides and padding at the end included."""
        width, extra = self.triple(ghost), self.triple(padding)
        space = [n + 2 * g + p for n, g, p in zip(self.extent(block), width, extra, strict=True)]
        space = space[: self.axes]
        if layout != "soa_z":
            space.reverse()
        if components is None:
            return tuple(space)
        return (*space, components) if layout == "aos" else (components, *space)

    def triple(self, width: Width) -> Triple:
        """Converts a number, or one number for each of the grid's two or three axes, to a list by axis."""
        if isinstance(width, int | np.integer):
            return (int(width), int(width), int(width) if self.axes == 3 else 0)
        try:
            widths = tuple(map(operator.index, width))
        except TypeError:
            widths = ()
        if len(widths) != self.axes:
            raise ArgumentError(
                f"give one whole number, or {self.axes} (x first), not {width!r}", given=repr(width), needed=self.axes
            )
        return _triple(widths, 0)


def _triple(numbers: tuple[int, ...], last: int) -> Triple:
    """Converts two or three numbers to three, x first; `last` replaces a missing third one."""
    x, y, z = (*numbers, last)[:3]
    return (x, y, z)


def _each(name: str, values: Any, of: Callable[[Any], int], what: str) -> tuple[int, ...]:
    """Converts the values of an argument, one for each axis of the grid, to integers by the function `of`. Raises
    ValueError.
    """
    try:
        return tuple(map(of, values))
    except TypeError:
        raise ArgumentError(
            f"{name}: give {what}, one for each axis, not {values!r}", argument=name, given=repr(values)
        ) from None


def _boxes(given: Iterable[tuple[Sequence[int], Sequence[int], int]]) -> list[tuple[Any, Any, int]]:
    """Extends boxes (lo, hi, device) of a two-dimensional grid by one cell along z. Raises ValueError."""
    try:
        return [((*lo, 0)[:3], (*hi, 1)[:3], device) for lo, hi, device in given]
    except (TypeError, ValueError):
        raise ArgumentError(
            "boxes: give each as (lo, hi, device), with lo and hi of one number per axis", argument="boxes"
        ) from None


def native_streams(grid: Grid, stream: Any) -> list[int]:
    """Native addresses of the caller's streams; empty where none is given."""
    if stream is None:
        return []
    if grid.backend == "host":
        raise ArgumentError(
            "the host backend has no streams: call begin() and end() without one",
            ErrorCode.UNSUPPORTED,
            argument="stream",
            backend="host",
        )
    return [arrays.stream_pointer(one) for one in (stream if isinstance(stream, list | tuple) else [stream])]
