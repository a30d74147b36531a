"""Whole grids of values from one decomposition to another; NumPy, CuPy, PyTorch or other arrays."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from slipstream.base.core import core
from slipstream.base.errors import ArgumentError, ErrorCode, Fault
from slipstream.base.terminal import count, show_extent
from slipstream.exchange import apart, fields
from slipstream.exchange.apart import Place
from slipstream.exchange.grid import Grid, native_streams, refused_by_all
from slipstream.exchange.options import ExchangeOptions, Width, check
from slipstream.exchange.running import Running

Axes = tuple[int, int, int]


class Transpose(Running):
    """Moves every cell p of the source grid to cell q of the target's with q[axes[a]] = p[a]. All ranks construct,
    begin, end and close together.

    source, target: grids on the same devices, cut in any way. axes: where each axis of the source goes, x first; two
        for grids of two extents. (0, 1, 2) moves cells between blocks without a permutation, (2, 1, 0) swaps x and z.
    arrays, into: an array for each local block of the source and of the target (lists where there are several), or both
        by name, {"u": ..., "v": ...}, for fields that lie apart and travel in one exchange; of any number format,
        complex ones too. Both may be the same memory: values that stay in place are not moved, all others by way of
        memory of the exchange. ghost: layers round the blocks in both, which are neither read nor written.
    layout: "soa", "aos" or "soa_z", of both, or a pair.
    kept: by axis of the source (0, 1, 2), the ranges (first, behind) of cells that travel, one or more; others stay,
        and what the target holds for them stays as it is. For example, the modes of a truncated Fourier transform.
    rebinds: True lets bind() give other arrays, which must not overlap in memory. Between ranks, all values go through
        slots then, because a remote store needs the address of the array.
    coding: how values travel: "raw", "cast", "blockfloat, rate 16" and others, as Exchange has them.
    routes, options: as Exchange has them; tune among them.

    Its end is collective, by close(), by leaving a `with` or when Python drops it.
    """

    def __init__(
        self,
        source: Grid,
        target: Grid,
        arrays: Any,
        into: Any,
        *,
        axes: Sequence[int] = (0, 1, 2),
        ghost: Width = 0,
        layout: str | tuple[str, str] = "soa",
        kept: Mapping[int, Sequence[tuple[int, int]]] | None = None,
        rebinds: bool = False,
        coding: str = "raw",
        routes: str | Sequence[str] = (),
        **options: Unpack[ExchangeOptions],
    ) -> None:
        how: dict[str, Any] = {"rebinds": rebinds, "coding": coding}
        exchange: dict[str, Any] = {**options}

        with refused_by_all(source.comm):
            check("a transpose", Transpose, options, ExchangeOptions)
            layouts = (layout, layout) if isinstance(layout, str) else layout
            if len(layouts) != 2:
                raise ArgumentError(
                    f"layout: give one, or a pair for source and target, not {len(layouts)}",
                    argument="layout",
                    given=len(layouts),
                    needed=2,
                )
            exchange["routes"] = [routes] if isinstance(routes, str) else list(routes)
            how["axes"] = _axes(axes, source.axes)
            how["kept"] = _kept(kept or {})
            self._ends = (
                _End(source, "source", layouts[0], source.triple(ghost)),
                _End(target, "target", layouts[1], target.triple(ghost)),
            )
            given = (_named(arrays), _named(into))
            self._names = list(given[0])
            if self._names != list(given[1]):
                names = [", ".join(filter(None, each)) or "none by name" for each in given]
                raise ArgumentError(
                    f"arrays has the fields {names[0]}, into {names[1]}: give the same, in the same order",
                    ErrorCode.MISMATCH,
                    argument="into",
                    given=names[1],
                    needed=names[0],
                )
            places: list[Place] = []
            both = list(zip(self._ends, given, strict=True))
            items = [end.item(name, of[name], places) for name in self._names for end, of in both]
            apart.require_apart(places, _why)
        fields.agree(source.comm, items)
        pairs = list(zip(items[::2], items[1::2], strict=True))
        self._kinds = [[item[key] for key in fields.KIND] for item, _ in pairs]
        self._strides = [[fields.strides_of(item) for item in pair] for pair in pairs]
        self._rebinds = rebinds
        inner = core().ArrayExchange(source.comm, source._grid, target._grid, pairs, how, exchange)
        named = ", ".join(filter(None, self._names)) or count(len(pairs), "field")
        turned = ", ".join(f"{axis} to {'xyz'[to]}" for axis, to in zip("xyz", how["axes"], strict=True))
        what = f"{named} from {show_extent(source.cells)} to {show_extent(target.cells)} cells, {turned}"
        super().__init__(source, inner, [_named(arrays), _named(into)], what)

    def bind(self, arrays: Any = None, into: Any = None, stream: Any = None) -> None:
        """Makes later exchanges move `arrays`, or fill `into`. They have the shapes, strides and number format of the
        first arrays, and the same addresses modulo 16. If the first ones were given by name, so are these, all or
        some. Nothing is planned again. The change is ordered behind the work of the stream. Needs rebinds=True. Not
        collective."""
        if not self._rebinds:
            raise ArgumentError(
                "this transpose was made for its arrays alone: make it with rebinds=True",
                ErrorCode.WRONG_STATE,
                argument="rebinds",
                needed=True,
            )
        natives = native_streams(self.grid, stream)
        self._require_apart(arrays, into)
        for index, given in enumerate((arrays, into)):
            for name, one in ({} if given is None else _named(given)).items():
                if name not in self._names:
                    raise ArgumentError(
                        f"the transpose has no field named '{name}': it has {', '.join(self._names)}",
                        ErrorCode.NOT_FOUND,
                        field=name,
                        allowed=", ".join(self._names),
                    )
                number = self._names.index(name)
                item, known = self._ends[index].item(name, one, []), self._kinds[number]
                kind = [item[key] for key in fields.KIND]
                if item["arrays"] and kind != known:
                    raise ArgumentError(
                        f"arrays of {kind[1]} x {kind[0]} cannot take the place of {known[1]} x {known[0]}",
                        ErrorCode.MISMATCH,
                        field=name,
                        given=f"{kind[1]} x {kind[0]}",
                        needed=f"{known[1]} x {known[0]}",
                    )
                if fields.strides_of(item) != self._strides[number][index]:
                    raise ArgumentError(
                        f"{self._ends[index].name} {name}: the arrays lie in memory in another way than those that the "
                        "transpose was made with: copy them into arrays with the same strides",
                        ErrorCode.MISMATCH,
                        field=name,
                        argument="strides",
                        side=self._ends[index].name,
                    )
                pointers = [array["pointer"] for array in item["arrays"]]
                self._exchange.bind(number, index == 0, pointers, natives)
                self._arrays[index][name] = one

    def _require_apart(self, arrays: Any, into: Any) -> None:
        """Raises if these arrays share memory that the transpose writes."""
        places: list[Place] = []
        for end, held, given in zip(self._ends, self._arrays, (arrays, into), strict=True):
            for name, one in (held | ({} if given is None else _named(given))).items():
                if name in self._names:
                    end.item(name, one, places)
        apart.require_apart(places, _why)


def _why(a: Place, b: Place) -> str:
    """The reason why two arrays of a transpose must not share memory; empty for a source and a target, which may."""
    if a.written == b.written:
        return apart.apart_or_why(a, b)
    source, target = (b, a) if a.written else (a, b)
    if not source.read_only:
        return ""
    return Fault(
        f"{source.name} is read-only, but {target.name}, which a transpose writes, shares its memory: give a writable "
        "array, or two that lie apart",
        ErrorCode.UNSUPPORTED,
        given="read-only",
        needed="writable",
    )


def _named(given: Any) -> dict[str, Any]:
    """Arrays by name; a single array has an empty name."""
    return dict(given) if isinstance(given, Mapping) else {"": given}


def _axes(given: Sequence[int], extents: int) -> Axes:
    """Converts the order of two or three axes to one of three; in grids with two axes z stays in place."""
    if len(given) != 3 and len(given) != extents:
        raise ArgumentError(
            f"axes: give one for each of the grid's {extents} axes, not {len(given)}",
            argument="axes",
            given=len(given),
            needed=extents,
        )
    x, y, z = (*given, 2)[:3]
    return (x, y, z)


def _kept(given: Mapping[int, Sequence[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Checks the ranges of cells that a transpose moves, and returns them by axis of the source."""
    for axis, ranges in given.items():
        if axis not in (0, 1, 2):
            raise ArgumentError(
                f"kept: {axis!r} is no axis of the source: name 0, 1 or 2",
                argument="kept",
                given=repr(axis),
                allowed="0, 1, 2",
            )
        if not len(ranges):
            raise ArgumentError(
                f"kept: axis {axis} has no range: give one or more, or leave it out and all cells travel",
                argument="kept",
                axis=axis,
                given=0,
                needed="1 or more",
            )
    return [list(given.get(axis, ())) for axis in range(3)]


class _End:
    """Layout and ghosts of the arrays on one side of a transpose, its source or its target."""

    def __init__(self, grid: Grid, name: str, layout: str, ghost: Axes) -> None:
        self.grid, self.name, self.layout = grid, name, layout
        self.widths = {"ghost": ghost, "padding": (0, 0, 0)}

    def item(self, name: str, given: Any, places: list[Place]) -> dict[str, Any]:
        shown = f"{self.name} {name}" if name else self.name
        written = "a transpose writes it" if self.name == "target" else ""
        return fields.item(self.grid, shown, given, self.widths, self.layout, {}, written=written, places=places)
