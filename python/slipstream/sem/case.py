"""A case of spectral elements, and the options of its compiled solver."""

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field

from slipstream.base.terminal import show_extent
from slipstream.case.case import Case
from slipstream.case.expression import evaluate
from slipstream.case.sides import SIDES
from slipstream.case.tables import BodyName
from slipstream.sem import sampling
from slipstream.sem.tables import (
    SemOutputTable,
    SemReceiverTable,
    SemRunTable,
    SemSidesTable,
    SemSolutionTable,
    SemStartTable,
    SemTable,
    SideTable,
    SolveTable,
)

Array = np.ndarray
Expression = float | str


class Condition(NamedTuple):
    """A condition on a side, or on those of its faces where `where` is above 0."""

    kind: str  #: "periodic", "value" or "flux"
    given: Expression = 0.0
    where: str | None = None
    transfer: Expression | None = None


def steady(given: Expression) -> bool:
    """Whether it does not depend on the time."""
    if not isinstance(given, str):
        return True
    try:
        tree = ast.parse(given.strip().replace("^", "**"), mode="eval")
    except SyntaxError:
        return True  # what is wrong with it is told elsewhere
    return not any(isinstance(node, ast.Name) and node.id == "t" for node in ast.walk(tree))


class Unknown(NamedTuple):
    """An unknown and its own keys: u has them in [sem], [boundaries], [initial], [exact], others in [sem.scalars]."""

    name: str
    path: tuple[str, ...]  #: in front of its keys; of u, whose keys lie in several tables: none
    boundaries: SemSidesTable
    source: Expression
    initial: Expression | None
    exact: Expression | None
    own: Mapping[str, Any]  #: diffusivity, reaction and how it is solved for

    def key(self, table: str, *keys: str) -> tuple[str, ...]:
        """Where a key lies in the case file, of u in a table."""
        return (*self.path, *keys) if self.path else (table, *keys)

    @property
    def degree(self) -> int:
        """Degree of Chebyshev's polynomials."""
        usual = {"jacobi": 1, "chebyshev": 4, "multigrid": 3, "schwarz": 2}
        degree: int | None = self.own["degree"]
        return degree or usual[self.own["preconditioner"]]


