"""Time series of a solver's fields in one file for ParaView."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slipstream.case.case import Case


def is_there(time: float, last: float) -> bool:
    """Whether the last frame of a file of fields has the given time."""
    return math.isclose(time, last, rel_tol=1e-9)


class FieldSeries:
    """Implements `slipstream.case.solver.Fields` for a compiled solver that has a series(path, up_to). Creates the file
    or, after a restart, continues it. Between two writes the file is closed and complete."""

    def __init__(self, engine: Any, case: Case, path: Path, names: Sequence[str], goes_on: bool) -> None:
        self._engine, self._case = engine, case
        self._items = [(name, "") for name in names]
        now = case.time_of(engine.step)
        self._series = engine.series(str(path), now if goes_on else None)
        self._written = engine.step if is_there(now, self._series.last_time) else -1

    def write(self) -> None:
        """Adds the fields of this step to the file, unless it has them. Collective."""
        if self._engine.step != self._written:
            self._written = self._engine.step
            self._series.write(self._case.time_of(self._written), self._items)

    def close(self) -> None:
        """Closes the file of fields; nothing can be added afterwards."""
        self._series.close()
