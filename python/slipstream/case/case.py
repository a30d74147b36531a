"""The case file: the tables that cases of all solvers have, and what follows from them.

A solver's own case has more: its class is the solver's, found by the table of the case file that is its own
(case/solver.py).
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, PrivateAttr

from slipstream.base import toml_text
from slipstream.base.keys import Table
from slipstream.base.terminal import show_extent
from slipstream.case.field_units import Units
from slipstream.case.tables import (
    EXCHANGE_PARTS,
    CaseTable,
    CheckpointTable,
    ExchangeTable,
    ExpectedTable,
    GridTable,
    GuardTable,
    OutputTable,
    RunTable,
)
from slipstream.machine.discovery import MachineTable

#: Name of the folder of checkpoints, within the folder of a run's results.
CHECKPOINTS = "checkpoints"


#: Keys of [output] that affect the results by which a run is judged.
_MEASURED = frozenset({"output.energy", "output.mean_from", "output.reference"})


@dataclass(frozen=True)
class Conversion:
    """Describes the conversion of a checkpoint into another form of the same state."""

    keys: frozenset[str]  #: keys that may differ between the checkpoint and the case
    lost: str  #: what the converted checkpoint lacks of the original state, in words


def named_files(data: Any, keys: tuple[str, ...], at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The tables in which a key names a file, each with the key's path."""
    if not isinstance(data, dict):
        return
    if len(keys) == 1:
        if isinstance(data.get(keys[0]), str):
            yield (*at, keys[0]), data
        return
    for name in data if keys[0] == "*" else {keys[0]} & data.keys():
        yield from named_files(data[name], keys[1:], (*at, name))