class SemCase(Case):
    """A case file of spectral elements."""

    solver: ClassVar[str] = "sem"
    free_tables: ClassVar[frozenset[str]] = Case.free_tables | {"exact", "receivers"}
    file_keys: ClassVar[tuple[tuple[str, ...], ...]] = (("initial", "file"),)

    sem: SemTable
    boundaries: SemSidesTable = SemSidesTable()
    initial: SemStartTable | None = Field(None, description="The state at the start of diffusion.")
    exact: SemSolutionTable | None = Field(None, description="The solution that is known.")
    receivers: dict[BodyName, SemReceiverTable] = Field({}, description="By name.")
    run: SemRunTable = SemRunTable()
    output: SemOutputTable = SemOutputTable()

    @classmethod
    def is_free(cls, key: str) -> bool:
        last = key.split(".")[-1] if key.startswith("sem.") else ""
        exact = key.startswith("sem.scalars.") and last == "exact"
        return super().is_free(key) or exact or last in ("most_iterations", "not_converged")

    @property
    def points_of_an_element(self) -> int:
        return (self.sem.order + 1) ** 3

    @property
    def cell_count(self) -> int:
        """Points, those of faces once for each element."""
        return math.prod(self.grid.cells) * self.points_of_an_element

    @property
    def size(self) -> str:
        of_elements = f"{show_extent(self.grid.cells)} elements of {self.points_of_an_element} points"
        return f"{of_elements} = {self.cell_count:,} points".replace(",", " ")

    @property
    def marches(self) -> bool:
        return self.sem.equation == "diffusion"

    @property
    def time_step(self) -> float:
        return self.sem.time_step or 1.0

    @property
    def last_step(self) -> int:
        return super().last_step if self.marches else 1

    @property
    def factors(self) -> str:
        if self.sem.factors != "auto":
            return self.sem.factors
        bent = self.sem.deformation or self.sem.map
        varies = any(isinstance(one.own["diffusivity"], str) for one in self.unknowns)
        return "stored" if bent or varies else "affine"

    @property
    def unknowns(self) -> list[Unknown]:
        """u first."""
        shared = {key: getattr(self.sem, key) for key in SolveTable.model_fields}
        start = None if self.initial is None else self.initial.value
        exact = None if self.exact is None else self.exact.value
        found = [Unknown("u", (), self.boundaries, self.sem.source, start, exact, shared)]
        for name, table in self.sem.scalars.items():
            own = {key: getattr(table, key) for key in SolveTable.model_fields if key in table.model_fields_set}
            path = ("sem", "scalars", name)
            found.append(Unknown(name, path, table.boundaries, table.source, table.initial, table.exact, shared | own))
        return found

    @property
    def corner(self) -> tuple[float, float, float]:
        x, y, z = sampling.bounds(self)[0]
        return (x, y, z)

    @property
    def samples(self) -> tuple[int, int, int]:
        low, high = sampling.bounds(self)
        return sampling.counts(high - low, self.grid.cells, self.sem.order)

    @property
    def spacing(self) -> float:
        """Between two samples of a picture, along the axis where they are farthest apart."""
        return max(self.spacings)

    @property
    def spacings(self) -> tuple[float, float, float]:
        low, high = sampling.bounds(self)
        x, y, z = (n / s for n, s in zip(high - low, self.samples, strict=True))
        return (x, y, z)

    def read(self, file: Any, name: str, step: int, box: tuple[slice, slice, slice]) -> Array:
        return sampling.read(file, name, step, self, box)

    def resolved(self, backend: str | None = None) -> Self:
        return super().resolved(backend).changed(sem={"factors": self.factors})

    def names(self, places: Array, time: float | None = None) -> Mapping[str, Any]:
        """What expressions know at places [point][x y z]."""
        x, y, z = places.T
        lengths = {f"L{axis}": edge for axis, edge in zip("xyz", self.sem.lengths, strict=True)}
        known = {"x": x, "y": y, "z": z, **lengths}
        return known if time is None else known | {"t": time}

    def values(self, given: Expression, places: Array, time: float | None = None) -> Array:
        """Of a number or an expression at places [point][x y z]. Raises ValueError where it has none."""
        value = evaluate(given, self.names(places, time)) if isinstance(given, str) else given
        return np.ascontiguousarray(np.broadcast_to(value, len(places)), dtype=np.float64)

    def mapped(self, places: Array) -> Array:
        """Where places of the box [point][x y z] are in truth. Raises ValueError where the map has no value."""
        if self.sem.map is None:
            return places
        return np.stack([self.values(given, places) for given in self.sem.map], axis=1)

    def function(self, given: Expression, timed: bool = True) -> Callable[[Array, float], Array]:
        """As the compiled solver asks for it."""
        return lambda places, time: self.values(given, places, time if timed and self.marches else None)

    def _condition(self, part: Condition) -> tuple[str, Any, Any, Any]:
        where, transfer = (
            None if not given else self.function(given, timed=False) for given in (part.where, part.transfer)
        )
        return part.kind, self._given(part.given), where, transfer

    def _coefficient(self, given: Expression) -> float | Callable[[Array, float], Array]:
        return self.function(given, timed=False) if isinstance(given, str) else given

    def _given(self, given: Expression) -> tuple[Callable[[Array, float], Array], bool] | None:
        return None if given == 0 else (self.function(given), steady(given))

    def conditions(self, unknown: Unknown) -> list[list[Condition]]:
        """Those of the sides x- to z+, as they take precedence."""
        given = dict(unknown.boundaries.given())
        found: list[list[Condition]] = []
        for n, side in enumerate(SIDES):
            if self.grid.periodic[n // 2] or side not in given:
                found.append([Condition("periodic")])
                continue
            found.append([])
            entry: SideTable | None = given[side]
            while entry:
                kind, what = ("value", entry.value or 0.0) if entry.flux is None else ("flux", entry.flux)
                found[-1].append(Condition(kind, what, entry.where, entry.transfer))
                entry = entry.otherwise
        return found

    def start(self, unknown: Unknown) -> Callable[[Array, float], Array] | None:
        """Its values at time 0, and with start = "exact" before."""
        if not self.marches:
            return None
        from_file = not unknown.path and self.initial is not None and self.initial.file is not None
        if self.sem.start == "exact" or (unknown.initial is None and not from_file):
            return None if unknown.exact is None else self.function(unknown.exact)
        return None if unknown.initial is None else self.function(unknown.initial, timed=False)

    def _options_of(self, unknown: Unknown) -> dict[str, Any]:
        solved = ("tolerance", "absolute_tolerance", "most_iterations", "preconditioner")
        how = ("method", "restart", "projection")
        return {
            "name": unknown.name,
            **{key: unknown.own[key] for key in (*solved, *how)},
            **{key: self._coefficient(unknown.own[key]) for key in ("diffusivity", "reaction")},
            "degree": unknown.degree,
            "go_on": unknown.own["not_converged"] == "go on",
            "sides": [[self._condition(part) for part in side] for side in self.conditions(unknown)],
            "source": self._given(unknown.source),
            "initial": self.start(unknown),
        }

    def options(self) -> dict[str, Any]:
        table, (first, *others) = self.sem, self.unknowns
        same = ("lengths", "stretch", "deformation", "order", "equation", "time_order")
        return {
            "elements": self.grid.cells,
            **{key: getattr(table, key) for key in same},
            "factors": self.factors,
            "map": self.mapped if table.map else None,
            "time_step": self.time_step,
            "exact_start": table.start == "exact",
            "velocity": [self._given(part) for part in table.velocity or ()],
            "target_courant": table.target_courant or 0.0,
            **self._options_of(first),
            "more": [self._options_of(one) for one in others],
            **({"start_from": (self.initial.file, self.initial.field)} if self.initial and self.initial.file else {}),
            "exchange": self.exchange_options("messages"),
        }
