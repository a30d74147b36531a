"""The solver of a case, and what is asked of it where no solver is known."""

from collections.abc import Mapping
from typing import Any, Protocol

from slipstream.base import registry
from slipstream.base.toml_text import Path
from slipstream.case.case import Case

#: Where no table of a case is a solver's.
USUAL = "lbm"


class Solver(Protocol):
    """What a solver says of its cases. Its module is named in the registry."""

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """The tables of a case file with those keys that follow from bodies. Raises CaseError, or pydantic's
        ValidationError of [domain]."""
        ...

    def problems(self, case: Case) -> list[tuple[Path, str]]:
        """Everything wrong with a case whose keys are right one by one: where, and what to do."""
        ...

    def warnings(self, case: Case) -> list[str]:
        """What may go wrong and does not have to, before the first step."""
        ...

    def drift(self, case: Case, share: float) -> str:
        """What to do about a mass that has changed by this share since the start; empty where it is sound."""
        ...


def solver_of(case: Case | Mapping[str, Any]) -> Solver:
    """By the tables that a case, or the data of one, has."""
    tables = case.model_fields_set if isinstance(case, Case) else case
    found: Solver = registry.solver(next((name for name in registry.SOLVERS if name in tables), USUAL))
    return found
