"""`slipstream bench allreduce`: microseconds for an all-reduce of a few doubles."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.machine import discovery

from slipstream_bench import options, record, whole_machine
from slipstream_bench.timed import timed

SIZES = tuple(2**n for n in range(11))
QUICK_SIZES = (1, 8, 1024)
REPEATS, QUICK_REPEATS = 100, 5
#: Clocks with which each method of all-reduce is timed. Method mpi runs on the host, which device events do not time.
CLOCKS = {"peer": ("events", "host"), "nccl": ("events", "host"), "mpi": ("host",)}


def _discover(wanted: str, devices: int) -> Any:
    """Discovers the machine. An emulated one of a single rank gets two devices, so that a reduction has work."""
    backend = discovery.choose_backend(wanted)
    if backend == "host" and core().size() == 1 and devices == 0:
        devices = 2
    with as_case_error():
        machine = core().Machine.discover(backend, devices_per_rank=devices)
    if len(machine.devices()) < 2:
        raise CaseError(
            "bench allreduce needs two devices: start more ranks (-n) or give each more devices (--devices)",
            ErrorCode.UNSUPPORTED,
            limit=2,
        )
    return machine


def _measure(machine: Any, methods: list[str], quick: bool) -> list[dict[str, Any]]:
    sizes, repeats = (QUICK_SIZES, QUICK_REPEATS) if quick else (SIZES, REPEATS)
    rows = []
    for method in methods:
        for clock in CLOCKS[method]:
            times = timed().allreduce(machine, sizes, method, clock, repeats)
            rows += [
                {
                    "ranks": machine.ranks,
                    "devices": len(machine.devices()),
                    "values": values,
                    "dtype": "f64",
                    "operation": "add",
                    "method": method,
                    "clock": clock,
                    "time_us": record.digits(time),
                }
                for values, time in zip(sizes, times, strict=True)
            ]
    return rows


def _columns(rows: list[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """Measured times by method and clock, then by number of values."""
    columns: dict[str, dict[int, float]] = {}
    for row in rows:
        columns.setdefault(f"{row['method']}, {row['clock']}", {})[row["values"]] = row["time_us"]
    return columns


def _picture(path: Path, title: str, columns: dict[str, dict[int, float]]) -> None:
    from slipstream_bench import charts

    series = {label: (list(times), list(times.values())) for label, times in columns.items()}
    charts.curves(path, title, "doubles", "microseconds", series)


def add_options(parser: argparse.ArgumentParser) -> None:
    options.devices(parser)
    options.quick(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints all-reduces; rank 0 writes a table and a picture. Collective."""
    machine = _discover(arguments.backend, arguments.devices)
    refusals = {method: timed().allreduce_refusal(machine, method) for method in CLOCKS}
    rows = _measure(machine, [method for method, why in refusals.items() if not why], arguments.quick)
    columns = _columns(rows)
    shown = [
        (values, *(f"{times[values]:.4g}" for times in columns.values())) for values in next(iter(columns.values()))
    ]
    counts = whole_machine.counts(machine)
    console.print(terminal.table(f"all-reduce, microseconds, {counts}", ["doubles", *columns], shown))
    for why in filter(None, refusals.values()):
        console.print(why, soft_wrap=True)
    described = record.describe_machine(machine)

    def draw(path: Path, name: str) -> None:
        _picture(path, f"All-reduce on {name}, {counts}", columns)

    record.keep(
        arguments.folder, "allreduce", described, rows, FIGURES, console, draw, suffix=f"-{machine.ranks}-ranks"
    )


#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"time_us"})
