"""Time series of loads from loads.csv: means, amplitudes and frequencies."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slipstream.base import rows
from slipstream.case.flow_case import FlowCase
from slipstream.flow.loads import AXES

Array = np.ndarray
PICTURE = "loads.png"
#: Least number of rows for a spectrum, and the relative amplitude below which a load is steady.
LEAST_ROWS, STEADY = 16, 1e-4


@dataclass(frozen=True)
class Spectrum:
    """Spectrum of the force on a body: amplitudes by frequency x length / reference velocity."""

    strouhal: Array
    amplitude: Array

    def peak(self) -> float:
        return float(self.strouhal[np.argmax(self.amplitude)])


@dataclass(frozen=True)
class LoadSeries:
    """Force on one body over time. Values are coefficients where the body has an area, else forces in the unit of the
    file."""

    name: str
    coefficients: bool
    time: Array  #: time in units of length / reference velocity
    values: Array  #: force on the body at each time, [row][x, y, z]

    @property
    def late(self) -> Array:
        """Mask of the rows in the second half of the run's time."""
        late: Array = self.time >= 0.5 * (self.time[0] + self.time[-1])
        return late

    def swinging(self, stream: str = "x") -> int:
        """The axis across the stream along which the load of the last half oscillates most."""
        swing = np.ptp(self.values[self.late], axis=0)
        return max((n for n, axis in enumerate(AXES) if axis != stream), key=lambda n: float(swing[n]))

    def strouhal(self, stream: str = "x") -> float | None:
        """Frequency x length / reference velocity of the load in the last half, from its upward crossings of the mean;
        None if the load is steady.
        """
        late = self.values[self.late]
        across = late[:, self.swinging(stream)]
        if np.ptp(across) <= STEADY * np.abs(late).max():
            return None
        return frequency(self.time[self.late], across)

    def spectrum(self, stream: str = "x") -> Spectrum | None:
        """Amplitudes of the largest oscillation in the last half, by a Fourier transform with a Hann window. None if
        the load is steady.
        """
        time, late = self.time[self.late], self.values[self.late]
        across = late[:, self.swinging(stream)]
        if len(time) < LEAST_ROWS or np.ptp(across) <= STEADY * np.abs(late).max():
            return None
        even = np.linspace(time[0], time[-1], len(time))
        window = np.hanning(len(even))
        values = np.interp(even, time, across)
        values -= (window * values).sum() / window.sum()
        amplitude = 2 * np.abs(np.fft.rfft(window * values)) / window.sum()
        return Spectrum(np.fft.rfftfreq(len(even), even[1] - even[0])[1:], amplitude[1:])


def frequency(time: Array, values: Array) -> float | None:
    """Frequency of an oscillation, from its upward crossings of the mean; None below three crossings."""
    off = values - 0.5 * (values.max() + values.min())
    rises = np.flatnonzero((off[:-1] < 0) & (off[1:] >= 0))
    if len(rises) < 3:
        return None
    at = time[rises] - off[rises] * (time[rises + 1] - time[rises]) / (off[rises + 1] - off[rises])
    return float((len(at) - 1) / (at[-1] - at[0]))


def stream_axis(case: FlowCase) -> str:
    """The axis along which fluid enters the box; x where none enters."""
    return next((side[0] for side, boundary in case.boundaries.given() if boundary.kind == "velocity"), "x")


def read(path: Path, case: FlowCase) -> list[LoadSeries]:
    """The loads on all bodies of a case; empty where there are no rows. Raises ValueError or KeyError where the file is
    damaged."""
    columns = rows.columns(path)
    if not any(map(len, columns.values())):
        return []
    time = np.array([case.time_of(int(step)) for step in columns["step"]])
    found = []
    for name, body in case.bodies.items():
        what, unit = ("coefficient", "") if body.area is not None else ("force", " (N)" if case.si else "")
        values = np.stack([columns[f"{name} {what} {axis}{unit}"] for axis in AXES], axis=1)
        found.append(LoadSeries(name, body.area is not None, time, values))
    return found


def table(found: Sequence[LoadSeries], case: FlowCase) -> tuple[list[str], list[list[str | None]]]:
    """Columns and rows of a table with forces on the bodies over the last half of the run, and Strouhal numbers."""
    stream, force = stream_axis(case), "force, N" if case.si else "force"
    lines: list[list[str | None]] = []
    for one in found:
        late, strouhal = one.values[one.late], one.strouhal(stream)
        what = "coefficient" if one.coefficients else force
        for n, axis in enumerate(AXES[: case.dimensions]):
            of = "drag" if axis == stream else "across"
            kinds = (late[:, n].mean(), late[:, n].min(), late[:, n].max(), one.values[-1, n])
            swings = f"{strouhal:.4f}" if strouhal is not None and n == one.swinging(stream) else None
            lines.append([one.name, f"{of} {axis}, {what}", *(f"{value:.5g}" for value in kinds), swings])
    return ["body", "load", "mean", "least", "largest", "last", "Strouhal number"], lines
