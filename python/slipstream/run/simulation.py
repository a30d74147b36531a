"""The base of the simulations of all solvers: keywords, the case behind them, the compiled solver."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypedDict, TypeVar

import numpy as np

from slipstream.base.errors import ArgumentError, CaseError, ErrorCode
from slipstream.base.terminal import count, show_extent
from slipstream.case import reader
from slipstream.case.case import Case
from slipstream.case.solver import Engine, solver_of
from slipstream.machine import discovery
from slipstream.run import engine

if TYPE_CHECKING:
    from slipstream._core import Machine

CaseT = TypeVar("CaseT", bound=Case)
EngineT = TypeVar("EngineT", bound=Engine)
#: Number of the last step of a run that has no end; no run reaches it.
NEVER = 2**62


class MachineOptions(TypedDict, total=False):
    """Keys of [machine] and [exchange] that all simulations take; docs/exchange.md says what they do."""

    backend: Literal["auto", "host", "cuda"]
    devices_per_rank: int
    ranks_per_node: int
    threads: int

    routes: Sequence[str]
    tune: Literal["rules", "measure"]
    wait_limit: float


def plain(value: Any) -> Any:
    """Converts tuples, NumPy's numbers and other mappings to the types that a case file has."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return [plain(entry) for entry in value] if isinstance(value, list | tuple) else value


class CaseSimulation(Generic[CaseT, EngineT]):
    """A solver that runs a case. Collective: on several ranks, every rank makes the same calls."""

    _case_type: ClassVar[type[Case]]
    _counted: ClassVar[str] = "cells"  #: plural name of the parts of which a grid consists, for messages

    @classmethod
    def tables_of(cls, options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Sorts keyword arguments into the tables of a case that have these keys. If two tables have a key of one name,
        the first table counts."""
        tables: dict[str, dict[str, Any]] = {cls._case_type.solver: {}, "machine": {}, "exchange": {}}
        keys: dict[str, Any] = {name: cls._case_type.model_fields[name].annotation for name in tables}
        for key, value in options.items():
            tables[next(name for name in tables if key in keys[name].model_fields)][key] = value
        return tables

    @classmethod
    def from_case(cls, case: str | Path | Case, overrides: Sequence[str] = (), variant: str | None = None) -> Self:
        """Makes the simulation of a case file, or of a case that was loaded: from_case("cases/cavity.toml",
        ["grid.cells=[32,32,32]"], variant="fine"). `overrides` and `variant` are those of `slipstream run`, and
        belong to a file. Its [output] is left to you: nothing is written but what you ask for.

        Raises CaseError that names every fault of the file and its place, or for a case of another solver.
        """
        given = isinstance(case, Case)
        if given and (overrides or variant is not None):
            raise ArgumentError(
                "overrides and variant belong to a case file, not to a case that was loaded",
                ErrorCode.WRONG_STATE,
                argument="overrides, variant",
            )
        loaded = case if isinstance(case, Case) else reader.load(case, overrides, variant)
        if not isinstance(loaded, cls._case_type):
            which, own = "this case" if given else str(case), cls._case_type
            found = loaded.registered or loaded.solver
            raise CaseError(
                f"{which} is of [{found}]; slipstream.{own.solver}.{cls.__name__} takes one of "
                f"[{own.registered or own.solver}]",
                ErrorCode.MISMATCH,
                given=found,
            )
        self = cls.__new__(cls)
        self._begin(loaded)
        return self

    def _case_of(self, options: Mapping[str, Any], needed: Mapping[str, Mapping[str, Any]], **tables: Any) -> Any:
        """The case that has the keyword arguments, keys of tables that each case needs, and other tables. Keys that are
        None, and empty tables, are left out."""
        own = {name: {key: value for key, value in keys.items() if value is not None} for name, keys in needed.items()}
        given = {name: keys for name, keys in tables.items() if keys is not None and keys != {}}
        data = {"run": {"steps": NEVER}, **own, **given, **self.tables_of(options)}
        return reader.parse(plain(data), reader.Source(type(self).__name__))

    def _begin(self, case: Any) -> None:
        """Sets up and starts the solver for `case`, the checked description of a run."""
        #: The case of this simulation, as a case file would hold it.
        self.case: CaseT = case
        self._setup = engine.prepare(case, discovery.discover(case.machine, guest=True))
        self._engine: EngineT = solver_of(case).start(self._setup).engine  # type: ignore[assignment]

    def __repr__(self) -> str:
        case, backend = self.case, self.machine.devices()[0]["backend"]
        what = f"{show_extent(case.grid.cells)} {self._counted}, {solver_of(case).title(case)} on {backend} devices"
        return f"<slipstream.{case.solver}.{type(self).__name__}: {what}; {count(self.step, 'step')}>"

    @property
    def machine(self) -> "Machine":
        """The machine for which the grid was partitioned."""
        return self._setup.machine

    @property
    def step(self) -> int:
        """Number of steps that the simulation has made."""
        return self._engine.step

    @property
    def time(self) -> float:
        """Current time of the simulation, in the units of the case."""
        return self._engine.time

    @property
    def solver(self) -> EngineT:
        """The object of the compiled solver, which holds the fields."""
        return self._engine
