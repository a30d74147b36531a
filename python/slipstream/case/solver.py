"""Interfaces of solvers, runs and engines, and the solver of a case."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console, RenderableType

from slipstream.base import registry, toml_text
from slipstream.base.errors import CaseError
from slipstream.base.faults import nearest_of
from slipstream.case.case import Case
from slipstream.machine.told import Phase, Plan

if TYPE_CHECKING:
    from slipstream._core import Machine, Trace

#: A table of a report: words, columns and rows.
Table = tuple[str, Sequence[str], Sequence[Sequence[Any]]]


@dataclass(frozen=True)
class Monitor:
    """A table that grows during a run: a row with each check of the change, or every `every` steps."""

    path: Path
    take: Callable[[], None]  #: adds a row for this step, if there is none; collective
    every: int | None = None  #: steps between rows; None: one with each check of the change
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


class Solver(Protocol):
    """Interface of a solver for its cases. The registry names its module."""

    case_type: type[Case]
    unit_of_rate: str  #: unit of rates, for 1e6 cells a second
    files: Sequence[str]  #: files that runs write in addition to those of all solvers
    pictures: Mapping[str, str]  #: files of pictures, with their descriptions
    collisions: Mapping[str, Mapping[str, str]]  #: collision models by name, each with its keys

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Completes the tables of a case file with keys that follow from bodies. Raises CaseError, or pydantic's
        ValidationError for [domain]."""
        ...

    def problems(self, case: Case) -> list[tuple[toml_text.Path, str]]:
        """Faults of combined keys that are valid one by one: the place, and what to do."""
        ...

    def check_before_start(self, case: Case) -> None:
        """Raises CaseError for faults that one process can find before ranks start, and `problems` does not report."""
        ...

    def check_at_length(self, case: Case) -> None:
        """Raises CaseError for faults that take long to find. `check` and `plan` call it; a run finds them in its
        set-up."""
        ...

    def warnings(self, case: Case) -> list[str]:
        """Warnings about a case, before the first step."""
        ...

    def facts(self, case: Case) -> list[tuple[str, str]]:
        """The method and the problem, for the banner."""
        ...

    def inputs(self, case: Case) -> dict[str, str | int]:
        """The method in a few words, for rows of benchmarks, "precision" among them."""
        ...

    def title(self, case: Case) -> str:
        """Describes the computation and the method, for titles of pictures."""
        ...

    def tiles(self, case: Case, figures: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The most important numbers for a report: those of the case, and those of the run. Figures are empty if there
        are none yet."""
        ...

    def answer(self, case: Case, folder: Path) -> tuple[Sequence[Table], Sequence[str]]:
        """Tables and names of pictures that a report shows first, from files of a run."""
        ...

    def compared(self, folder: Path) -> Sequence[Table]:
        """Tables for a report, from files of a run: title, columns and rows. Raises CaseError if a file is damaged."""
        ...

    def conversions(self, case: Case) -> Sequence[RenderableType]:
        """Tables of units, for the terminal."""
        ...

    def checksums(self, case: Case) -> dict[str, str]:
        """SHA-256 of the files that the case names and the state depends on, by the key of each."""
        ...

    def plan(self, case: Case, machine: "Machine", options: Mapping[str, Any], thorough: bool = False) -> Plan:
        """Blocks, messages and memory. `thorough`: includes slow measurements that can only lower the memory.
        Collective."""
        ...

    def largest_grid(self, machine: "Machine", options: Mapping[str, Any]) -> Sequence[int]:
        """The largest grid that fits into memory, with the proportions of the case."""
        ...

    def smaller(self, case: Case) -> Iterable[dict[str, str]]:
        """Changes of the solver's table that save memory, the cheapest first."""
        ...

    def start(self, setup: Any, trace: "Trace | None" = None) -> Run:
        """Allocates and fills the state."""
        ...

    def quantities(self, case: Case) -> Mapping[str, Any]:
        """Quantities that `plot` draws, by name (slipstream.pictures.quantity.Quantity); the common ones come first."""
        ...

    def curves(self, shown: Any, folder: Path) -> list[Path]:
        """Draws the curves of a run into a folder, for `plot`, and returns the files. `shown`: the run's
        slipstream.results.results.Results."""
        ...

    def artist(self, case: Case) -> Any:
        """The class that draws for `render`: a slipstream.pictures.scene.Artist."""
        ...


def solver_of(case: Case | Mapping[str, Any]) -> Solver:
    """The solver of a case's type or of its tables. Raises CaseError if tables of two solvers are given."""
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


def _named(name: str) -> Solver:
    found: Solver = registry.solver(name)
    return found


def all_solvers() -> dict[str, Solver]:
    """All solvers by the names of their tables."""
    return {name: _named(name) for name in registry.SOLVERS}
