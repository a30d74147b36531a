"""`slipstream bench sem_thesis`: experiments of Wahlgren 2022 with incompressible flow on spectral elements.

`march`: the Taylor-Green vortex at Reynolds number 1600 over time. There is a row for each unit of time. It has the
mean iterations of the pressure since the previous row (figure 3.1), and the error of the enstrophy relative to the
published one (figure 5.1). The row at t = 14.4 also has the figure of the thesis, `published`: at most 6.7 % on any
devices. As in the thesis, the pressure is solved to 1e-5 without earlier solutions. Digits of `enstrophy` are the same
on all devices where all bits are. A picture has both over time, of all devices whose rows are in the folder.

`sums`: a step with sums on the devices, and one with sums that the host adds up by MPI.

`orders`: gather-scatter calls per step and their device time, by order of the points. The share is their time in a
traced step over the time of an untraced one. Faces belong to the local problems of the Schwarz method, corners to the
coarsest problem. In the thesis order 1 is called about ten times as often as order 7.
"""

import argparse
import itertools
import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from slipstream.base.core import as_case_error, core, part
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.reader import Source, parse
from slipstream.flow import energy
from slipstream.machine import discovery

from slipstream_bench import curves, options, record, whole_machine
from slipstream_bench.sem import STEPS, WARM_UP, timed_steps
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import need, number

#: Number of elements along each axis by backend, and end time of the run.
ELEMENTS = {"host": 4, "cuda": 32}
TIME = {"host": 1.0, "cuda": 20.0}
FIGURES = frozenset(
    {
        "pressure_iterations",
        "enstrophy",
        "enstrophy_error",
        "published",
        "ms_per_step",
        "calls_per_step",
        "us_per_call",
        "share",
    }
)
#: Number of time steps in the recorded timeline of calls, from which the benchmark computes the time per call.
TRACED = 2
#: Published time and value of the largest error of the enstrophy (Wahlgren 2022, figure 5.1).
PUBLISHED_AT, PUBLISHED = 14.4, 0.067


