"""Interfaces of solvers, runs and engines, and the solver of a case."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from rich.console import Console, RenderableType

from slipstream.base import registry, toml_text
from slipstream.base.core import as_case_error, part
from slipstream.base.errors import CaseError
from slipstream.base.faults import nearest_of
from slipstream.case.case import Case
from slipstream.machine.told import Phase, Plan

if TYPE_CHECKING:
    from slipstream._core import Machine, Trace

#: A table of a report: words, columns and rows.
Table = tuple[str, Sequence[str], Sequence[Sequence[Any]]]
#: Numbers of a report with their words.
Tiles = list[tuple[str, str]]
CaseT = TypeVar("CaseT", bound=Case)


@dataclass(frozen=True)
class Monitor:
    """A table that grows during a run: a row whenever the run computes its residual, or every `every` steps."""

    path: Path
    take: Callable[[], None]  #: adds a row for this step, if there is none; collective
    every: int | None = None  #: steps between rows; None: a row whenever the run computes its residual
    at_start: bool = False  #: whether the state before the first step has a row
    every_step: bool = False  #: whether each step has a row: if so, checkpoints and ends take one first


class Fields(Protocol):
    """Fields of a run over time, in a file."""

    def write(self) -> None:
        """Adds a frame of this step, unless there is one. Collective."""
        ...

    def close(self) -> None:
        """Ends the series."""
        ...


class Engine(Protocol):
    """A compiled solver as runs of all solvers see it. All calls are collective."""

    @property
    def step(self) -> int:
        """Steps done."""
        ...

    @property
    def time(self) -> float:
        """Time, in the solver's own units."""
        ...

    def advance(self, steps: int) -> None:
        """Makes so many steps."""
        ...

    def inspect(self) -> None:
        """Raises where a guard finds the state unsound."""
        ...

    def phases(self) -> list[Phase]:
        """Time of the kernels and exchanges, by name."""
        ...

    def report(self) -> list[dict[str, Any]]:
        """The messages of the last exchange: slipstream.exchange.records.Delivery."""
        ...

    def tuning(self) -> dict[str, Any]:
        """How routes were found: slipstream.exchange.records.Tuning."""
        ...


class Run(Protocol):
    """A solver at work on a case. All calls are collective."""

    @property
    def engine(self) -> Engine: ...

    def cautions(self) -> Sequence[str]:
        """Warnings that depend on the initial state."""
        ...

    def notes(self) -> Sequence[str]:
        """Notes on the tuning, for the terminal."""
        ...

    def change(self, since: int) -> float | None:
        """Largest change per unit of time since a step, for run.residual; the next change is measured from here. None:
        the solver has no such measure. It is not finite if the state is not."""
        ...

    def look(self) -> None:
        """Makes the present state the reference of the next change."""
        ...

    def conserved(self) -> float:
        """The conserved quantity, usually the mass; 0 if there is none."""
        ...

    def drift(self, before: float) -> tuple[str, str]:
        """Drift of the conserved quantity since `before`: a text for the last line, and a warning; both may be
        empty."""
        ...

    def guarded(self) -> str:
        """Range that the guard checks, for the log; empty if it only checks that values are finite."""
        ...

    def advice(self) -> str:
        """Advice for a run whose state became unsound."""
        ...

    def fields(self, path: Path, goes_on: bool) -> Fields:
        """Creates a file of fields. With `goes_on`, appends to the existing one after its frames up to now."""
        ...

    def bytes_of(self, frames: int) -> int:
        """Estimated bytes of so many frames of `fields` on disk. Not collective."""
        ...

    def carried(self) -> dict[str, Any]:
        """Numbers that a checkpoint stores in addition to the fields, for a restart."""
        ...

    def carry(self, carried: Mapping[str, Any]) -> None:
        """Restores these numbers after the fields; checkpoints of earlier versions have none."""
        ...

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        """Tables of this run; with `goes_on` they keep the rows of the run before."""
        ...

    def figures(self, outcome: Any) -> dict[str, Any]:
        """Results of the run as numbers, in addition to those of all solvers."""
        ...

    def results(self, figures: dict[str, Any], console: Console, troubles: Any) -> None:
        """Evaluates the run at its end, adds the results to the figures ("findings" and "expected" among them), shows
        them, and writes files. Only rank 0 writes."""
        ...


