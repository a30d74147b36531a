"""Tables, comparisons and charts of `slipstream bench exchange`, generated from its rows."""

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.terminal import show_extent

from slipstream_bench import exchange_setups
from slipstream_bench.exchange_setups import BEGIN_US, PEARSON, RISSO, STENCIL, WARM_SETUP_S

Row = dict[str, Any]

#: Columns with the costs of an exchange on the host.
COSTS = ("begin_us", "begin_end_us", "warm_setup_s")


def reasons(text: str) -> str:
    """The reasons for the allowed routes, from the text of an error in which all routes refuse."""
    said = re.findall(r"not (\w+): ([^;)]+)", text)
    own = [f"{name}: {why}" for name, why in said if why != "turned off"]
    return "; ".join(own) or text


def pick(rows: Iterable[Row], **inputs: Any) -> list[Row]:
    return [row for row in rows if all(row.get(key) == value for key, value in inputs.items())]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _size(row: Row) -> str:
    """Size of a row as text: `256^3 a device`; the whole grid if a device's share is no cube."""
    share = row["cells_per_device"]
    if len(set(share)) == 1:
        return show_extent(share)
    return f"{show_extent(row['cells'])} in all"


def _cells(row: Row) -> int:
    return math.prod(row["cells"])


def _who(row: Row) -> str:
    return f"{terminal.count(row['ranks'], 'rank')}, {terminal.count(row['devices'], 'device')}"


def _across(rows: list[Row], key: str) -> list[tuple[str, dict[str, Row]]]:
    """Result rows of exchanges by size, in order of size; rows of one size by their value in the column `key`."""
    lines: dict[str, dict[str, Row]] = {}
    for row in sorted(rows, key=_cells):
        lines.setdefault(row.get("label") or _size(row), {})[row[key]] = row
    return list(lines.items())


def _gain(line: dict[str, Row], slow: str, fast: str) -> float | None:
    """Speed-up of the variant `fast` over `slow` in a line of a table; None if one is missing."""
    return line[slow]["time_us"] / line[fast]["time_us"] if slow in line and fast in line else None


def _must(console: Console, rows: list[Row]) -> None:
    must = pick(rows, part="must")
    if not must:
        return
    times, costs = [], []
    for events in pick(must, clock="events"):
        same = {key: events.get(key) for key in ("routes", "cells", "layout")}
        host = pick(must, clock="host", **same)[0]
        name = (_size(events), events["travels_by"])
        goals = [(row["time_us"], row.get("at_most_us")) for row in (events, host)]
        times.append((*name, *(_number(us) for pair in goals for us in pair), _number(host.get("stencil_us"))))
        costs.append((*name, *(_number(events.get(key)) for key in ("link_mb", "gbs", "least_us", *COSTS))))
    title = (
        f"exchange, {_who(must[0])}: {must[0]['quantities']} {must[0]['dtype']} quantities, radius {must[0]['radius']}"
    )
    heads = ["cells a device", "routes", "events us", "at most", "host us", "at most", "stencil us"]
    console.print(terminal.table(title, heads, times, left=2))
    if any(row.get("stencil_us") for row in must):
        console.print(f"stencil: {STENCIL}")
    heads = ["cells a device", "routes", "link MB", "GB/s", "least us", "begin us", "begin + end us", "warm set-up s"]
    console.print(terminal.table("host costs", heads, costs, left=2))
    console.print(
        "link MB leave the device that sends most, GB/s by device events; least: what they need at the measured rate\n"
        "of large copies between devices, both ways at once; to be reached: "
        f"begin within {BEGIN_US:g} us,\nwarm set-up (tuner with a warm file, constructor, first begin) "
        f"within {WARM_SETUP_S:g} s"
    )


