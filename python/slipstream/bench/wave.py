"""`slipstream bench wave`: a wave on two ranks, its messages doubles or floats cast in flight (Zheng 2023, 2.2.1).

Each rank has ncell cells of a wave in one dimension, and sends nhalo of its values in every step, one cell in 2 to 16.
The published tables are of two nodes; here both ranks are of one machine, and what is sent goes through its memory,
which is fast: on a network floats gain more. --throttle gives the messages a slower way.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from slipstream.base import terminal
from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError
from slipstream.bench import options, record
from slipstream.exchange.grid import Grid
from slipstream.exchange.halo import Exchange
from slipstream.machine import discovery

#: Seconds of ncell steps with float and with double messages, by threads, cells and cells to one value sent: tables 2.4
#: to 2.6 there (0.00175 in 2.5 is likely 0.0175).
PUBLISHED: dict[int, dict[int, dict[int, tuple[float, float]]]] = {
    1: {
        100000: {2: (261.982, 264.587), 4: (252.67, 257.162), 8: (249.412, 249.817), 16: (247.153, 247.339)},
        10000: {2: (2.54108, 2.74232), 4: (2.41549, 2.80097), 8: (2.37467, 2.55179), 16: (2.34761, 2.47443)},
        1000: {2: (0.0299569, 0.0375347), 4: (0.0289351, 0.0337446), 8: (0.028591, 0.0305071),
               16: (0.0278682, 0.0312777)},
    },
    4: {
        100000: {2: (114.888, 116.297), 4: (108.691, 111.183), 8: (107.47, 109.169), 16: (105.283, 106.481)},
        10000: {2: (1.18867, 1.15762), 4: (1.08312, 1.11132), 8: (1.05376, 1.0832), 16: (1.04873, 1.06448)},
        1000: {2: (0.0177266, 0.00175192), 4: (0.0172013, 0.0171973), 8: (0.0165005, 0.0163586),
               16: (0.0156856, 0.0162979)},
    },
    64: {
        100000: {2: (16.2163, 16.4481), 4: (14.3357, 14.8465), 8: (13.7941, 14.5594), 16: (13.481, 13.837)},
        10000: {2: (0.504733, 0.454218), 4: (0.465676, 0.461985), 8: (0.45871, 0.511093), 16: (0.487557, 0.577424)},
        1000: {2: (0.0392923, 0.0391511), 4: (0.0389243, 0.0394692), 8: (0.0384033, 0.0385646),
               16: (0.0388547, 0.0399244)},
    },
}  # fmt: skip
#: Seconds that a message of so many values is waited for, as floats and as doubles: table 2.3 there.
WAITS = {100000: (0.000135, 0.000234), 1000000: (0.001133, 0.001861), 10000000: (0.010961, 0.019268),
         100000000: (0.109485, 0.189590)}  # fmt: skip
SHARES = (2, 4, 8, 16)
CODINGS = {"float": "cast", "double": "raw"}
#: Steps that are measured; as many as there are cells count, as there.
MOST_STEPS = 1000
FIGURES = frozenset({"step_us", "time_s", "wait_us"})


def add_options(parser: argparse.ArgumentParser) -> None:
    options.cells(parser, "cells a rank (default: 1000 10000 100000)")
    parser.add_argument(
        "--lengths", type=int, nargs="*", default=[100000, 1000000, 10000000], metavar="N", help="values of a message"
    )
    parser.add_argument("--throttle", default="none", metavar="'R GB/s, L us'", help="as exchange.throttle has it")
    options.threads(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures, prints and, on rank 0, writes. Collective."""
    if core().size() != 2:
        raise CaseError(f"bench wave: it takes two ranks, -n 2; there are {core().size()}")
    if any(n < 16 for n in [*arguments.cells, *arguments.lengths]):
        raise CaseError("bench wave: --cells and --lengths are 16 or more")
    machine = discovery.discover(discovery.MachineTable(backend="host", devices_per_rank=1, threads=arguments.threads))
    steps = list(_steps(arguments))
    waits = list(_waits(arguments))
    for table in (_table_of_steps(arguments, steps), _table_of_waits(waits)):
        console.print(table)
    console.print(
        "Both ranks are of this machine: messages go through its memory. The published ones crossed a network."
    )
    record.keep(arguments.folder, "wave", record.describe_machine(machine), [*steps, *waits], FIGURES, console)


