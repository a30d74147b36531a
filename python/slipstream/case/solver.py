"""Interfaces of solvers, runs and engines, and the solver of a case."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from rich.console import Console, RenderableType

from slipstream.base import registry
from slipstream.base.core import as_case_error, part
from slipstream.base.errors import CaseError, Fault
from slipstream.base.faults import nearest_of
from slipstream.case.case import Case
from slipstream.machine.told import Phase, Plan

if TYPE_CHECKING:
    from slipstream._core import Machine, Trace

#: Table of a report: title, names of columns, and rows.
Table = tuple[str, Sequence[str], Sequence[Sequence[Any]]]
#: Most important numbers of a run's report, as pairs of texts: label and number.
Tiles = list[tuple[str, str]]
CaseT = TypeVar("CaseT", bound=Case)


@dataclass(frozen=True)
class Monitor:
    """A table that grows during a run: a row whenever the run computes its residual, or every `every` steps."""

    path: Path
    take: Callable[[], None]  #: adds this time step's row to the monitor's table, a file, unless it has one; collective
    every: int | None = None  #: steps between rows of the table; None: a row whenever the run computes its residual
    at_start: bool = False  #: whether the table has a row for the state before the first step
    #: whether the monitor's table has a row for each time step; rows are completed before each checkpoint and at the
    #: end of a run
    every_step: bool = False


class Fields(Protocol):
    """Fields of a run over time, stored in a file."""

    def write(self) -> None:
        """Adds the fields of this step to the file, unless it has them. Collective."""

    def close(self) -> None:
        """Closes the file of fields; nothing can be added afterwards."""


class Engine(Protocol):
    """A compiled solver as runs of all solvers see it. All calls are collective."""

    @property
    def step(self) -> int:
        """Number of time steps that the solver has made."""

    @property
    def time(self) -> float:
        """Current time, in the solver's own units."""

    def advance(self, steps: int) -> None:
        """Advances the solution by `steps` time steps."""

    def inspect(self) -> None:
        """Raises an error where a guard finds that the state has diverged."""

    def phases(self) -> list[Phase]:
        """Time of the kernels and exchanges, by name."""

    def report(self) -> list[dict[str, Any]]:
        """The messages of the last exchange: slipstream.exchange.records.Delivery."""

    def tuning(self) -> dict[str, Any]:
        """How routes were found: slipstream.exchange.records.Tuning."""


class Run(ABC):
    """A solver that runs a case. All calls are collective. By default a run measures changes from one step to the next,
    and conserves nothing.
    """

    engine: Engine

    def __init__(self, setup: Any, trace: "Trace | None" = None) -> None:
        """Allocates the compiled solver. `setup`: a slipstream.run.engine.Setup."""
        self._case = setup.case
        with as_case_error():
            self.engine = solver_of(setup.case).engine(setup.machine, setup.options, trace)

    def cautions(self) -> Sequence[str]:
        """Warnings that depend on the initial state."""
        return []

    def notes(self) -> Sequence[str]:
        """Messages for the terminal about options that the solver chose by measurement (tuning)."""
        return []

    def change(self, since: int) -> float | None:
        """Largest change per unit of time since a step, for run.residual; the next change is measured from now on. By
        default it is the largest |du/dt| of the last step. None: the solver has no such measure. The value is not
        finite if the state is not.
        """
        engine: Any = self.engine
        return float(engine.largest_change())

    def look(self) -> None:  # noqa: B027 (nothing is to do by default)
        """Stores the present state, so that the next change() measures how far the solution has moved from it."""

    def conserved(self) -> float:
        """The conserved quantity, usually the mass; 0 if there is none."""
        return 0.0

    def drift(self, before: float) -> tuple[str, str]:
        """Drift of the conserved quantity since `before`: a text for the last line, and a warning; both may be
        empty."""
        return "", ""

    def guarded(self) -> str:
        """Range that the guard checks, as text for the log; empty if the guard only checks that values are finite."""
        return ""

    @abstractmethod
    def advice(self) -> str:
        """Advice for a run whose state became unsound."""

    @abstractmethod
    def fields(self, path: Path, goes_on: bool) -> Fields:
        """Creates a file of fields. With `goes_on`, appends to the existing file after its last step up to now."""

    @abstractmethod
    def bytes_of(self, frames: int) -> int:
        """Estimated bytes of `frames` frames of `fields` on disk. Not collective."""

    def carried(self) -> dict[str, Any]:
        """Numbers that a checkpoint stores in addition to the fields, for a restart."""
        return {}

    def carry(self, carried: Mapping[str, Any]) -> None:  # noqa: B027 (nothing is to do by default)
        """Restores numbers that a checkpoint stores beside the fields, after the fields themselves. Checkpoints of
        earlier versions have none."""

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        """Tables of this run; with `goes_on` they keep the rows of the run before."""
        return []

    @abstractmethod
    def figures(self, outcome: Any) -> dict[str, Any]:
        """Results of the run as numbers, in addition to those of all solvers."""

    @abstractmethod
    def results(self, figures: dict[str, Any], console: Console, troubles: Any) -> None:
        """Evaluates the run at its end, adds the results to the dictionary `figures` (with keys such as "findings" and
        "expected"), prints them on the console, and writes files. Only rank 0 writes."""


