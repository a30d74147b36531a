"""Charts of benchmarks: points over sizes, lines over categories, bars."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from slipstream.pictures.style import BLUE, RED, save, styled


def curves(
    path: Path, title: str, xlabel: str, ylabel: str, series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> None:
    """Draws measured points on two logarithmic axes, one line per label."""
    with styled():
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
    """Draws lines over categories, from zero. `marks`: published points, as circles in the colour of their line."""
    with styled():
        figure, axes = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
        for label, (places, values) in series.items():
            axes.plot(places, values, marker="o", markersize=4, label=label)
        for label, (places, values) in marks.items():
            alike = [line for line in axes.lines if label.endswith(str(line.get_label()))]
            # Published points get the colour of the measured line whose label ends their label, of several the longest.
            colour = max(alike, key=lambda line: len(str(line.get_label()))).get_color() if alike else RED
            axes.plot(places, values, ls="none", marker="o", mfc="white", mec=colour, ms=7, mew=1.6, label=label)
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        axes.set_ylim(bottom=0)
        axes.legend()
        save(figure, path)


def placements(path: Path, machines: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Draws modelled times of an exchange as bars, by placement of blocks on devices, one panel per machine. A bar
    consists of the time of packing and unpacking and, on top of it, the time of the busiest link."""
    with styled():
        figure, panels = plt.subplots(
            1, len(machines), figsize=(max(3.6, 2.8 * len(machines)), 3.6), layout="constrained", squeeze=False
        )
        for axes, (name, rows) in zip(panels[0], machines.items(), strict=True):
            labels = [row["placement"] for row in rows]
            memory = [row["memory_us"] / 1e3 for row in rows]
            links = [row["links_us"] / 1e3 for row in rows]
            axes.bar(labels, memory, color="0.75", label="packing and unpacking")
            bars = axes.bar(labels, links, bottom=memory, color=BLUE, label="busiest link")
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
    """Draws measured times of halo exchanges as bars, by size, one panel per number of ranks. Each size has a bar by
    the device's events and one by the host's clock. Ticks across the bars mark the times to be reached; circles show
    another library."""
    # The axis begins below the bars, so that numbers at their foot do not touch marks.
    bottom = min(row["time_us"] for sizes in panels.values() for by in sizes.values() for row in by.values()) / 3
    with styled():
        figure, all_axes = plt.subplots(
            1, len(panels), figsize=(5.0 * len(panels), 4.2), layout="constrained", squeeze=False, sharey=True
        )
        for axes, (name, sizes) in zip(all_axes[0], panels.items(), strict=True):
            for clock, shift, colour in (("events", -0.2, BLUE), ("host", 0.2, "0.5")):
                rows = [(at + shift, by[clock]) for at, by in enumerate(sizes.values()) if clock in by]
                bars = axes.bar([x for x, _ in rows], [row["time_us"] for _, row in rows], 0.36, color=colour)
                bars.set_label(f"{clock} clock")
                for x, row in rows:
                    axes.text(x, 1.15 * bottom, f"{row['time_us']:.3g}", ha="center", fontsize=7, color="white")
                _marks(axes, rows, "at_most_us", "at most", "_", 18)
                _marks(axes, rows, "stencil_us", "cwpearson/stencil", "o", 5)
            axes.set_xticks(range(len(sizes)), sizes, rotation=30, ha="right")
            axes.set(yscale="log", title=name, xlabel="cells per device, and the fastest layout")
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
            *zip(*found, strict=True), ls="none", marker=marker, ms=size, mew=1.6, mfc="white", mec=RED, label=label
        )
