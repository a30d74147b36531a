"""Pictures: a cavity's centreline profiles and mid-plane, benchmarks. Drawn without a display."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from slipstream.base.terminal import show_extent
from slipstream.case.case import Case
from slipstream.flow.profiles import Profile, interpolate
from slipstream.flow.reference import Reference
from slipstream.pictures import palette

STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.grid": True,
    "grid.color": "0.92",
    "legend.frameon": False,
    "figure.dpi": 160,
}
#: Velocities below it, over the lid speed, are rounding.
NOTHING = 1e-6
_BLUE, _RED = "#1f5fa8", "#c8442e"


def case_title(case: Case) -> str:
    """What flows, and how it was computed: to be drawn with parse_math=False, because a dollar in the words of a case
    is a dollar."""
    lbm = case.lbm
    method = f"{lbm.lattice} {lbm.collision} {lbm.precision}"
    cells = show_extent(case.grid.cells).replace("^2", "²").replace("^3", "³")
    what = case.case.description.rstrip(".") or case.case.name
    return f"{what}, Re {case.scales.reynolds:.4g}, {cells}, {method}"


def heading(case: Case, inches: float, size: float) -> str:
    """The title of the case in as many lines as a picture of that width needs; a letter is about half as wide as the
    font is high."""
    return textwrap.fill(case_title(case), max(24, int(inches * 72 / (0.52 * size))), break_long_words=False)


def save(figure: Figure, path: Path) -> None:
    figure.savefig(path)
    plt.close(figure)


def _side_name(case: Case, axis: str) -> str:
    """Of an axis that goes from one side of the box to the other, whose edge need not be the length."""
    edge = case.grid.cells["xyz".index(axis)]
    return f"{axis} / L" if edge == case.scales.length else f"{axis} / L{axis}"


def profiles(path: Path, lines: Sequence[Profile], reference: Reference | None, case: Case) -> None:
    """u along the vertical and v along the horizontal centreline; reference points as circles."""
    vertical, horizontal = lines
    fine = np.linspace(0.0, 1.0, 401)
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.4), layout="constrained")
        left.plot(interpolate(vertical.place, vertical.velocity[:, 0], fine), fine, color=_BLUE, label="slipstream")
        right.plot(
            fine, interpolate(horizontal.place, horizontal.velocity[:, 1], fine), color=_BLUE, label="slipstream"
        )
        if reference:
            style = {"ls": "none", "marker": "o", "mfc": "white", "mec": _RED, "ms": 5, "label": reference.title}
            u, v = reference.lines
            left.plot(u.value, u.place, clip_on=False, zorder=3, **style)
            right.plot(v.place, v.value, clip_on=False, zorder=3, **style)
        across, up = (_side_name(case, axis) for axis in "xy")
        left.set(xlabel="u / U", ylabel=up, ylim=(0, 1), title="vertical centreline")
        right.set(xlabel=across, ylabel="v / U", xlim=(0, 1), title="horizontal centreline")
        # Of what is zero but for rounding, the axis shows that it is.
        if np.abs(vertical.velocity[:, 0]).max() < NOTHING:
            left.set_xlim(-1, 1)
        if np.abs(horizontal.velocity[:, 1]).max() < NOTHING:
            right.set_ylim(-1, 1)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figure.suptitle(case_title(case), fontsize=12, parse_math=False)
        save(figure, path)


def streamlines(path: Path, plane: np.ndarray, case: Case) -> None:
    """Streamlines of the in-plane velocity at z = 1/2, coloured by its size; what is masked is solid."""
    rows, columns = plane.shape[:2]
    length = case.scales.length
    x, y = (np.arange(columns) + 0.5) / length, (np.arange(rows) + 0.5) / length
    speed = np.ma.hypot(plane[..., 0], plane[..., 1])
    top = float(np.ma.filled(speed, 0.0).max()) or 1.0
    solid = bool(np.ma.getmaskarray(speed).any())
    width, height = columns / length, rows / length
    scale = min(5.2 / width, 6.5 / height)
    size = (max(width * scale, 4.0) + 1.2, max(height * scale, 1.4) + 0.9)
    with plt.rc_context(STYLE | {"axes.grid": False}):
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        mesh = axes.imshow(
            speed,
            origin="lower",
            extent=(0, width, 0, height),
            cmap=plt.get_cmap(palette.SEQUENTIAL).with_extremes(bad=palette.SOLID),
            vmin=0,
            vmax=top,
            interpolation="nearest" if solid else "bilinear",
        )
        # Lines need two cells at least along each axis.
        if min(rows, columns) > 1 and float(np.ma.filled(speed, 0.0).max()) > 0.0:
            u, v = plane[..., 0], plane[..., 1]
            axes.streamplot(x, y, u, v, color="white", density=1.7, linewidth=0.7, arrowsize=0.7)
        axes.set(xlabel="x / L", ylabel="y / L", xlim=(0, width), ylim=(0, height), aspect="equal")
        figure.colorbar(mesh, ax=axes, label="speed in the plane / U", shrink=0.9)
        where = "" if case.lbm.lattice == "D2Q9" else "mid-plane z = 1/2\n"
        axes.set_title(where + heading(case, size[0] - 1.2, 11), fontsize=11, parse_math=False)
        save(figure, path)


def curves(
    path: Path, title: str, xlabel: str, ylabel: str, series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> None:
    """Measured points over two logarithmic axes, a line a label."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        for label, (x, y) in series.items():
            axes.plot(x, y, marker="o", markersize=4, label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        axes.legend()
        save(figure, path)


def categories(
    path: Path,
    title: str,
    xlabel: str,
    ylabel: str,
    series: Mapping[str, tuple[Sequence[str], Sequence[float]]],
    marks: Mapping[str, tuple[Sequence[str], Sequence[float]]],
) -> None:
    """Lines over named places, from zero; `marks`: points of others, as circles in their line's colour."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
        for label, (places, values) in series.items():
            axes.plot(places, values, marker="o", markersize=4, label=label)
        for label, (places, values) in marks.items():
            alike = [line for line in axes.lines if label.endswith(str(line.get_label()))]
            # A name may end in another's.
            colour = max(alike, key=lambda line: len(str(line.get_label()))).get_color() if alike else _RED
            axes.plot(places, values, ls="none", marker="o", mfc="white", mec=colour, ms=7, mew=1.6, label=label)
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        axes.set_ylim(bottom=0)
        axes.legend()
        save(figure, path)


def placements(path: Path, machines: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Modelled time of an exchange by placement, a panel a machine: links above memory."""
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(
            1, len(machines), figsize=(max(3.6, 2.8 * len(machines)), 3.6), layout="constrained", squeeze=False
        )
        for axes, (name, rows) in zip(panels[0], machines.items(), strict=True):
            labels = [row["placement"] for row in rows]
            memory = [row["memory_us"] / 1e3 for row in rows]
            links = [row["links_us"] / 1e3 for row in rows]
            axes.bar(labels, memory, color="0.75", label="packing and unpacking")
            bars = axes.bar(labels, links, bottom=memory, color=_BLUE, label="busiest link")
            axes.bar_label(bars, [f"{row['gain_percent']:+.0f} %" for row in rows], padding=2, fontsize=8)
            axes.set_title(name)
            axes.tick_params(axis="x", rotation=30)
            axes.margins(y=0.12)
            axes.set_axisbelow(True)
            axes.grid(axis="x", visible=False)
        panels[0][0].set_ylabel("ms an exchange, modelled")
        handles, names = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=2)
        save(figure, path)


