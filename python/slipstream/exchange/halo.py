"""Halo exchanges of arrays that your program owns: NumPy on the host backend, CuPy, PyTorch or others on GPUs.

Axes are named x, y, z with x contiguous. So an array of a block has the shape [z, y, x], [component, z, y, x] (layout
"soa") or [z, y, x, component] (layout "aos"), ghost layers included. With the layout "soa_z" z is contiguous and the
shape is [x, y, z] or [component, x, y, z]. Grids of two extents have no z.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from slipstream.base.core import core
from slipstream.base.errors import ArgumentError, ErrorCode
from slipstream.base.terminal import show_extent
from slipstream.exchange import apart
from slipstream.exchange import fields as described_fields
from slipstream.exchange.grid import Grid, refused_by_all
from slipstream.exchange.options import ExchangeOptions, Width, check
from slipstream.exchange.running import Running
from slipstream.machine.told import Triple


class Exchange(Running):
    """Fills the ghost cells of arrays from the neighbouring blocks. All ranks construct, begin, end and close together.

    fields: by name, an array for each local block of the grid (a list where there are several), or a tuple of such for
        copies that swap() exchanges, without planning again. The arrays must stay where they are while this lives.
    ghost, low, high, padding: layers in the arrays; layers filled on the low and the high side (ghost unless given);
        unused elements at the end of each axis. A number, one per axis (x first), or a dict of these by field name.
    reach: "faces", "faces_and_edges" or "all".
    layout: "soa", "aos" or "soa_z". It, reach and combine may be dicts by field name, too.
    combine: None fills ghosts. "add", "min", "max" or "multiply" goes the other way: what the ghosts hold is combined
        into the cells that they would be filled from, and ghosts stay as they are. Of f32, f64, i32, i64, u8, and of
        c64 and c128 without min and max. With H as filling ghosts, "add" is its transpose: <H x, y> = <x, H* y>. Bits
        do not depend on ranks, devices or routes.
    routes: those that may be used, as in `slipstream info routes`: names alone are the only ones; "+direct,-staged"
        adds to all and takes away; a string or a list.
    coding: how values travel: "raw", as they are; "cast", rounded, f64 and c128 to f32 and f32 to f16, or "cast to
        bf16"; in blocks, "blockfloat" or "zfp", with ", rate 16" (bits a value), ", block 64" or ", max error 1e-6"
        behind them (docs/coding.md), or "auto, max error 1e-6", the fastest here that keeps it; for all fields or a
        dict by field name. A finite value that is too large is an OverflowError of all
        ranks. Bits do not depend on routes.
    tune: "rules" takes the first route that can serve a pair of devices; "measure" exchanges the arrays some times by
        every way, takes the fastest and caches it on disk. retune=True measures again.
        tune_with=("interior", work): measures begin(), work(streams), end(), and the time of the whole decides.
        streams: a number for each of this rank's devices, on GPUs the address of the CUDA stream that work has to
        queue on, as for cupy.cuda.ExternalStream; elsewhere 0, and work computes. It may do what it may between
        begin() and end(), on all ranks alike; the choice is cached by its name.
    trace: record what streams and messages do, for write_trace().
    grouping: what `staged` gives to MPI between nodes: one message per pair of "devices" or one per pair of "nodes".
    mpi: by which calls `staged` and `gpu_mpi` go from rank to rank: "sends" (and receives), or one call for all ranks,
        "alltoallv" (blocks), "ialltoallv" (does not), "put_fence" or "put_lock" (one-sided).
    poison: True finds who reads what has not arrived: before every exchange, all bits of what it brings are set in
        the ghosts and the messages (NaN; integers: -1), and ghosts get values in end() alone. Slow; the same bits.
    More options: wait_limit (seconds, or inf), tuner_cache (folder); throttle ("12.5 GB/s, 2 us": as slow as that
        network; messages between devices travel by staged or gpu_mpi then). The tuner would choose these: pack
        ("fused", "per_direction", "memcpy3d" or, of `staged`, "zero_copy": how staged and gpu_mpi pack), streams
        ("one" or "per_direction"), sync (wait after every packing); as numbers of bytes packet_limit (messages of
        `direct` up to which travel in packets that carry the exchange's number), in_place (rows from which are stored
        into ghosts), chunk (signalled at once), ring (receive slots of one message); teams (thread blocks of a launch).

    On GPUs, begin and end order themselves after and before the work of the given stream (None: the default stream).
    NumPy arrays are ready when end returns. Work between begin() and end() overlaps with the exchange.

    Raises TypeError for unknown options. Its end is collective, by close(), by leaving a `with` or when Python drops
    it. Until then other ranks' kernels may store into its memory and, by some routes, into the arrays.
    """

    def __init__(
        self,
        grid: Grid,
        fields: Mapping[str, Any],
        ghost: Width | Mapping[str, Width] = 1,
        *,
        low: Width | Mapping[str, Width] | None = None,
        high: Width | Mapping[str, Width] | None = None,
        padding: Width | Mapping[str, Width] = 0,
        reach: str | Mapping[str, str] = "all",
        layout: str | Mapping[str, str] = "soa",
        combine: str | Mapping[str, str | None] | None = None,
        coding: str | Mapping[str, str] = "raw",
        routes: str | Sequence[str] = (),
        **options: Unpack[ExchangeOptions],
    ) -> None:
        asked = {**options, "routes": [routes] if isinstance(routes, str) else list(routes)}
        places: list[apart.Place] = []
        layers = {"ghost": ghost, "padding": padding, "low": low, "high": high}

        def item(name: str, value: Any) -> dict[str, Any]:
            how = {key: _of(of, name, key) for key, of in (("reach", reach), ("combine", combine), ("coding", coding))}
            chosen, widths = _of(layout, name, "layout"), _widths(grid, name, layers)
            written = "ghosts are combined into its cells" if how["combine"] else "an exchange writes its ghost cells"
            return described_fields.item(grid, name, value, widths, chosen, how, written=written, places=places)

        with refused_by_all(grid.comm):
            check("an exchange", Exchange, options, ExchangeOptions)
            items = [item(*one) for one in fields.items()]
            apart.require_apart(places)
        described_fields.agree(grid.comm, items)
        inner = core().ArrayExchange(grid.comm, grid._grid, items, asked)
        super().__init__(grid, inner, list(fields.values()), _shown(grid, items))

    def swap(self, field: str) -> None:
        """Makes the next copy of a field the current one."""
        self._exchange.swap(field)


def _shown(grid: Grid, items: list[dict[str, Any]]) -> str:
    """Describes the fields (number format, components, ghosts) and the cells as text."""
    each = [
        f"{one['name']} {one['type']}[{one['components']}] with ghosts {one['ghost'][: grid.axes]}" for one in items
    ]
    return f"{', '.join(each) or 'no fields'} on {show_extent(grid.cells)} cells"


def _of(value: Any, name: str, what: str) -> Any:
    """The value of an argument for one field, from a single value for all fields or from a dict by field name."""
    if not isinstance(value, Mapping):
        return value
    if name not in value:
        raise ArgumentError(
            f"{what} was given by field name, but none for '{name}'", ErrorCode.NOT_FOUND, argument=what, field=name
        )
    return value[name]


def _widths(grid: Grid, name: str, layers: Mapping[str, Any]) -> dict[str, Triple]:
    """Widths in cells of one field's ghost layers and padding, by argument name and axis. Widths that are not given are
    those of `ghost`."""
    given = {key: _of(of, name, key) for key, of in layers.items()}
    return {key: grid.triple(given["ghost"] if width is None else width) for key, width in given.items()}
