"""Three-dimensional Fourier transforms over all devices; NumPy, CuPy, PyTorch or other arrays."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from slipstream.base.core import part
from slipstream.base.errors import ArgumentError, ErrorCode, Fault, OptionError
from slipstream.base.records import Closing, Record
from slipstream.base.terminal import show_extent
from slipstream.exchange import apart, fields
from slipstream.exchange.apart import Place
from slipstream.exchange.arrays import told_to_others
from slipstream.exchange.grid import Grid, native_streams, refused_by_all
from slipstream.exchange.options import ExchangeOptions, check
from slipstream.exchange.records import Delivery, Message
from slipstream.machine.told import Triple

if TYPE_CHECKING:
    from slipstream._fft import ArrayFft

#: Number formats of values in physical space and in spectra, by NumPy's names.
TYPES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}
SPECTRA = {"f32": "c64", "f64": "c128", "c64": "c64", "c128": "c128"}
NAMES = {short: name for name, short in TYPES.items()}
BYTES = {"f32": 4, "f64": 8, "c64": 8, "c128": 16}


@dataclass(frozen=True)
class ProcessGrids(Record):
    """The choice of the process grid, with its source and the measured times."""

    source: str  #: source of the process grid: "given", "rules", "measured" or "cache"
    #: Process grids (p_1, p_2), each with the microseconds of a forward and a backward transform on the slowest rank.
    times: tuple[tuple[tuple[int, int], float], ...]
    notes: tuple[str, ...]  #: sentences about the measurement of process grids, on rank 0 alone


@dataclass(frozen=True)
class Memory(Record):
    """Memory of a plan on one device, in bytes."""

    physical: int  #: bytes of the caller's array of one component in physical space (u)
    spectral: int  #: bytes of the caller's array of one component in spectral space (v)
    work: int
    messages: int  #: estimated bytes of values in flight between devices
    library: int  #: estimated bytes that the library for transforms along lines needs
    total: int


_PACKED = {"ghost": (0, 0, 0), "padding": (0, 0, 0)}


class Plan(Closing):
    """Discrete Fourier transforms over n_x x n_y x n_z cells:

        v(k) = sum_j u(j) exp(-2 pi i (k_x j_x / n_x + k_y j_y / n_y + k_z j_z / n_z)),

    not normalised; backward() has the other sign and divides by the number of cells, so that it inverts forward(), as
    numpy.fft.ifftn does. Neither changes its input, unless it works in place (in_place()): inputs may be read-only. All
    ranks construct, run and close together. They compare their calls at the first forward() and backward(), and at each
    convolve(). An error on one of them is then an error on all.

    grid: gives the cells and the devices; its partition does not matter.
    dtype: of u. "float32", "float64": v has the modes 0 .. n_x / 2 along x alone, as numpy.fft.rfftn of [z, y, x].
    process_grid: devices that share y and z; (1, p) are slabs, which move once, others pencils, which move twice.
        (0, 0) chooses slabs where every device gets some; "measured" the grid whose transforms are fastest, timed when
        the plan is made and cached on disk (`process_grids` has the times).
    transposed: v stays where the last transform leaves it, as arrays [y, x, z]; else [z, y, x] again, which costs as
        much as another transpose.
    highest: the largest magnitude of k_x, k_y, k_z that is used, -1: all. Other modes do not travel between devices:
        after forward() their values are undefined, and before backward() they must be zero.
    scaled: False leaves the division by the number of cells to the caller.
    components: of all arrays that it will be given. Needed where there are several and some rank has no block: that
        rank gives empty lists.
    overlap: with several components, values of one travel while the lines of the next are transformed. It needs twice
        the work arrays and messages.
    store: True lets the last transform before a move store results at their destination, without packing. It
        applies to devices with such a transform, if all messages travel by the routes kernel or direct. The host has
        one for all sizes, with the same bits either way. GPUs have one for lines of 2^k values and of 3, 5, 9 or 125
        times 2^k, up to 2048, with cuFFTDx built in of 7 or 15 times 2^k, too. None: as True.
    parts: packed moves are split into so many parts, to overlap transforms and messages; 0: by size.
    coding: "raw", "cast": float64 and complex128 travel as 32 bits, and are packed; "blockfloat" or "zfp".
    verify: transforms random values there, back and there again when the plan is made, and raises RuntimeError where
        they do not come back, or the sums of squares on both sides differ (Parseval).
    routes, options: as Exchange has them.

    Raises RuntimeError if a device lacks memory for it (memory()), with the largest grid of its shape that fits.

    physical and spectral are the grids on which u and v lie: `plan.physical.array_shape(0)` is the shape of a block's
    array, `plan.physical.local[0].lo` its first cell. A device that gets nothing has no block.
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
        **options: Unpack[ExchangeOptions],
    ) -> None:
        self._components = components
        with refused_by_all(grid.comm):
            check("a Fourier transform", Plan, options, ExchangeOptions)
            asked: dict[str, Any] = {"transposed": transposed, "overlap": overlap, "parts": parts, "coding": coding}
            asked |= {"scaled": scaled, "verify": verify}
            how = _options(dtype, routes, options, process_grid, highest, store, **asked)
        self._type = how["type"]
        self._plan: ArrayFft = part("fft").ArrayFft(grid.comm, grid.machine, grid.cells, how)
        self.cells = grid.cells
        self.physical = Grid._cut_as(grid, grid.cells, self._plan.physical())
        real = self._type in ("f32", "f64")
        modes = (grid.cells[0] // 2 + 1 if real else grid.cells[0], *grid.cells[1:])
        self._axes = tuple(self._plan.spectral_axes)
        x, y, z = (modes[axis] for axis in self._axes)
        self.spectral = Grid._cut_as(grid, (x, y, z), self._plan.spectral())
        p_1, p_2 = self._plan.process_grid
        self.process_grid = (p_1, p_2)

    @property
    def process_grids(self) -> ProcessGrids:
        """The choice of the process grid and its source."""
        found = self._plan.process_grids
        return ProcessGrids(found["source"], tuple(found["times"]), tuple(found["notes"]))

    def in_place(self, memory: Any, block: int = 0) -> tuple[Any, Any]:
        """Two views of one array, for transforms in place: u, values of a local block, and v, its modes. forward() and
        backward() accept both together.

        memory: one-dimensional, contiguous, of any dtype, of room(block) bytes or more: NumPy, CuPy or others with
        `view(dtype)`. Returns views of the shapes that u and v have. Raises ValueError where it is too small.
        """
        held = math.prod(memory.shape) * memory.dtype.itemsize
        if held < self.room(block):
            raise ArgumentError(
                f"block {block} in place needs {self.room(block)} bytes, and the array has {held}",
                ErrorCode.MISMATCH,
                block=block,
                given=held,
                needed=self.room(block),
            )
        views = []
        for grid, dtype in self._sides():
            shape = grid.array_shape(0, block=block)
            views.append(memory.view("uint8")[: math.prod(shape) * BYTES[dtype]].view(NAMES[dtype]).reshape(shape))
        return views[0], views[1]

    def room(self, block: int = 0) -> int:
        """Number of bytes of the array u or v of a local block, whichever is larger."""
        return max(math.prod(grid.array_shape(0, block=block)) * BYTES[dtype] for grid, dtype in self._sides())

    def _sides(self) -> tuple[tuple[Grid, str], tuple[Grid, str]]:
        return (self.physical, self._type), (self.spectral, SPECTRA[self._type])

    def forward(self, u: Any, v: Any, stream: Any = None) -> None:
        """Computes v, the transform of u. Each is an array, or a list of one for each local block; with an axis more in
        front, all its components are transformed. Several fields are tuples of such, forward((u, v, w), (u_k, v_k,
        w_k)). stream: the caller's, or one for each device of this rank; NumPy arrays are ready when it returns."""
        self._run(True, u, v, stream)

    def backward(self, v: Any, u: Any, stream: Any = None) -> None:
        """Computes u, the inverse transform of v, with arguments as in forward()."""
        self._run(False, v, u, stream)

    def convolve(
        self,
        u: Any,
        v: Any,
        w: Any,
        stream: Any = None,
        *,
        constant: complex = 1,
        derivative: Sequence[int] = (0, 0, 0),
        laplacian: int = 0,
        gaussian: float = 0.0,
        sharp: float | None = None,
        multiply: Any = None,
        edges: Sequence[float] = (2 * math.pi,) * 3,
    ) -> None:
        """Computes w, the inverse transform of a factor times the transform of u. The factor is the product of the
        given ones. The work memory v has the size that forward() fills; its values are undefined afterwards. Arrays
        v, u and w of a component may begin at the same address (in_place()). With kappa_a = 2 pi k_a / edges[a] the
        factor of mode k is

        constant: this number; real where u is.
        derivative: (i kappa_a)^n of orders n along x, y, z. For odd orders the Nyquist mode n_a / 2 of an even number
            of cells is set to zero.
        laplacian: (-|kappa|^2)^n: 1 is the Laplacian, -1 its inverse, where the mean becomes zero.
        gaussian: exp(-|kappa|^2 width^2 / 24), the Gaussian filter of this width.
        sharp: 0 where |kappa| is larger; None: nowhere.
        multiply: an array of the shape of v, or a list of one for each local block, real or complex, of the precision
            of v, which lies apart from v and w. On GPUs it must stay as it is until the work has run. Where u is real
            and it is complex, it must be Hermitian, f(-k) = conj(f(k)), for w to be the product: nobody checks.

        Raises ValueError or RuntimeError for invalid factors: NaN, cut-offs and widths below 0, and complex constants
        for a real u. Factors must be the same on all ranks.

        The factor and the scaling take no pass over v if a transform applies them; `describe()` tells. Modes that are
        not used (`highest`) become zero.
        """
        with told_to_others(lambda: self._plan.convolve([], [], [], {}, [])):
            factor: dict[str, Any] = {
                "constant": complex(constant),
                "derivative": tuple(map(operator.index, derivative)),
                "laplacian": operator.index(laplacian),
                "gaussian": float(gaussian),
                "sharp": math.inf if sharp is None else float(sharp),
                "edges": tuple(map(float, edges)),
            }
            (at, through, into), places = self._sides_given("uvw", (u, v, w))
            if multiply is not None:
                kind, given = self._factor_given(multiply)
                places += given
                factor[kind] = [place.first for place in given]
            apart.require_apart(places, _why)
            natives = native_streams(self.physical, stream)
        self._plan.convolve(at, through, into, factor, natives)

    def _factor_given(self, multiply: Any) -> tuple[str, list[Place]]:
        item = fields.item(self.spectral, "multiply", multiply, _PACKED, "soa", {})
        spectrum = SPECTRA[self._type]
        kinds = {spectrum: "complex", {"c64": "f32", "c128": "f64"}[spectrum]: "real"}
        if item["arrays"] and item["type"] not in kinds:
            raise ArgumentError(
                f"multiply holds {item['type']}, but this plan takes {' or '.join(sorted(kinds))}",
                ErrorCode.MISMATCH,
                argument="multiply",
                given=item["type"],
                allowed=", ".join(sorted(kinds)),
            )
        if item["arrays"] and item["components"] != 1:
            raise ArgumentError(
                f"multiply has {item['components']} components: give one for all",
                ErrorCode.MISMATCH,
                argument="multiply",
                given=item["components"],
                needed=1,
            )
        found = _places(self.spectral, "multiply", multiply, item["type"], False)
        return kinds.get(item["type"], "real"), found[0] if found else []

    def describe(self) -> str:
        """Text on how values move between devices, and where convolve() applies its factor."""
        return self._plan.describe()

    def modes(self, block: int = 0) -> tuple[Any, Any, Any]:
        """Integer wave numbers k_x, k_y, k_z, -n/2 .. n/2, of a local block of v, as arrays that broadcast to its
        shape."""
        import numpy as np

        lo, hi = self.spectral.local[block].lo, self.spectral.local[block].hi
        found: list[Any] = [None] * 3
        for place, axis in enumerate(self._axes):
            index = np.arange(lo[place], hi[place])
            n = self.cells[axis]
            shape = [1, 1, 1]
            shape[2 - place] = -1
            found[axis] = np.where(index <= n // 2, index, index - n).reshape(shape)
        return found[0], found[1], found[2]

    def check(self) -> None:
        """Raises TimeoutError where a wait for another device timed out. On GPUs, synchronize the stream before the
        call.
        """
        self._plan.check()

    def close(self) -> None:
        """Frees the memory of the plan, which is unusable afterwards. Collective."""
        self._plan.close()

    def __repr__(self) -> str:
        what = f"{show_extent(self.cells)} cells, {NAMES[self._type]} to {NAMES[SPECTRA[self._type]]}"
        cut = f"process grid {self.process_grid[0]} x {self.process_grid[1]} of {self.physical.backend} devices"
        return f"<slipstream.fft.Plan: {what}; {cut}>"

    def messages(self) -> list[Message]:
        """Messages of one forward transform that leave or reach this rank."""
        return [Message(**each) for each in self._plan.messages()]

    def report(self) -> list[Delivery]:
        """Messages of all ranks, with the times of the last forward transform. Waits for the device. Collective."""
        return [Delivery(**each) for each in self._plan.report()]

    @property
    def stored_moves(self) -> tuple[int, int]:
        """Numbers of transposes between devices in a forward transform: those without packing, because transforms store
        results at the destination, and all."""
        stored, moves = self._plan.stored_moves
        return (stored, moves)

    @property
    def capturable(self) -> bool:
        """True where transforms may be recorded into a graph of the caller's stream and replayed."""
        return self._plan.capturable

    @property
    def bytes(self) -> int:
        """Bytes that the plan holds on the devices of this rank."""
        return self._plan.bytes

    def _run(self, forward: bool, given: Any, into: Any, stream: Any) -> None:
        if hasattr(stream, "shape"):
            raise ArgumentError(
                "the third argument is a stream, not an array: give several fields as tuples, "
                "forward((u, v, w), (u_k, v_k, w_k))",
                argument="stream",
                given=type(stream).__name__,
            )
        with told_to_others(lambda: self._plan.run(forward, [], [], [])):
            (source, target), places = self._sides_given("uv" if forward else "vu", (given, into))
            apart.require_apart(places, _why)
            natives = native_streams(self.physical, stream)
        self._plan.run(forward, source, target, natives)

    def _sides_given(self, names: str, arrays: Sequence[Any]) -> tuple[list[list[list[int]]], list[Place]]:
        """Addresses of the arrays u, v or w by component and block, and the list of all their memory ranges."""
        sides = dict(zip("uvw", (*self._sides(), self._sides()[0]), strict=True))
        found = [
            _places(sides[name][0], name, array, sides[name][1], number > 0)
            for number, (name, array) in enumerate(zip(names, arrays, strict=True))
        ]
        # A rank without blocks has no array, so it cannot know the number of components.
        counts = [len(side) for side in found if side]
        if len(set(counts)) > 1:
            raise ArgumentError(
                f"{', '.join(names[:-1])} and {names[-1]} have {', '.join(map(str, counts[:-1]))} and {counts[-1]} "
                "components: give all the same",
                ErrorCode.MISMATCH,
                given=", ".join(map(str, counts)),
            )
        count = counts[0] if counts else self._components or 1
        if self._components not in (None, count):
            raise ArgumentError(
                f"the plan is for {self._components} components, and the arrays have {count}",
                ErrorCode.MISMATCH,
                given=count,
                needed=self._components,
            )
        addresses = [
            [[place.first for place in component] for component in side] or [[] for _ in range(count)] for side in found
        ]
        return addresses, [place for side in found for component in side for place in component]


def _why(a: Place, b: Place) -> str:
    """The reason why two arrays of a transform or a convolution must not share memory; empty if they may."""
    if not (a.written or b.written):
        return ""
    read, written = (b, a) if (a.written, a.side) > (b.written, b.side) else (a, b)
    if _in_turn(read, written):
        if not read.read_only:
            return ""
        return Fault(
            f"{read.name} is read-only, but {written.name}, which is written, shares its memory: give a writable "
            "array, or two that lie apart",
            ErrorCode.UNSUPPORTED,
            given="read-only",
            needed="writable",
        )
    return (
        f"{a.name} and {b.name} share memory that is written: give arrays that lie apart, or u and v of a component "
        "that begin at the same address (in_place)"
    )


def _in_turn(read: Place, written: Place) -> bool:
    """Whether a transform may write one array over another: its first step reads each component before its last step
    writes it. A convolution reads all of u before it writes w. A component may work in place."""
    sides = {read.side, written.side}
    if "multiply" in sides or len(sides) == 1:
        return False
    if sides == {"u", "w"}:
        return True
    return read.block == written.block and (
        written.component > read.component or (written.component == read.component and read.first == written.first)
    )


def memory(
    grid: Grid,
    dtype: Any = "complex128",
    *,
    process_grid: Sequence[int] = (0, 0),
    transposed: bool = True,
    highest: Sequence[int] = (-1, -1, -1),
    overlap: bool = False,
    store: bool | None = None,
    parts: int = 0,
    coding: str = "raw",
    routes: str | Sequence[str] = (),
    **options: Unpack[ExchangeOptions],
) -> list[Memory]:
    """Lists the memory of a Plan with these options on each device, without allocating it."""
    check("a Fourier transform", memory, options, ExchangeOptions)
    how: dict[str, Any] = {"transposed": transposed, "overlap": overlap, "parts": parts, "coding": coding}
    how = _options(dtype, routes, options, process_grid, highest, store, **how)
    return [Memory(**each) for each in part("fft").fft_memory(grid.machine, grid.cells, how)]


def _options(
    dtype: Any,
    routes: str | Sequence[str],
    options: ExchangeOptions,
    process_grid: Sequence[int] | str,
    highest: Sequence[int],
    store: bool | None,
    **asked: Any,
) -> dict[str, Any]:
    """Options of the compiled transform; `asked`: options that are passed to it without conversion."""
    measured = process_grid == "measured"
    if isinstance(process_grid, str) and not measured:
        raise ArgumentError(
            f"process_grid is '{process_grid}': give two numbers or 'measured'",
            argument="process_grid",
            given=process_grid,
        )
    return {
        "type": _type_of(dtype),
        "process_grid": (0, 0) if measured else tuple(process_grid),
        "tune_process_grid": measured,
        "highest": tuple(highest),
        **({} if store is None else {"store": store}),
        **asked,
        "exchange": {**options, "routes": [routes] if isinstance(routes, str) else list(routes)},
    }


def _type_of(dtype: Any) -> str:
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    if name not in TYPES:
        raise ArgumentError(
            f"dtype {name}: Fourier transforms are of {', '.join(TYPES)}",
            ErrorCode.UNSUPPORTED,
            argument="dtype",
            given=name,
            allowed=", ".join(TYPES),
        )
    return TYPES[name]


def _places(grid: Grid, side: str, given: Any, type_: str, written: bool) -> list[list[Place]]:
    """Memory ranges of the arrays on one side of a transform, by component and block. Empty on ranks without blocks."""
    why = "a Fourier transform writes it" if written else ""
    found: list[list[Place]] = []
    several = isinstance(given, tuple)
    for field in given if several else (given,):
        if isinstance(field, tuple):
            raise OptionError(
                f"{side}: give one array, or a list of one for each block, for each field of the tuple", argument=side
            )
        wholes: list[Place] = []
        item = fields.item(grid, side, field, _PACKED, "soa", {}, written=why, places=wholes)
        if item["arrays"] and item["type"] != type_:
            raise ArgumentError(
                f"{side} holds {item['type']}, but this plan takes {type_} there",
                ErrorCode.MISMATCH,
                argument=side,
                given=item["type"],
                needed=type_,
            )
        for number in range(item["components"] if item["arrays"] else 0):
            several = several or item["components"] > 1
            name = f"component {len(found)} of {side}" if several else side
            places = []
            for block, (whole, array) in enumerate(zip(wholes, item["arrays"], strict=True)):
                shown = name + (f", block {block} of this rank," if len(grid.local) > 1 else "")
                first, behind = _bounds(grid.extent(block), array, number, type_, side)
                whole = replace(whole, side=side, component=len(found), block=grid.local[block].device)
                places.append(replace(whole, name=shown, first=first, behind=behind, array=None))
            found.append(places)
    return found


def _bounds(extent: Triple, array: dict[str, Any], component: int, type_: str, side: str) -> tuple[int, int]:
    """Addresses of the first byte of a component and of the one behind its last."""
    packed = (1, extent[0], extent[0] * extent[1])
    if any(s != p for s, p, n in zip(array["stride"], packed, extent, strict=True) if n > 1):
        raise ArgumentError(
            f"{side}: rows and planes of the array must lie without gaps: copy it",
            ErrorCode.UNSUPPORTED,
            argument=side,
            given=array["stride"],
        )
    first = array["pointer"] + component * array["component_stride"] * BYTES[type_]
    return first, first + math.prod(extent) * BYTES[type_]
