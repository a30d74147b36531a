"""Pictures of benchmarks: figures against the size of a message or a copy, on logarithmic axes, or over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter
from slipstream.pictures.style import Colour, colours, save, styled


@dataclass(frozen=True)
class Curve:
    """A curve of a chart: a measured value, such as a bandwidth, for each size in bytes."""

    label: str
    sizes: Sequence[float]
    values: Sequence[float]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """Axes of a picture with curves. Curves with the same label have the same colour in all panels."""

    title: str
    ylabel: str
    curves: Sequence[Curve]
    xlabel: str = "bytes"
    counts: bool = False  #: whether the x axis has numbers, a tick at each, and no sizes in bytes
    linear: bool = False  #: whether the x axis has times, and both axes are linear from zero up


def size(count: float) -> str:
    """A size as text: `8 B`, `4 KiB`, `64 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count:.3g} {unit}"


def _draw(axes: Axes, panel: Panel, colour: dict[str, Colour]) -> None:
    for curve in panel.curves:
        line = "--" if curve.dashed else "-"
        axes.plot(curve.sizes, curve.values, line, marker=".", ms=4, color=colour[curve.label], label=curve.label)
    axes.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
    if panel.linear:
        axes.set_ylim(bottom=0)
        return
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    if panel.counts:
        axes.set_xticks(sorted({x for curve in panel.curves for x in curve.sizes}))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if panel.counts else size(value)))
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(plain)
    span = axes.get_ylim()[1] / axes.get_ylim()[0]
    axes.yaxis.set_minor_formatter(plain if span < 20 else NullFormatter())
    axes.tick_params(axis="x", labelrotation=40)


def draw(path: Path, title: str, panels: Sequence[Panel], columns: int = 2) -> None:
    """Draws panels side by side, with a common legend below."""
    labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
    palette = colours("tab20" if len(labels) > 10 else "tab10")
    colour = {label: palette[index % len(palette)] for index, label in enumerate(labels)}
    rows = -(-len(panels) // columns)
    with styled():
        figure, all_axes = plt.subplots(
            rows, columns, figsize=(5.2 * columns, 3.9 * rows + 0.9), layout="constrained", squeeze=False
        )
        for axes, panel in zip(all_axes.flat, panels, strict=False):
            _draw(axes, panel, colour)
        for axes in all_axes.flat[len(panels) :]:
            axes.set_visible(False)
        handles: dict[str, Artist] = {}
        for axes in all_axes.flat:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        figure.legend([*handles.values()], [*handles], loc="outside lower center", ncols=3, fontsize=8)
        figure.suptitle(title, fontsize=12)
        save(figure, path)
