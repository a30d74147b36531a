"""Three-dimensional Fourier transforms over all devices; NumPy, CuPy, PyTorch or other arrays."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

from slipstream.base.core import core
from slipstream.exchange import fields
from slipstream.exchange.grid import Grid, native_streams

#: Number formats of values in physical space by NumPy's names, and of their spectra.
TYPES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}
SPECTRA = {"f32": "c64", "f64": "c128", "c64": "c64", "c128": "c128"}
NAMES = {short: name for name, short in TYPES.items()}
BYTES = {"f32": 4, "f64": 8, "c64": 8, "c128": 16}

_PACKED = {"ghost": (0, 0, 0), "padding": (0, 0, 0)}


class Plan:
    """Discrete Fourier transforms over n_x x n_y x n_z cells:

        v(k) = sum_j u(j) exp(-2 pi i (k_x j_x / n_x + k_y j_y / n_y + k_z j_z / n_z)),

    not normalised; backward() has the other sign and divides by the number of cells, so that one undoes the other, as
    numpy.fft.fftn and ifftn do. Neither changes what it reads, unless it works in place (in_place()). All ranks
    construct, run and close together.

    grid: a Grid whose cells and devices are meant; how it is cut does not matter.
    dtype: of u. "float32", "float64": v has the modes 0 .. n_x / 2 along x alone, as numpy.fft.rfftn of [z, y, x].
    process_grid: devices that share y and z; (1, p) are slabs, which move once, others pencils, which move twice.
        (0, 0) chooses slabs where every device gets some; "measured" the grid whose transforms are fastest, timed when
        the plan is made and remembered on disk (`process_grids` has the times).
    transposed: v stays where the last transform leaves it, as arrays [y, x, z]; else [z, y, x] again, which costs as
        much as another transpose.
    highest: of k_x, k_y, k_z the largest magnitude that is used, -1: all. Other modes do not travel between devices:
        after forward() what stands there is of no use, and before backward() they must be zero.
    scaled: False leaves the division by the number of cells to the caller.
    components: of all arrays that it will be given. Needed where there are several and some rank has no block: that
        rank gives empty lists.
    overlap: of several components, one's values travel while the lines of the next are transformed; takes work arrays
        and messages twice.
    store: True where the last transform before a move stores its results where they must go, and nothing packs them:
        on devices that have such a transform, where all messages travel by the routes kernel or direct. The host has
        one for all sizes, with the same bits either way, GPUs for lines of 2^k, 3 * 2^k and 5 * 2^k values up to 2048.
        None: as True.
    parts: what the engine packs goes in so many parts, the lines of one while the values of another travel; 0: by size.
    coding: "raw", or "cast": float64 and complex128 travel as 32 bits, and are packed.
    verify: transforms random values there, back and there again when the plan is made, and raises RuntimeError where
        they do not come back, or the sums of squares on both sides differ (Parseval).
    routes, options: as Exchange has them.

    physical and spectral are the grids on which u and v lie: `plan.physical.array_shape(0)` is the shape of a block's
    array, `plan.physical.local[0]["lo"]` its first cell. A device that gets nothing has no block.
    """

    def __init__(
        self,
        grid: Grid,
        dtype: Any = "complex128",
        *,
        process_grid: Sequence[int] | str = (0, 0),
        transposed: bool = True,
        highest: Sequence[int] = (-1, -1, -1),
        scaled: bool = True,
        components: int | None = None,
        overlap: bool = False,
        store: bool | None = None,
        parts: int = 0,
        coding: str = "raw",
        verify: bool = False,
        routes: str | Sequence[str] = (),
        **options: Any,
    ) -> None:
        self._components = components

        def described() -> Iterator[dict[str, Any]]:
            self._type = _type_of(dtype)
            options["routes"] = [routes] if isinstance(routes, str) else list(routes)
            stored = {} if store is None else {"store": store}
            how = {"highest": tuple(highest), "scaled": scaled, "exchange": options}
            more = {"parts": parts, "coding": coding, "verify": verify}
            yield _options(self._type, process_grid, transposed, overlap) | stored | how | more

        asked, problem = fields.described(described())
        fields.agree(grid.comm, problem, [])
        (how,) = asked
        self._plan = core().ArrayFft(grid.comm, grid.machine, grid.cells, how)
        self.cells = grid.cells
        self.physical = Grid._cut_as(grid, grid.cells, self._plan.physical())
        real = self._type in ("f32", "f64")
        modes = (grid.cells[0] // 2 + 1 if real else grid.cells[0], *grid.cells[1:])
        self._axes = tuple(self._plan.spectral_axes)
        self.spectral = Grid._cut_as(grid, tuple(modes[axis] for axis in self._axes), self._plan.spectral())
        self.process_grid: tuple[int, int] = tuple(self._plan.process_grid)

    @property
    def process_grids(self) -> dict[str, Any]:
        """How the process grid was found: `source` ("given", "rules", "measured", "cache"), `times` ((p_1, p_2),
        microseconds of one transform there and back, on the slowest rank) and `notes` (on rank 0)."""
        return self._plan.process_grids

    def in_place(self, memory: Sequence[Any], block: int = 0) -> tuple[Any, Any]:
        """u and v of a local block in one array, which forward() and backward() may be given together.

        memory: one-dimensional, contiguous, of any dtype, of room(block) bytes or more: NumPy, CuPy or others with
        `view(dtype)`. Returns views of the shapes that u and v have. Raises ValueError where it is too small.
        """
        held = math.prod(memory.shape) * memory.dtype.itemsize
        if held < self.room(block):
            raise ValueError(f"block {block} in place needs {self.room(block)} bytes, and the array has {held}")
        views = []
        for grid, dtype in self._sides():
            shape = grid.array_shape(0, block=block)
            views.append(memory.view("uint8")[: math.prod(shape) * BYTES[dtype]].view(NAMES[dtype]).reshape(shape))
        return views[0], views[1]

    def room(self, block: int = 0) -> int:
        """Bytes that hold u or v of a local block, whichever is larger."""
        return max(math.prod(grid.array_shape(0, block=block)) * BYTES[dtype] for grid, dtype in self._sides())

    def _sides(self) -> tuple[tuple[Grid, str], tuple[Grid, str]]:
        return (self.physical, self._type), (self.spectral, SPECTRA[self._type])

    def forward(self, u: Any, v: Any, stream: Any = None) -> None:
        """v = the transform of u. Each is an array, or a list of one for each local block; with an axis more in front,
        all its components are transformed. stream: the caller's, or one for each device of this rank;
        NumPy arrays are ready when it returns."""
        self._run(True, u, v, stream)

    def backward(self, v: Any, u: Any, stream: Any = None) -> None:
        """u = the inverse transform of v, as forward()."""
        self._run(False, v, u, stream)

    def modes(self, block: int = 0) -> tuple[Any, Any, Any]:
        """Integer wave numbers k_x, k_y, k_z, -n/2 .. n/2, of a local block of v, as arrays that broadcast to its
        shape."""
        import numpy as np

        lo, hi = self.spectral.local[block]["lo"], self.spectral.local[block]["hi"]
        found: list[Any] = [None] * 3
        for place, axis in enumerate(self._axes):
            index = np.arange(lo[place], hi[place])
            n = self.cells[axis]
            shape = [1, 1, 1]
            shape[2 - place] = -1
            found[axis] = np.where(index <= n // 2, index, index - n).reshape(shape)
        return found[0], found[1], found[2]

    def check(self) -> None:
        """Raises TimeoutError where a wait for another device gave up. On GPUs call it when the stream has been
        synchronized."""
        self._plan.check()

    def close(self) -> None:
        """Frees what the plan holds. Collective."""
        self._plan.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def messages(self) -> list[dict[str, Any]]:
        """Messages of one forward transform that leave or reach this rank."""
        return self._plan.messages()

    def report(self) -> list[dict[str, Any]]:
        """Those of all ranks with the times of the last forward transform. Waits. Collective."""
        return self._plan.report()

    @property
    def stored_moves(self) -> tuple[int, int]:
        """Moves of a forward transform whose values are stored by the transform before them, and all."""
        return self._plan.stored_moves

    @property
    def capturable(self) -> bool:
        """True where transforms may be recorded into a graph of the caller's stream and replayed."""
        return self._plan.capturable

    @property
    def bytes(self) -> int:
        """That the plan holds on the devices of this rank."""
        return self._plan.bytes

    def _run(self, forward: bool, given: Any, into: Any, stream: Any) -> None:
        types = (self._type, SPECTRA[self._type])
        grids = (self.physical, self.spectral)
        order = (0, 1) if forward else (1, 0)
        sides = [
            _pointers(grids[side], "uv"[side], array, types[side])
            for side, array in zip(order, (given, into), strict=True)
        ]
        # A rank without blocks has no array to tell the number of components from.
        counts = {len(side) for side in sides if side} or {self._components or 1}
        if len(counts) > 1:
            raise ValueError(
                f"u and v have {len(sides[order[0]])} and {len(sides[order[1]])} components: give both the same"
            )
        (count,) = counts
        if self._components not in (None, count):
            raise ValueError(f"the plan is for {self._components} components, and the arrays have {count}")
        sides = [side or [[] for _ in range(count)] for side in sides]
        self._plan.run(forward, *sides, native_streams(self.physical, stream))


