"""`slipstream bench sem`: steps of an incompressible flow on spectral elements.

A periodic box per device with edges of 2 pi along x and y, longer along z with more devices, at Reynolds number 1600.
Case `taylor_green` is that vortex, which is smooth at first. Case `vortices` is a sum of such vortices of wave numbers
1 to 8 with amplitudes k^(-5/6), as rough as turbulence from the start. Points count once: order^3 per element.

`efficiency` is the rate over that of one device in the same command with equally many elements per device. It is
missing if several ranks share the devices.
"""

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from rich.console import Console
from slipstream.base.core import as_case_error, core, part
from slipstream.base.errors import CaseError
from slipstream.case.reader import Source, parse

from slipstream_bench import options, record, whole_machine
from slipstream_bench.whole_machine import need, number

CASES = ("taylor_green", "vortices")
#: Numbers of elements along each axis of a device's cube, by backend.
ELEMENTS = {"host": (4,), "cuda": (32,)}
WARM_UP = {"host": 3, "cuda": 30}
STEPS = {"host": 3, "cuda": 30}
#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"ms_per_step", "mpoint_steps_per_s", "pressure_iterations", "velocity_iterations", "courant", "efficiency"}
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--orders", type=int, nargs="+", default=[7], metavar="N", help="polynomial order (7)")
    parser.add_argument("--elements", type=int, nargs="+", default=[], metavar="N", help="N^3 elements per device")
    parser.add_argument("--cases", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--preconditioners", choices=("jacobi", "multigrid", "schwarz"), nargs="+", default=["schwarz"])
    parser.add_argument(
        "--projection", type=int, default=10, metavar="N", help="earlier solutions for the initial guess (10)"
    )
    parser.add_argument("--warm-up", type=int, default=0, metavar="N", help="untimed steps before the timed ones")
    parser.add_argument("--steps", type=int, default=0, metavar="N", help="timed steps")
    options.routes(parser)
    options.devices(parser)


def velocity(case: str) -> list[str | float]:
    waves = range(1, 9) if case == "vortices" else (1,)
    parts = [(f"{k ** (-5 / 6):.6g}", f"{k}*x", f"{k}*y", f"{k}*z") for k in waves]
    return [
        " + ".join(f"{a}*sin({x})*cos({y})*cos({z})" for a, x, y, z in parts),
        " - ".join(["0", *(f"{a}*cos({x})*sin({y})*cos({z})" for a, x, y, z in parts)]),
        0.0,
    ]


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints time steps of flows on elements; rank 0 writes. Collective."""
    if not all(2 <= order <= 11 for order in arguments.orders):
        raise CaseError("bench sem: --orders are from 2 to 11", option="orders", limit="2 to 11")
    need("sem", 1, elements=arguments.elements)

    def rows(machine: Any, backend: str) -> Iterator[record.Row]:
        devices = len(machine.devices())
        alone = None
        if devices > 1 and machine.ranks == 1:
            with as_case_error():
                alone = core().Machine.discover(backend, devices_per_rank=1)
        for n, order, case, by in itertools.product(
            arguments.elements or ELEMENTS[backend], arguments.orders, arguments.cases, arguments.preconditioners
        ):
            found = _measure(arguments, machine, backend, n, order, case, by)
            one = found if devices == 1 else _measure(arguments, alone, backend, n, order, case, by) if alone else None
            share = None if one is None else record.digits(found["rate"] / one["rate"] / devices)
            yield {
                "ranks": machine.ranks,
                "devices": devices,
                "order": order,
                "elements": n**3 * devices,
                "case": case,
                "preconditioner": by,
                "projection": arguments.projection,
                "clock": "host",
                "routes": arguments.routes or "rules",
                "warm_up": arguments.warm_up or WARM_UP[backend],
                "steps": arguments.steps or STEPS[backend],
                "ms_per_step": record.digits(found["ms"]),
                "mpoint_steps_per_s": record.digits(found["rate"]),
                "pressure_iterations": record.digits(found["pressure"]),
                "velocity_iterations": record.digits(found["velocity"]),
                "courant": record.digits(found["courant"]),
                "efficiency": share,
            }

    whole_machine.measure("sem", arguments, console, rows, COLUMNS, FIGURES)


def timed_steps(flow: Any, steps: int) -> float:
    """Measures seconds per step on the slowest rank. Collective."""
    core().barrier()
    began = time.perf_counter()
    flow.advance(steps)
    core().barrier()
    return (time.perf_counter() - began) / steps


def _measure(
    arguments: argparse.Namespace, machine: Any, backend: str, n: int, order: int, case: str, by: str
) -> dict[str, float]:
    devices = len(machine.devices())
    speed = 1.0 if case == "taylor_green" else sum(k ** (-5 / 6) for k in range(1, 9)) / 2
    tables = {
        "grid": {"cells": [n, n, n * devices], "periodic": [True] * 3},
        "sem": {
            "equation": "navier_stokes",
            "order": order,
            "lengths": [2 * math.pi, 2 * math.pi, 2 * math.pi * devices],
            "viscosity": 1 / 1600,
            # The time step is scaled from 0.003, that of the Taylor-Green vortex with 32^3 elements of order 7.
            "time_step": 0.003 * (32 / n) * (7 / order) ** 2 / speed,
            "preconditioner": by,
            "projection": arguments.projection,
        },
        "initial": {"velocity": velocity(case)},
        "run": {"steps": 1},
        "exchange": options.routes_of(arguments) if arguments.routes else {},
    }
    with as_case_error():
        flow = part("sem").Flow(machine, parse(tables, Source("bench sem")).options(), None)
        flow.advance(arguments.warm_up or WARM_UP[backend])
        before = [dict(flow.pressure_effort()), dict(flow.velocity_effort())]
        steps = arguments.steps or STEPS[backend]
        seconds = timed_steps(flow, steps)
        after = [dict(flow.pressure_effort()), dict(flow.velocity_effort())]
    pressure, by_component = (
        (b["iterations"] - a["iterations"]) / (b["solutions"] - a["solutions"])
        for a, b in zip(before, after, strict=True)
    )
    return {
        "ms": 1e3 * seconds,
        "rate": n**3 * devices * order**3 / seconds / 1e6,
        "pressure": pressure,
        "velocity": by_component,
        "courant": float(flow.courant()),
    }


COLUMNS = {
    "case": itemgetter("case"),
    "elements": lambda row: str(row["elements"]),
    "order": lambda row: str(row["order"]),
    "preconditioner": itemgetter("preconditioner"),
    "ms a step": number("ms_per_step"),
    "Mpoint-steps/s": number("mpoint_steps_per_s"),
    "pressure": number("pressure_iterations", ".3g"),
    "velocity": number("velocity_iterations", ".3g"),
    "Courant": number("courant", ".3g"),
    "efficiency": number("efficiency", ".3g"),
}
