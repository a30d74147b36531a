"""Runs spectral elements on a case: `slipstream.case.solver.Run`."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import Console

from slipstream.base.core import as_case_error, core
from slipstream.case.solver import Fields, Monitor, Run
from slipstream.exchange.report import tuning_lines
from slipstream.run import solutions
from slipstream.run.engine import Setup
from slipstream.run.march import Outcome
from slipstream.run.plain import conclude
from slipstream.run.series import FieldSeries
from slipstream.run.troubles import Troubles
from slipstream.sem import receivers
from slipstream.sem.case import SemCase
from slipstream.sem.elements_case import ElementsCase
from slipstream.sem.nek import NekFrames, bytes_on_elements

if TYPE_CHECKING:
    from slipstream._core import Trace
    from slipstream._sem import Flow, Sem


def measured(fit: Mapping[str, float]) -> str:
    """Text on the measured symmetry and times of a linear operator and its preconditioner."""
    coarse = f", {fit['coarse_us']:.4g} of them on the corners' problem" if fit["coarse_us"] else ""
    return (
        f"asymmetry {fit['preconditioner_asymmetry']:.1e}, operator {fit['operator_us']:.4g} us, preconditioner "
        f"{fit['preconditioner_us']:.4g} us{coarse}"
    )


class ElementsRun(Run):
    """A run on spectral elements: the base of SemRun and FlowRun."""

    engine: "Sem | Flow"
    _case: ElementsCase
    _scalar: ClassVar[str]  #: field with one number a point

    def __init__(self, setup: Setup, trace: "Trace | None" = None) -> None:
        super().__init__(setup, trace)
        if self._case.guard.every:
            self.engine.guard(self._case.guard.every)
        elements, devices = math.prod(self._case.grid.cells), len(setup.machine.devices())
        self._idle = f"{devices} devices share {elements} elements: some have none" if elements < devices else ""

    @property
    @abstractmethod
    def _shown(self) -> list[str]:
        """Names of the fields in the file of fields."""

    def cautions(self) -> list[str]:
        return [*self.engine.cautions(), *filter(None, [self._idle])]

    def fields(self, path: Path, goes_on: bool) -> Fields:
        series = FieldSeries(self.engine, self._case, path, self._shown, goes_on)
        words = self._case.output.nek
        return series if words == "no" else NekFrames(self.engine, words, series, path.parent, self._case.nek_items)

    def bytes_of(self, frames: int) -> int:
        return bytes_on_elements(self.engine, self._shown, self._scalar, self._case.output.nek, frames)


class SemRun(ElementsRun):
    """A run of a Poisson, Helmholtz or diffusion problem. Collective."""

    engine: "Sem"
    _case: SemCase
    _scalar: ClassVar[str] = "u"

    def __init__(self, setup: Setup, trace: "Trace | None" = None) -> None:
        super().__init__(setup, trace)
        #: Numbers of linear solutions and iterations, by unknown.
        self._efforts = {
            one.name: solutions.Effort(partial(self.engine.effort, n)) for n, one in enumerate(self._case.unknowns)
        }
        self._values = partial(receivers.of_scalars, self.engine, self._case)

    @property
    def _shown(self) -> list[str]:
        return [*self._efforts]

    def notes(self) -> list[str]:
        lines = [*tuning_lines(self.engine.tuning())]
        for n, one in enumerate(self._case.unknowns):
            method = {"cg": "conjugate gradients", "fgmres": "flexible GMRES"}[one.own["method"]]
            of = f" for {one.name}" if one.path else ""
            lines.append(f"{method} with {one.own['preconditioner']}{of}: {measured(self.engine.fit(n))}")
        return lines

    def drift(self, before: float) -> tuple[str, str]:
        found = []
        for one in self._case.unknowns:
            said = solutions.unsolved(self._efforts[one.name](), one.own["tolerance"])
            found += [f"{one.name}: {said}" if one.path else said] if said else []
        return "", "; ".join(found)

    def advice(self) -> str:
        return "look at sources and values of sides that grow without bound"

    def carried(self) -> dict[str, Any]:
        u, *more = ((name, effort.carried()) for name, effort in self._efforts.items())
        return u[1] | {"more": dict(more)}

    def carry(self, carried: Mapping[str, Any]) -> None:
        for name, effort in self._efforts.items():
            effort.carry(carried if name == "u" else carried.get("more", {}).get(name, {}))

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        columns = partial(receivers.columns_of_scalars, self._case)
        kept = receivers.monitors(self.engine, self._case, goes_on, self._values, columns)
        return [solutions.monitor(self.engine, self._case, goes_on, [*self._case.sem.scalars]), *kept]

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        found = self._case.sem.model_dump(include={"equation", "order"})
        return found | {"precision": "f64", "factors": self._case.factors}

    def results(self, figures: dict[str, Any], console: Console, troubles: Troubles) -> None:
        case = self._case
        found: dict[str, float] = {}
        lines: list[str] = []
        for n, one in enumerate(case.unknowns):
            exact = None if one.exact is None else case.function(one.exact)
            with as_case_error(one.key("exact")):
                statistics = self.engine.statistics(exact, n)
            effort = self._efforts[one.name]()
            # Findings and messages on u need no prefix; those on other unknowns begin with their name.
            name, of = (f"{one.name}.", f" of {one.name}") if one.path else ("", "")
            found |= {f"{one.name}.{key}": float(statistics[key]) for key in ("mean", "least", "largest")}
            found |= {"volume": float(statistics["volume"]), **solutions.findings(effort, name)}
            lines.append(solutions.line(effort, of))
            if exact:
                distance, most = float(statistics["distance"]), float(statistics["largest_off"])
                found |= {f"{name}exact.distance": distance, f"{name}exact.largest_off": most}
                lines.append(f"distance{of} from the exact solution: {distance:.4g}, at a point {most:.4g} at most")
        receivers.write_profiles(self.engine, case, troubles, self._values)
        if core().rank() != 0:
            return
        if case.sem.velocity:
            found["courant"] = float(self.engine.courant())
        conclude(case, figures, found, console, troubles, lines)