class Case(Table):
    """A whole case file, for any solver. Lengths are in cells and times in steps unless a solver has other units."""

    #: Name of the table in a case file that selects the solver of this class.
    solver: ClassVar[str] = ""
    registered: ClassVar[str] = ""  #: name in the registry of solvers; empty: name of its table in a case file
    #: Tables that may differ between a run and its restart, except exchange.coding, because they change no bit of the
    #: state.
    free_tables: ClassVar[frozenset[str]] = frozenset(
        {"case", "expected", "run", "machine", "exchange", "output", "checkpoint", "guard"}
    )

    #: Keys that name files to be read, "*" for any name.
    file_keys: ClassVar[tuple[tuple[str, ...], ...]] = ()
    #: Keys among `file_keys` whose value may be a folder.
    folder_keys: ClassVar[tuple[tuple[str, ...], ...]] = ()

    case: CaseTable = CaseTable()
    grid: GridTable
    expected: ExpectedTable = Field({}, description="Lowest and highest value of what the run finds, by name.")
    run: RunTable = RunTable()
    machine: MachineTable = MachineTable()
    exchange: ExchangeTable = ExchangeTable()
    output: OutputTable = OutputTable()
    checkpoint: CheckpointTable = CheckpointTable()
    guard: GuardTable = GuardTable()

    #: Overridden keys for which ranges of [expected] were dropped.
    _lapsed_by: tuple[str, ...] = PrivateAttr(())
    #: Keys that the file or its overrides give by their old names.
    _old_keys: tuple[str, ...] = PrivateAttr(())

    @property
    def lapsed_by(self) -> tuple[str, ...]:
        return self._lapsed_by

    @property
    def old_keys(self) -> tuple[str, ...]:
        return self._old_keys

    def take_old_keys(self, keys: Iterable[str]) -> None:
        self._old_keys = tuple(keys)

    def expecting_no_more(self, names: Iterable[str], keys: Iterable[str]) -> Self:
        """The same case without those of its expected ranges that depend on changed keys."""
        dropped = frozenset(names)
        kept = {name: limits for name, limits in self.expected.items() if name not in dropped}
        made = self.model_copy(update={"expected": kept})
        made._lapsed_by = tuple(keys)
        return made

    @classmethod
    def is_free(cls, key: str) -> bool:
        """Whether a key, as `grid.cells`, may differ between a run and its restart."""
        return key.split(".")[0] in cls.free_tables and key != "exchange.coding"

    @classmethod
    def moves_findings(cls, key: str) -> bool:
        """Whether the results of a run depend on a key."""
        table = key.split(".")[0]
        return not cls.is_free(key) or (table in ("run", "exact") and key != "run.check_every") or key in _MEASURED

    @classmethod
    def unread(cls, values: dict[str, Any]) -> frozenset[str]:
        """Keys that have no effect, given the values of all keys."""
        return frozenset()

    @classmethod
    def conversion(cls, before: dict[str, Any], now: dict[str, Any]) -> Conversion | None:
        """The conversion that [checkpoint] convert allows from a checkpoint to a case, both as values by key; None: not
        allowed."""
        return None

    @property
    def cell_count(self) -> int:
        return math.prod(self.grid.cells)

    @property
    def size(self) -> str:
        """Extent of the grid and number of its cells, as text."""
        return f"{show_extent(self.grid.cells)} = {self.cell_count:,} cells".replace(",", " ")

    @property
    def samples(self) -> tuple[int, int, int]:
        """Number of points along x, y and z at which pictures and output show the fields; by default one per cell."""
        return self.grid.cells

    @property
    def corner(self) -> tuple[float, float, float]:
        """Coordinates of the low corner of the region that pictures and output show."""
        return (0.0, 0.0, 0.0)

    def read(self, file: Any, name: str, step: int, box: tuple[slice, slice, slice]) -> Any:
        """Reads values of a field at one step from an open h5py file, in the ranges of points box = (x, y, z). Returns
        [z][y][x] or [z][y][x][component]."""
        row = int(file[f"VTKHDF/Steps/CellDataOffsets/{name}"][step])
        return file[f"Series/{name}"][(row, *reversed(box))]

    @property
    def dimensions(self) -> int:
        """Number of axes, from x on, that have more than one cell."""
        _, ny, nz = self.grid.cells
        return 3 if nz > 1 else 2 if ny > 1 else 1

    @property
    def spacing(self) -> float:
        """Length of a cell's edge, in the length unit of output files and printed messages."""
        return 1.0

    @property
    def spacings(self) -> tuple[float, float, float]:
        """Distances along x, y and z between the points at which pictures show the fields."""
        return (self.spacing, self.spacing, self.spacing)

    @property
    def time_step(self) -> float:
        """Length of a time step, in the time unit of output files and printed messages."""
        return 1.0

    @property
    def field_units(self) -> Units:
        return Units()

    @property
    def up(self) -> str:
        """Axis that points up in pictures, unless the user chooses another one."""
        return "z"

    def side_velocity(self, side: str) -> Any:
        """Velocity of the wall at a side of the box, in the unit of the files; None if the side is no wall."""
        return None

    @property
    def marches(self) -> bool:
        """Whether the case is time-dependent; otherwise one step finds a steady state."""
        return True

    def refined(self, n: int) -> dict[str, Any] | None:
        """The keys, such as `grid.cells`, that refine the same problem by n along every axis of more than two cells.
        None: the solver cannot refine it."""
        return None

    def going_on(self, step: int, time: float) -> Self:
        """The same case, continued from the step and time of a checkpoint."""
        return self

    def time_of(self, step: int) -> float:
        """Physical time that a step reaches, in the time unit of files and messages."""
        return step * self.time_step

    def show_time(self, step: int) -> str:
        """Simulated time that a step reaches, as text with its unit."""
        return f"{self.time_of(step):.4g}"

    @property
    def check_every(self) -> int:
        """Number of steps between two measurements of the residual."""
        return self.run.check_every or max(1, self.last_step // 20)

    @property
    def last_step(self) -> int:
        """The step at which the run ends unless it becomes steady before."""
        limits = [self.run.steps] if self.run.steps else []
        if self.run.time:
            limits.append(max(1, round(self.run.time / self.time_step)))
        return min(limits)

    @property
    def output_period(self) -> float | None:
        """Steps between written fields, in general not an integer; None: only the last step is written."""
        return self.output.every / self.time_step if self.output.every else None

    @property
    def folder(self) -> Path:
        return Path(self.output.folder or f"results/{self.case.name}")

    @property
    def checkpoint_folder(self) -> Path:
        """Folder of this case's checkpoints. Several cases may share the folder in [checkpoint], so each has its own
        inside."""
        given = self.checkpoint.folder
        return Path(given) / self.case.name if given else self.folder / CHECKPOINTS

    def changed(self, **tables: Mapping[str, object]) -> Self:
        """The same case with other values for some keys of its tables."""
        return self.model_copy(update={name: getattr(self, name).model_copy(update=u) for name, u in tables.items()})

    def resolved(self, backend: str | None = None) -> Self:
        """The same case with its defaults filled in, including those that depend on other keys or on the machine."""
        return self.changed(
            run={"check_every": self.check_every, "steps": self.last_step},
            output={"folder": str(self.folder)},
            machine={"backend": backend or self.machine.backend},
            # The measurement of routes is cached by now, so a rerun of the resolved case must not measure again.
            exchange={"tune": "measure" if self.exchange.retune else self.exchange.tune, "retune": False},
        )

    def options(self) -> dict[str, object]:
        """All keys of the case as the flat dictionary that the compiled solver reads."""
        raise NotImplementedError

    def exchange_options(self, part: str, *parts: str) -> dict[str, object]:
        """The named parts of [exchange] (EXCHANGE_PARTS) as the flat dictionary that compiled solvers read."""
        keys = {key for name in (part, *parts) for key in EXCHANGE_PARTS[name]} - {
            "block"
        }  # left out, because blocks.share_blocks() has replaced this key by other keys
        found = self.exchange.model_dump(include=keys, exclude_none=True)
        if found.get("rim") == "auto":
            del found["rim"]
            found["tune_rim"] = True
        return found

    def to_toml(self, header: str = "", exclude: frozenset[str] = frozenset(), folder: str | Path | None = None) -> str:
        """The case as text that `load` reads back to an equal case: first the grid, then the solver's own tables.
        `folder`: where the text will lie; relative paths of files then start there."""
        data = self.model_dump(by_alias=True, exclude_none=True, exclude=set(exclude))
        for path, table in (found for key in self.file_keys if folder for found in named_files(data, key)):
            if not Path(table[path[-1]]).is_absolute():
                table[path[-1]] = os.path.relpath(table[path[-1]], folder)
        own = [name for name in data if name not in Case.model_fields]
        order = dict.fromkeys(["case", "grid", *own, *data])
        return toml_text.dumps({name: data[name] for name in order if data.get(name)}, header)
