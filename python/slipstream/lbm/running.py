"""Runs lattice Boltzmann on a case: `slipstream.case.solver.Run`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from slipstream.base.core import on_all_ranks, part
from slipstream.case.solver import Monitor, Run
from slipstream.exchange.report import solid_lines, split_lines, team_lines, tuning_lines
from slipstream.flow import energy, initial, loads, permeability, profiles, steadiness, zigzag
from slipstream.geometry import bodies
from slipstream.lbm import advice, cautions, findings, report
from slipstream.lbm.case import LbmCase
from slipstream.lbm.fields import Fields
from slipstream.run.engine import Setup
from slipstream.run.march import Outcome
from slipstream.run.troubles import Troubles

if TYPE_CHECKING:
    from slipstream._core import Trace
    from slipstream._lbm import Lbm


def compiled(setup: Setup, trace: "Trace | None" = None) -> "Lbm":
    """Allocates and initialises the compiled solver: fluid at rest, density 1, or the initial flow of the case.

    Allocation may fail on one rank only. That is no CaseError, because the command line ends the other ranks then.
    """
    case = setup.case
    assert isinstance(case, LbmCase)
    with on_all_ranks():
        made = bodies.make(case) if case.bodies else None
    lbm: Lbm = part("lbm").Lbm(setup.machine, setup.options, trace, made, bodies.kinds_of_links(case))
    fill(lbm, case)
    if case.guard.every:
        lbm.guard(case.guard.every, case.spacing, {"density": case.guard.density})
    return lbm


def fill(lbm: "Lbm", case: LbmCase) -> None:
    """Sets the initial flow of a solver that is new, or whose solid cells have changed."""
    if case.initial:
        # Errors are agreed on by all ranks: each evaluates its own cells only, and an expression may be undefined in
        # one of them.
        with on_all_ranks():
            lbm.start_from(initial.starter(case))


class LbmRun(Run):
    """A run of a lattice Boltzmann flow. Collective."""

    engine: "Lbm"
    _case: LbmCase

    def __init__(self, engine: "Lbm", case: LbmCase) -> None:
        self.engine, self._case = engine, case
        self._loads: loads.History | None = None
        self._drift = 0.0
        # Step and result of the last measurement of the checkerboard oscillation.
        self._zigzag: tuple[int, zigzag.Zigzag] | None = None

    def cautions(self) -> list[str]:
        return bodies.thin_places(self.engine, self._case)

    def notes(self) -> list[str]:
        lbm = self.engine
        return [
            *tuning_lines(lbm.tuning()),
            *solid_lines(lbm.solid_blocks()),
            *team_lines(lbm.teams()),
            *split_lines(lbm.split()),
        ]

    def look(self) -> None:
        self.engine.residual()

    def change(self, since: int) -> float:
        """Largest change of velocity per length / reference velocity, relative to the reference speed
        (steadiness.scale)."""
        change = self.engine.residual()
        time = (self.engine.step - since) / self._case.scales.steps_per_time
        rate: float = change / (time * steadiness.scale(self.engine, self._case))
        return rate

    def conserved(self) -> float:
        """Mass of the fluid, in units of a cell at density 1."""
        mass: float = self.engine.mass()
        return mass

    def drift(self, before: float) -> tuple[str, str]:
        self._drift = share = self.engine.mass() / before - 1.0
        return f"mass drift {share:+.1e}", cautions.drift(self._case, share)

    def guarded(self) -> str:
        low, high = self._case.guard.density
        share = self._stripes().share
        stripes = "" if math.isnan(share) else f", zigzag {100 * share:.2g} % of the mean speed"
        return f"density {low:g} to {high:g}{stripes}"

    def _stripes(self) -> zigzag.Zigzag:
        """Measures the checkerboard oscillation (zigzag) of the velocity, if not yet done at this step. Collective."""
        if self._zigzag is None or self._zigzag[0] != self.engine.step:
            self._zigzag = self.engine.step, zigzag.measure(self.engine)
        return self._zigzag[1]

    def advice(self) -> str:
        scales = self._case.scales
        return (
            f"tau {scales.tau:.5f}, Mach {scales.mach:.3f}, grid Reynolds number {scales.grid_reynolds:.1f}; "
            f"{advice.in_words(self._case)}"
        )

    def fields(self, path: Path, goes_on: bool) -> Fields:
        return Fields(self.engine, self._case, path, goes_on)

    def bytes_of(self, frames: int) -> int:
        # The output file has velocity, density and pressure of every saved step (frame), and flags of cells only once.
        number, parts = (8 if self._case.lbm.precision == "f64" else 4), (2 if self._case.lbm.lattice == "D2Q9" else 3)
        return self._case.cell_count * (number * (parts + 2) * frames + 1)

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        found, case = [], self._case
        if case.bodies:
            self._loads = loads.History(self.engine, case, case.folder / "loads.csv", goes_on)
            found.append(Monitor(case.folder / "loads.csv", self._loads.take, case.loads_every))
        if case.output.energy:
            path = case.folder / energy.FILE
            found.append(Monitor(path, energy.History(self.engine, case, path, goes_on).take, at_start=True))
        return found

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        return findings.figures(self._case, outcome) | {"mass_drift": self._drift}

    def results(self, figures: dict[str, Any], console: Console, troubles: Troubles) -> None:
        case = self._case
        if self._loads:
            of_bodies = {name: load for name, load in self._loads.last.items() if name in case.bodies}
            figures["loads"] = {name: dict(load) for name, load in of_bodies.items()}
            console.print(report.loads(of_bodies, case))
        if permeability.applies(case) and (found := permeability.measure(self.engine, case)):
            figures["permeability"] = found.figures()
            console.print(report.permeability(found, case))
        stripes = self._stripes()
        figures["zigzag"] = stripes.figures()
        if warning := advice.of_stripes(case, stripes):
            troubles.say(self.engine.step, warning)
        findings.results(self.engine, case, profiles.reference_for(case), figures, console, troubles)


def started(setup: Setup, trace: "Trace | None" = None) -> LbmRun:
    """A lattice Boltzmann run before its first step: allocates the solver and sets the initial flow."""
    engine, case = compiled(setup, trace), setup.case
    assert isinstance(case, LbmCase)
    return LbmRun(engine, case)
