"""Spectral elements at work on a case: `slipstream.case.solver.Run`."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from slipstream.base.core import as_case_error, core, part
from slipstream.case.solver import Fields, Monitor
from slipstream.exchange.report import tuning_lines
from slipstream.flow import expected
from slipstream.run import solutions
from slipstream.run.engine import Setup
from slipstream.run.march import Outcome
from slipstream.run.plain import PlainRun, write_findings
from slipstream.run.report import expected as expected_table
from slipstream.run.series import FieldSeries
from slipstream.run.troubles import Troubles
from slipstream.sem import receivers
from slipstream.sem.case import SemCase
from slipstream.sem.nek import NekFrames

if TYPE_CHECKING:
    from slipstream._core import Trace
    from slipstream._sem import Sem


#: Preconditioners whose symmetry is measured, and printed with their cost.
_CHECKED = ("multigrid", "schwarz")


class SemRun(PlainRun):
    """A Poisson, Helmholtz or diffusion problem under way. Collective."""

    def __init__(self, setup: Setup, trace: "Trace | None" = None) -> None:
        case = setup.case
        assert isinstance(case, SemCase)
        self._case = case
        with as_case_error():
            self.engine: Sem = part("sem").Sem(setup.machine, setup.options, trace)
        self._effort = solutions.Effort(self.engine)
        if case.guard.every:
            self.engine.guard(case.guard.every)
        elements, devices = math.prod(case.grid.cells), len(setup.machine.devices())
        self._idle = f"{devices} devices share {elements} elements: some have none" if elements < devices else ""

    def cautions(self) -> list[str]:
        return [*self.engine.cautions(), *filter(None, [self._idle])]

    def notes(self) -> list[str]:
        lines, table = tuning_lines(self.engine.tuning()), self._case.sem
        if table.preconditioner not in _CHECKED:
            return lines
        found = self.engine.fit()
        method = {"cg": "conjugate gradients", "fgmres": "flexible GMRES"}[table.method]
        return [
            *lines,
            f"{method} with {table.preconditioner}: asymmetry {found['preconditioner_asymmetry']:.1e}, "
            f"operator {found['operator_us']:.4g} us, preconditioner {found['preconditioner_us']:.4g} us",
        ]

    def change(self, since: int) -> float:
        """The largest |du/dt| of the last step; where nothing goes over time, the true residual."""
        found: float = self.engine.largest_change()
        return found

    def drift(self, before: float) -> tuple[str, str]:
        return "", solutions.unsolved(self._effort(), self._case.sem.tolerance)

    def advice(self) -> str:
        return "look at sources and values of sides that grow without bound"

    def fields(self, path: Path, goes_on: bool) -> Fields:
        series = FieldSeries(self.engine, self._case, path, ["u"], goes_on)
        words = self._case.output.nek
        return series if words == "no" else NekFrames(self.engine, words, series, path.parent)

    def carried(self) -> dict[str, Any]:
        return self._effort.carried()

    def carry(self, carried: Mapping[str, Any]) -> None:
        self._effort.carry(carried)

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        kept = receivers.monitors(self.engine, self._case, goes_on)
        return [*solutions.monitors(self.engine, self._case, goes_on), *kept]

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        table = self._case.sem
        return {"equation": table.equation, "order": table.order, "precision": "f64", "factors": self._case.factors}

    def results(self, figures: dict[str, Any], console: Console, troubles: Troubles) -> None:
        case, effort = self._case, self._effort()
        with as_case_error("exact.value"):
            found = self.engine.statistics(case.function(case.exact.value) if case.exact else None)
        receivers.write_profiles(self.engine, case, troubles)
        figures["findings"], figures["expected"] = {}, []
        if core().rank() != 0:
            return
        figures["findings"] = findings = {
            **{f"u.{name}": float(found[name]) for name in ("mean", "least", "largest")},
            "volume": float(found["volume"]),
            **solutions.findings(effort),
        }
        if case.sem.velocity:
            findings["courant"] = float(self.engine.courant())
        if case.exact:
            findings |= {"exact.distance": found["distance"], "exact.largest_off": found["largest_off"]}
        figures["expected"] = expected.against(case, findings)
        console.print(solutions.line(effort))
        if case.exact:
            distance, most = found["distance"], found["largest_off"]
            console.print(f"distance from the exact solution: {distance:.4g}, at a point {most:.4g} at most")
        write_findings(case, figures, troubles)
        if figures["expected"]:
            console.print(expected_table(figures["expected"]))
