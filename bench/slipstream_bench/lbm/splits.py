"""Cubes divided among devices: layout, imbalance, weak and strong scaling of the thesis (Risso 2017).

Each of these four experiments is an `Experiment`: its cubes, and the reference of its rows.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.reader import Source, parse
from slipstream.lbm import running
from slipstream.lbm.case import LbmCase
from slipstream.machine import discovery
from slipstream.run import engine

from slipstream_bench import charts, options, record
from slipstream_bench.lbm import common
from slipstream_bench.lbm.common import any_case, devices_here, smallest_time, travels_by
from slipstream_bench.record import Row

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"time_ms", "mlups", "populations_mb", "percent", "paper_percent", "travels_by"})
#: Numbers of devices along x, y and z, by decomposition and number of blocks, as in 5.3.3 of Risso's thesis.
SPLITS = {
    "xz": {1: (1, 1, 1), 2: (2, 1, 1), 4: (2, 1, 2)},
    "yz": {1: (1, 1, 1), 2: (1, 2, 1), 4: (1, 2, 2)},
}
#: Periodic cubes for the communication experiment: blocks along x, y and z (5.3.1 and figure 6.4 of Risso's thesis).
ACROSS_ROWS: Sequence[tuple[int, int, int]] = ((1, 2, 2), (1, 1, 2))
#: Million cell updates per second in the text of Risso's thesis, chapter 6.2. One GPU: a cube of 320^3 cells. The other
#: cases have a cube of 256^3 cells per GPU. Two GPUs split in x use the buffered scheme; another scheme of the thesis
#: reaches 100. Four GPUs split in y and z use the asynchronous scheme.
PAPER_ONE = 550.0
PAPER = {("weak", "xz", 2): 854.0, ("weak", "yz", 4): 1149.0}


@dataclass(frozen=True)
class Choice(common.Choice):
    """Options of the benchmarks after Risso's thesis."""

    overlap: str


@dataclass(frozen=True)
class Setup:
    """A run to measure: number of cells, division into blocks, and memory layout of fields."""

    label: str  #: label of the line in the picture, which also gives its colour
    place: str  #: position of the run along the x axis of the picture
    cells: int  #: cells along the side of a block's cube; for strong scaling of the whole cube
    split: tuple[int, int, int]
    layout: str = "auto"
    alignment: int | str = "auto"

    @property
    def blocks(self) -> int:
        return self.split[0] * self.split[1] * self.split[2]


#: Function that lists the cases to measure in an experiment. Its arguments are the numbers of cells along the edge of a
#: cube, and the largest and the least number of devices.
Setups = Callable[[Sequence[int], int, int], Iterable[Setup]]


@dataclass(frozen=True)
class Experiment:
    """An experiment of Risso's thesis, and how its results are shown."""

    name: str
    title: str  #: title of the picture of the experiment
    place: str  #: heading of the table's column with a run's position along the picture's x axis
    axis: str  #: label of the x axis of the picture
    percent_of: str
    #: Default sides of the cubes by backend; they are small on a host, so that a minute is enough.
    cells: Mapping[str, Sequence[int]]
    setups: Setups
    #: Whether the box has walls, beyond which there are ghosts also along rows, as in the arrays of Risso's thesis;
    #: else it is periodic.
    cavity: bool = False
    scaling: bool = False  #: whether rates are in percent of n times the rate of one device; else of the fastest run
    whole: bool = False  #: whether all devices divide one cube; else each has its own
    devices: Callable[[str, int], int] = devices_here  #: default devices per rank, by backend and ranks
    #: Function that gives the text on why numbers of devices and ranks are unsuitable; empty if they are suitable.
    refusal: Callable[[int, int], str] = lambda devices, ranks: ""


def scaled(cells: Sequence[int], most: int, least: int) -> Iterator[Setup]:
    """Runs with both decompositions of Risso's thesis, along x and z or y and z, for all numbers of devices that the
    ranks can share equally."""
    for n in cells:
        for name, splits in SPLITS.items():
            counts = [count for count in splits if least <= count <= most and count % least == 0]
            label = name if len(cells) == 1 else f"{name}, {n}^3"
            yield from (Setup(label, str(count), n, splits[count]) for count in counts)


def grid(setup: Setup, whole: bool = False) -> list[int]:
    """Number of cells of the whole grid along each axis."""
    return [setup.cells] * 3 if whole else record.grid_of(setup.cells, setup.split)