def _ladder(console: Console, rows: list[Row]) -> None:
    ladder = pick(rows, part="ladder")
    for base in dict.fromkeys(row["base"] for row in ladder):
        chosen = pick(ladder, base=base)
        rungs = list(dict.fromkeys(row["rung"] for row in chosen))
        lines = [
            (
                name,
                *(_number(line[rung]["time_us"] if rung in line else None) for rung in rungs),
                *(_number(_gain(line, "alone", rung)) for rung in ("+ kernel", "+ direct")),
            )
            for name, line in _across(chosen, "rung")
        ]
        heads = ["nodes/ranks/GPUs/side", *(f"{rung} us" for rung in rungs), "alone / + kernel", "alone / + direct"]
        console.print(terminal.table(f"routes added to {base}, host clock", heads, lines))


def _schemes(console: Console, rows: list[Row]) -> None:
    usual, *others = exchange_setups.SCHEMES
    lines = []
    for name, line in _across(pick(rows, part="schemes"), "scheme"):
        times = [_number(line[scheme]["time_us"] if scheme in line else None) for scheme in (usual, *others)]
        lines.append((name, *times, *(_percent(_gain(line, usual, scheme)) for scheme in others)))
    if lines:
        heads = ["cells a device", f"{usual} us", "asynchronous us", "GPUBufferedScheme us", "gain", "gain"]
        console.print(terminal.table("schemes of Risso's thesis, host clock", heads, lines))


def _percent(gain: float | None) -> str:
    return "-" if gain is None else f"{100 * (gain - 1):+.0f} %"


def _alone(rows: list[Row], row: Row) -> Row | None:
    """The result of one device to which the result `row` of several devices is compared. It has the same cells per
    device (weak scaling) or in total. The memory layout may differ, because arrays with rows along z need a cut across
    x; the fastest layout counts.
    """
    keys = ("part", "scaling", "quantities", "radius", "routes", "clock", "backend")
    size = "cells_per_device" if row["scaling"] == "weak" else "cells"
    found = pick(rows, devices=1, **{key: row[key] for key in (*keys, size)})
    return min(found, key=lambda one: one["time_us"], default=None)


def _beyond(row: Row, one: Row) -> tuple[float, float]:
    """Microseconds by which an exchange takes longer on several devices than on one, and how far this exceeds the
    least time in which the bytes cross the link."""
    more = row["time_us"] - one["time_us"]
    return more, more - row["least_us"]


def _beside_one(rows: list[Row], scaling: str) -> list[tuple[Row, Row]]:
    """Pairs each result of several devices with the result of one device to which it is compared."""
    several = [row for row in pick(rows, part="scaling", scaling=scaling) if row["devices"] > 1]
    return [(row, one) for row in several if (one := _alone(rows, row))]


def _scaling(console: Console, rows: list[Row], everything: list[Row]) -> None:
    """Prints how times grow with devices, compared with one device, which a run of one rank measures, possibly an
    earlier run."""
    if not pick(rows, part="scaling"):
        return
    weak = []
    for row, one in _beside_one(everything, "weak"):
        more, beyond = _beyond(row, one)
        times = [_number(one["time_us"]), _number(row["time_us"]), f"{more:+.4g}"]
        links = [_number(row[key]) for key in ("link_mb", "link_gbs", "least_us")]
        rest = _number(beyond) if beyond > 0 else "-"
        weak.append((show_extent(row["cells_per_device"]), _shares(row), row["clock"], *times, *links, rest))
    strong = [
        (show_extent(row["cells"]), _shares(row), row["clock"], _number(one["time_us"]), _number(row["time_us"]),
         _number(one["time_us"] / row["time_us"]))
        for row, one in _beside_one(everything, "strong")
    ]  # fmt: skip
    if not weak and not strong:
        console.print("scaling is relative to one device: measure it first, without -n, into the same folder")
        return
    heads = [
        "cells each",
        "ranks/devices",
        "clock",
        "1 device",
        "these",
        "more",
        "MB",
        "GB/s",
        "MB need",
        "unexplained",
    ]
    title = "weak scaling, microseconds: what several devices take more than one, and how much of it MB over links need"
    console.print(terminal.table(title, heads, weak, 3))
    heads = ["cells in all", "ranks/devices", "clock", "1 device", "these", "times faster"]
    console.print(terminal.table("strong scaling, microseconds", heads, strong, 3))