class Solver(ABC, Generic[CaseT]):
    """A solver's answers about its cases. The registry names its module, whose SOLVER is one."""

    compiled: tuple[str, str]  #: the compiled module, and its class
    case_type: type[CaseT]
    unit_of_rate: str  #: of a million cells a second, in the solver's own word
    files: Sequence[str]  #: that runs leave beside those that all solvers' runs do
    pictures: Mapping[str, str] = {}  #: files of pictures that runs leave, too, with what they show
    #: That its cases may be run by, each with its keys as `lbm.collision`.
    collisions: Mapping[str, Mapping[str, str]] = {}

    @abstractmethod
    def problems(self, case: CaseT) -> list[tuple[toml_text.Path, str]]:
        """Everything wrong with a case whose keys are right one by one: where, and what to do."""

    @abstractmethod
    def warnings(self, case: CaseT) -> list[str]:
        """What may go wrong and does not have to, before the first step."""

    @abstractmethod
    def facts(self, case: CaseT) -> list[tuple[str, str]]:
        """The method and the problem, for the banner."""

    @abstractmethod
    def inputs(self, case: CaseT) -> dict[str, str | int]:
        """The method in a few words, for rows of benchmarks, "precision" among them."""

    @abstractmethod
    def title(self, case: CaseT) -> str:
        """What is computed and how, behind the case's own words in the titles of pictures."""

    @abstractmethod
    def tiles(self, case: CaseT, figures: Mapping[str, Any]) -> tuple[Tiles, Tiles]:
        """The few numbers that one looks for first in a report, what the case says and what the run found; figures are
        empty where there are none yet."""

    @abstractmethod
    def smaller(self, case: CaseT) -> Iterable[dict[str, str]]:
        """Keys of the solver's table that would take less memory, what costs the least first."""

    @abstractmethod
    def start(self, setup: Any, trace: "Trace | None" = None) -> Run:
        """Allocates and fills the state."""

    @abstractmethod
    def quantities(self, case: CaseT) -> Mapping[str, Any]:
        """The drawings of `plot` by name, each a slipstream.pictures.quantity.Quantity; the usual ones come first."""

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """The tables of a case file with those keys that follow from bodies. Raises CaseError, or pydantic's
        ValidationError of [domain]."""
        return data

    def check_before_start(self, case: CaseT) -> None:
        """Raises CaseError for what one process can refuse before there are many, and `problems` does not."""

    def check_at_length(self, case: CaseT) -> None:
        """Raises CaseError for what takes long to find, and a run finds by itself in its set-up: `check` and `plan`
        ask."""

    def answer(self, case: CaseT, folder: Path) -> tuple[Sequence[Table], Sequence[str]]:
        """Tables and names of pictures that a report shows first, from files that a run has left."""
        return (), ()

    def compared(self, folder: Path) -> Sequence[Table]:
        """Tables for a report, from files that a run has left: words, columns and rows. Raises CaseError where a file
        is damaged."""
        return ()

    def conversions(self, case: CaseT) -> Sequence[RenderableType]:
        """Tables of units, for the terminal."""
        return ()

    def checksums(self, case: CaseT) -> dict[str, str]:
        """SHA-256 of the files that the case names and the state depends on, by the key of each."""
        return {}

    @property
    def engine(self) -> Any:
        """The compiled class: an `Engine` with static plan() and largest_grid()."""
        module, name = self.compiled
        return getattr(part(module), name)

    def plan(self, case: CaseT, machine: "Machine", options: Mapping[str, Any], thorough: bool = False) -> Plan:
        """Blocks, messages and memory. `thorough`: with what takes time to find out, if that can only lower the
        memory. Collective."""
        with as_case_error():
            found: Plan = self.engine.plan(machine, options)
        return found

    def largest_grid(self, machine: "Machine", options: Mapping[str, Any]) -> Sequence[int]:
        """That fits, in the shape of the case."""
        found: Sequence[int] = self.engine.largest_grid(machine, options)
        return found

    def curves(self, shown: Any, folder: Path) -> list[Path]:
        """Draws into a folder what a run has left beside its fields, for `plot`, and says what it wrote; shown: the
        run's slipstream.results.results.Results."""
        return []

    def artist(self, case: CaseT) -> Any:
        """The class that draws for `render`: a slipstream.pictures.scene.Artist."""
        return registry.slice_artist()


def solver_of(case: Case | Mapping[str, Any]) -> Solver[Any]:
    """By the type of a case, or by the tables of its data. Raises CaseError where two solvers' are there."""
    if isinstance(case, Case):
        return _named(case.registered or case.solver)
    given = [name for name in registry.SOLVERS if name in case]
    if len(given) > 1:
        tables = " and ".join(f"[{name}]" for name in given)
        said = f"{tables} are tables of two solvers; a case has one: drop one of them"
        raise CaseError(said, given=", ".join(given))
    name = given[0] if given else registry.USUAL
    table = case.get(name)
    own = f"{name}.{table.get('equation')}" if isinstance(table, Mapping) else ""
    return _named(own if own in registry.SOLVERS else name)


def misspelt(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Misspelt solver tables of a case without a solver, each with the likely name."""
    if not any(name in data for name in registry.SOLVERS):
        for table in data.keys() - _named(registry.USUAL).case_type.model_fields.keys():
            if near := nearest_of(table, list(registry.SOLVERS), 0.6):
                yield table, near


def _named(name: str) -> Solver[Any]:
    found: Solver[Any] = registry.solver(name)
    return found


def all_solvers() -> dict[str, Solver[Any]]:
    """By the names of their tables."""
    return {name: _named(name) for name in registry.SOLVERS}
