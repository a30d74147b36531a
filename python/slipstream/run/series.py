"""Fields of a run over time, as they stand, in one file that ParaView opens."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slipstream.case.case import Case


class FieldSeries:
    """`slipstream.case.solver.Fields` of a compiled solver that has a series(path). Makes the file, in place of one
    that is there; between two writes it is closed and whole."""

    def __init__(self, engine: Any, case: Case, path: Path, names: Sequence[str]) -> None:
        self._engine, self._case, self._written = engine, case, -1
        self._items = [(name, "") for name in names]
        self._series = engine.series(str(path))

    def write(self) -> None:
        """Adds this step, if it is not there. Collective."""
        if self._engine.step != self._written:
            self._written = self._engine.step
            self._series.write(self._case.time_of(self._written), self._items)

    def close(self) -> None:
        """Ends the series."""
        self._series.close()
