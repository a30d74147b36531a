"""A few values, as of dot products and residuals, reduced over all devices; NumPy, CuPy, PyTorch or other arrays."""

from typing import TYPE_CHECKING, Any

from slipstream.base.core import part
from slipstream.base.records import Closing
from slipstream.base.terminal import count
from slipstream.exchange import apart, arrays
from slipstream.exchange.grid import Grid, native_streams

if TYPE_CHECKING:
    from slipstream._collective import ArrayAllReduce


class AllReduce(Closing):
    """Adds (multiplies, takes the minimum or maximum of) the values of all devices of a grid, in place: every device
    holds the result. All ranks construct, run and close together.

    grid: its devices take part. values: how many each has, 1 to 1024. dtype: "f64", "f32" or "i64".
    op: "add", "multiply", "min" or "max". method: "peer" (kernels store into each other's memory), "nccl", "mpi" (the
        host in the loop) or "automatic", the first of these that can serve.
    wait_limit: seconds after which a wait gives up; inf: never.

    The order of operations, and so the bits, depend on the number of devices only. NaN stays NaN.
    Its end is collective, by close(), by leaving a `with` or when Python drops it.
    """

    def __init__(
        self,
        grid: Grid,
        values: int,
        dtype: str = "f64",
        op: str = "add",
        *,
        method: str = "automatic",
        wait_limit: float = 30.0,
    ) -> None:
        self.grid, self.values, self.dtype = grid, values, dtype
        self._op, self._closed = op, False
        self._devices = sum(device["rank"] == grid.comm.rank for device in grid.machine.devices())
        self._reduce: ArrayAllReduce = part("collective").ArrayAllReduce(
            grid.comm, grid._grid, values, dtype, op, method, wait_limit
        )

    def run(self, values: Any, stream: Any = None) -> None:
        """Reduces in place. values: an array, or a list with one for each device of this rank, of any shape, rows
        packed. stream: the caller's, or a list with one for each device. The result is ready for the stream's next
        work, in NumPy arrays when run returns. Runs follow one another."""
        with arrays.told_to_others(lambda: self._reduce.run([], [])):
            pointers, natives = self._pointers(values), native_streams(self.grid, stream)
        self._reduce.run(pointers, natives)

    def _pointers(self, values: Any) -> list[int]:
        places = []
        for device, array in enumerate(arrays.one_each(values, self._devices)):
            found = arrays.packed(array, self.values, self.dtype, self.grid.backend, "reduced")
            name = f"the array of device {device}"
            arrays.require_writable(found, name, "an all-reduce writes its result there")
            places.append(apart.place_of(found, name, True))
        apart.require_apart(places)
        return [place.first for place in places]

    def check(self) -> None:
        """Raises TimeoutError if a wait of an earlier run for another rank timed out. On GPUs, synchronize the stream
        first, and call this before you use the result; run() checks, too. After the error the object is unusable.
        """
        self._reduce.check()

    def close(self) -> None:
        """Ends the object. Collective. A second call does nothing; other methods then raise RuntimeError."""
        self._reduce.close()
        self._closed = True

    def __repr__(self) -> str:
        devices = len(self.grid.machine.devices())
        what = f"{self._op} {self.dtype}[{self.values}] over {count(devices, 'device')}"
        return f"<slipstream.AllReduce: {what}; {'closed' if self._closed else self.method}>"

    @property
    def method(self) -> str:
        """The method in use: `peer`, `nccl` or `mpi`."""
        return self._reduce.method

    @property
    def reason(self) -> str:
        """Why this all-reduce uses its method (peer, nccl or mpi), and not one of higher priority."""
        return self._reduce.reason

    @property
    def needs_host(self) -> bool:
        """True where run() blocks the host; else a graph of the caller's stream may record and replay it."""
        return self._reduce.needs_host