def said_of(figures: Mapping[str, Any], names: Mapping[str, str], form: str = ".3g") -> Tiles:
    """Results of a run (findings), each with its label from `names`. Findings without a label are left out."""
    found = figures.get("findings") or {}
    return [(said, f"{found[name]:{form}}") for name, said in names.items() if name in found]


class Solver(ABC, Generic[CaseT]):
    """A solver as commands see it: it checks, plans and starts cases. The registry names its module, whose SOLVER is an
    instance."""

    compiled: tuple[str, str]  #: names of the compiled module and of the solver class in it
    runs: tuple[str, str]  #: names of the module and the class that run a case; imported only when a run starts
    case_type: type[CaseT]
    unit_of_rate: str  #: unit of millions of updates per second, such as "Mcell/s"
    files: Sequence[str]  #: files that runs of this solver write in addition to those of all solvers
    pictures: Mapping[str, str] = {}  #: pictures that runs of this solver write, with what they show
    #: Collision models that may run the solver's cases, each with its keys, such as `lbm.collision`.
    collisions: Mapping[str, Mapping[str, str]] = {}

    @abstractmethod
    def problems(self, case: CaseT) -> list[Fault]:
        """Faults of a case whose keys are valid one by one, each with its key as the fact `key`."""

    @abstractmethod
    def warnings(self, case: CaseT) -> list[str]:
        """Possible problems of a case that need not occur, before the first step."""

    @abstractmethod
    def facts(self, case: CaseT) -> list[tuple[str, str]]:
        """Names and texts of the numerical method and the flow problem, which a run prints at its start. Empty texts
        are left out."""

    @abstractmethod
    def inputs(self, case: CaseT) -> dict[str, str | int]:
        """Names of the numerical method in a few words, for rows of benchmarks; one of them is "precision"."""

    @abstractmethod
    def title(self, case: CaseT) -> str:
        """Text on what is computed and how, which follows the case's name in the titles of pictures."""

    @abstractmethod
    def tiles(self, case: CaseT, figures: Mapping[str, Any]) -> tuple[Tiles, Tiles]:
        """The most important numbers of a report, from the case and from the results of the run. `figures` is empty
        where there are none yet.
        """

    @abstractmethod
    def smaller(self, case: CaseT) -> Iterable[dict[str, str]]:
        """Changes of keys that would take less memory, the least costly ones first."""

    def start(self, setup: Any, trace: "Trace | None" = None) -> Run:
        """Allocates the fields of a case, sets its initial state, and returns the run."""
        module, name = self.runs
        found: Run = getattr(import_module(module), name)(setup, trace)
        return found

    @abstractmethod
    def quantities(self, case: CaseT) -> Mapping[str, Any]:
        """Quantities that the command `plot` can draw, by name; the default ones come first. Each is a
        slipstream.pictures.quantity.Quantity."""

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """The tables of a case file with the keys that follow from bodies. Raises CaseError, or pydantic's
        ValidationError of [domain].
        """
        return data

    def check_before_start(self, case: CaseT) -> None:
        """Raises CaseError for faults that one process can find before ranks start, and `problems` does not find."""

    def check_at_length(self, case: CaseT) -> None:
        """Raises CaseError for faults that take long to find. `check` and `plan` call this; a run finds them in its
        set-up.
        """

    def answer(self, case: CaseT, folder: Path) -> tuple[Sequence[Table], Sequence[str]]:
        """Tables and names of pictures that a report shows first, from the files of a run."""
        return (), ()

    def compared(self, folder: Path) -> Sequence[Table]:
        """Tables for a report, from the files of a run: title, columns and rows. Raises CaseError where a file is
        damaged.
        """
        return ()

    def conversions(self, case: CaseT) -> Sequence[RenderableType]:
        """Tables of conversions between units, for the terminal."""
        return ()

    def checksums(self, case: CaseT) -> dict[str, str]:
        """SHA-256 of the files that the case names and the state depends on, by the key of each."""
        return {}

    @property
    def engine(self) -> Any:
        """The compiled class of the solver: an `Engine` with static plan() and largest_grid()."""
        module, name = self.compiled
        return getattr(part(module), name)

    def plan(self, case: CaseT, machine: "Machine", options: Mapping[str, Any], thorough: bool = False) -> Plan:
        """Plan of a case: blocks, messages and memory. `thorough`: also makes slow examinations that can only lower the
        memory, such as the search for cells inside of bodies. Collective.
        """
        with as_case_error():
            found: Plan = self.engine.plan(machine, options)
        return found

    def largest_grid(self, machine: "Machine", options: Mapping[str, Any]) -> Sequence[int]:
        """The largest grid that fits the machine, in the shape of the case."""
        found: Sequence[int] = self.engine.largest_grid(machine, options)
        return found

    def curves(self, shown: Any, folder: Path) -> list[Path]:
        """Draws the results of a run other than its fields into a folder, for `plot`, and returns the names of the
        pictures; shown: the run's slipstream.results.results.Results."""
        return []

    def artist(self, case: CaseT) -> Any:
        """The class that draws for `render`: a slipstream.pictures.scene.Artist."""
        return registry.slice_artist()


def solver_of(case: Case | Mapping[str, Any]) -> Solver[Any]:
    """Finds the solver of a case, by its type or by the tables of its data. Raises CaseError if there are tables of two
    solvers.
    """
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
    """All solvers, by the names of their tables."""
    return {name: _named(name) for name in registry.SOLVERS}
