"""`slipstream bench stencil`: cells per second of the heat and wave equations, as a share of the copy rate.

The minimum time of a step is that of its bytes at the copy rate. Heat reads and writes u. A wave reads u, the previous
u and the speed, and writes u. The copy rate is measured right before each measurement.
"""

import argparse
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError
from slipstream.case.reader import Source, parse
from slipstream.machine import discovery, predict
from slipstream.run import engine
from slipstream.stencil.running import StencilRun

from slipstream_bench import exchange_setups, options, record

CELLS = {"host": (64,), "cuda": (128, 256, 512)}
#: Equations that are measured, with their numbers of stencil points or spatial orders.
METHODS = {
    "heat7": {"equation": "heat", "points": 7},
    "heat27": {"equation": "heat", "points": 27},
    **{f"wave{order}": {"equation": "wave", "order": order} for order in (2, 4, 6, 8)},
}
#: Number of measurements of a copy rate and subsequent steps, of which the median counts.
PAIRS = 5
#: Seconds that all measured time steps behind one line of the result table take together.
DURATION = 1.5
FIGURES = frozenset({"time_us", "gcells_per_s", "gbs", "roof_gbs", "share", "message_bytes", "travels_by"})


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--methods", nargs="+", default=["heat7", "wave8"], choices=sorted(METHODS), help="default: heat7 wave8"
    )
    parser.add_argument(
        "--together", type=int, nargs="+", default=[1], metavar="K", help="steps per exchange (default: 1)"
    )
    options.cells(parser)
    options.precisions(parser, "f32")
    options.routes(parser)
    options.overlap(parser)
    options.devices(parser)
    options.threads(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints steps of finite differences; rank 0 writes. Collective."""
    if any(n < 1 for n in [*arguments.together, *arguments.cells]):
        raise CaseError("bench stencil: --cells and --together are 1 or more", option="cells", limit=1)
    backend = discovery.choose_backend(arguments.backend)
    rows = list(_rows(arguments, backend))
    machine = discovery.discover(_case(arguments, backend, "heat7", "f32", 8, 1, 1).machine)
    console.print(_table(rows))
    record.keep(arguments.folder, "stencil", record.describe_machine(machine), rows, FIGURES, console)


def _case(
    arguments: argparse.Namespace, backend: str, method: str, precision: str, cells: int, devices: int, together: int
) -> Any:
    """A case of a periodic box, with a cube of cells for each device; the cubes lie along z."""
    return parse(
        {
            "grid": {"cells": [cells, cells, cells * devices], "periodic": [True, True, True]},
            "stencil": {**METHODS[method], "precision": precision, "steps_per_exchange": together},
            "run": {"steps": 1},
            "guard": {"every": 0},
            "machine": {"backend": backend, "devices_per_rank": arguments.devices, "threads": arguments.threads},
            "exchange": {"overlap": arguments.overlap, **options.routes_of(arguments)},
        },
        Source("bench"),
    )


def _rows(arguments: argparse.Namespace, backend: str) -> Iterator[record.Row]:
    for method in arguments.methods:
        for precision in arguments.precision or ["f32"]:
            for cells in arguments.cells or CELLS[backend]:
                for together in arguments.together:
                    yield _row(arguments, backend, method, precision, cells, together)


def _row(
    arguments: argparse.Namespace, backend: str, method: str, precision: str, cells: int, together: int
) -> record.Row:
    machine = discovery.discover(_case(arguments, backend, method, precision, cells, 1, together).machine)
    devices = len(machine.devices())
    case = _case(arguments, backend, method, precision, cells, devices, together)
    setup = engine.prepare(case, machine)
    pairs = _pairs(StencilRun(setup).engine, machine.devices())
    roof, seconds = (statistics.median(column) for column in zip(*pairs, strict=True))
    bytes_a_step = case.cell_count * setup.plan["bytes_per_cell"] / devices
    shares = [bytes_a_step / s / (1e9 * r) for r, s in pairs]
    messages = [message for message in setup.plan["messages"] if message["source"] != message["target"]]
    return {
        "ranks": machine.ranks,
        "devices": devices,
        **METHODS[method],
        "dtype": precision,
        "cells_per_device": [cells] * 3,
        "steps_per_exchange": together,
        "routes": arguments.routes or "rules",
        "overlap": arguments.overlap,
        "clock": "host",
        "time_us": record.digits(seconds * 1e6),
        "gcells_per_s": record.digits(case.cell_count / seconds / 1e9),
        "gbs": record.digits(bytes_a_step * devices / seconds / 1e9),
        "roof_gbs": record.digits(roof),
        **record.share_of(statistics.median(shares), 1.0, bytes_a_step, machine.devices()),
        "message_bytes": max((message["bytes"] for message in messages), default=0),
        "travels_by": exchange_setups.travels_by(message["route"] for message in messages),
    }


def _timed(engine: Any, steps: int) -> float:
    """Seconds of some steps on the slowest rank, between barriers, including the wait for devices. Collective."""
    module = core()
    module.barrier()
    began = time.perf_counter()
    engine.advance(steps)
    spent = time.perf_counter() - began
    return max(float(text) for text in module.Communicator.world().all_gather(repr(spent)))


def _pairs(engine: Any, devices: Sequence[dict[str, Any]]) -> list[tuple[float, float]]:
    """Measures the copy rate in GB/s and seconds of a step, after a warm-up, over whole exchange periods and graph
    replays. Collective."""
    steps, least = 48, DURATION / PAIRS
    while (seconds := _timed(engine, steps)) < least:
        steps = 48 * math.ceil(max(2 * steps, min(8 * steps, 1.2 * least * steps / max(seconds, 1e-6))) / 48)
    return [(predict.measure_memory(list(devices)), _timed(engine, steps) / steps) for _ in range(PAIRS)]


def _table(rows: Sequence[record.Row]) -> Any:
    shown = [
        (
            f"{row['equation']} {row.get('points') or row.get('order')}",
            row["dtype"],
            f"{row['cells_per_device'][0]}^3",
            row["devices"],
            row["steps_per_exchange"],
            f"{row['time_us']:.4g}",
            f"{row['gcells_per_s']:.4g}",
            f"{row['roof_gbs']:.4g}",
            f"{100 * row['share']:.3g}",
        )
        for row in rows
    ]
    columns = ["points or order", "format", "cells a device", "devices", "steps an exchange", "us a step", "Gcell/s"]
    return terminal.table("stencils", [*columns, "copy, GB/s", "% of a copy"], shown)
