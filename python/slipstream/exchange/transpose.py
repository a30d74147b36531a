"""Whole grids of values from one decomposition to another; NumPy, CuPy, PyTorch or other arrays."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slipstream.base.core import core
from slipstream.exchange import fields
from slipstream.exchange.grid import Grid, native_streams
from slipstream.exchange.running import Running

Axes = tuple[int, int, int]


class Transpose(Running):
    """Moves every cell p of the source grid to cell q of the target's with q[axes[a]] = p[a]. All ranks construct,
    begin, end and close together.

    source, target: grids on the same devices, cut in any way. axes: where each axis of the source goes, x first;
        (0, 1, 2) moves cells between blocks and turns nothing, (2, 1, 0) changes x for z.
    arrays, into: an array for each local block of the source and of the target (lists where there are several); of any
        number format, complex ones too. Both may be the same memory: what lies where it would go is not moved, all else
        by way of memory of the exchange, and bind() cannot change arrays. ghost: layers round the blocks in both,
        which are neither read nor written.
    layout: "soa", "aos" or "soa_z", of both, or a pair.
    kept: by axis of the source (0, 1, 2), the ranges (first, behind) of cells that travel; others stay, and what the
        target holds for them stays as it is. The modes of a Fourier transform that truncation leaves.
    coding: how values travel: "raw", "cast" or "cast to bf16", as Exchange has it.
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
        ghost: int | Sequence[int] = 0,
        layout: str | tuple[str, str] = "soa",
        kept: Mapping[int, Sequence[tuple[int, int]]] | None = None,
        coding: str = "raw",
        routes: str | Sequence[str] = (),
        **options: Any,
    ) -> None:
        how: dict[str, Any] = {"coding": coding}

        def described() -> Iterator[dict[str, Any]]:
            layouts = (layout, layout) if isinstance(layout, str) else layout
            options["routes"] = [routes] if isinstance(routes, str) else list(routes)
            how["axes"] = (*axes, 2)[:3]
            how["kept"] = [list((kept or {}).get(axis, ())) for axis in range(3)]
            self._ends = [
                _End(source, "source", layouts[0], source.triple(ghost)),
                _End(target, "target", layouts[1], target.triple(ghost)),
            ]
            for end, given in zip(self._ends, (arrays, into), strict=True):
                yield end.item(given)

        items, problem = fields.described(described())
        fields.agree(source.comm, problem, items)
        self._kind = [items[0][key] for key in fields.KIND]
        inner = core().ArrayExchange(source.comm, source._grid, target._grid, *items, how, options)
        super().__init__(source, inner, [arrays, into])

    def bind(self, arrays: Any = None, into: Any = None, stream: Any = None) -> None:
        """From now on moves `arrays`, or fills `into`: others of the same shapes and number format, whose addresses
        have the same rest by 16 as those that it was made with. Nothing is planned again. The change is ordered behind
        what the stream holds. Not collective."""
        natives = native_streams(self.grid, stream)
        for index, given in enumerate((arrays, into)):
            if given is None:
                continue
            item = self._ends[index].item(given)
            kind = [item[key] for key in fields.KIND]
            if item["arrays"] and kind != self._kind:
                raise ValueError(
                    f"arrays of {kind[1]} x {kind[0]} cannot take the place of {self._kind[1]} x {self._kind[0]}"
                )
            self._exchange.bind(index == 0, [array["pointer"] for array in item["arrays"]], natives)
            self._arrays[index] = given


class _End:
    """How the arrays of one grid lie."""

    def __init__(self, grid: Grid, name: str, layout: str, ghost: Axes) -> None:
        self.grid, self.name, self.layout = grid, name, layout
        self.widths = {"ghost": ghost, "padding": (0, 0, 0)}

    def item(self, given: Any) -> dict[str, Any]:
        return fields.item(self.grid, self.name, given, self.widths, self.layout, {})
