"""A case of spectral elements, and the options of its compiled solver."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from slipstream.case.case import Case
from slipstream.case.sides import SIDES
from slipstream.case.tables import BodyName
from slipstream.sem.elements_case import USUAL_DEGREE, Array, ElementsCase, Expression, parts
from slipstream.sem.own_table import SolveTable
from slipstream.sem.tables import (
    SemReceiverTable,
    SemRunTable,
    SemSidesTable,
    SemSolutionTable,
    SemStartTable,
    SemTable,
    SideTable,
)


class Condition(NamedTuple):
    """A boundary condition on a side, or on those faces of its elements where the expression `where` is above 0."""

    kind: str  #: kind of the boundary condition: "periodic", "value" or "flux"
    given: Expression = 0.0
    where: str | None = None
    transfer: Expression | None = None


class Unknown(NamedTuple):
    """An unknown of the equations and its keys. The keys of u lie in [sem], [boundaries], [initial] and [exact], those
    of others in [sem.scalars]."""

    name: str
    path: str  #: path of the unknown's keys in a case file; empty for u, whose keys lie in several tables
    boundaries: SemSidesTable
    source: Expression
    initial: Expression | None
    exact: Expression | None
    own: Mapping[str, Any]  #: values of the unknown's diffusivity, reaction and options of the linear solver

    def key(self, name: str) -> str:
        """Path of an unknown's key `initial` or `exact` in the case file. For the unknown u it is `initial.value` or
        `exact.value`."""
        return f"{self.path}.{name}" if self.path else f"{name}.value"

    @property
    def sides(self) -> str:
        """Path in the case file of the table with an unknown's boundary conditions by side."""
        return f"{self.path}.boundaries".lstrip(".")

    @property
    def degree(self) -> int:
        """Degree of the Chebyshev polynomials of the preconditioner."""
        degree: int | None = self.own["degree"]
        return degree or USUAL_DEGREE[self.own["preconditioner"]]


class SemCase(ElementsCase):
    """A case file of scalar equations on spectral elements."""

    solver: ClassVar[str] = "sem"
    free_tables: ClassVar[frozenset[str]] = Case.free_tables | {"exact", "receivers"}
    file_keys: ClassVar[tuple[tuple[str, ...], ...]] = (("initial", "file"),)

    sem: SemTable
    boundaries: SemSidesTable = SemSidesTable()
    initial: SemStartTable | None = Field(None, description="The initial state of diffusion.")
    exact: SemSolutionTable | None = Field(None, description="The exact solution.")
    receivers: dict[BodyName, SemReceiverTable] = Field({}, description="Receivers, by name.")
    run: SemRunTable = SemRunTable()

    @classmethod
    def is_free(cls, key: str) -> bool:
        last = key.split(".")[-1] if key.startswith("sem.") else ""
        exact = key.startswith("sem.scalars.") and last == "exact"
        return super().is_free(key) or exact or last in ("most_iterations", "not_converged")

    @property
    def nek_items(self) -> list[tuple[str, str]]:
        """Names of the fields in a file of Nek5000: u is the temperature, further scalars are S01, S02 and so on."""
        return [("T", "u"), *((f"S{n:02d}", name) for n, name in enumerate(self.sem.scalars, 1))]

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
    def varies(self) -> bool:
        return super().varies or any(isinstance(one.own["diffusivity"], str) for one in self.unknowns)

    @property
    def unknowns(self) -> list[Unknown]:
        """All unknowns of the case; u comes first."""
        shared = {key: getattr(self.sem, key) for key in SolveTable.model_fields}
        start = None if self.initial is None else self.initial.value
        exact = None if self.exact is None else self.exact.value
        found = [Unknown("u", "", self.boundaries, self.sem.source, start, exact, shared)]
        for name, table in self.sem.scalars.items():
            own = {key: getattr(table, key) for key in SolveTable.model_fields if key in table.model_fields_set}
            path = f"sem.scalars.{name}"
            found.append(Unknown(name, path, table.boundaries, table.source, table.initial, table.exact, shared | own))
        return found

    def _condition(self, part: Condition) -> tuple[str, Any, Any, Any]:
        where, transfer = (
            None if not given else self.function(given, timed=False) for given in (part.where, part.transfer)
        )
        return part.kind, self._given(part.given), where, transfer

    def _coefficient(self, given: Expression) -> float | Callable[[Array, float], Array]:
        return self.function(given, timed=False) if isinstance(given, str) else given

    def conditions(self, unknown: Unknown) -> list[list[Condition]]:
        """Boundary conditions of the sides x- to z+, those of higher precedence first."""
        given = dict(unknown.boundaries.given())

        def condition(entry: SideTable) -> Condition:
            kind, what = ("value", entry.value or 0.0) if entry.flux is None else ("flux", entry.flux)
            return Condition(kind, what, entry.where, entry.transfer)

        return [
            [Condition("periodic")]
            if self.grid.periodic[n // 2] or side not in given
            else [condition(entry) for _, entry in parts(given[side])]
            for n, side in enumerate(SIDES)
        ]

    def start(self, unknown: Unknown) -> Callable[[Array, float], Array] | None:
        """Functions for the initial values of an unknown; with start = "exact" also for earlier times."""
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