def _exchange(cells: int, sent: int, coding: str, throttle: str) -> tuple[Exchange, np.ndarray]:
    """Of a ring of two ranks with so many cells each, which send so many values both ways together."""
    grid = Grid((2 * cells, 1), periodic=(True, False), backend="host", devices_per_rank=1)
    values = np.random.default_rng(grid.comm.rank).random(grid.array_shape((sent, 0)))
    slow = {} if throttle == "none" else {"throttle": throttle}
    with as_case_error():
        made = Exchange(
            grid, {"u": values}, (sent, 0), low=(sent, 0), high=(0, 0), coding=coding, routes="staged,kernel", **slow
        )
    return made, values


def _slowest(seconds: float) -> float:
    """Of both ranks. Collective."""
    return max(float(text) for text in core().Communicator.world().all_gather(repr(seconds)))


def _steps(arguments: argparse.Namespace) -> Iterator[record.Row]:
    for cells in arguments.cells or (1000, 10000, 100000):
        wave = {"cells": (cells, 1, 1), "equation": "wave", "precision": "f64"}
        alone = core().Communicator.alone()
        engine = core().Stencil(core().Machine.discover("host", devices_per_rank=1, comm=alone), wave, comm=alone)
        for share in SHARES:
            for name, coding in CODINGS.items():
                exchange, _ = _exchange(cells, cells // share, coding, arguments.throttle)
                count = min(cells, MOST_STEPS)
                for warm in (True, False):
                    core().barrier()
                    start = time.perf_counter()
                    for _ in range(10 if warm else count):
                        exchange.begin()
                        engine.advance(1)
                        exchange.end()
                    spent = _slowest(time.perf_counter() - start) / count
                exchange.close()
                yield {
                    "ranks": 2,
                    "devices": 2,
                    "experiment": "steps",
                    "threads": arguments.threads,
                    "ncell": cells,
                    "nhalo": cells // share,
                    "message": name,
                    "throttle": arguments.throttle,
                    "clock": "host",
                    "step_us": record.digits(spent * 1e6),
                    "time_s": record.digits(spent * cells),
                }


def _waits(arguments: argparse.Namespace) -> Iterator[record.Row]:
    for length in arguments.lengths:
        for name, coding in CODINGS.items():
            exchange, _ = _exchange(length, length, coding, arguments.throttle)
            times = []
            for _ in range(6):
                core().barrier()
                start = time.perf_counter()
                exchange.begin()
                exchange.end()
                times.append(_slowest(time.perf_counter() - start))
            exchange.close()
            yield {
                "ranks": 2,
                "devices": 2,
                "experiment": "waits",
                "values": length,
                "message": name,
                "throttle": arguments.throttle,
                "clock": "host",
                "wait_us": record.digits(min(times) * 1e6),
            }


def _pairs(rows: Sequence[record.Row]) -> Iterator[tuple[record.Row, record.Row]]:
    return zip(rows[::2], rows[1::2], strict=True)


def _table_of_steps(arguments: argparse.Namespace, rows: Sequence[record.Row]) -> Any:
    published = PUBLISHED.get(arguments.threads or 1, PUBLISHED[64])
    shown = []
    for single, double in _pairs(rows):
        share = single["ncell"] // single["nhalo"]
        theirs = published.get(single["ncell"], {}).get(share, (None, None))
        ours = (single["time_s"], double["time_s"])
        shown.append(
            (single["ncell"], f"ncell/{share}", *(f"{t:.4g}" for t in ours), f"{ours[1] / ours[0]:.3f}",
             *("-" if t is None else f"{t:.4g}" for t in theirs))
        )  # fmt: skip
    columns = ["ncell", "nhalo", "float, s", "double, s", "double / float", "published: float", "double"]
    return terminal.table("a wave on two ranks, ncell steps", columns, shown)


def _table_of_waits(rows: Sequence[record.Row]) -> Any:
    shown = []
    for single, double in _pairs(rows):
        theirs = WAITS.get(single["values"], (None, None))
        shown.append(
            (single["values"], f"{single['wait_us']:.4g}", f"{double['wait_us']:.4g}",
             f"{double['wait_us'] / single['wait_us']:.3f}", *("-" if t is None else f"{t * 1e6:.0f}" for t in theirs))
        )  # fmt: skip
    columns = ["values", "float, us", "double, us", "double / float", "published: float, us", "double, us"]
    return terminal.table("waits for messages", columns, shown)