def exchange_goals(path: Path, title: str, panels: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]) -> None:
    """Bars of measured times by size and clock, a panel for each number of ranks; the times to be reached as ticks
    across the bars, those of another library as circles."""
    # Room for the figures at the foot of the bars, where no mark is.
    bottom = min(row["time_us"] for sizes in panels.values() for by in sizes.values() for row in by.values()) / 3
    with plt.rc_context(STYLE):
        figure, all_axes = plt.subplots(
            1, len(panels), figsize=(5.0 * len(panels), 4.2), layout="constrained", squeeze=False, sharey=True
        )
        for axes, (name, sizes) in zip(all_axes[0], panels.items(), strict=True):
            for clock, shift, colour in (("events", -0.2, _BLUE), ("host", 0.2, "0.5")):
                rows = [(at + shift, by[clock]) for at, by in enumerate(sizes.values()) if clock in by]
                bars = axes.bar([x for x, _ in rows], [row["time_us"] for _, row in rows], 0.36, color=colour)
                bars.set_label(f"{clock} clock")
                for x, row in rows:
                    axes.text(x, 1.15 * bottom, f"{row['time_us']:.3g}", ha="center", fontsize=7, color="white")
                _marks(axes, rows, "at_most_us", "at most", "_", 18)
                _marks(axes, rows, "stencil_us", "cwpearson/stencil", "o", 5)
            axes.set_xticks(range(len(sizes)), sizes, rotation=30, ha="right")
            axes.set(yscale="log", title=name, xlabel="cells a device, and the layout that is fastest")
            axes.set_ylim(bottom=bottom)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.set_axisbelow(True)
            axes.grid(axis="x", visible=False)
        all_axes[0][0].set_ylabel("microseconds")
        handles = {label: h for axes in all_axes[0] for h, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
        figure.suptitle(title, fontsize=12)
        save(figure, path)


def _marks(
    axes: Axes, rows: Sequence[tuple[float, Mapping[str, Any]]], key: str, label: str, marker: str, size: int
) -> None:
    found = [(x, row[key]) for x, row in rows if row.get(key) is not None]
    if found:
        axes.plot(
            *zip(*found, strict=True), ls="none", marker=marker, ms=size, mew=1.6, mfc="white", mec=_RED, label=label
        )
