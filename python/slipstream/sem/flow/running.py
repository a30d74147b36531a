"""Runs an incompressible flow on spectral elements: `slipstream.case.solver.Run`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.console import Console

from slipstream.base import rows
from slipstream.base.core import as_case_error, core
from slipstream.case.sides import SIDES
from slipstream.case.solver import Monitor
from slipstream.exchange.report import tuning_lines
from slipstream.flow import energy
from slipstream.run.engine import Setup
from slipstream.run.march import Outcome
from slipstream.run.plain import conclude, history
from slipstream.run.solutions import Effort
from slipstream.run.troubles import Troubles
from slipstream.sem import receivers
from slipstream.sem.flow import points, vortex
from slipstream.sem.flow.case import FlowCase
from slipstream.sem.running import ElementsRun, measured

if TYPE_CHECKING:
    from slipstream._core import Trace
    from slipstream._sem import Flow

#: Columns of statistics.csv after step and time. Numbers of iterations are means over the steps since the row before.
COLUMNS = (
    "energy", "enstrophy", "dissipation", "decay", "divergence", "courant", "mean_u", "mean_v", "mean_w",
    "pressure_iterations", "velocity_iterations",
)  # fmt: skip
#: Keys of a checkpoint for facts on the steps before it. They are lengths of the last two steps, number of steps, time
#: interval of running means, and number of stored pressure solutions. `Flow.past` returns them in this order.
_PAST = ("last_length", "length_before", "lengths", "averaged", "earlier")


class FlowRun(ElementsRun):
    """A run of an incompressible flow on elements. Collective."""

    engine: "Flow"
    _case: FlowCase
    _scalar: ClassVar[str] = "pressure"

    def __init__(self, setup: Setup, trace: "Trace | None" = None) -> None:
        super().__init__(setup, trace)
        self._last: dict[str, Any] = {}
        self._taken = -1
        self._efforts = {
            "pressure": Effort(self.engine.pressure_effort),
            "velocity": Effort(self.engine.velocity_effort),
        }
        #: Numbers of linear solutions and iterations up to the last row of statistics.csv.
        self._counted = self._carried_efforts()
        self._values = partial(points.values, self.engine)

    def _carried_efforts(self) -> dict[str, dict[str, Any]]:
        return {name: effort.carried() for name, effort in self._efforts.items()}

    def notes(self) -> list[str]:
        table = self._case.sem
        checked = f"pressure, {table.method} with {table.preconditioner}: {measured(self.engine.fit())}"
        return [*tuning_lines(self.engine.tuning()), checked]

    def drift(self, before: float) -> tuple[str, str]:
        efforts = {name: effort() for name, effort in self._efforts.items()}
        found = [
            f"{effort['unconverged']} of {effort['solutions']} solutions of the {name} did not converge"
            for name, effort in efforts.items()
            if effort["unconverged"]
        ]
        return "", "; ".join(found)

    def advice(self) -> str:
        return f"time step {self._case.time_step:g}, viscosity {self._case.sem.viscosity:g}; take a smaller time step"

    @property
    def _shown(self) -> list[str]:
        means = ["mean_velocity", "mean_pressure", "mean_squares", "mean_products"]
        return ["velocity", "pressure", *(means if self._case.sem.mean_from is not None else [])]

    def carried(self) -> dict[str, Any]:
        """Numbers that a checkpoint stores besides the fields: lengths of past steps, and numbers of linear
        solutions and iterations, both so far and up to the last row of statistics.csv."""
        return dict(zip(_PAST, self.engine.past(), strict=True)) | self._carried_efforts() | {"counted": self._counted}

    def carry(self, carried: Mapping[str, Any]) -> None:
        # Checkpoints of earlier versions lack the key for earlier pressure solutions.
        past = {"earlier": 0, **carried}
        self.engine.set_past(*(past[name] for name in _PAST))
        for name, effort in self._efforts.items():
            effort.carry(carried[name])
        self._counted = carried["counted"]

    def _statistics(self) -> dict[str, Any]:
        """Statistics of the flow at the present step, computed once a step."""
        if self._taken != self.engine.step:
            velocity, pressure = self._case.solution
            with as_case_error("exact"):
                self._last = dict(self.engine.statistics(velocity, pressure))
            self._last |= dict(zip(("mean_u", "mean_v", "mean_w"), self._last.pop("mean"), strict=True))
            self._last["courant"] = self.engine.courant()
            self._taken = self.engine.step
        return self._last

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        def row() -> dict[str, Any]:
            now, before = self._carried_efforts(), self._counted
            # A restart drops the row that an early end of the run added, and counts its iterations in the next row.
            if self.engine.step % self._case.check_every == 0:
                self._counted = now
            means = {
                f"{name}_iterations": (now[name]["iterations"] - before[name]["iterations"])
                / max(1, now[name]["solutions"] - before[name]["solutions"])
                for name in now
            }
            return self._statistics() | means

        engine, case = self.engine, self._case
        return [
            history(engine, case, goes_on, "statistics.csv", COLUMNS, row, at_start=True),
            *self._loads(goes_on),
            *receivers.monitors(engine, case, goes_on, self._values, points.columns),
        ]

    def _loads(self, goes_on: bool) -> Sequence[Monitor]:
        """Monitor of loads.csv: pressure and viscous forces on each side, if there are sides."""
        sides = [side for n, side in enumerate(SIDES) if not self._case.grid.periodic[n // 2]]
        if not sides:
            return []
        kinds = ("pressure", "viscous")
        columns = [f"{side}.{kind}_{axis}" for side in sides for kind in kinds for axis in "xyz"]
        every = min(self._case.check_every, max(1, self._case.last_step // 100))

        def row() -> dict[str, float]:
            found = self.engine.forces()
            values = [part for side in sides for kind in found[side] for part in kind]
            return dict(zip(columns, values, strict=True))

        return [history(self.engine, self._case, goes_on, "loads.csv", columns, row, every)]

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        found = self._case.sem.model_dump(include={"equation", "order", "viscosity"})
        return found | {"precision": "f64", "factors": self._case.factors}

    def results(self, figures: dict[str, Any], console: Console, troubles: Troubles) -> None:
        found, case = self._statistics(), self._case
        receivers.write_profiles(self.engine, case, troubles, self._values)
        points.write_planes(self.engine, case, troubles)
        published = case.published_cavity
        off = points.from_published(self.engine, case, published) if published else 0.0
        if core().rank() != 0:
            return
        names = ("energy", "enstrophy", "dissipation", "decay", "divergence", "courant", "volume")
        findings = {name: float(found[name]) for name in names}
        for name, effort in self._carried_efforts().items():
            findings[f"iterations.{name}"] = effort["iterations"] / max(1, effort["solutions"])
        if case.exact and case.exact.velocity:
            findings |= {"exact.distance": found["distance"], "exact.largest_off": found["largest_off"]}
        if case.exact and case.exact.pressure is not None:
            findings["exact.pressure"] = found["pressure_off"]
        if published:
            findings["reference.largest_error_percent"] = off
            console.print(f"centrelines: {off:.3g} % of the lid speed off at most, {published.title}")
        with troubles.with_picture("summary of statistics.csv", figures["steps"]):
            findings |= self._decay(figures, console)
        shown = ("energy", "dissipation", "divergence", "iterations.pressure", "iterations.velocity")
        said = [f"{name}: {findings[name]:.6g}" for name in shown]
        if "exact.distance" in findings:
            said.append(f"distance from the exact velocity: {findings['exact.distance']:.4g}")
        conclude(case, figures, findings, console, troubles, said)

    def _decay(self, figures: dict[str, Any], console: Console) -> dict[str, float]:
        """Compares dissipation and enstrophy of the Taylor-Green vortex with published ones, if the case is that
        flow."""
        case = self._case
        column = rows.columns(case.folder / "statistics.csv")
        if len(column.get("time", ())) < 3 or not case.is_reference_flow:
            return {}
        reference = energy.taylor_green_1600()
        figures["energy"] = found = energy.compare(vortex.decay(case), reference)
        result = {f"energy.{name}": value for name, value in found.items() if isinstance(value, float)}
        time = column["time"]
        wanted, rate = (np.interp(time, reference.time, v) for v in (reference.enstrophy, reference.dissipation))
        result["energy.enstrophy_error"] = reference.enstrophy_error(time, column["enstrophy"])
        errors = np.abs(column["enstrophy"] / wanted - 1)
        result["energy.largest_enstrophy_error"] = float(errors.max())
        result["energy.largest_enstrophy_error_at"] = float(time[errors.argmax()])
        # The comparison begins at the largest dissipation, at which the flow is resolved least.
        if time[-1] >= 9:
            result["divergence.at_9"] = float(np.interp(9, time, column["divergence"]))
        # The decay of energy is a difference over a step, so the first row of statistics.csv has none.
        off = np.abs(column["decay"] - rate)[1:].max() / reference.dissipation.max()
        result["energy.largest_decay_error"] = float(off)
        console.print(
            f"enstrophy: {100 * result['energy.largest_enstrophy_error']:.3g} % off at most, at t = "
            f"{result['energy.largest_enstrophy_error_at']:.3g}, decay: {100 * off:.3g} % of the peak, "
            f"{reference.title}, t = 0 to {time[-1]:g}"
        )
        if case.output.pictures:
            from slipstream.pictures import spectra

            spectra.dissipation(case.folder / "dissipation.png", case, {**column, "power": 0 * time}, reference)
        return result
