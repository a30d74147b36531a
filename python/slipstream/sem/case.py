"""A case of spectral elements, and the options of its compiled solver."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from slipstream.case.case import Case
from slipstream.case.sides import SIDES
from slipstream.case.tables import BodyName
from slipstream.sem.elements_case import Array, ElementsCase, Expression
from slipstream.sem.tables import (
    SemOutputTable,
    SemReceiverTable,
    SemRunTable,
    SemSidesTable,
    SemSolutionTable,
    SemStartTable,
    SemTable,
    SideTable,
)


class Condition(NamedTuple):
    """A condition on a side, or on those of its faces where `where` is above 0."""

    kind: str  #: "periodic", "value" or "flux"
    given: Expression = 0.0
    where: str | None = None
    transfer: Expression | None = None


class SemCase(ElementsCase):
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
        return super().is_free(key) or key in ("sem.most_iterations", "sem.not_converged")

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
        varies = self.sem.factors == "auto" and isinstance(self.sem.diffusivity, str)
        return "stored" if varies else super().factors

    def _condition(self, part: Condition) -> tuple[str, Any, Any, Any]:
        where, transfer = (
            None if not given else self.function(given, timed=False) for given in (part.where, part.transfer)
        )
        return part.kind, self._given(part.given), where, transfer

    def _coefficient(self, given: Expression) -> float | Callable[[Array, float], Array]:
        return self.function(given, timed=False) if isinstance(given, str) else given

    @property
    def conditions(self) -> list[list[Condition]]:
        """Those of the sides x- to z+, as they take precedence."""
        given = dict(self.boundaries.given())
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

    @property
    def degree(self) -> int:
        """Degree of Chebyshev's polynomials."""
        usual = {"jacobi": 1, "chebyshev": 4, "multigrid": 3, "schwarz": 2}
        return self.sem.degree or usual[self.sem.preconditioner]

    @property
    def start(self) -> Callable[[Array, float], Array] | None:
        """u at time 0, and with start = "exact" before."""
        if not self.marches:
            return None
        if self.sem.start == "exact" or (self.initial is None and self.exact):
            return self.function(self.exact.value) if self.exact else None
        if self.initial is None or self.initial.value is None:
            return None
        return self.function(self.initial.value, timed=False)

    def options(self) -> dict[str, Any]:
        table = self.sem
        same = ("lengths", "stretch", "deformation", "order", "equation")
        solved = ("tolerance", "absolute_tolerance", "most_iterations", "preconditioner")
        how = ("method", "restart", "projection")
        return {
            "elements": self.grid.cells,
            **{key: getattr(table, key) for key in (*same, *solved, *how, "time_order")},
            **{key: self._coefficient(getattr(table, key)) for key in ("diffusivity", "reaction")},
            "degree": self.degree,
            "factors": self.factors,
            "map": self.mapped if table.map else None,
            "time_step": self.time_step,
            "exact_start": table.start == "exact",
            "go_on": table.not_converged == "go on",
            "sides": [[self._condition(part) for part in side] for side in self.conditions],
            "velocity": [self._given(part) for part in table.velocity or ()],
            "target_courant": table.target_courant or 0.0,
            "source": self._given(table.source),
            "initial": self.start,
            **({"start_from": (self.initial.file, self.initial.field)} if self.initial and self.initial.file else {}),
            "exchange": self.exchange_options("messages"),
        }
