"""Kinetic energy and dissipation over time, and comparison with a published decay."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.base import rows
from slipstream.base.core import core
from slipstream.case.flow_case import FlowCase

Array = np.ndarray
FILE = "energy.csv"
PICTURE = "energy.png"


def _units(case: FlowCase) -> tuple[list[str], float, float, float]:
    """Names of the columns of energy.csv, and the factors on time, energy and dissipation in lattice units."""
    scales, converter = case.scales, case.converter
    if converter:
        names = ["step", "time (s)", "kinetic energy (m^2/s^2)", "dissipation (m^2/s^3)", "decay (m^2/s^3)"]
        return names, converter.time, converter.velocity**2, converter.velocity**2 / converter.time
    speed, time = scales.reference_velocity, 1.0 / scales.steps_per_time
    return ["step", "time", "kinetic energy", "dissipation", "decay"], time, speed**-2, speed**-2 / time


def measure(engine: Any, case: FlowCase) -> tuple[float, float]:
    """Means over the fluid of u^2 / 2 and of its dissipation 2 nu S:S, in the units of energy.csv. Collective."""
    _, _, energy, power = _units(case)
    kinetic, dissipation = engine.energy()
    cells = engine.fluid_cells()
    return kinetic / cells * energy, dissipation / cells * power


class History:
    """Rows of energy.csv, one per check of the residual. They hold means over the fluid of u^2 / 2 and of its
    dissipation 2 nu S:S, and the decay of the energy between neighbouring rows. The dissipation comes from the stress
    in the populations, including that of an LES model. Over a periodic box it is 2 nu times the enstrophy. Units are
    the reference velocity and the length, or SI."""

    def __init__(self, engine: Any, case: FlowCase, path: Path, goes_on: bool) -> None:
        self._engine, self._case, self._path = engine, case, path
        self.rows: list[tuple[int, float, float]] = []  #: rows (step, energy, dissipation) in the units of energy.csv
        if core().rank() == 0 and goes_on and path.exists():
            self.rows = [(int(r[0]), float(r[2]), float(r[3])) for r in rows.read(path)[1] if int(r[0]) <= engine.step]
        last = self.rows[-1][0] if self.rows else -1
        self._last_goes = rows.made_by_an_end(last, engine.step, case.check_every)

    def take(self) -> None:
        """Adds the row of energy.csv for this step, if there is none. Collective."""
        kinetic, dissipation = measure(self._engine, self._case)
        if core().rank() != 0 or (self.rows and self.rows[-1][0] >= self._engine.step):
            return
        names, time, _, _ = _units(self._case)
        if self._last_goes:
            self.rows.pop()
            self._last_goes = False
        # Values are rounded as in the file, so that a restart continues with the same values.
        self.rows.append((self._engine.step, float(f"{kinetic:.9g}"), float(f"{dissipation:.9g}")))
        table = np.array(self.rows)
        times = table[:, 0] * time
        decay = -np.gradient(table[:, 1], times) if len(table) > 1 else np.full(1, np.nan)
        lines = zip(self.rows, times, decay, strict=True)
        rows.replace(
            self._path,
            names,
            ([row[0], *(f"{value:.9g}" for value in (at, *row[1:], rate))] for row, at, rate in lines),
        )


def _distance(time: Array, values: Array, other_time: Array, others: Array) -> float:
    """Relative L2 distance between a time series and a reference series, over all times until the last one of the
    reference."""
    inside = time <= other_time[-1]
    wanted = np.interp(time[inside], other_time, others)
    return float(np.linalg.norm(values[inside] - wanted) / np.linalg.norm(wanted))


@dataclass(frozen=True)
class Decay:
    """Kinetic energy E and its dissipation over time, in units of the reference velocity and the length."""

    time: Array
    kinetic: Array
    dissipation: Array  #: dissipation of the kinetic energy, computed from the stress
    decay: Array  #: decay -dE/dt of the kinetic energy

    def peak(self) -> tuple[float, float]:
        """Time and value of the largest decay of the energy: the maximum of the parabola through the largest value and
        its neighbours."""
        n = int(np.argmax(self.decay))
        if n in (0, len(self.decay) - 1):
            return float(self.time[n]), float(self.decay[n])
        a, b, c = np.polyfit(self.time[n - 1 : n + 2] - self.time[n], self.decay[n - 1 : n + 2], 2)
        return float(self.time[n] - b / (2 * a)), float(c - b * b / (4 * a))

    def distance(self, other: "Decay") -> float:
        """Relative L2 distance of this decay of the energy from another one, until the end of the shorter series."""
        return _distance(self.time, self.decay, other.time, other.decay)


def read(path: Path, case: FlowCase) -> Decay:
    table = np.array(rows.read(path)[1], dtype=float)
    _, time, energy, power = _units(case)
    scales = case.scales
    own = (1.0, 1.0 / (time * scales.steps_per_time), scales.reference_velocity**-2 / energy)
    rate = scales.reference_velocity**-2 * scales.steps_per_time / power
    return Decay(table[:, 1] * own[1], table[:, 2] * own[2], table[:, 3] * rate, table[:, 4] * rate)


@dataclass(frozen=True)
class Reference:
    """A published decay of the kinetic energy over time."""

    title: str
    citation: str
    time: Array
    kinetic: Array
    dissipation: Array
    enstrophy: Array  #: enstrophy <|curl u|^2 / 2>, at each time

    def enstrophy_error(self, time: Array, enstrophy: Array) -> float:
        """Relative L2 error of a run's enstrophy, over all times until the last published one."""
        return _distance(time, enstrophy, self.time, self.enstrophy)


def taylor_green_1600() -> Reference:
    """Published energy of the Taylor-Green vortex at Reynolds number 1600, by a spectral method with 512^3 modes."""
    text = (files("slipstream.flow.reference") / "taylor_green1600.csv").read_text(encoding="utf-8").splitlines()
    table = np.array([[float(v) for v in line.split(",")] for line in text if line and line[0].isdigit()])
    citation = " ".join(line[1:].strip() for line in text if line.startswith("#"))
    return Reference("spectral, 512³ modes", citation, *table.T)


def of_another_flow(case: FlowCase) -> bool:
    """Whether the published decay that the case names has another Reynolds number than the case."""
    return case.output.reference == "taylor_green1600" and abs(case.scales.reynolds / 1600.0 - 1.0) > 1e-6


def reference_for(case: FlowCase) -> Reference | None:
    """The published decay that the case names, if both have the same Reynolds number."""
    named = case.output.reference == "taylor_green1600"
    return taylor_green_1600() if named and not of_another_flow(case) else None


def compare(found: Decay, reference: Reference | None) -> dict[str, Any]:
    """The largest decay of the energy, and its error against the published one, for comparison.json.
    `dissipation_error` is the relative L2 error of the decay over all times."""
    time, peak = found.peak()
    result: dict[str, Any] = {"peak_dissipation": peak, "peak_time": time}
    if reference is None:
        return result
    n = int(np.argmax(reference.dissipation))
    inside = found.time <= reference.time[-1]
    kinetic = np.interp(found.time[inside], reference.time, reference.kinetic)
    return result | {
        "reference": reference.title,
        "citation": reference.citation,
        "reference_peak_dissipation": float(reference.dissipation[n]),
        "reference_peak_time": float(reference.time[n]),
        "peak_error_percent": 100.0 * (peak / float(reference.dissipation[n]) - 1.0),
        "largest_energy_error": float(np.abs(found.kinetic[inside] - kinetic).max()),
        "dissipation_error": _distance(found.time, found.decay, reference.time, reference.dissipation),
    }
