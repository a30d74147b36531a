"""The energy over wave numbers and the dissipation over time of a turbulent flow."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.case.case import Case
from slipstream.flow.energy import Decay, Reference, compare
from slipstream.pictures.style import BLUE, RED, drawn, heading

#: Kolmogorov's constant of the three-dimensional spectrum (Sreenivasan 1995).
KOLMOGOROV = 1.6


def spectrum(
    path: Path, case: Case, energy: np.ndarray, found: Mapping[str, Any], mean: tuple[float, np.ndarray]
) -> None:
    """Draws E(k), its mean from a time on, the line C epsilon^(2/3) k^(-5/3), and the Kolmogorov wave number. `energy`
    and the mean are sums over shells of width found["shell"]."""
    width = found["shell"]
    k, energy = width * np.arange(len(energy)), energy / width
    shown = (k > 0) & (energy > energy.max() * 1e-14)
    with drawn(path, 6.4, 4.8) as (_, axes):
        axes.loglog(k[shown], energy[shown], "o-", color=BLUE, markersize=3, label="E(k)")
        since, means = mean[0], mean[1] / width
        if since < found["time"]:
            label = f"mean from t = {since:.4g} on"
            axes.loglog(k[shown], means[shown], "--", color="0.4", linewidth=1, label=label)
        if found["dissipation"] > 0:
            line = KOLMOGOROV * found["dissipation"] ** (2 / 3) * k[shown] ** (-5 / 3)
            axes.loglog(k[shown], line, color=RED, linewidth=1, label=r"$1.6\,\varepsilon^{2/3} k^{-5/3}$")
            if 1 / found["kolmogorov_scale"] < 2 * k[shown].max():
                axes.axvline(1 / found["kolmogorov_scale"], color="0.6", linestyle=":", label=r"$k\eta = 1$")
        axes.set(xlabel="k", ylabel="E(k)", ylim=(energy[shown].min() / 2, energy[shown].max() * 4))
        axes.legend()
        what = f"t = {found['time']:.4g}, Taylor Reynolds number {found['taylor_reynolds']:.4g}"
        axes.set_title(f"{heading(case, 5.4, 10.5)}\n{what}", fontsize=10.5, loc="left", parse_math=False)


def dissipation(path: Path, case: Case, column: Mapping[str, np.ndarray], reference: Any | None) -> None:
    """Draws the dissipation rate over time, with a published one if there is one."""
    with drawn(path, 6.4, 4.4) as (_, axes):
        axes.plot(column["time"], column["dissipation"], color=BLUE, label="dissipation")
        if column["power"].any():
            axes.plot(column["time"], column["power"], color="0.6", linewidth=1, label="power of the forcing")
        if reference is not None:
            inside = reference.time <= column["time"][-1]
            axes.plot(reference.time[inside], reference.dissipation[inside], "--", color=RED, label=reference.title)
        axes.set(xlabel="t", ylabel="dissipation", ylim=(0, None))
        axes.legend()
        axes.set_title(heading(case, 5.4, 10.5), fontsize=10.5, loc="left", parse_math=False)


def iterations(path: Path, case: Case, column: Mapping[str, np.ndarray]) -> None:
    """Draws the number of iterations per linear solution over time. The values are the columns NAME_iterations of a
    table, means since the row before."""
    with drawn(path, 6.4, 3.6) as (_, axes):
        for number, (name, values) in enumerate(column.items()):
            if name.endswith("_iterations"):
                axes.plot(column["time"][1:], values[1:], color=f"C{number}", label=name.removesuffix("_iterations"))
        axes.set(xlabel="t", ylabel="iterations a solution", ylim=(0, None))
        axes.legend()
        axes.set_title(heading(case, 5.4, 10.5), fontsize=10.5, loc="left", parse_math=False)


def decays(path: Path, found: Sequence[tuple[str, int, Decay, float]], reference: Reference) -> None:
    """Draws the dissipation -dE/dt of one flow by several methods over time, with the published one. A second axes has
    the error over the run time of the steps."""
    with drawn(path, 10.4, 4.4, ncols=2) as (_, (axes, errors)):
        shown = reference.time <= max(decay.time[-1] for _, _, decay, _ in found)
        axes.plot(reference.time[shown], reference.dissipation[shown], "--", color="0.3", label=reference.title)
        titles = list(dict.fromkeys(title for title, *_ in found))
        for number, (title, points, decay, _) in enumerate(found):
            axes.plot(decay.time, decay.decay, color=f"C{number}", label=f"{title}, {points}³ points")
        axes.set(xlabel="t U / L", ylabel="dissipation L / U³", ylim=(0, None))
        axes.legend()
        axes.set_title("Taylor-Green vortex, Reynolds number 1600", fontsize=10.5, loc="left")
        for number, title in enumerate(titles):
            own = [
                (seconds, float(compare(decay, reference)["dissipation_error"]))
                for t, _, decay, seconds in found
                if t == title
            ]
            errors.loglog(*zip(*sorted(own), strict=True), "o-", color=f"C{number}", label=title)
        errors.set(xlabel="seconds of the steps", ylabel="distance of the dissipation, relative (L2)")
        errors.legend()
