"""Spectral elements at work on a case: `slipstream.case.solver.Run`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream.base.core import as_case_error, core
from slipstream.case.solver import Fields, Monitor
from slipstream.flow import expected
from slipstream.run.engine import Setup
from slipstream.run.march import Outcome
from slipstream.run.plain import History, PlainRun, write_findings
from slipstream.run.report import expected as expected_table
from slipstream.run.series import FieldSeries
from slipstream.run.troubles import Troubles
from slipstream.sem.case import SemCase

#: Columns of solutions.csv behind step and time: of the linear solution of that step.
COLUMNS = ("iterations", "residual", "true_residual")


class SemRun(PlainRun):
    """A Poisson, Helmholtz or diffusion problem under way. Collective."""

    def __init__(self, setup: Setup, trace: Any = None) -> None:
        case = setup.case
        assert isinstance(case, SemCase)
        self._case = case
        with as_case_error():
            self.engine = core().Sem(setup.machine, setup.options, trace)
        if case.guard.every:
            self.engine.guard(case.guard.every)
        elements, devices = math.prod(case.grid.cells), len(setup.machine.devices())
        self._idle = f"{devices} devices share {elements} elements: some have none" if elements < devices else ""

    def cautions(self) -> list[str]:
        return [*self.engine.cautions(), *filter(None, [self._idle])]

    def change(self, since: int) -> float:
        """The largest |du/dt| of the last step; where nothing goes over time, the true residual."""
        found: float = self.engine.largest_change()
        return found

    def drift(self, before: float) -> tuple[str, str]:
        effort = self.engine.effort()
        if not effort["unconverged"]:
            return "", ""
        wanted = f"{self._case.sem.tolerance:g} of the right side"
        return "", f"{effort['unconverged']} of {effort['solutions']} linear solutions did not reach {wanted}"

    def advice(self) -> str:
        return "look at sources and values of sides that grow without bound"

    def fields(self, path: Path) -> Fields:
        return FieldSeries(self.engine, self._case, path, ["u"])

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        path = self._case.folder / "solutions.csv"
        history = History(path, self.engine, self._case, goes_on, COLUMNS)

        def take() -> None:
            effort = self.engine.effort()
            history.add({**effort, "iterations": effort["last_iterations"]})

        return [Monitor(path, take)]

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        table = self._case.sem
        return {"equation": table.equation, "order": table.order, "precision": "f64", "factors": self._case.factors}

    def results(self, figures: dict[str, Any], console: Console, troubles: Troubles) -> None:
        case, effort = self._case, self.engine.effort()
        found = self.engine.statistics(case.function(case.exact.value) if case.exact else None)
        figures["findings"], figures["expected"] = {}, []
        if core().rank() != 0:
            return
        solutions = max(1, effort["solutions"])
        figures["findings"] = findings = {
            **{f"u.{name}": float(found[name]) for name in ("mean", "least", "largest")},
            "volume": float(found["volume"]),
            "iterations.mean": effort["iterations"] / solutions,
            "residual.true": float(effort["true_residual"]),
        }
        if case.exact:
            findings |= {"exact.distance": found["distance"], "exact.largest_off": found["largest_off"]}
        figures["expected"] = expected.against(case, findings)
        console.print(
            f"conjugate gradients: {effort['iterations'] / solutions:.4g} iterations a solution; residual of the last "
            f"{effort['residual']:.3g} by the recurrence, {effort['true_residual']:.3g} in truth"
        )
        if case.exact:
            distance, most = found["distance"], found["largest_off"]
            console.print(f"distance from the exact solution: {distance:.4g}, at a point {most:.4g} at most")
        write_findings(case, figures, troubles)
        if figures["expected"]:
            console.print(expected_table(figures["expected"]))
