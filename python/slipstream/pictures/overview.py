"""Pictures at the end of a run: centreline profiles, the mid-plane, the energy and the loads over time."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from slipstream.case.flow_case import FlowCase
from slipstream.flow import energy as energies
from slipstream.flow import load_series
from slipstream.flow.load_series import LoadSeries
from slipstream.flow.loads import AXES
from slipstream.flow.profiles import Profile, interpolate
from slipstream.flow.reference import Reference
from slipstream.pictures import palette
from slipstream.pictures.planes import ACROSS
from slipstream.pictures.style import BLUE, RED, drawn, headed, heading

#: Velocities below this share of the reference velocity are rounding errors.
NOTHING = 1e-6


def _side_name(case: FlowCase, axis: str) -> str:
    """Label of an axis across the box, whose edge may differ from the reference length."""
    edge = case.grid.cells["xyz".index(axis)]
    return f"{axis} / L" if edge == case.scales.length else f"{axis} / L{axis}"


def profiles(path: Path, lines: Sequence[Profile], reference: Reference | None, case: FlowCase) -> None:
    """Draws u along the vertical and v along the horizontal centreline, with reference points as circles."""
    vertical, horizontal = lines
    fine = np.linspace(0.0, 1.0, 401)
    with drawn(path, 9.0, 4.4, ncols=2) as (figure, (left, right)):
        left.plot(interpolate(vertical.place, vertical.velocity[:, 0], fine), fine, color=BLUE, label="slipstream")
        right.plot(fine, interpolate(horizontal.place, horizontal.velocity[:, 1], fine), color=BLUE, label="slipstream")
        if reference:
            style = {"ls": "none", "marker": "o", "mfc": "white", "mec": RED, "ms": 5, "label": reference.title}
            u, v = reference.lines
            left.plot(u.value, u.place, clip_on=False, zorder=3, **style)
            right.plot(v.place, v.value, clip_on=False, zorder=3, **style)
        across, up = (_side_name(case, axis) for axis in "xy")
        left.set(xlabel="u / U", ylabel=up, ylim=(0, 1), title="vertical centreline")
        right.set(xlabel=across, ylabel="v / U", xlim=(0, 1), title="horizontal centreline")
        # If all velocities are rounding errors, the axis gets a wide range, so that the curve shows zero.
        if np.nanmax(np.abs(vertical.velocity[:, 0]), initial=0.0) < NOTHING:
            left.set_xlim(-1, 1)
        if np.nanmax(np.abs(horizontal.velocity[:, 1]), initial=0.0) < NOTHING:
            right.set_ylim(-1, 1)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        headed(figure, case)


def streamlines(path: Path, plane: np.ndarray, case: FlowCase, where: str = "z") -> None:
    """Draws streamlines of the velocity in a plane of `profiles.shown_plane`, coloured by the speed; masked cells are
    solid.
    """
    normal, _, layer = where.partition("=")
    across, up = tuple(ACROSS[normal])
    plane = plane[..., ["xyz".index(across), "xyz".index(up)]]
    rows, columns = plane.shape[:2]
    length = case.scales.length
    x, y = (np.arange(columns) + 0.5) / length, (np.arange(rows) + 0.5) / length
    speed = np.ma.hypot(plane[..., 0], plane[..., 1])
    top = float(np.ma.filled(speed, 0.0).max()) or 1.0
    solid = bool(np.ma.getmaskarray(speed).any())
    width, height = columns / length, rows / length
    scale = min(5.2 / width, 6.5 / height)
    size = (max(width * scale, 4.0) + 2.0, max(height * scale, 1.4) + 1.4)
    with drawn(path, *size, grid=False) as (figure, axes):
        mesh = axes.imshow(
            speed,
            origin="lower",
            extent=(0, width, 0, height),
            cmap=plt.get_cmap(palette.SEQUENTIAL).with_extremes(bad=palette.SOLID),
            vmin=0,
            vmax=top,
            interpolation="nearest" if solid else "bilinear",
        )
        # Streamlines need at least two cells along each axis.
        if min(rows, columns) > 1 and float(np.ma.filled(speed, 0.0).max()) > 0.0:
            u, v = plane[..., 0], plane[..., 1]
            axes.streamplot(x, y, u, v, color="white", density=1.7, linewidth=0.7, arrowsize=0.7)
        axes.set(xlabel=f"{across} / L", ylabel=f"{up} / L", xlim=(0, width), ylim=(0, height), aspect="equal")
        figure.colorbar(mesh, ax=axes, label="speed in the plane / U", shrink=0.9)
        place = f"mid-plane {normal} = 1/2\n"
        if layer:
            place = f"plane {normal} / L = {(int(layer) + 0.5) / length:.3g}\n"
        axes.set_title(
            (place if case.dimensions == 3 else "") + heading(case, size[0] - 2.0, 11), fontsize=11, parse_math=False
        )


def energy(path: Path, case: FlowCase, found: energies.Decay, reference: energies.Reference | None) -> None:
    """Draws the kinetic energy and its decay over time."""
    with drawn(path, 9.0, 4.2, ncols=2) as (figure, (left, right)):
        left.plot(found.time, found.kinetic, color=BLUE, label="slipstream")
        right.plot(found.time, found.decay, color=BLUE, label="decay, -dE/dt")
        right.plot(found.time, found.dissipation, color=BLUE, ls="--", label="dissipation by the stress")
        if reference:
            shown = reference.time <= found.time[-1]
            style = {"color": RED, "lw": 1.0, "label": reference.title}
            left.plot(reference.time[shown], reference.kinetic[shown], **style)
            right.plot(reference.time[shown], reference.dissipation[shown], **style)
        left.set(xlabel="t U / L", ylabel="kinetic energy / U²", ylim=(0, None))
        right.set(xlabel="t U / L", ylabel="dissipation L / U³", ylim=(0, None))
        left.legend()
        right.legend()
        headed(figure, case)


#: Largest number of bodies that have a row in the picture of forces.
MOST_BODIES = 4


def loads(path: Path, found: Sequence[LoadSeries], case: FlowCase) -> None:
    """Draws forces on bodies over time, and the spectrum of the largest oscillation in the last half, with a row for
    each of the first bodies."""
    shown, stream = found[:MOST_BODIES], load_series.stream_axis(case)
    force = "force / N" if case.si else "force, lattice units"
    height = 1.2 + 2.8 * len(shown)
    with drawn(path, 9.0, height, nrows=len(shown), ncols=2, squeeze=False) as (figure, panels):
        for one, (left, right) in zip(shown, panels, strict=True):
            for n, axis in enumerate(AXES[: case.dimensions]):
                colour = RED if axis == stream else (BLUE, "0.55")[n % 2 == 0]
                kind = "drag" if axis == stream else "across"
                left.plot(one.time, one.values[:, n], color=colour, label=f"{kind}, {axis}", lw=1.2)
            left.axvspan(one.time[one.late][0], one.time[-1], color="0.96", zorder=0)
            # The scale excludes the start: an impulsive start causes a short peak of forces that would dominate it.
            begun = one.values[one.time >= one.time[0] + 0.1 * np.ptp(one.time)]
            low, high = min(float(begun.min()), 0.0), max(float(begun.max()), 0.0)
            room = 0.1 * (high - low or 1.0)
            left.set(ylim=(low - room, high + room))
            left.set(xlabel="t U / L", ylabel="coefficient" if one.coefficients else force, title=one.name)
            left.legend()
            _spectrum(right, one, stream)
        more = f"and {len(found) - len(shown)} more bodies in loads.csv" if len(found) > len(shown) else ""
        headed(figure, case, more)


def _spectrum(axes: Axes, one: LoadSeries, stream: str) -> None:
    found, strouhal = one.spectrum(stream), one.strouhal(stream)
    what = f"across, {AXES[one.swinging(stream)]}, in the last half"
    axes.set(xlabel="frequency L / U", ylabel="amplitude", title=what)
    if found is None:
        axes.text(0.5, 0.5, "no oscillation", transform=axes.transAxes, ha="center", va="center", color="0.4")
        axes.set(xticks=[], yticks=[])
        return
    axes.semilogy(found.strouhal, found.amplitude, color=BLUE, lw=1.2)
    axes.set_ylim(found.amplitude.max() * 1e-5, found.amplitude.max() * 3)
    if strouhal is not None:
        axes.axvline(strouhal, color=RED, ls=":", label=f"Strouhal number {strouhal:.4f}")
        axes.set_xlim(0, min(float(found.strouhal[-1]), 8 * strouhal))
        axes.legend()
