"""Time series of a solver's fields in one file for ParaView."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slipstream.case.case import Case


class FieldSeries:
    """Writes a solver's fields of several steps to one time series file for ParaView. Creates the file or, after a
    restart, continues it. Between two writes the file is closed and complete. Implements
    `slipstream.case.solver.Fields`."""

    def __init__(self, engine: Any, case: Case, path: Path, names: Sequence[str], goes_on: bool) -> None:
        self._engine, self._case = engine, case
        #: Names of the fields in the file, each with an empty string for its unit, as the compiled writer takes them.
        self._arguments: tuple[Any, ...] = ([(name, "") for name in names],)
        now = self._time()
        self._series = self._open(str(path), now if goes_on else None)
        self._written = engine.step if math.isclose(now, self._series.last_time, rel_tol=1e-9) else -1

    def _time(self) -> float:
        """Simulation time of the present step, in the unit of time of the file of fields."""
        return self._case.time_of(self._engine.step)

    def _open(self, path: str, up_to: float | None) -> Any:
        return self._engine.series(path, up_to)

    def write(self) -> None:
        """Adds the fields of this step to the file, unless it has them. Collective."""
        if self._engine.step != self._written:
            self._written = self._engine.step
            self._series.write(self._time(), *self._arguments)

    def close(self) -> None:
        """Closes the file of fields; nothing can be added afterwards."""
        self._series.close()
