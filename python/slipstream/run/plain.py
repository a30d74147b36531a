"""Defaults of runs without special features, tables by step, and findings.json, shared by most solvers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream.base.core import core
from slipstream.base.files import write_text
from slipstream.base.rows import Rows
from slipstream.case.case import Case
from slipstream.case.solver import Engine, Monitor
from slipstream.flow import expected
from slipstream.run.report import expected as expected_table
from slipstream.run.troubles import Troubles


class PlainRun:
    """A `slipstream.case.solver.Run` that measures changes from one step to the next, and has no conserved sum."""

    engine: Any

    def change(self, since: int) -> float | None:
        """Largest |du/dt| of the solved fields u in the last step."""
        found: float = self.engine.largest_change()
        return found

    def cautions(self) -> Sequence[str]:
        return []

    def notes(self) -> Sequence[str]:
        return []

    def look(self) -> None:
        pass

    def conserved(self) -> float:
        return 0.0

    def drift(self, before: float) -> tuple[str, str]:
        return "", ""

    def guarded(self) -> str:
        return ""

    def carried(self) -> dict[str, Any]:
        return {}

    def carry(self, carried: Mapping[str, Any]) -> None:
        pass

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        return []


class History:
    """A CSV file with step, time and other columns. Rank 0 writes a row for each later step. A restarted run keeps the
    earlier rows, whatever their columns are.
    """

    def __init__(
        self, path: Path, engine: Engine, case: Case, goes_on: bool, columns: Sequence[str], every: int | None = None
    ) -> None:
        """Opens the CSV file. `every`: number of steps between its rows; None: a row whenever the run computes its
        residual."""
        self._engine, self._case, self._columns = engine, case, columns
        self._written = engine.step if goes_on else -1
        self._rows: Rows | None = None
        if core().rank() == 0:
            names = ("step", "time", *columns)

            def renewed(row: Mapping[str, str]) -> Mapping[str, str]:
                return {name: row.get(name, "nan") for name in names}

            self._rows = Rows(path, self._written, renewed, every or case.check_every)

    def add(self, found: Mapping[str, Any]) -> None:
        step = self._engine.step
        if self._rows is not None and step > self._written:
            self._rows.add(
                {"step": step, "time": self._case.time_of(step)} | {name: found[name] for name in self._columns}
            )
        self._written = step


def conclude(
    case: Case,
    figures: dict[str, Any],
    found: dict[str, float],
    console: Console,
    troubles: Troubles,
    lines: Sequence[str],
) -> None:
    """Adds the findings of a run and its expected values to the figures, prints them, and writes findings.json, on rank
    0."""
    figures["findings"], figures["expected"] = found, expected.against(case, found)
    for line in lines:
        console.print(line)
    with troubles.with_data(case.folder / "findings.json", "it", figures["steps"]):
        text = json.dumps(figures, indent=1, default=str)
        write_text(case.folder / "findings.json", text + "\n")
    if figures["expected"]:
        console.print(expected_table(figures["expected"]))
