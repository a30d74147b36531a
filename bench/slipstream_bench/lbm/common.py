"""Common options and timing of the experiments of `slipstream bench lbm_NAME`.

J. V. Tozatti Risso: Scalable GPU communication framework for stencil based applications, UFPR, 2017, with waLBerla. Its
protocol: 200 steps, 10 times in one process, minimum time; D3Q19 with one relaxation time, f64, cubes. If the thesis
states a number, a row shows its ratio; most of its results are plots only.
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from slipstream.base.core import core
from slipstream.case.reader import Source, parse
from slipstream.lbm.case import LbmCase
from slipstream.lbm.tables import BY_MOMENTS

from slipstream_bench import exchange_setups, options
from slipstream_bench.record import Row

STEPS, REPEATS = 200, 10
#: Seconds of timed steps per row after which no further repeat begins.
ENOUGH = 1.0


@dataclass(frozen=True)
class Choice:
    """Options that the benchmarks of lattice Boltzmann share."""

    backend: str
    devices: int  #: number of devices per rank
    threads: int
    cells: Sequence[int]  #: numbers of cells along the sides of the cubes
    lattice: str
    collision: str
    precision: str


class Chosen(Protocol):
    """Options of a benchmark that select a machine."""

    @property
    def backend(self) -> str: ...
    @property
    def threads(self) -> int: ...


def add_options(parser: argparse.ArgumentParser, what: str = "cubes of N^3 cells a device") -> None:
    """Adds the command-line options that the class `Choice` holds."""
    options.precision(parser, "f64")
    options.cells(parser, what)
    options.devices(parser)
    options.threads(parser)
    options.method(parser)


def representation(collision: str) -> str:
    """The representation of cells, "moments" or "populations", that a collision needs."""
    return "moments" if collision in BY_MOMENTS else "populations"


def method_keys(choice: Any) -> dict[str, Any]:
    """Keys of the table [lbm] that follow from the options of a benchmark."""
    return {
        "precision": choice.precision,
        "lattice": choice.lattice,
        "representation": representation(choice.collision),
        "collision": choice.collision,
    }


def method(choice: Any) -> Row:
    """Columns of a result row that name the lattice Boltzmann method: lattice, collision, number formats. The column
    `representation` is left out if cells store populations; else it says what they store, such as moments.
    """
    by = representation(choice.collision)
    return {
        "lattice": choice.lattice,
        **({"representation": by} if by != "populations" else {}),
        "collision": choice.collision,
        "storage": choice.precision,
        "arithmetic": "f64" if choice.precision == "f64" else "f32",
    }


def smallest_time(lbm: Any) -> float:
    """Seconds of STEPS steps: minimum of REPEATS times, by rank 0's clock between barriers. Collective."""
    return smallest_time_within(lbm, math.inf)[0]


def smallest_time_within(lbm: Any, seconds: float) -> tuple[float, int]:
    """The time of smallest_time(), in seconds, and the number of repeats, at most REPEATS. After `seconds` of rank 0's
    clock no further repeat begins, except the second. Collective."""
    module = core()
    found: list[float] = []
    while len(found) < min(2, REPEATS) or (len(found) < REPEATS and sum(found) < seconds):
        module.barrier()
        began = time.perf_counter()
        lbm.advance(STEPS)
        module.barrier()
        found.append(float(module.broadcast(repr(time.perf_counter() - began), 0)))
    return min(found), len(found)


def smallest_time_here(lbm: Any) -> float:
    """Seconds of STEPS steps: minimum of REPEATS times by this rank's clock, without barriers."""
    best = math.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        lbm.advance(STEPS)
        best = min(best, time.perf_counter() - began)
    return best


def any_case(choice: Chosen, devices: int) -> LbmCase:
    """A minimal case that only selects the machine."""
    data = {"grid": {"cells": [8, 8, 8]}, "physics": {"viscosity": 0.1}, "run": {"steps": 1}}
    machine = {"backend": choice.backend, "threads": choice.threads, "devices_per_rank": devices}
    return parse(data | {"machine": machine}, Source("bench"))


def devices_here(backend: str, ranks: int) -> int:
    """Number of devices per rank: GPUs shared evenly, at most four in total; two for the emulator, which suits small
    machines.
    """
    here = core().device_count("cuda") if backend == "cuda" else 2
    return max(1, min(4, here) // ranks)


def travels_by(messages: Sequence[Row]) -> str:
    """Names of the routes by which messages travel between devices."""
    return exchange_setups.travels_by(row["route"] for row in messages if row["source"] != row["target"])