def _shares(row: Row) -> str:
    return f"{row['ranks']}/{row['devices']}"


def _finding(row: Row, question: str, published: str, source: str, here: str) -> Row:
    keys = ("ranks", "devices", "backend")
    return {key: row[key] for key in keys} | {
        "part": "finding",
        "question": question,
        "published": published,
        "source": source,
        "here": here,
    }


def _pearson(rows: list[Row]) -> Iterable[Row]:
    """Rows that compare speed-ups by faster routes with those of Pearson et al. 2020. They hold for the largest cube
    measured, which by default has the size of the published one."""
    for base, times in (("staged", "6x"), ("gpu_mpi", "2x")):
        chosen = pick(rows, part="ladder", base=base)
        if not chosen:
            continue
        name, line = _across(chosen, "rung")[-1]
        first = next(iter(line.values()))
        nodes = int(name.split("n/")[0])
        one_each = first["ranks"] == first["devices"]
        if nodes > 1:
            published = "1.16x, 256 nodes of 6 V100" if base == "staged" else "-"
        else:
            published = f"{times}, 6 ranks on 6 V100" if one_each else "-"
        for rung in ("+ kernel", "+ direct"):
            if gain := _gain(line, "alone", rung):
                question = f"{name}: {base} alone over all routes up to {rung}"
                yield _finding(first, question, published if rung == "+ kernel" else "-", PEARSON, f"{gain:.3g}x")
        if nodes == 1 and base == "staged":
            question = "the same over several nodes"
            yield _finding(first, question, "1.16x, 256 nodes of 6 V100", PEARSON, "one node here")


#: Size of the only cube for which Risso's thesis gives rates.
THESIS_CUBE = "256^3"


def _risso(rows: list[Row]) -> Iterable[Row]:
    """Compares rates with those of Risso's thesis, which are of a lattice Boltzmann step. Here the exchange runs
    alone."""
    published = {
        "asynchronous GPUPackInfo": "up to +50 %; 1149 over 760 MLUP/s, four Kepler GPUs, 256^3 each",
        "GPUBufferedScheme": "748 over 760 MLUP/s, four Kepler GPUs, 256^3 each",
    }
    usual = "GPUPackInfo"
    lines = [*_across(schemes := pick(rows, part="schemes"), "scheme")]
    for scheme, there in published.items():
        gains = {name: gain for name, line in lines if (gain := _gain(line, usual, scheme))}
        if gains:
            name = max(gains, key=lambda name: gains[name])
            here = f"{_percent(gains[name])} at {name}, the most"
            if THESIS_CUBE in gains and name != THESIS_CUBE:
                here += f"; {_percent(gains[THESIS_CUBE])} at {THESIS_CUBE}"
            yield _finding(schemes[0], f"{scheme} over {usual}, in rate", there, RISSO, here)


def _explained(rows: list[Row], everything: list[Row]) -> Iterable[Row]:
    """Compares times of several devices and of one, with equal cells per device. Their difference is set against the
    time in which the bytes cross a link. At least one of the two times was measured in this run."""
    measured = {_shares(row) for row in pick(rows, part="scaling")}
    for row, one in _beside_one(everything, "weak"):
        if measured.isdisjoint({_shares(row), _shares(one)}):
            continue
        size = show_extent(row["cells_per_device"])
        question = f"{row['devices']} devices over 1, {size} each, {row['clock']} clock: more time"
        allowed = f"at most {row['least_us']:.4g} us, {row['link_mb']:.4g} MB over a link"
        source = "bytes over the measured rate, both ways at once"
        yield _finding(row, question, allowed, source, f"{_beyond(row, one)[0]:+.4g} us")


def findings(rows: list[Row], everything: list[Row]) -> list[Row]:
    """Rows of a table that compares the measured times of exchanges with published findings and with the rates of
    links. The part on weak scaling may also use measurements of earlier runs (`everything`).
    """
    return [*_pearson(rows), *_risso(rows), *_explained(rows, everything)]


