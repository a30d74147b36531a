"""Picture of an exchange: the machine with its blocks, and the messages between devices."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch

from slipstream.base import routes as known_routes
from slipstream.exchange.records import Delivery
from slipstream.exchange.report import Report
from slipstream.pictures.style import drawn

#: Colours of routes, which are the same in all pictures.
_PALETTE = ("#7f7f7f", "#1f5fa8", "#2a9d6f", "#8a5fb0", "#c8442e", "#e08a1e", "#b03a7a", "#5c4a32")
COLOURS = dict(zip(known_routes.NAMES, itertools.cycle(_PALETTE), strict=False))
_BOX = (1.5, 1.0)  #: width and height of the box of a device, in units of the axes
_STEP = (3.2, 2.4)  #: horizontal and vertical distance between boxes of devices
_MOST_LABELS = 60
_MOST_BLOCKS = 3

Point = tuple[float, float]


def places(
    devices: Sequence[Mapping[str, Any]],
) -> tuple[dict[int, Point], dict[int, tuple[float, float, float, float]]]:
    """Centres of the devices, and the frame (x, y, width, height) of each node: nodes side by side, devices of a node
    in a nearly square block."""
    nodes: dict[int, list[int]] = {}
    for index, device in enumerate(devices):
        nodes.setdefault(device["node"], []).append(index)
    across = math.ceil(math.sqrt(len(nodes)))
    # Blocks are tall rather than wide, so that arrows between adjacent nodes cross few devices.
    columns = max(math.isqrt(len(members)) for members in nodes.values())
    lines = max(math.ceil(len(members) / columns) for members in nodes.values())
    width, height = columns * _STEP[0], lines * _STEP[1]
    centres, frames = {}, {}
    for place, (node, members) in enumerate(sorted(nodes.items())):
        left, top = (place % across) * (width + 0.8), -(place // across) * (height + 1.0)
        frames[node] = (left, top - height, width, height)
        for n, member in enumerate(members):
            centres[member] = (left + (n % columns + 0.5) * _STEP[0], top - (n // columns + 0.5) * _STEP[1])
    return centres, frames


def _device_text(report: Report, device: int) -> str:
    mine = [block for block in report.blocks if block.device == device]
    lines = [f"device {device}, rank {report.devices[device]['rank']}"]
    for block in mine[:_MOST_BLOCKS]:
        spans = zip(block.lo, block.hi, strict=True)
        lines.append(" × ".join(f"{lo}..{hi}" for lo, hi in spans))
    if len(mine) > _MOST_BLOCKS:
        lines.append(f"and {len(mine) - _MOST_BLOCKS} more blocks")
    own = next((row for row in report.rows if row.source == row.target == device), None)
    if own:
        lines.append(own.route + (f" {own.gbs:.3g} GB/s" if own.gbs is not None else ""))
    return "\n".join(lines)


def _arrow(axes: Axes, row: Delivery, boxes: dict[int, FancyBboxPatch], centres: dict[int, Point]) -> None:
    """Draws a message as an arrow, with its rate if the rate is known and the picture is not crowded."""
    start, end = centres[row.source], centres[row.target]
    colour = COLOURS.get(row.route, "black")
    bend = 0.16  # bend of the arrows, which separates both directions
    axes.add_patch(
        FancyArrowPatch(
            start, end, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", mutation_scale=10, color=colour,
            lw=1.2, patchA=boxes[row.source], patchB=boxes[row.target], shrinkA=0, shrinkB=1, zorder=2,
        )
    )  # fmt: skip
    if row.gbs is None:
        return
    dx, dy = end[0] - start[0], end[1] - start[1]
    # Labels of arrows lie nearer to the target than to the source, so that those of crossing arrows do not overlap.
    at = 0.58
    push = 2 * at * (1 - at) * bend
    axes.text(
        start[0] + at * dx + push * dy, start[1] + at * dy - push * dx, f"{row.gbs:.3g}", fontsize=7, color=colour,
        ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6}, zorder=4,
    )  # fmt: skip


def draw(report: Report, path: Path) -> None:
    """Draws the report of an exchange, and writes the picture."""
    centres, frames = places(report.devices)
    right = max(x + w for x, _, w, _ in frames.values())
    bottom = min(y for _, y, _, _ in frames.values())
    between = [row for row in report.rows if row.source != row.target]
    size = (min(24.0, max(6.0, 1.15 * right)), min(24.0, max(3.0, -1.05 * bottom + 1.2)))
    with drawn(path, *size, grid=False) as (figure, axes):
        for node, (x, y, width, height) in frames.items():
            axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.1", fc="0.97", ec="0.6"))
            axes.text(x + 0.1, y + height - 0.02, f"node {node}", fontsize=9, color="0.3", va="top")
        boxes = {}
        for device, (x, y) in centres.items():
            low = (x - _BOX[0] / 2, y - _BOX[1] / 2)
            boxes[device] = FancyBboxPatch(low, *_BOX, boxstyle="round,pad=0.05", fc="white", ec="0.2", zorder=3)
            axes.add_patch(boxes[device])
            axes.text(x, y, _device_text(report, device), fontsize=6.5, ha="center", va="center", zorder=5)
        for row in between:
            _arrow(axes, row if len(between) <= _MOST_LABELS else replace(row, gbs=None), boxes, centres)
        routes = sorted({row.route for row in report.rows}, key=list(COLOURS).index)
        if routes:
            handles = [Patch(color=COLOURS[name], label=name) for name in routes]
            figure.legend(handles=handles, loc="outside lower center", ncols=len(routes), fontsize=8)
        axes.set(xlim=(-0.3, right + 0.3), ylim=(bottom - 0.3, 0.3))
        axes.set_title(f"{report.machine}: last exchange, GB/s", parse_math=False)
        axes.set_aspect("equal")
        axes.axis("off")
