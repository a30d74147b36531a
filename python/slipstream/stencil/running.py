"""Runs finite differences on a case: `slipstream.case.solver.Run`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from slipstream.base.core import agree_on_error, as_case_error, core, part
from slipstream.base.errors import Fault
from slipstream.case.distance import Distance
from slipstream.case.solver import Fields, Monitor, Run
from slipstream.exchange.report import tuning_lines
from slipstream.run import solutions
from slipstream.run.march import Outcome
from slipstream.run.plain import conclude
from slipstream.run.series import FieldSeries
from slipstream.run.troubles import Troubles
from slipstream.stencil import seismograms
from slipstream.stencil.case import StencilCase

if TYPE_CHECKING:
    from slipstream._core import Machine, Trace
    from slipstream._stencil import Stencil

Array = np.ndarray
#: Number of cells in which expressions are evaluated at once, to bound the memory.
SLAB = 1 << 20


def _fastest(machine: "Machine", options: dict[str, Any]) -> tuple[int, list[str]]:
    """Finds the fastest number of time steps per exchange, by measuring or from a cache on disk. Returns it and lines
    of text about the choice for the log. Collective.
    """
    with as_case_error():
        found = part("stencil").tune_steps(machine, options)
    tried = ", ".join(f"{number}: {seconds * 1e6:.3g} us" for number, seconds in found["tried"])
    how = "measured" if found["source"] == "measured" else f"from {found['file']}"
    return found["steps"], [f"steps an exchange: {found['steps']}, {how} ({tried} a step)", *found["notes"]]


class StencilRun(Run):
    """A run of the heat or wave equation. Collective."""

    engine: "Stencil"
    _case: StencilCase

    def __init__(self, setup: Any, trace: "Trace | None" = None) -> None:
        case = setup.case
        self._notes: list[str] = []
        if case.stencil.steps_per_exchange == "auto":
            steps, self._notes = _fastest(setup.machine, setup.options)
            setup = replace(setup, options=setup.options | {"steps_per_exchange": steps})
        super().__init__(setup, trace)
        self._effort = solutions.Effort(self.engine.effort)
        # Grid cells where the run before a restart recorded u over time, by the name of the receiver.
        self._receivers: Mapping[str, Sequence[int]] = {}
        if case.initial:
            self._fill(case)
        if case.guard.every:
            self.engine.guard(case.guard.every, case.spacing)

    def _fill(self, case: StencilCase) -> None:
        start = case.initial
        assert start is not None

        def values_of(given: float | str) -> Callable[[Sequence[int], Sequence[int]], Array]:
            return lambda low, high: case.values(given, [np.arange(a, b) for a, b in zip(low, high, strict=True)])

        with as_case_error("initial"):
            if case.stencil.equation == "wave":
                self.engine.start_moving(values_of(start.value), values_of(start.rate))
            else:
                self.engine.start_from(values_of(start.value))

    def notes(self) -> list[str]:
        return tuning_lines(self.engine.tuning()) + self._notes

    def drift(self, before: float) -> tuple[str, str]:
        if not self._case.implicit:
            return "", ""
        return "", solutions.unsolved(self._effort(), self._case.tolerance)

    def carried(self) -> dict[str, Any]:
        effort = self._effort.carried() if self._case.implicit else {}
        return {"effort": effort, "receivers": seismograms.places(self._case)}

    def carry(self, carried: Mapping[str, Any]) -> None:
        self._effort.carry(carried.get("effort", {}))
        self._receivers = carried.get("receivers", {})

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        case, engine = self._case, self.engine
        return [
            *([solutions.monitor(engine, case, goes_on)] if case.implicit else []),
            *([seismograms.monitor(engine, case, goes_on, self._receivers)] if case.receivers else []),
        ]

    def advice(self) -> str:
        limit = self._case.stable_time_step
        return f"time step {self._case.time_step:.4g} of at most {limit:.4g}; take a smaller stencil.time_step"

    def fields(self, path: Path, goes_on: bool) -> Fields:
        return FieldSeries(self.engine, self._case, path, ["u"], goes_on)

    def bytes_of(self, frames: int) -> int:
        return frames * int(core().state_bytes(self.engine)["u"])

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        case = self._case
        found = case.stencil.model_dump(include={"equation", "precision", "spacing"}) | {"time_step": case.time_step}
        return found | ({"scheme": case.stencil.time} if case.implicit else {})

    def results(self, figures: dict[str, Any], console: Console, troubles: Troubles) -> None:
        case = self._case
        found = self._findings()
        if core().rank() != 0:
            return
        if case.implicit:
            found |= solutions.findings(self._effort())
        found |= seismograms.largest(case)
        if case.output.pictures:
            seismograms.draw(case, troubles, figures["steps"])
        said = [f"{name}: {value:.6g}" for name, value in found.items()]
        said += [solutions.line(self._effort())] if case.implicit else []
        conclude(case, figures, found, console, troubles, said)

    def _findings(self) -> dict[str, float]:
        """Findings of the run on rank 0: largest |u|, sum of u over all cells, and distance from the exact solution.
        Collective."""
        case, engine = self._case, self.engine
        nx, ny, nz = case.grid.cells
        planes = max(1, SLAB // (nx * ny))
        largest = total = 0.0
        off = Distance()
        problem = ""
        for low in range(0, nz, planes):
            high = min(low + planes, nz)
            gathered = engine.gather("u", (0, 0, low), (nx, ny, high))
            if gathered is None:
                continue
            u = np.asarray(gathered)[..., 0].astype(np.float64)
            largest, total = max(largest, float(np.abs(u).max())), total + float(u.sum())
            if case.exact and not problem:
                cells = [np.arange(nx), np.arange(ny), np.arange(low, high)]
                try:
                    wanted = case.values(case.exact.value, cells, t=case.time_of(engine.step))
                except ValueError as error:
                    problem = Fault.of(error).at("exact.value")
                    continue
                off.add(u, wanted)
        agree_on_error(problem)
        if core().rank() != 0:
            return {}
        found = {"u.largest": largest, "u.mean": total / case.cell_count}
        if case.exact:
            found["exact.distance"] = off.value()
        return found
