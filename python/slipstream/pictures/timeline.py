"""`slipstream trace`: Chrome-trace files of an exchange or a step, as bars over time (Pearson et al. 2020, fig. 9).

A file holds {"traceEvents": [...]}, or the list alone. Events with "ph": "X" are bars: `ts` and `dur` in microseconds,
`pid` a rank, `tid` a stream, a host thread or a state machine, `cat` the colour. Events with "ph": "M" name ranks
(`process_name`) and rows (`thread_name`). Files of several ranks share one clock.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from slipstream.base.errors import CaseError, ErrorCode, Fault
from slipstream.pictures.style import Colour, colours, drawn

#: Categories of activities in traces of the engine and the solvers, in the order of their colours.
ENGINE_KINDS = ("compute", "copy", "host", "kernel", "message", "step")


@dataclass(frozen=True)
class Bar:
    """One bar of a timeline: an activity of a stream or a thread."""

    name: str
    category: str
    start: float  #: start of the activity in microseconds
    duration: float


@dataclass
class Row:
    """Activities of a stream, a host thread or a state machine of a rank, drawn in one row. Bars that overlap lie in
    different lanes."""

    rank: str
    name: str
    bars: list[Bar] = field(default_factory=list)

    def lanes(self) -> list[list[Bar]]:
        result: list[list[Bar]] = []
        for bar in sorted(self.bars, key=lambda bar: (bar.start, -bar.duration)):
            # Times of bars have rounding errors, because they were converted from nanoseconds to microseconds.
            lane = next((lane for lane in result if lane[-1].start + lane[-1].duration <= bar.start + 1e-6), None)
            if lane is None:
                result.append([bar])
            else:
                lane.append(bar)
        return result


def _events(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CaseError(f"trace: {path}: {error.strerror}", Fault.of(error).code, file=path) from None
    except ValueError as error:
        raise CaseError(f"trace: {path} is no JSON: {error}", ErrorCode.BAD_FILE, file=path) from None
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise CaseError(f'trace: {path} has no list "traceEvents"', ErrorCode.BAD_FILE, file=path, needed="traceEvents")
    return events


def _bar(event: dict[str, Any], path: Path) -> Bar:
    try:
        start, duration = float(event["ts"]), float(event["dur"])
    except (KeyError, TypeError, ValueError):
        name = event.get("name", "an event")
        raise CaseError(
            f'trace: {path}: "{name}" has no numbers "ts" and "dur" (microseconds)',
            ErrorCode.BAD_FILE,
            file=path,
            event=name,
            needed="ts, dur",
        ) from None
    return Bar(str(event.get("name", "")), str(event.get("cat") or "other"), start, duration)


def _number(key: Any) -> tuple[int, float, str]:
    """Key for sorting names: numbers by value, before words."""
    return (0, float(key), "") if isinstance(key, int | float) else (1, 0.0, str(key))


def read(paths: Sequence[Path]) -> list[Row]:
    """Rows of the timeline from trace files, by rank and then in the order that each file gives. Time 0 is the first
    event of all files."""
    rows: dict[tuple[str, str], Row] = {}
    order: dict[tuple[str, str], Any] = {}
    for path in paths:
        events = _events(path)
        ranks: dict[Any, str] = {}
        names: dict[tuple[Any, Any], str] = {}
        places: dict[tuple[Any, Any], Any] = {}
        for event in (event for event in events if event.get("ph") == "M"):
            pid, key, arguments = event.get("pid"), (event.get("pid"), event.get("tid")), event.get("args", {})
            if event.get("name") == "process_name":
                ranks[pid] = str(arguments.get("name"))
            elif event.get("name") == "thread_name":
                names[key] = str(arguments.get("name"))
            elif event.get("name") == "thread_sort_index":
                places[key] = arguments.get("sort_index")
        for event in (event for event in events if event.get("ph") == "X"):
            pid, tid = event.get("pid", 0), event.get("tid", 0)
            rank, name = ranks.get(pid, f"rank {pid}"), names.get((pid, tid), str(tid))
            rows.setdefault((rank, name), Row(rank, name)).bars.append(_bar(event, path))
            order.setdefault((rank, name), (_number(pid), _number(places.get((pid, tid), tid))))
    if not rows:
        raise CaseError(
            f"trace: no events of a duration in {', '.join(map(str, paths))}",
            ErrorCode.NOT_FOUND,
            file=", ".join(map(str, paths)),
        )
    first = min(bar.start for row in rows.values() for bar in row.bars)
    for row in rows.values():
        row.bars = [Bar(bar.name, bar.category, bar.start - first, bar.duration) for bar in row.bars]
    return [rows[key] for key in sorted(rows, key=lambda key: order[key])]


def _colours(categories: Sequence[str]) -> dict[str, Colour]:
    """Colours of bars by category of activity. Those of the library come first, so that they keep their colours in
    pictures with at most eight categories.
    """
    names = [*ENGINE_KINDS, *(name for name in categories if name not in ENGINE_KINDS)]
    palette = colours("Set2" if len(names) <= 8 else "tab20")
    return {name: palette[index % len(palette)] for index, name in enumerate(names)}


def _draw_row(axes: Axes, row: Row, top: float, colour: dict[str, Colour], span: float) -> None:
    """Draws one row of the timeline with height 1, divided between its lanes."""
    lanes = row.lanes()
    height = 0.84 / len(lanes)
    for index, lane in enumerate(lanes):
        low = top + 0.08 + index * height
        for bar in lane:
            # Short bars are drawn with a minimum width, so that they stay visible.
            axes.broken_barh(
                [(bar.start, max(bar.duration, span / 2000))], (low, 0.92 * height), color=colour[bar.category], lw=0
            )
            if bar.duration > span * 0.012 * len(bar.name) and height > 0.3:
                axes.text(
                    bar.start + bar.duration / 2, low + 0.46 * height, bar.name, ha="center", va="center", fontsize=6
                )


def draw(rows: Sequence[Row], path: Path, title: str = "") -> None:
    """Draws a timeline of rows grouped by rank, with one colour per category, and time in microseconds."""
    categories = sorted({bar.category for row in rows for bar in row.bars})
    colour = _colours(categories)
    span = max(bar.start + bar.duration for row in rows for bar in row.bars) or 1.0
    gap = 0.4
    with drawn(path, 11.0, 1.4 + 0.3 * len(rows), grid=False) as (figure, axes):
        top, places, previous = 0.0, [], rows[0].rank
        starts = {previous: 0.0}
        for row in rows:
            if row.rank != previous:
                axes.axhline(top + gap / 2, color="0.6", lw=0.8)
                top += gap
                starts[row.rank], previous = top, row.rank
            _draw_row(axes, row, top, colour, span)
            places.append(top + 0.5)
            top += 1
        axes.set(xlim=(0, span), ylim=(top, 0), xlabel="µs")
        axes.set_title(title, parse_math=False)
        axes.set_yticks(places, [row.name for row in rows], fontsize=8)
        axes.xaxis.grid(True, color="0.92")
        axes.set_axisbelow(True)
        for rank, start in starts.items():
            axes.annotate(
                rank, (1.0, start), xycoords=("axes fraction", "data"), xytext=(4, -2), textcoords="offset points",
                va="top", fontsize=9,
            )  # fmt: skip
        figure.legend(
            handles=[Patch(color=colour[name], label=name) for name in categories],
            loc="outside lower center",
            ncols=min(len(categories), 8),
            fontsize=8,
        )


def window(rows: Sequence[Row], name: str, count: int) -> list[Row]:
    """Restricts a timeline to the time of `count` bars: the middle ones of those called `name` on the first rank. It
    keeps all rows if there are fewer."""
    of_rank = [bar for row in rows if row.rank == rows[0].rank for bar in row.bars]
    first = sorted((bar for bar in of_rank if bar.name == name), key=lambda bar: bar.start)
    if len(first) <= count:
        return list(rows)
    # Bars in the middle are chosen: the first ones include the loading of kernels, and after the last ones the streams
    # run empty.
    middle = (len(first) - count) // 2
    start = first[middle].start
    end = first[middle + count].start
    cut = []
    for row in rows:
        bars = [
            Bar(bar.name, bar.category, max(bar.start, start) - start, _overlap(bar, start, end))
            for bar in row.bars
            if bar.start < end and bar.start + bar.duration > start
        ]
        if bars:
            cut.append(Row(row.rank, row.name, bars))
    return cut


def _overlap(bar: Bar, start: float, end: float) -> float:
    return min(bar.start + bar.duration, end) - max(bar.start, start)


def _work_of_a_step(rows: Sequence[Row]) -> tuple[str, int]:
    """Name of the first kernel by which a device of the first rank computes, and its count per step. The host's bars of
    steps are not used: they show when work was queued, not when devices do it."""
    of_rank = [bar for row in rows if row.rank == rows[0].rank for bar in row.bars]
    steps = sum(bar.name == "step" for bar in of_rank)
    work = [bar for bar in of_rank if bar.category == "compute"]
    if not steps or not work:
        return "step", 1
    name = min(work, key=lambda bar: bar.start).name
    return name, max(1, round(sum(bar.name == name for bar in work) / steps))


def trace_steps(paths: Sequence[Path], output: Path, title: str = "") -> None:
    """Draws the timeline of two time steps from the middle of a run."""
    rows = read(paths)
    name, times = _work_of_a_step(rows)
    draw(window(rows, name, 2 * times), output, title)


def trace(paths: Sequence[Path], output: Path, title: str = "", middle: str = "", count: int = 2) -> None:
    """Draws one timeline from the trace files of all ranks. If `middle` names an activity, the timeline shows only the
    time of the middle `count` bars of this activity."""
    rows = read(paths)
    if middle and not any(bar.name == middle for row in rows for bar in row.bars):
        names = ", ".join(sorted({bar.name for row in rows for bar in row.bars})[:12])
        raise CaseError(
            f'trace: no bar is called "{middle}": take one of {names}',
            ErrorCode.NOT_FOUND,
            key="--middle",
            given=middle,
            allowed=names,
        )
    rows = window(rows, middle, count) if middle else rows
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        draw(rows, output, title)
    except (OSError, ValueError) as error:  # matplotlib takes the format from the ending of the file name
        raise CaseError(f"trace: {output} cannot be written: {error}", ErrorCode.IO, file=output) from None
