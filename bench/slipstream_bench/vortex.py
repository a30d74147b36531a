"""`slipstream bench vortex`: one turbulent decay by every method, and its error over the time to solution.

The Taylor-Green vortex at Reynolds number 1600, as `slipstream compare` runs it, on several sizes: cells or points of a
method along each axis, each counted once. Rows hold how far the dissipation is from the published one: its peak, and
all of it up to the end, relative in the L2 norm. `seconds` are those of the steps, by the clock on the wall. A method
that has no such size says so, and its row is left out. The picture has the error over the seconds, a curve a method.
"""

import argparse
import itertools
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import registry, terminal
from slipstream.base.errors import CaseError
from slipstream.case.case import Case
from slipstream.flow import energy
from slipstream.run import compare

from slipstream_bench import cases, charts, options, record, whole_machine
from slipstream_bench.whole_machine import need, number

#: Numbers of points along each axis; lattice Boltzmann needs 40 or more.
SIZES = {"host": (40, 48), "cuda": (40, 80, 160)}
TIME = 10.0
FIGURES = frozenset({"steps", "peak_error_percent", "dissipation_error", "largest_energy_error", "seconds"})


def add_options(parser: argparse.ArgumentParser) -> None:
    options.sizes(parser, "N^3 cells or points (host: 40 48; GPUs: 40 80 160)")
    parser.add_argument("--time", type=float, default=TIME, metavar="T", help=f"up to the time T ({TIME:g})")
    methods = list(registry.VORTICES)
    parser.add_argument("--solvers", nargs="+", default=methods, choices=methods, help="default: all that have it")
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Runs the Taylor-Green vortex by several flow solvers and prints their errors. Rank 0 adds results to the result
    file after each run. Collective."""
    need("vortex", 1, sizes=arguments.sizes)
    backend, machine = whole_machine.discover(arguments)
    overrides = [f"machine.backend={backend}"]
    if arguments.devices:
        overrides.append(f"machine.devices_per_rank={arguments.devices}")
    inputs = {"ranks": machine.ranks, "devices": len(machine.devices()), "clock": "host", "time": arguments.time}
    reference, shown, described = energy.taylor_green_1600(), [], record.describe_machine(machine)
    draw = partial(_draw, len(machine.devices()), arguments.time)
    for size, solver in itertools.product(arguments.sizes or SIZES[backend], arguments.solvers):
        with cases.temporary_folder() as folder:
            found = _run(arguments, size, solver, overrides, folder, console)
        for entry in found:
            row = inputs | _row(entry, compare.row(entry, reference, entry))
            shown.append([show(row) for show in COLUMNS.values()])
            # Results are written after each run, because a run may take an hour.
            record.keep(arguments.folder, "vortex", described, [row], FIGURES, Console(quiet=True), draw)
    console.print(terminal.table(f"Taylor-Green vortex, {whole_machine.counts(machine)}", list(COLUMNS), shown))


def _run(
    arguments: argparse.Namespace, size: int, solver: str, overrides: list[str], folder: str, console: Console
) -> list[compare.Entry]:
    """Runs the vortex by one method, and returns its row on rank 0. Collective."""
    chosen = argparse.Namespace(cells=[size], solvers=[solver], time=arguments.time, precisions=[], folder=Path(folder))
    try:
        case: list[Case] = [*compare.cases(chosen, overrides).values()]
    except CaseError as error:
        console.print(f"left out, {solver} on {size}^3: {error}", soft_wrap=True, highlight=False)
        return []
    console.print(f"{solver} on {size}^3: {case[0].last_step} steps", highlight=False)
    return compare.entries_of(case, Console(quiet=True), overwrite=True)


def _row(entry: compare.Entry, found: dict[str, Any]) -> record.Row:
    figures = ("peak_error_percent", "dissipation_error", "largest_energy_error", "seconds")
    return {
        "method": entry.title,
        "points": entry.points,
        "steps": entry.case.last_step,
        **{name: float(found[name]) for name in figures},
    }


def series(rows: list[record.Row], devices: int, time: float) -> dict[str, tuple[list[float], list[float]]]:
    """Run times in seconds and errors of the dissipation by numerical method, for ascending numbers of points."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for row in sorted(rows, key=lambda row: int(row["points"])):
        if (row["devices"], row["time"]) == (devices, time):
            seconds, errors = found.setdefault(row["method"], ([], []))
            seconds.append(row["seconds"])
            errors.append(row["dissipation_error"])
    return found


def _draw(devices: int, time: float, path: Path, machine: str) -> None:
    rows = record.read(path.with_suffix(".json"))["rows"]
    title = f"Taylor-Green vortex to t = {time:g}: {machine}"
    charts.curves(path, title, "seconds of the steps", "dissipation off, relative (L2)", series(rows, devices, time))


COLUMNS = {
    "method": lambda row: str(row["method"]),
    "points": lambda row: f"{row['points']}^3",
    "steps": lambda row: str(row["steps"]),
    "peak off %": number("peak_error_percent", ".3g"),
    "off (L2)": number("dissipation_error", ".3g"),
    "energy off": number("largest_energy_error", ".3g"),
    "s": number("seconds"),
}
