"""`slipstream bench lbm_coding`: flows with raw and coded messages, at full speed and throttled.

A cavity and a Taylor-Green vortex run on devices whose messages the host sends (`staged`). Rows have the rate of steps,
and the deviation of the velocity from that with raw messages.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.lbm import Simulation
from slipstream.machine import discovery

from slipstream_bench import options, record
from slipstream_bench.lbm import common
from slipstream_bench.record import Row
from slipstream_bench.whole_machine import need

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"time_ms", "mlups", "speedup", "largest_error", "rms_error"})
CODINGS = {
    "f64": ("raw", "cast", "blockfloat, rate 16", "blockfloat, rate 32", "zfp, rate 16", "zfp, rate 32"),
    "f32": ("raw", "cast", "blockfloat, rate 16", "zfp, rate 16"),
}
#: Networks that a throttle simulates on one host; none: full speed.
LINKS = ("none", "12.5 GB/s, 2 us", "1 GB/s, 20 us")
CELLS = {"host": 24, "cuda": 256}
STEPS = {"host": 20, "cuda": 200}
REPEATS = 3
VORTEX = ("sin(2*pi*x/Lx)*cos(2*pi*y/Ly)*cos(2*pi*z/Lz)", "-cos(2*pi*x/Lx)*sin(2*pi*y/Ly)*cos(2*pi*z/Lz)", 0)
FLOWS: dict[str, dict[str, Any]] = {
    "cavity": {"walls": {"y+": (1.0, 0.0, 0.0)}},
    "taylor_green": {"walls": {}, "periodic": (True, True, True), "initial": {"velocity": VORTEX}},
}


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench lbm_coding`."""

    backend: str
    devices: int  #: number of devices per rank
    threads: int
    cells: int | None  #: number of cells along the side of the cube; None: depends on the backend
    precision: str
    quick: bool

    def steps(self, backend: str) -> int:
        return 5 if self.quick else STEPS[backend]


def _rows(choice: Choice, backend: str, cells: int, devices: int) -> Iterator[Row]:
    for flow, keys in FLOWS.items():
        exact: NDArray[Any] | None = None
        for link in LINKS[-1:] if choice.quick else LINKS:
            first = 0.0
            for coding in CODINGS[choice.precision]:
                seconds, velocity = _run(choice, backend, cells, devices, keys, link, coding)
                if exact is None:
                    exact = velocity
                first = first or seconds
                difference = np.abs(velocity - exact)
                yield {
                    "ranks": core().size(),
                    "devices": devices * core().size(),
                    "experiment": "coding",
                    "flow": flow,
                    "cells": [cells] * 3,
                    "storage": choice.precision,
                    "coding": coding,
                    "throttle": link,
                    "steps": choice.steps(backend),
                    "clock": "host",
                    "time_ms": record.digits(1e3 * seconds),
                    "mlups": record.digits(cells**3 * choice.steps(backend) / seconds / 1e6),
                    "speedup": record.digits(first / seconds),
                    "largest_error": record.digits(float(difference.max())),
                    "rms_error": record.digits(float(np.sqrt((difference**2).mean()))),
                }


def _run(
    choice: Choice, backend: str, cells: int, devices: int, keys: dict[str, Any], link: str, coding: str
) -> tuple[float, NDArray[Any]]:
    """Runs a flow: returns the least time of its steps in seconds, and the final velocity relative to the reference
    velocity, which is zero on ranks other than 0."""
    slow: dict[str, Any] = {} if link == "none" else {"throttle": link}
    flow = Simulation(
        (cells,) * 3, 100, 0.05, **keys, **slow, backend=backend, devices_per_rank=devices, threads=choice.threads,
        precision=choice.precision, coding=coding, routes=["kernel", "staged"],
    )  # fmt: skip
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        flow.run(steps=choice.steps(backend), quiet=True)
        times.append(time.perf_counter() - began)
    velocity = flow.velocity
    return min(times), np.zeros(1) if velocity is None else np.asarray(velocity)


def add_options(parser: argparse.ArgumentParser) -> None:
    options.precision(parser, "f64")
    options.one_cube(parser)
    options.devices(parser)
    options.threads(parser)
    options.quick(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures steps with coded messages, prints and writes; needs at least two devices. Collective."""
    module, choice = core(), record.chosen(Choice, arguments)
    backend = discovery.choose_backend(choice.backend)
    devices = choice.devices or common.devices_here(backend, module.size())
    if devices * module.size() < 2:
        raise CaseError(
            "bench lbm_coding: needs two devices; take --devices 2, or -n 2", ErrorCode.UNSUPPORTED, limit=2
        )
    cells = choice.cells if choice.cells is not None else CELLS[backend]
    need("lbm_coding", 16, cells=cells)
    machine = discovery.discover(common.any_case(choice, devices).machine)
    described = record.describe_machine(machine)
    measured = _rows(choice, backend, cells, devices)
    rows = list(record.kept_on_the_way(arguments.folder, "lbm_coding", described, measured, FIGURES))
    console.print(_table(machine.name, rows))
    record.keep(arguments.folder, "lbm_coding", described, rows, FIGURES, console)


def _table(machine: str, rows: Sequence[Row]) -> Any:
    shown = [
        (r["flow"], r["throttle"], r["coding"], f"{r['mlups']:.4g}", f"{r['speedup']:.2f}", f"{r['largest_error']:.2g}")
        for r in rows
    ]
    heads = ["flow", "network", "coding", "MLUPS", "times as fast as raw", "error of the velocity"]
    return terminal.table(f"coded populations on {machine}", heads, shown, left=3)
