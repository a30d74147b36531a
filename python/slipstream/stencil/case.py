"""A case of finite differences, and the options of its compiled solver."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field

from slipstream.base.core import part
from slipstream.case.case import Case
from slipstream.case.expression import evaluate
from slipstream.case.sides import SIDES
from slipstream.case.tables import BodyName
from slipstream.stencil.own_table import StencilTable
from slipstream.stencil.tables import (
    ReceiverTable,
    SolutionTable,
    SourceTable,
    StartTable,
    StencilOutputTable,
    StencilRunTable,
    StencilSidesTable,
)

Array = np.ndarray


def _names(cells: Sequence[Array], of: Sequence[int], spacing: float) -> dict[str, Any]:
    x, y, z = ((n + 0.5) * spacing for n in cells)
    sides = {f"L{axis}": n * spacing for axis, n in zip("xyz", of, strict=True)}
    return {"x": x[None, None, :], "y": y[None, :, None], "z": z[:, None, None], **sides}


# The largest value of an expression over the grid is cached: the time step depends on it, and each update of the live
# progress needs the time. The case itself cannot cache it: its copies with other keys would inherit the value.
@lru_cache(maxsize=16)
def _largest(expression: str, cells: tuple[int, int, int], spacing: float) -> float:
    """Largest value of an expression over the whole grid, which is evaluated plane by plane."""
    nx, ny, nz = cells
    planes = ([np.arange(nx), np.arange(ny), np.array([k])] for k in range(nz))
    return max(float(np.max(evaluate(expression, _names(plane, cells, spacing)))) for plane in planes)


@lru_cache(maxsize=16)
def _stable_time_step(equation: tuple[tuple[str, Any], ...]) -> float:
    limit: float = part("stencil").stable_time_step(dict(equation))
    return limit


class StencilCase(Case):
    """A case file of the heat equation or of waves."""

    solver: ClassVar[str] = "stencil"
    free_tables: ClassVar[frozenset[str]] = Case.free_tables | {"exact", "receivers"}

    stencil: StencilTable
    boundaries: StencilSidesTable = StencilSidesTable()
    initial: StartTable | None = Field(None, description="The initial state; left out: zero.")
    sources: dict[BodyName, SourceTable] = Field({}, description="Point sources, by name.")
    receivers: dict[BodyName, ReceiverTable] = Field({}, description="Receivers, by name.")
    exact: SolutionTable | None = Field(None, description="The exact solution at the end of the run.")
    run: StencilRunTable = StencilRunTable()
    output: StencilOutputTable = StencilOutputTable()

    @classmethod
    def is_free(cls, key: str) -> bool:
        return super().is_free(key) or key in (
            "stencil.steps_per_exchange",
            "stencil.most_iterations",
            "stencil.not_converged",
        )

    @property
    def spacing(self) -> float:
        return self.stencil.spacing

    @property
    def radius(self) -> int:
        """Radius of the finite-difference stencil along an axis, in cells."""
        return 1 if self.stencil.equation == "heat" else self.stencil.order // 2

    @property
    def stable_time_step(self) -> float:
        """Largest time step in which no wave on the grid grows."""
        return _stable_time_step(tuple(self._equation().items()))

    @property
    def implicit(self) -> bool:
        return self.stencil.time != "explicit"

    @property
    def tolerance(self) -> float:
        """Tolerance of conjugate gradients in an implicit step."""
        return self.stencil.tolerance or (1e-10 if self.stencil.precision == "f64" else 1e-7)

    @property
    def time_step(self) -> float:
        return self.stencil.time_step or 0.9 * self.stable_time_step

    @property
    def sides(self) -> tuple[str, ...]:
        """Boundary conditions of the sides x- to z+; those of a periodic axis are unused."""
        named = {side: table.kind for side, table in self.boundaries.given()}
        return tuple(named.get(side, self.stencil.sides) for side in SIDES)

    def bounds(self, axis: int) -> bool:
        """Whether an axis has sides with boundary conditions, being neither periodic nor a single cell."""
        return not self.grid.periodic[axis] and self.grid.cells[axis] > 1

    def _equation(self) -> dict[str, Any]:
        keys = ("equation", "points", "order", "precision", "spacing", "diffusivity", "absorbing")
        given = {key: getattr(self.stencil, key) for key in keys} | {"sides": self.sides, "speed": self.largest_speed}
        return {"cells": self.grid.cells, "periodic": self.grid.periodic, **given}

    def names(self, cells: Sequence[Array], **more: float) -> dict[str, Any]:
        """Names that expressions may use at the centres of cells with these indices along x, y and z, [z][y][x]."""
        return _names(cells, self.grid.cells, self.spacing) | more

    def values(self, given: float | str, cells: Sequence[Array], **more: float) -> Array:
        """Values of a number or an expression at cells, [z][y][x]. Raises ValueError where the expression has none."""
        value = evaluate(given, self.names(cells, **more)) if isinstance(given, str) else given
        return np.ascontiguousarray(np.broadcast_to(value, [len(n) for n in reversed(cells)]), dtype=np.float64)

    @property
    def largest_speed(self) -> float:
        """Largest speed of waves over the whole grid, which is evaluated plane by plane."""
        speed = self.stencil.speed
        return _largest(speed, self.grid.cells, self.spacing) if isinstance(speed, str) else speed

    def cell_of(self, point: Sequence[float]) -> tuple[int, int, int]:
        """Indices of the cell that contains a point; they may lie outside of the grid."""
        x, y, z = (math.floor(part / self.spacing) for part in point)
        return (x, y, z)

    def resolved(self, backend: str | None = None) -> Self:
        found = {"time_step": self.time_step} | ({"tolerance": self.tolerance} if self.implicit else {})
        return super().resolved(backend).changed(stencil=found)

    def options(self) -> dict[str, Any]:
        table = self.stencil
        sources = [
            {
                "name": name,
                "cell": self.cell_of(source.at),
                "frequency": source.frequency,
                "amplitude": source.amplitude,
                "delay": 1.5 / source.frequency if source.delay is None else source.delay,
            }
            for name, source in self.sources.items()
        ]
        receivers = [{"name": name, "cell": self.cell_of(one.at)} for name, one in self.receivers.items()]
        together = table.steps_per_exchange
        solved = {
            "tolerance": self.tolerance,
            "absolute_tolerance": table.absolute_tolerance,
            "most_iterations": table.most_iterations,
        }
        return {
            **self._equation(),
            "scheme": table.time,
            **(solved | {"go_on": table.not_converged == "go on"} if self.implicit else {}),
            "time_step": self.time_step,
            "steps_per_exchange": together if together != "auto" else 1,
            **({"speeds": self._speeds} if isinstance(table.speed, str) else {}),
            "sources": sources,
            "receivers": receivers,
            **self.exchange_options("blocks", "coding", "halos", "messages"),
        }

    def _speeds(self, low: Sequence[int], high: Sequence[int]) -> Array:
        """Wave speeds in a box of cells, which wraps around beyond the grid."""
        cells = [np.arange(a, b) % n for a, b, n in zip(low, high, self.grid.cells, strict=True)]
        return self.values(self.stencil.speed, cells)
