"""Runs a pseudo-spectral flow: `slipstream.case.solver.Run`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from slipstream.base import rows
from slipstream.base.core import as_case_error, core, on_all_ranks, part
from slipstream.case.solver import Fields, Monitor, Run
from slipstream.dns import lines, means, spectrum, velocity_file, vortex
from slipstream.dns.case import DnsCase
from slipstream.exchange.report import tuning_lines
from slipstream.flow import energy
from slipstream.run.march import Outcome, TooFast
from slipstream.run.plain import conclude, history
from slipstream.run.series import FieldSeries
from slipstream.run.troubles import Troubles

if TYPE_CHECKING:
    from slipstream._core import Trace
    from slipstream._dns import Dns

#: Names of the columns of statistics.csv after step and time.
COLUMNS = (
    "energy", "dissipation", "enstrophy", "power", "velocity", "taylor_scale", "taylor_reynolds", "kolmogorov_scale",
    "kmax_eta", "courant", "skewness", "flatness", "budget_error", "mean_u", "mean_v", "mean_w", "integral_scale",
    "c_epsilon", "time_step",
)  # fmt: skip


class DnsRun(Run):
    """A run of a pseudo-spectral flow. Collective."""

    engine: "Dns"
    _case: DnsCase

    def __init__(self, setup: Any, trace: "Trace | None" = None) -> None:
        super().__init__(setup, trace)
        case = self._case
        if case.dns.courant:
            case.timed_by(lambda: (self.engine.step, self.engine.time))
        if not case.restarted:
            self._begin(case)
        if case.guard.every:
            self.engine.guard(case.guard.every)
        self._last: dict[str, Any] = {}
        self._taken = -1

    def _begin(self, case: DnsCase) -> None:
        start = case.initial
        if start.flow == "random":
            self._begin_at_random(case)
        elif start.file:
            with on_all_ranks():
                velocity = velocity_file.read(start.file, case.grid.cells, self.engine.boxes())
            with as_case_error():
                self.engine.begin(velocity)
        else:
            with as_case_error():
                self.engine.taylor_green()
        with as_case_error("dns.time_step"):
            self.engine.check_time_step()
        with as_case_error("dns.forcing_shells"):
            self.engine.check_forcing()

    def _begin_at_random(self, case: DnsCase) -> None:
        start = case.initial
        if start.spectrum:
            with on_all_ranks():
                wanted = spectrum.read(start.spectrum)
        else:
            with as_case_error("initial.peak"):
                wanted = part("dns").peaked_spectrum((min(case.grid.cells) - 1) // 3, start.peak, start.energy)
        with as_case_error("initial.spectrum" if start.spectrum else "", start.spectrum or ""):
            self.engine.random(wanted, start.seed)

    def notes(self) -> list[str]:
        grid = self.engine.process_grid
        cut = [] if math.prod(grid) == 1 else [f"transforms: process grid {grid[0]} x {grid[1]}"]
        batches = [f"batches: {said}"] if (said := self.engine.describe_batches()) else []
        return tuning_lines(self.engine.tuning()) + cut + batches

    def change(self, since: int) -> float | None:
        """Returns None while the flow is finite, because a turbulent flow has no residual. If the kinetic energy is
        infinite or NaN, returns that value."""
        value = float(self._statistics()["energy"])
        return None if math.isfinite(value) else value

    def advice(self) -> str:
        return f"time step {self._case.time_step:g}, viscosity {self._case.dns.viscosity:g}; take a smaller time step"

    def fields(self, path: Path, goes_on: bool) -> Fields:
        return FieldSeries(self.engine, self._case, path, ["velocity"], goes_on)

    def bytes_of(self, frames: int) -> int:
        return frames * 3 * self._case.cell_count * (8 if self._case.dns.precision == "f64" else 4)

    def carried(self) -> dict[str, Any]:
        """Energy and power of the forcing, and the largest error of the budget, for checkpoints."""
        return dict(self.engine.carried())

    def carry(self, carried: Mapping[str, Any]) -> None:
        with as_case_error("--restart"):
            self.engine.carry(dict(carried))

    def _statistics(self) -> dict[str, Any]:
        """Statistics of the flow at the present step, computed once a step."""
        if self._taken != self.engine.step:
            self._last = dict(self.engine.statistics())
            self._last["kmax_eta"] = self._last.pop("largest_mode_eta")
            mean = self._last.pop("mean_velocity")
            self._last |= dict(zip(("mean_u", "mean_v", "mean_w"), mean, strict=True))
            self._last["shell"] = math.tau / max(self._case.dns.lengths)
            self._taken = self.engine.step
        return self._last

    def monitors(self, goes_on: bool) -> Sequence[Monitor]:
        if goes_on:
            with as_case_error("dns.time_step"):
                self.engine.check_time_step()
        table = partial(history, self.engine, self._case, goes_on, at_start=True)
        shells, transfers = ([f"{letter}{k}" for k in range(self.engine.shells)] for letter in "ET")
        cells, found = self._case.grid.cells, []

        def transfer() -> dict[str, float]:
            return dict(zip(transfers, self.engine.transfer()["transfer"], strict=True))

        def spectrum() -> dict[str, float]:
            return dict(zip(shells, self._statistics()["spectrum"], strict=True))

        if self._case.dns.schmidt:
            parts = ("variance", "dissipation", "flux_x", "flux_y", "flux_z", *shells)
            scalars = range(1, 1 + len(self._case.dns.schmidt))
            columns = [f"{part}_{n}" for n in scalars for part in parts]
            found.append(table("scalars.csv", columns, lambda: self._of_scalars(parts)))
        if self._case.output.transfer:
            found.append(table("transfer.csv", transfers, transfer))
        if self._case.output.lines:
            along_x = lines.columns(cells[0])
            found.append(table("lines.csv", along_x, lambda: lines.along_x(self.engine.own_velocity(), cells)))
        # spectra.csv gets its row before statistics.csv, because the update of the latter ends the run with an error if
        # the velocity is too high for the time step.
        found.append(table("spectra.csv", shells, spectrum))
        statistics = table("statistics.csv", COLUMNS, self._statistics)

        def take() -> None:
            statistics.take()
            # The Courant number is checked after statistics.csv has the row, which shows the cause of an error.
            try:
                self.engine.check_time_step()
            except RuntimeError as error:
                said = f"{error} (step {self.engine.step}): take a smaller dns.time_step"
                raise TooFast(said, key="dns.time_step", step=self.engine.step) from None

        return [*found, replace(statistics, take=take)]

    def _of_scalars(self, parts: Sequence[str]) -> dict[str, float]:
        """Statistics of the passive scalars as a row: variance, dissipation, flux and spectrum of scalar n, in columns
        called PART_n."""
        row: dict[str, float] = {}
        for n, found in enumerate(self._statistics()["scalars"], 1):
            values = (found["variance"], found["dissipation"], *found["flux"], *found["spectrum"])
            row |= {f"{part}_{n}": value for part, value in zip(parts, values, strict=True)}
        return row

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        found = self._case.dns.model_dump(include={"viscosity", "scheme", "precision"})
        return found | {"device_bytes": max(self.engine.bytes())}

    def results(self, figures: dict[str, Any], console: Console, troubles: Troubles) -> None:
        found, case = self._statistics(), self._case
        if core().rank() != 0:
            return
        folder, step = case.folder, figures["steps"]
        findings = {name: float(found[name]) for name in COLUMNS if math.isfinite(found[name])}
        for n, scalar in enumerate(found["scalars"], 1):
            findings |= {f"scalar.{name}_{n}": float(scalar[name]) for name in ("variance", "dissipation")}
        shells = np.asarray(found["spectrum"])
        since, mean = self._mean_spectrum()
        with troubles.with_data(folder / "spectrum.csv", "it", step):
            table = [[k, f"{now:.9g}", f"{late:.9g}"] for k, (now, late) in enumerate(zip(shells, mean, strict=True))]
            rows.replace(folder / "spectrum.csv", ["k", "energy", "mean"], table)
        with troubles.with_picture("summary of scalars.csv", step):
            findings |= self._scalars()
        with troubles.with_picture("summary of statistics.csv", step):
            findings |= self._decay(figures, console, troubles, step)
        if case.output.pictures:
            with troubles.with_picture("spectrum.png", step):
                from slipstream.pictures import spectra

                spectra.spectrum(folder / "spectrum.png", case, shells, found, (since, mean))
        shown = ("energy", "dissipation", "taylor_reynolds", "kmax_eta")
        said = [f"{name}: {findings[name]:.6g}" for name in shown]
        conclude(case, figures, findings, console, troubles, said)

    def _scalars(self) -> dict[str, float]:
        """Findings of scalars.csv: means over the window of [output] mean_from, and production over dissipation of each
        variance."""
        case = self._case
        if not case.dns.schmidt:
            return {}
        column = rows.columns(case.folder / "scalars.csv")
        chosen = means.window(column["time"], case.output.mean_from)
        result: dict[str, float] = {}
        gradients = case.dns.gradients or [(0.0, 0.0, 0.0)] * len(case.dns.schmidt)
        for n, gradient in enumerate(gradients, 1):
            mean = {
                name: float(column[f"{name}_{n}"][chosen].mean())
                for name in ("variance", "dissipation", "flux_x", "flux_y", "flux_z")
            }
            result |= {f"scalar.{name}_{n}.mean": value for name, value in mean.items()}
            made = -2 * sum(g * mean[f"flux_{axis}"] for g, axis in zip(gradient, "xyz", strict=True))
            if made and mean["dissipation"] > 0:
                result[f"scalar.production_{n}.ratio"] = made / mean["dissipation"]
        return result

    def _mean_spectrum(self) -> tuple[float, np.ndarray]:
        """Mean spectrum of the rows of spectra.csv from output.mean_from on, and the time of the first of them. Without
        rows, it is the spectrum of the present step."""
        table = np.array(rows.read(self._case.folder / "spectra.csv")[1], dtype=float)
        if not table.size:
            return float(self._last["time"]), np.asarray(self._last["spectrum"])
        times = table[:, 1]
        chosen = means.window(times, self._case.output.mean_from)
        return float(times[chosen][0]), table[chosen, 2:].mean(axis=0)

    def _decay(self, figures: dict[str, Any], console: Console, troubles: Troubles, step: int) -> dict[str, float]:
        """Findings of statistics.csv: means, the energy budget, and the dissipation, with a published one if there is
        one."""
        case = self._case
        column = rows.columns(case.folder / "statistics.csv")
        if len(column.get("time", ())) < 3:
            return {}
        rate = -np.gradient(column["energy"], column["time"])
        reference = energy.taylor_green_1600() if case.is_reference_flow else None
        figures["energy"] = found = energy.compare(vortex.decay(case), reference)
        # The error of the energy budget is found from differences between rows, relative to the dissipation. Without
        # dissipation it is relative to the energy.
        budget = np.abs(rate - column["dissipation"] + column["power"])[1:-1].max()
        budget /= column["dissipation"].max() or column["energy"].max() or 1.0
        result = {f"energy.{name}": value for name, value in found.items() if isinstance(value, float)}
        result["energy.budget_error"] = float(column["budget_error"][-1] if case.dns.budget else budget)
        result |= means.findings(column, case.output.mean_from)
        if reference is not None:
            found["enstrophy_error"] = reference.enstrophy_error(column["time"], column["enstrophy"])
            result["energy.enstrophy_error"] = found["enstrophy_error"]
            off = found["dissipation_error"]
            console.print(f"dissipation: {100 * off:.3g} % from {reference.title} over t = 0 to {column['time'][-1]:g}")
        if case.output.pictures:
            with troubles.with_picture("dissipation.png", step):
                from slipstream.pictures import spectra

                spectra.dissipation(case.folder / "dissipation.png", case, column, reference)
        return result
