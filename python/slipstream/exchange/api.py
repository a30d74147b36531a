"""Halo exchanges of arrays that your program owns: NumPy on the host backend, CuPy, PyTorch or others on GPUs.

Axes are named x, y, z with x contiguous, so an array of a block has the shape [z, y, x], [component, z, y, x]
(layout "soa") or [z, y, x, component] (layout "aos"), ghost layers included; with the layout "soa_z" z is contiguous
and the shape [x, y, z] or [component, x, y, z]. Grids of two extents have no z.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from slipstream.base.core import core
from slipstream.exchange import arrays
from slipstream.exchange.report import Report
from slipstream.machine.discovery import choose_backend

Triple = tuple[int, int, int]
#: What arrays tell of a field.
_KIND = ("type", "components")


def world() -> Any:
    """All ranks of the job; starts MPI where nobody did. It has rank, size, barrier() and all_gather(text)."""
    return core().Communicator.world()


def communicator(comm: Any = None) -> Any:
    """Of Slipstream, from one of mpi4py (or the integer that MPI_Comm_c2f gives); None: world(). Collective."""
    if comm is None:
        return world()
    if isinstance(comm, core().Communicator):
        return comm
    return core().Communicator.from_handle(comm if isinstance(comm, int) else comm.py2f())


class Grid:
    """A box of cells, cut into blocks on the devices of all ranks. Collective.

    cells: (nx, ny, nz), or (nx, ny) in two dimensions. comm: from world() or mpi4py. periodic: per axis.
    backend: "host", "cuda", or "auto": cuda where there is a GPU. devices_per_rank: 0 shares the node's GPUs out.
    ranks_per_node: k lets each k ranks act as a node, to try on one host what several would do.
    boxes: own blocks as (lo, hi, device) with global cells lo <= cell < hi and devices counted over all ranks.
    placement: which device holds which part: "trivial" (in order), "random" (placement_seed shuffles), "theoretical"
        (by the rates that the links are known to have) or "measured" (by rates that are measured here and now, some
        seconds long).
    cyclic: with ranks_per_node, deals the ranks out to the nodes in turn, not in blocks.
    More options: blocks_per_device, device_grid, node_grid (three counts each).
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
        **options: Any,
    ) -> None:
        if len(cells) not in (2, 3):
            raise ValueError(f"cells: give two or three extents, not {len(cells)}")
        self.axes = len(cells)
        self.cells: Triple = (*cells, 1)[:3]
        self.periodic = (*periodic, False)[:3]
        self.comm = communicator(comm)
        self.backend = choose_backend(backend)
        self.machine = core().Machine.discover(
            self.backend,
            devices_per_rank=devices_per_rank,
            ranks_per_node=ranks_per_node,
            cyclic=cyclic,
            bind=bind,
            comm=self.comm,
        )
        if boxes is not None:
            options["boxes"] = [((*lo, 0)[:3], (*hi, 1)[:3], device) for lo, hi, device in boxes]
        elif placement == "measured":
            options["measured_gb_per_s"] = core().measure_rates(self.machine, comm=self.comm)
        options |= {"periodic": self.periodic, "placement": placement}
        self._grid = core().Grid(self.cells, self.machine, self.comm.rank, options)
        self.blocks: list[dict[str, Any]] = self._grid.blocks()
        self.local = [self.blocks[block] for block in self._grid.local()]
        for block in self.local:
            #: The number by which CuPy and others know the device in this process.
            block["device_index"] = self.machine.devices()[block["device"]]["index"]

    @property
    def suited_layout(self) -> str:
        """The layout in which exchanges cost least: "soa_z" where GPUs share x, and z is whole and 32 cells long or
        more, else "soa"."""
        return self._grid.suited_layout

    def extent(self, block: int = 0) -> Triple:
        """Cells of a local block along x, y and z, without ghosts."""
        lo, hi = self.local[block]["lo"], self.local[block]["hi"]
        return (hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2])

    def array_shape(
        self,
        ghost: int | Sequence[int] = 1,
        components: int | None = None,
        *,
        block: int = 0,
        layout: str = "soa",
        padding: int | Sequence[int] = 0,
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

    def triple(self, width: int | Sequence[int]) -> Triple:
        """One number per axis; a single number is for all axes that have more than one cell or were asked for."""
        if isinstance(width, int):
            return (width, width, width if self.cells[2] > 1 else 0)
        if len(width) != self.axes:
            raise ValueError(f"give one number, or {self.axes} (x first), not {len(width)}")
        return (*width, 0)[:3]


class Exchange:
    """Fills the ghost cells of arrays from the neighbouring blocks. All ranks construct, begin, end and close together.

    fields: by name, an array for each local block of the grid (a list where there are several), or a tuple of such for
        copies that swap() exchanges, without planning again. The arrays must stay where they are while this lives.
    ghost, low, high, padding: layers in the arrays; layers filled on the low and the high side (ghost unless given);
        unused elements at the end of each axis. A number, one per axis (x first), or a dict of these by field name.
    reach: "faces", "faces_and_edges" or "all".
    layout: "soa", "aos" or "soa_z". It, reach and combine may be dicts by field name, too.
    combine: None fills ghosts. "add", "min", "max" or "multiply" goes the other way: what the ghosts hold is combined
        into the cells that they would be filled from, and ghosts stay as they are. Of f32, f64, i32, i64 or u8. With H
        as filling ghosts, "add" is its transpose: <H x, y> = <x, H* y>. Bits do not depend on ranks, devices or routes.
    routes: those that may be used, as in `slipstream info routes`: names alone are the only ones; "+direct,-staged"
        adds to all and takes away; a string or a list.
    tune: "rules" takes the first route that can serve a pair of devices; "measure" exchanges the arrays some times by
        every way, takes the fastest and remembers it on disk. retune=True measures again.
    trace: record what streams and messages do, for write_trace().
    grouping: what `staged` gives to MPI between nodes: one message per pair of "devices" or one per pair of "nodes".
    More options: wait_limit (seconds), tuner_cache (folder); and what the tuner would choose: pack ("fused",
        "per_direction", "memcpy3d" or, of `staged`, "zero_copy": how staged and gpu_mpi pack), streams ("one" or
        "per_direction"), sync (wait after every packing); as numbers of bytes sealed (messages of `direct` up to which
        travel in lines that carry the exchange's number), in_place (rows from which are stored into ghosts), chunk
        (signalled at once), ring (landing slots of one message); teams (thread blocks of a launch).

    On GPUs, begin and end order themselves after and before the work of the stream given (None: the default stream);
    NumPy arrays are ready when end returns. begin(), work on the interior, end() overlaps the two.

    Its end is collective, by close(), by leaving a `with` or when Python drops it: other ranks' kernels store into its
    memory and, by some routes, into the arrays.
    """

    def __init__(
        self,
        grid: Grid,
        fields: Mapping[str, Any],
        ghost: Any = 1,
        *,
        low: Any = None,
        high: Any = None,
        padding: Any = 0,
        reach: Any = "all",
        layout: Any = "soa",
        combine: Any = None,
        routes: str | Sequence[str] = (),
        **options: Any,
    ) -> None:
        self.grid = grid
        options["routes"] = [routes] if isinstance(routes, str) else list(routes)
        self._arrays = dict(fields)  # keeps them alive
        problem, items = "", []
        try:
            for name, value in fields.items():
                widths = {k: grid.triple(_of(of, name, k)) for k, of in (("ghost", ghost), ("padding", padding))}
                for key, given in (("low", low), ("high", high)):
                    layers = _of(given, name, key)
                    widths[key] = widths["ghost"] if layers is None else grid.triple(layers)
                how = {key: _of(of, name, key) for key, of in (("reach", reach), ("combine", combine))}
                items.append(_item(grid, name, value, widths, _of(layout, name, "layout"), how))
        except (TypeError, ValueError) as error:
            problem = str(error)
        _agree(grid.comm, problem, items)
        self._exchange = core().ArrayExchange(grid.comm, grid._grid, items, options)
        for note in self.tuning["notes"]:
            warnings.warn(note, RuntimeWarning, stacklevel=2)
        self._open: list[int] = []

    def begin(self, stream: Any = None) -> None:
        """Starts moving values. stream: the caller's, or a list with one for each device of this rank."""
        self._open = native_streams(self.grid, stream)
        self._exchange.begin(self._open)

    def end(self, stream: Any = None) -> None:
        """Orders the stream's next work after arrival; without one, the stream given to begin."""
        self._exchange.end(self._open if stream is None else native_streams(self.grid, stream))

    def run(self, stream: Any = None) -> None:
        """begin and end, in one launch where no copy engine, library or host is in between: with nothing to compute
        meanwhile it is faster."""
        self._exchange.run(native_streams(self.grid, stream))

    def progress(self) -> bool:
        """Drives routes that need the host, between begin and end; True when they need it no more."""
        return self._exchange.progress()

    def check(self) -> None:
        """Raises TimeoutError where an earlier exchange gave up waiting for a neighbour, whose values are then not in
        the ghosts, and RuntimeError where a library failed. On GPUs call it when the stream has been synchronized and
        before the values count, also after replays of a graph of your own that holds exchanges: begin() and run() call
        it too, but nobody looks at the last one. On the host end() and run() have looked. The exchange is of no use
        after an error."""
        self._exchange.check()

    def close(self) -> None:
        """Lets go of the arrays, which may be freed then. Collective: waits for what is under way and for the other
        ranks, for those that do not come some seconds only. A second call does nothing; others raise RuntimeError."""
        self._exchange.close()
        self._arrays.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def swap(self, field: str) -> None:
        """Makes the next copy of a field the current one."""
        self._exchange.swap(field)

    def messages(self) -> list[dict[str, Any]]:
        """Messages that leave or reach this rank: source, target (devices), route, reason, bytes, transfers."""
        return self._exchange.messages()

    @property
    def tuning(self) -> dict[str, Any]:
        """How the routes were found: source ("rules", "measured" or "cache"), file, seconds, notes, knobs."""
        return self._exchange.tuning()

    def report(self) -> Report:
        """The messages of all ranks with the times and rates of the last exchange; print it with rich, or write() it as
        JSON or a picture. Collective."""
        return Report.of(self.grid.machine, self.grid.blocks, self._exchange)

    def write_trace(self, folder: str | Path) -> None:
        """Writes rank<r>.json into a folder, for `slipstream trace` and Chrome's viewers. Needs trace=True."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._exchange.write_trace(str(folder))

    @property
    def needs_host(self) -> bool:
        """True where some route blocks the host in end()."""
        return self._exchange.needs_host

    @property
    def capturable(self) -> bool:
        """True where begin, end and run may be recorded into a graph of the caller's stream and replayed."""
        return self._exchange.capturable

    @property
    def limited_in_graphs(self) -> bool:
        """True where in such a graph, too, waits end after wait_limit, for check() to tell. What a library waits for
        has no limit there."""
        return self._exchange.limited_in_graphs

    @property
    def sequence(self) -> int:
        """Exchanges begun so far."""
        return self._exchange.sequence


def _of(value: Any, name: str, what: str) -> Any:
    """The value for one field of what was given for all, or by name."""
    if not isinstance(value, Mapping):
        return value
    if name not in value:
        raise ValueError(f"{what} was given by field name, but none for '{name}'")
    return value[name]


def _item(
    grid: Grid, name: str, value: Any, widths: dict[str, Triple], layout: str, how: dict[str, str | None]
) -> dict[str, Any]:
    """One field as the compiled module takes it."""
    copies = value if isinstance(value, tuple) else (value,)
    lists = [copy if isinstance(copy, list) else [copy] for copy in copies]
    for given in lists:
        if len(given) != len(grid.local):
            raise ValueError(f"field '{name}': {len(given)} arrays for the {len(grid.local)} blocks of this rank")
    found = []
    for block in range(len(grid.local)):
        for given in lists:
            array = arrays.describe(given[block])
            if how["combine"] and not array.exact:
                raise ValueError(
                    f"field '{name}' is to be combined by '{how['combine']}', but its values are not of f32, f64, i32, "
                    "i64 or u8: exchanges compute with these only"
                )
            components = _check(grid, name, block, array, widths, layout)
            found.append((array, components))
    if len({(array.format, components) for array, components in found}) > 1:
        raise ValueError(f"field '{name}': its arrays differ in number format or components")
    return {
        "name": name,
        # A rank without blocks has no array to tell these from: _agree() asks the others.
        "type": found[0][0].format if found else "f32",
        "components": (found[0][1] or 1) if found else 1,
        "copies": len(copies),
        **widths,
        "layout": layout,
        **{key: chosen for key, chosen in how.items() if chosen is not None},
        "arrays": [_placed(grid, array, components, layout) for array, components in found],
    }


def _check(
    grid: Grid, name: str, block: int, array: arrays.Described, widths: dict[str, Triple], layout: str
) -> int | None:
    """The components of an array of the right shape, None where it has no such axis."""
    components = None
    if len(array.shape) == grid.axes + 1:
        components = array.shape[-1 if layout == "aos" else 0]
    # Padding may lie behind the array or inside it.
    ghost, padding = (widths[key][: grid.axes] for key in ("ghost", "padding"))
    shapes = [grid.array_shape(ghost, components, block=block, layout=layout, padding=extra) for extra in (0, padding)]
    if array.shape not in shapes:
        raise ValueError(
            f"field '{name}', block {block} of this rank: the array has the shape {array.shape}, but must have "
            f"{shapes[0]}" + (f" or, with its padding, {shapes[1]}" if shapes[0] != shapes[1] else "")
        )
    if array.on_host != (grid.backend == "host"):
        here, there = ("host", "GPU") if array.on_host else ("GPU", "host")
        raise ValueError(
            f"field '{name}': the array lies in {here} memory, but the grid's backend is {grid.backend}; "
            f"allocate it in {there} memory, or make the grid with another backend"
        )
    return components


def _placed(grid: Grid, array: arrays.Described, components: int | None, layout: str) -> dict[str, Any]:
    """Address and strides, x first."""
    strides = list(array.strides)
    component = 0
    if components is not None:
        component = strides.pop(-1 if layout == "aos" else 0)
    x_first = (*(strides if layout == "soa_z" else strides[::-1]), 0)[:3]
    return {"pointer": array.pointer, "stride": x_first, "component_stride": component}


def _agree(comm: Any, problem: str, items: list[dict[str, Any]]) -> None:
    """Collective: what one rank must refuse is an error on all, so that no rank is left waiting. Ranks without blocks
    learn from the others what the fields hold."""
    kinds = [[item[key] for key in _KIND] if item["arrays"] else None for item in items]
    mine = {"problem": problem, "names": [item["name"] for item in items], "kinds": kinds}
    everyone = [json.loads(text) for text in comm.all_gather(json.dumps(mine))]
    for rank, theirs in enumerate(everyone):
        if theirs["problem"]:
            raise ValueError(theirs["problem"] if comm.size == 1 else f"rank {rank}: {theirs['problem']}")
    for rank, theirs in enumerate(everyone):
        if theirs["names"] != everyone[0]["names"]:
            both = [", ".join(each["names"]) for each in (everyone[0], theirs)]
            raise ValueError(f"rank 0 exchanges the fields {both[0]}, rank {rank} {both[1]}: give the same")
    for index, item in enumerate(items):
        known = next((each["kinds"][index] for each in everyone if each["kinds"][index]), None)
        if not item["arrays"] and known:
            item.update(zip(_KIND, known, strict=True))


def native_streams(grid: Grid, stream: Any) -> list[int]:
    """Addresses of the caller's streams; none where none is given."""
    if stream is None:
        return []
    if grid.backend == "host":
        raise ValueError("the host backend has no streams: call begin() and end() without one")
    return [arrays.stream_pointer(one) for one in (stream if isinstance(stream, list | tuple) else [stream])]