def memory(
    grid: Grid,
    dtype: Any = "complex128",
    *,
    process_grid: Sequence[int] = (0, 0),
    transposed: bool = True,
    overlap: bool = False,
) -> list[dict[str, int]]:
    """Bytes of each device before anything is allocated: the caller's arrays `physical` and `spectral`, the plan's
    `work`, at most `messages` and `library`, and their `total`."""
    return core().fft_memory(grid.machine, grid.cells, _options(_type_of(dtype), process_grid, transposed, overlap))


def _options(type_: str, process_grid: Sequence[int] | str, transposed: bool, overlap: bool) -> dict[str, Any]:
    measured = process_grid == "measured"
    if isinstance(process_grid, str) and not measured:
        raise ValueError(f"process_grid is '{process_grid}': give two numbers or 'measured'")
    return {
        "type": type_,
        "process_grid": (0, 0) if measured else tuple(process_grid),
        "tune_process_grid": measured,
        "transposed": transposed,
        "overlap": overlap,
    }


def _type_of(dtype: Any) -> str:
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    if name not in TYPES:
        raise ValueError(f"dtype {name}: Fourier transforms are of {', '.join(TYPES)}")
    return TYPES[name]


def _pointers(grid: Grid, name: str, given: Any, type_: str) -> list[list[int]]:
    """By component: the address of each block's values; nothing on a rank without blocks."""
    item = fields.item(grid, name, given, _PACKED, "soa", {})
    if not item["arrays"]:
        return []
    found: list[list[int]] = [[] for _ in range(item["components"])]
    for block, array in enumerate(item["arrays"]):
        if item["type"] != type_:
            raise ValueError(f"{name} holds {item['type']}, but this plan takes {type_} there")
        extent = grid.extent(block)
        packed = (1, extent[0], extent[0] * extent[1])
        if any(s != p for s, p, n in zip(array["stride"], packed, extent, strict=True) if n > 1):
            raise ValueError(f"{name}: rows and planes of the array must lie without gaps: copy it")
        step = (array["component_stride"] or math.prod(extent)) * BYTES[type_]
        for component, pointers in enumerate(found):
            pointers.append(array["pointer"] + component * step)
    return found