def case_of(choice: Choice, setup: Setup, nodes: int, cavity: bool = False, whole: bool = False) -> LbmCase:
    """A case of a cavity, or of a fully periodic box in which each block has all neighbours."""
    value = {"f32": 4, "f64": 8}[choice.precision]
    data: dict[str, Any] = {
        "grid": {"cells": grid(setup, whole), "periodic": [not cavity] * 3},
        "lbm": {
            **common.method_keys(choice),
            "layout": setup.layout,
            # With an alignment of one value, rows have no padding.
            "alignment": setup.alignment or value,
        },
        "physics": {"viscosity": 0.05, "reference_velocity": 0.05},
        "run": {"steps": 1},
        "machine": {"backend": choice.backend, "threads": choice.threads},
        "exchange": {"overlap": choice.overlap},
    }
    if cavity:
        data["walls"] = {"y+": {"velocity": [1.0, 0.0, 0.0]}}
    # On one node the requested grid divides the devices; with one device per node it divides the nodes.
    data["exchange"]["device_grid" if nodes == 1 else "node_grid"] = list(setup.split)
    return parse(data, Source("bench"))


def measure(experiment: Experiment, choice: Choice, setup: Setup) -> Row:
    """Measures steps of one run. Discovers the machine again, with a device for each of its blocks. Collective."""
    ranks = core().size()
    machine = discovery.discover(any_case(choice, setup.blocks // ranks).machine)
    if machine.nodes not in (1, setup.blocks):
        raise CaseError(
            f"bench lbm_{experiment.name}: {setup.blocks} devices on {machine.nodes} nodes; all of them lie on one "
            "node, or one on each",
            ErrorCode.UNSUPPORTED,
            devices=setup.blocks,
            nodes=machine.nodes,
        )
    case = case_of(choice, setup, machine.nodes, experiment.cavity, experiment.whole)
    prepared = engine.prepare(case, machine)
    lbm = running.compiled(prepared)
    seconds = smallest_time(lbm)
    cells = grid(setup, experiment.whole)
    return {
        "ranks": ranks,
        "devices": setup.blocks,
        "nodes": machine.nodes,
        "experiment": experiment.name,
        "decomposition": setup.label.split(",")[0] if experiment.scaling else "-",
        "split": list(setup.split),
        "cells_per_device": [n // part for n, part in zip(cells, setup.split, strict=True)],
        **common.method(choice),
        "layout": prepared.plan["layout"],
        "alignment": setup.alignment,
        "overlap": choice.overlap,
        "periodic": not experiment.cavity,
        "steps": common.STEPS,
        "repeats": common.REPEATS,
        "clock": "host",
        "travels_by": travels_by(lbm.report()),
        "time_ms": record.digits(1e3 * seconds),
        "mlups": record.digits(case.cell_count * common.STEPS / seconds / 1e6),
        "populations_mb": record.digits(_bytes_of_populations(prepared.plan) / 1e6),
    }


def _bytes_of_populations(plan: Row) -> int:
    return sum(array["bytes"] for array in plan["arrays"] if array["array"].startswith(("populations", "moments")))


def compare(experiment: Experiment, rows: list[Row]) -> None:
    """Adds to each row its rate in percent of its reference row, and that of Risso's thesis."""
    for row in rows:
        alike = [other for other in rows if _peers(experiment, other) == _peers(experiment, row)]
        if experiment.scaling:
            ones = [other["mlups"] for other in alike if other["devices"] == 1]
            base = row["devices"] * ones[0] if ones else None
        else:
            base = max(other["mlups"] for other in alike)
        row["percent"] = record.digits(100.0 * row["mlups"] / base) if base else None
        published = PAPER.get((experiment.name, row["decomposition"], row["devices"]))
        same = row["cells_per_device"] == [256] * 3
        row["paper_percent"] = (
            record.digits(100.0 * published / (row["devices"] * PAPER_ONE)) if published and same else None
        )


def _peers(experiment: Experiment, row: Row) -> Any:
    """Key that is equal for measured runs that are compared: their decomposition and numbers of cells."""
    cells = row["cells_per_device"]
    if experiment.whole:
        cells = [n * part for n, part in zip(cells, row["split"], strict=True)]
    return row["decomposition"], cells


def picture(path: Path, experiment: Experiment, machine: str, series: Mapping[str, Sequence[tuple[str, Row]]]) -> None:
    """Draws updates per second, one line per setup; crosses show percentages of Risso's thesis."""
    figure = "percent" if experiment.scaling else "mlups"

    def line(points: Sequence[tuple[str, Row]], key: str) -> tuple[list[str], list[float]]:
        there = [(place, row[key]) for place, row in points if row[key]]
        return [place for place, _ in there], [value for _, value in there]

    lines = {label: line(points, figure) for label, points in series.items()}
    marks = {f"Risso 2017, {label}": line(points, "paper_percent") for label, points in series.items()}
    marks = {label: mark for label, mark in marks.items() if experiment.scaling and mark[0]}
    ylabel = "% of n times one block" if experiment.scaling else "million updates a second"
    charts.categories(path, f"{experiment.title}: {machine}", experiment.axis, ylabel, lines, marks)


def add_options(parser: argparse.ArgumentParser, cells: str = "cubes of N^3 cells a device") -> None:
    common.add_options(parser, cells)
    options.overlap(parser)


def run(experiment: Experiment, arguments: argparse.Namespace, console: Console) -> None:
    """Repeats an experiment of Risso's thesis: times lattice Boltzmann steps on cubes divided among devices. Rank 0
    prints and stores the results. All ranks must call it."""
    ranks, choice = core().size(), record.chosen(Choice, arguments)
    backend = discovery.choose_backend(choice.backend)
    per_rank = choice.devices or experiment.devices(backend, ranks)
    if why := experiment.refusal(ranks * per_rank, ranks):
        raise CaseError(
            f"bench lbm_{experiment.name}: {why}", ErrorCode.UNSUPPORTED, devices=ranks * per_rank, ranks=ranks
        )
    wanted = experiment.setups(choice.cells or experiment.cells[backend], ranks * per_rank, ranks)
    # The moment representation has only one layout of fields, the default.
    found = [
        setup for setup in wanted if setup.layout != "aos" or common.representation(choice.collision) == "populations"
    ]
    if not found:
        raise CaseError(
            f"bench lbm_{experiment.name}: 1, 2 or 4 ranks, there are {ranks}",
            ErrorCode.UNSUPPORTED,
            ranks=ranks,
            limit="1, 2 or 4",
        )
    _check_cells(experiment, found)
    rows = [measure(experiment, choice, setup) for setup in found]
    compare(experiment, rows)
    machine = discovery.discover(any_case(choice, per_rank).machine)
    title = f"{experiment.name}, {choice.lattice} {choice.collision} {choice.precision} on {machine.name}: "
    console.print(
        _table(
            title + f"{common.STEPS} steps, the smallest of {common.REPEATS} times",
            experiment,
            found,
            rows,
        )
    )
    series: dict[str, list[tuple[str, Row]]] = {}
    for setup, row in zip(found, rows, strict=True):
        series.setdefault(setup.label, []).append((setup.place, row))
    described = record.describe_machine(machine)

    def draw(path: Path, name: str) -> None:
        picture(path, experiment, name, series)

    record.keep(arguments.folder, f"lbm_{experiment.name}", described, rows, FIGURES, console, draw)


def _check_cells(experiment: Experiment, found: Sequence[Setup]) -> None:
    for setup in found:
        cells = grid(setup, experiment.whole)
        if any(n % part or n // part < 4 for n, part in zip(cells, setup.split, strict=True)):
            parts = " x ".join(map(str, setup.split))
            raise CaseError(
                f"bench lbm_{experiment.name}: --cells {setup.cells} cannot be cut into {parts} blocks; a side is a "
                "multiple of the blocks along it, of 4 cells or more each",
                option="cells",
                blocks=parts,
            )


def _table(title: str, experiment: Experiment, found: Sequence[Setup], rows: Sequence[Row]) -> Any:
    def percent(value: float | None) -> str:
        return "-" if value is None else f"{value:.1f}"

    shown = [
        (setup.label, setup.place, " x ".join(map(str, row["split"])), " x ".join(map(str, row["cells_per_device"])),
         f"{row['time_ms']:.4g}", f"{row['mlups']:.4g}", percent(row["percent"]), percent(row["paper_percent"]))
        for setup, row in zip(found, rows, strict=True)
    ]  # fmt: skip
    columns = ["", experiment.place, "split", "cells a block", "ms", "MLUPS", experiment.percent_of, "Risso's %"]
    return terminal.table(title, columns, shown, left=1)