def add_options(parser: argparse.ArgumentParser) -> None:
    kinds = ("march", "sums", "orders")
    parser.add_argument("--experiments", choices=kinds, nargs="+", default=list(kinds))
    parser.add_argument("--order", type=int, default=7, metavar="N", help="polynomial order (7)")
    parser.add_argument("--elements", type=int, default=0, metavar="N", help="N^3 elements")
    parser.add_argument("--time", type=float, default=0.0, metavar="T", help="end of the march")
    parser.add_argument("--time-step", type=float, default=0.0, metavar="T", help="default: a Courant number of 0.24")
    options.routes(parser)
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Runs the Taylor-Green vortex as Wahlgren 2022 does, and prints errors and times. Rank 0 writes the result file.
    Collective."""
    if not 2 <= arguments.order <= 11:
        raise CaseError("bench sem_thesis: --order is from 2 to 11", option="order", limit="2 to 11")
    need("sem_thesis", 0, elements=arguments.elements)
    elements = (arguments.elements or ELEMENTS[discovery.choose_backend(arguments.backend)]) ** 3

    def rows(machine: Any, backend: str) -> Iterator[record.Row]:
        inputs = {
            "ranks": machine.ranks,
            "devices": len(machine.devices()),
            "order": arguments.order,
            "elements": elements,
            "clock": "host",
        }
        if "march" in arguments.experiments:
            yield from ({**inputs, **row} for row in _march(arguments, machine, backend))
        for on_host in (False, True) if "sums" in arguments.experiments else ():
            yield {
                **inputs,
                "experiment": "sums",
                "sums": "host" if on_host else "devices",
                "ms_per_step": record.digits(1e3 * _seconds_of_a_step(arguments, machine, backend, on_host)),
            }
        if "orders" in arguments.experiments:
            yield from ({**inputs, **row} for row in _orders(arguments, machine, backend))

    draw = partial(_draw, arguments.order, elements) if "march" in arguments.experiments else None
    whole_machine.measure("sem_thesis", arguments, console, rows, COLUMNS, FIGURES, draw)


def _time_step(arguments: argparse.Namespace, backend: str) -> float:
    elements = arguments.elements or ELEMENTS[backend]
    # The time step is scaled from 0.003, that of the verified Taylor-Green vortex with 32^3 elements of order 7.
    return float(arguments.time_step) or 0.003 * (32 / elements) * (7 / arguments.order) ** 2


def _seconds_of_a_step(arguments: argparse.Namespace, machine: Any, backend: str, on_host: bool = False) -> float:
    flow = _flow(arguments, machine, backend, projection=10)

    def seconds() -> float:
        flow.advance(WARM_UP[backend])
        return timed_steps(flow, STEPS[backend])

    with as_case_error():
        return float(timed().with_sums_on_host(seconds)) if on_host else seconds()


def _orders(arguments: argparse.Namespace, machine: Any, backend: str) -> Iterator[record.Row]:
    step_us = 1e6 * _seconds_of_a_step(arguments, machine, backend)
    trace = core().Trace(1_000_000)
    flow = _flow(arguments, machine, backend, trace, projection=10)
    with as_case_error():
        flow.advance(WARM_UP["host"] + TRACED)
        with tempfile.TemporaryDirectory() as folder:
            trace.write(folder)
            events = json.loads((Path(folder) / f"rank{core().rank()}.json").read_text())["traceEvents"]
    if trace.dropped:
        raise CaseError(
            f"bench sem_thesis: the trace has no place for {trace.dropped} spans: take fewer elements",
            ErrorCode.OVERFLOW,
            spans=trace.dropped,
        )
    for of, (calls, spent) in sums_of(events, TRACED).items():
        yield {
            "experiment": "orders",
            "sums": of,
            "calls_per_step": record.digits(calls),
            "us_per_call": record.digits(spent / calls),
            "share": record.digits(spent / step_us),
        }


def sums_of(events: list[dict[str, Any]], steps: int) -> dict[str, tuple[float, float]]:
    """Number of gather-scatter calls per step and their microseconds on the first device in the last time steps, by
    polynomial order of the points.
    """
    rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    solver = min(name for name in rows.values() if name.endswith(" solver"))
    spans = [event for event in events if event["ph"] == "X"]
    begun = sorted(event["ts"] for event in spans if event["name"] == "step")[-steps]
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for event in spans:
        words, sums, of = event["name"].rpartition("sums of ")
        if rows[event["tid"]] == solver and event["cat"] == "exchange" and sums and event["ts"] >= begun:
            found[of][0] += not words.startswith("start")
            found[of][1] += event["dur"]
    return {of: (calls / steps, spent / steps) for of, (calls, spent) in sorted(found.items(), reverse=True)}


def _flow(arguments: argparse.Namespace, machine: Any, backend: str, trace: Any = None, **more: Any) -> Any:
    tables = {
        "grid": {"cells": [arguments.elements or ELEMENTS[backend]] * 3, "periodic": [True] * 3},
        "sem": {
            "equation": "navier_stokes",
            "order": arguments.order,
            "lengths": [2 * math.pi] * 3,
            "viscosity": 1 / 1600,
            "time_step": _time_step(arguments, backend),
            # Upper limit of the Courant number, as in the variant `fine` of cases/taylor_green_sem.toml. There only few
            # points have a Courant number above 0.49.
            "courant_limit": 0.8,
            "divergence_damping": 4,
        },
        "initial": {"flow": "taylor_green"},
        "run": {"steps": 1},
        "exchange": options.routes_of(arguments) if arguments.routes else {},
    }
    with as_case_error():
        return part("sem").Flow(machine, parse(tables, Source("bench sem_thesis")).options() | more, trace)


def _march(arguments: argparse.Namespace, machine: Any, backend: str) -> Iterator[record.Row]:
    flow = _flow(arguments, machine, backend, projection=0)
    step, end = _time_step(arguments, backend), arguments.time or TIME[backend]
    reference, last = energy.taylor_green_1600(), (0, 0)
    for time in _times(end):
        with as_case_error():
            flow.advance(round(time / step) - flow.step)
            found, effort = flow.statistics(), flow.pressure_effort()
        now = (effort["iterations"], effort["solutions"])
        wanted = np.interp(flow.time, reference.time, reference.enstrophy)
        yield {
            "experiment": "march",
            "time": record.digits(flow.time),
            "pressure_iterations": record.digits((now[0] - last[0]) / (now[1] - last[1])),
            "enstrophy": found["enstrophy"],
            "enstrophy_error": record.digits(found["enstrophy"] / wanted - 1),
            **({"published": PUBLISHED} if time == PUBLISHED_AT else {}),
        }
        last = now


def _times(end: float) -> list[float]:
    units = itertools.takewhile(lambda t: t <= end + 1e-9, itertools.count(min(1.0, end)))
    return sorted({*units, *([PUBLISHED_AT] if end >= PUBLISHED_AT else [])})


def marches(folder: Path, order: int, elements: int) -> dict[str, list[record.Row]]:
    """Measured Taylor-Green runs with one number of elements and polynomial order, from all result files of a folder.
    For each number of devices and simulated time, the last row counts."""
    found: dict[str, dict[float, record.Row]] = defaultdict(dict)
    for path in sorted(folder.glob("*.json")):
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            if row["experiment"] == "march" and (row["order"], row["elements"]) == (order, elements):
                devices = f"{row['devices']} x {row['card']}" if row["devices"] > 1 else row["card"]
                found[devices][row["time"]] = row
    return {devices: [row for _, row in sorted(rows.items())] for devices, rows in found.items()}


def _draw(order: int, elements: int, path: Path, machine: str) -> None:
    found = marches(path.parent, order, elements)
    iterations = [
        curves.Curve(devices, [row["time"] for row in rows], [row["pressure_iterations"] for row in rows])
        for devices, rows in found.items()
    ]
    errors = [
        curves.Curve(devices, [row["time"] for row in rows], [100 * abs(row["enstrophy_error"]) for row in rows])
        for devices, rows in found.items()
    ]
    errors.append(curves.Curve("Wahlgren 2022, figure 5.1, at most", [PUBLISHED_AT], [100 * PUBLISHED]))
    panels = [
        curves.Panel("Pressure", "iterations a step", iterations, "t", linear=True),
        curves.Panel("Enstrophy", "% off the published one", errors, "t", linear=True),
    ]
    title = f"Taylor-Green vortex at Reynolds number 1600, {elements} elements of order {order}"
    curves.draw(path, title, panels)


def _shown(key: str, form: str = ".4g", factor: float = 1.0) -> Any:
    show = number(key, form, factor)
    return lambda row: show(row) if key in row else ""


COLUMNS = {
    "experiment": lambda row: str(row["experiment"]),
    "sums": lambda row: str(row.get("sums", "")),
    "elements": lambda row: str(row["elements"]),
    "order": lambda row: str(row["order"]),
    "time": _shown("time"),
    "pressure iterations": _shown("pressure_iterations", ".3g"),
    "enstrophy": _shown("enstrophy", ".10g"),
    "% off": _shown("enstrophy_error", ".3g", 100),
    "published": _shown("published", ".3g", 100),
    "ms a step": _shown("ms_per_step"),
    "calls a step": _shown("calls_per_step"),
    "us a call": _shown("us_per_call"),
    "% of a step": _shown("share", ".3g", 100),
}