def show(console: Console, machine: str, rows: list[Row], everything: list[Row]) -> None:
    """Prints the tables of this run; scaling may use rows of earlier runs."""
    console.print(f"{machine}, {_who(rows[0]) if rows else 'nothing measured'}")
    _must(console, rows)
    _ladder(console, rows)
    _schemes(console, rows)
    _scaling(console, rows, everything)
    for source in (PEARSON, RISSO):
        found = [(row["question"], row["published"], row["here"]) for row in pick(rows, part="finding", source=source)]
        if found:
            console.print(terminal.table(f"compared with {source}", ["", "published", "here"], found, left=3))


def pictures(path: Path, machine: str, rows: list[Row]) -> list[Path]:
    """Draws pictures next to the result file: times of an exchange as routes are added one by one, weak scaling, and
    times compared with their targets.
    """
    from slipstream_bench import charts, curves

    drawn = []
    panels = []
    for base in dict.fromkeys(row["base"] for row in pick(rows, part="ladder")):
        chosen = pick(rows, part="ladder", base=base)
        for who in dict.fromkeys(_configuration(row) for row in chosen):
            lines: dict[str, list[Row]] = {}
            for row in sorted(chosen, key=_cells):
                if _configuration(row) == who:
                    lines.setdefault(row["rung"], []).append(row)
            found = [
                curves.Curve(rung, [row["cells"][0] for row in line], [row["time_us"] for row in line])
                for rung, line in lines.items()
            ]
            panels.append(curves.Panel(f"{base}, {who}", "us", found, "side of the domain", counts=True))
    if panels:
        drawn.append(path.with_name(f"{path.stem}-ladder.png"))
        curves.draw(drawn[-1], f"Routes added one by one\n{machine}, host clock", panels, min(3, len(panels)))
    if weak := pick(rows, part="scaling", scaling="weak"):
        drawn.append(path.with_name(f"{path.stem}-scaling.png"))
        clocks = [_weak_panel(pick(weak, clock=clock), clock) for clock in ("events", "host")]
        curves.draw(drawn[-1], f"Weak scaling of an exchange\n{machine}", clocks)
    if goals := [row for row in pick(rows, part="must") if row["routes"] != "staged"]:
        drawn.append(path.with_name(f"{path.stem}-must.png"))
        charts.exchange_goals(
            drawn[-1], f"Halo exchange on {machine}", {who: _bars(goals, who) for who in _whos(goals)}
        )
    return drawn


def _weak_panel(rows: list[Row], clock: str) -> Any:
    from slipstream_bench import curves

    found = []
    for who in _whos(rows):
        line = sorted((row for row in rows if _who(row) == who), key=_cells)
        sides = [row["cells_per_device"][0] for row in line]
        found.append(curves.Curve(who, sides, [row["time_us"] for row in line]))
    return curves.Panel(f"{clock} clock", "us", found, "side of a device's cube", counts=True)


def _configuration(row: Row) -> str:
    """The configuration of nodes, ranks and GPUs of a row, such as `1n/4r/4g`."""
    nodes, ranks, devices = row["label"].split("/")[:3]
    return f"{nodes}/{ranks}/{devices}"


def _whos(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(_who(row) for row in rows))


def _bars(rows: list[Row], who: str) -> dict[str, dict[str, Row]]:
    """Arranges measured times of exchanges by number of cells, then by the clock that timed them. If several memory
    layouts were measured for a number of cells, the one that is fastest by device events is kept.
    """
    sizes: dict[str, dict[str, dict[str, Row]]] = {}
    for row in sorted((row for row in rows if _who(row) == who), key=_cells):
        sizes.setdefault(_size(row), {}).setdefault(row["layout"], {})[row["clock"]] = row
    fastest = {size: min(layouts.values(), key=_events_us) for size, layouts in sizes.items()}
    return {f"{size} {by['events']['layout']}": by for size, by in fastest.items()}


def _events_us(by_clock: dict[str, Row]) -> float:
    return by_clock["events"]["time_us"]
