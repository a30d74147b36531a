"""Sums over points that several elements share; NumPy, CuPy, PyTorch or other arrays."""

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from slipstream.base.core import part
from slipstream.base.errors import ArgumentError, ErrorCode
from slipstream.base.records import Closing
from slipstream.base.terminal import count
from slipstream.exchange import apart, arrays
from slipstream.exchange.grid import Grid, native_streams, refused_by_all
from slipstream.exchange.options import ExchangeOptions, check
from slipstream.exchange.records import Counts, Tuning

if TYPE_CHECKING:
    from slipstream._gather_scatter import ArrayGatherScatter


class GatherScatter(Closing):
    """Combines the values of points that have the same id. Q is the matrix that gives each point the value of its id;
    run() replaces u by Q Q^T u. All ranks construct, run and close together.

    grid: its devices take part. ids: one per point, int64, from 1; 0 for points that are not shared; of any
        shape; a list with one array for each device of this rank where there are several.
    block: points of a block (say, of 64 elements); bits depend on the assignment of points to blocks only.
    first_block: number of the first block of this rank's device in the whole domain, or a list, on all ranks or on
        none; by default blocks are numbered through the devices in the machine's order.
    dtype: "f64", "f32", "i64", "i32", "c128" or "c64". components: that one run combines, in one message for each pair
        of devices.
    unique: enables gather() and scatter(), Q^T and Q alone, which need lists and messages of their own.
    host_packed: for comparison, what devices share is copied to the host, packed there, sent by MPI, combined there and
        copied back, by finish(). The bits are the same; without unique and tune.
    coding: how combined values travel: "raw", "cast" (f64 and c128 as f32, f32 as f16), "cast to bf16" or
        "blockfloat, max error 1e-6". All copies of a value stay equal, because it is rounded on every block that shares
        its point. Codings that round a value by its neighbours are refused.
    routes, options: for the messages between devices, as Exchange has them; wait_limit, tune and tune_with among
        them. The tuner measures whole gather-scatters of zeros.

    Its end is collective, by close(), by leaving a `with` or when Python drops it.
    """

    def __init__(
        self,
        grid: Grid,
        ids: Any,
        block: int = 1,
        *,
        first_block: int | Sequence[int] | None = None,
        dtype: str = "f64",
        components: int = 1,
        unique: bool = False,
        host_packed: bool = False,
        coding: str = "raw",
        routes: str | Sequence[str] = (),
        **options: Unpack[ExchangeOptions],
    ) -> None:
        self.grid, self.dtype, self.components = grid, dtype, components
        self._closed = False
        self._devices = sum(device["rank"] == grid.comm.rank for device in grid.machine.devices())
        flat, firsts, how = [], [], dict(options)
        with refused_by_all(grid.comm):
            check("a gather-scatter", GatherScatter, options, ExchangeOptions)
            flat = self._ids_of(ids)
            firsts = [] if first_block is None else [operator.index(first) for first in np.atleast_1d(first_block)]
            block, components = operator.index(block), operator.index(components)
            how["routes"] = [routes] if isinstance(routes, str) else list(routes)
        self._points = [one.size for one in flat]
        addresses = [(one.ctypes.data, one.size) for one in flat]
        self._inner: ArrayGatherScatter = part("gather_scatter").ArrayGatherScatter(
            grid.comm, grid._grid, addresses, firsts, block, dtype, components, how, coding, unique, host_packed
        )
        self._unique = [self._inner.counts(device)["unique_ids"] for device in range(self._devices)]

    def run(self, values: Any, op: str = "add", stream: Any = None) -> None:
        """Computes Q Q^T in place. values: an array, or a list with one for each device of this rank. It has
        components, then points in the order of the ids, rows packed. Several components are the first axis, or all
        is flat in that order. op: "add", "multiply", "min" or "max", the same on all ranks. stream: the caller's, or
        a list. The result is ready for the stream's next work, in NumPy arrays when run returns. Each call may have
        other arrays."""
        with arrays.told_to_others(lambda: self._inner.run([], op, [])):
            (at,), natives = self._addresses(values), native_streams(self.grid, stream)
        self._inner.run(at, op, natives)

    def start(self, values: Any, op: str = "add", stream: Any = None) -> None:
        """The first part of run(): sends values to other devices. Until finish() the caller may work on points that are
        not shared."""
        with arrays.told_to_others(lambda: self._inner.start([], op, [])):
            (at,), natives = self._addresses(values), native_streams(self.grid, stream)
        self._inner.start(at, op, natives)

    def finish(self) -> None:
        """Ends a gather-scatter, gather or scatter that was started: waits for values of other devices, and combines
        them or writes them to all copies of a point."""
        self._inner.finish()

    def gather(self, values: Any, unique: Any, op: str = "add", stream: Any = None) -> None:
        """Computes unique = Q^T values: combines the copies of each id, once. values: as in run(), only read. unique:
        an array, or a list with one for each device of this rank. It has components, then a value for each id that
        the device owns (counts().unique_ids), in the order of unique_points(). An id belongs to the device of the
        first block that has it. The bits are the same as in run()."""
        self._gather(self._inner.gather, values, unique, op, stream)

    def scatter(self, unique: Any, values: Any, stream: Any = None) -> None:
        """Computes values = Q unique: every copy of a point gets, bit for bit, the value that the array `unique` has
        for the point's id. Points of id 0 are unchanged. gather() and then scatter() has the same result as run()."""
        self._scatter(self._inner.scatter, unique, values, stream)

    def start_gather(self, values: Any, unique: Any, op: str = "add", stream: Any = None) -> None:
        """Starts gather(), which finish() ends. Until then the caller may neither write the input `values` nor use the
        result `unique`."""
        self._gather(self._inner.start_gather, values, unique, op, stream)

    def start_scatter(self, unique: Any, values: Any, stream: Any = None) -> None:
        """Starts scatter(), which finish() ends. Until then the caller may neither write the input `unique` nor use the
        result `values`."""
        self._scatter(self._inner.start_scatter, unique, values, stream)

    def unique_points(self, device: int = 0) -> Any:
        """The first point of each unique value of this rank's `device`, counted in the flattened ids; int64, ascending.
        If devices hold ascending blocks, the concatenated unique values are the same on any number of devices."""
        return np.asarray(self._inner.unique_points(device), np.int64)

    def check(self) -> None:
        """Raises TimeoutError where a wait of an earlier run for another rank timed out."""
        self._inner.check()

    def counts(self, device: int = 0) -> Counts:
        """Numbers of points and ids of this rank's `device`, and of values sent."""
        return Counts(**self._inner.counts(device))

    @property
    def tuning(self) -> Tuning:
        """Message routes that the tuner chose, and whether it measured them, read its cache or followed rules."""
        return Tuning.of(self._inner.tuning())

    def close(self) -> None:
        """Ends the object. Collective. A second call does nothing; other methods then raise RuntimeError."""
        self._inner.close()
        self._closed = True

    def __repr__(self) -> str:
        points = f"{count(sum(self._points), 'point')} of rank {self.grid.comm.rank}"
        what = f"{self.dtype}[{self.components}] at {points}, {count(self._devices, 'device')}"
        if self._closed:
            return f"<slipstream.GatherScatter: {what}; closed>"
        shared = sum(self.counts(device).shared_points for device in range(self._devices))
        return f"<slipstream.GatherScatter: {what}; {shared} shared>"

    def _gather(self, call: Callable[..., None], values: Any, unique: Any, op: str, stream: Any) -> None:
        with arrays.told_to_others(lambda: call([], [], op, [])):
            (at, into), natives = self._addresses(values, unique, written="unique"), native_streams(self.grid, stream)
        call(at, into, op, natives)

    def _scatter(self, call: Callable[..., None], unique: Any, values: Any, stream: Any) -> None:
        with arrays.told_to_others(lambda: call([], [], [])):
            (into, at), natives = self._addresses(values, unique), native_streams(self.grid, stream)
        call(at, into, natives)

    def _addresses(self, values: Any, *unique: Any, written: str = "values") -> list[list[int]]:
        """Addresses of the arrays `values`, and of the arrays `unique` if there are any: a list for each device."""
        places: list[apart.Place] = []
        found = [self._packed(values, self._points, "combined", "values", written, places)]
        found += [self._packed(one, self._unique, "unique", "unique", written, places) for one in unique]
        apart.require_apart(places)
        return found

    def _packed(
        self, values: Any, counts: list[int], what: str, name: str, written: str, places: list[apart.Place]
    ) -> list[int]:
        addresses = []
        for device, array in enumerate(arrays.one_each(values, self._devices)):
            count = counts[device] * self.components
            found = arrays.packed(array, count, self.dtype, self.grid.backend, what, self.components)
            shown = f"'{name}'" + (f" of device {device}" if self._devices > 1 else "")
            if name == written:
                arrays.require_writable(found, shown, "a gather-scatter writes it")
            places.append(apart.place_of(found, shown, name == written))
            addresses.append(found.pointer)
        return addresses

    def _ids_of(self, ids: Any) -> list[Any]:
        given = ids if isinstance(ids, list | tuple) else [ids]
        if len(given) != self._devices:
            raise ArgumentError(
                f"ids of {len(given)} devices for the {self._devices} of this rank: give one array for each",
                argument="ids",
                given=len(given),
                needed=self._devices,
            )
        return [_flat(one) for one in given]


def _flat(ids: Any) -> Any:
    found = np.asarray(ids)
    if found.dtype.kind not in "iu":
        raise ArgumentError(f"ids are whole numbers, not of {found.dtype}", argument="ids", given=found.dtype)
    arrays.require_own_order(found.dtype.str, "ids")
    most = np.iinfo(np.int64).max
    if found.dtype.kind == "u" and found.size and found.max() > most:
        raise ArgumentError(
            f"a point has the id {found.max()}, and ids are at most {most}: number points from 1",
            ErrorCode.OVERFLOW,
            argument="ids",
            given=found.max(),
            allowed=most,
        )
    return np.ascontiguousarray(found, np.int64).reshape(-1)
