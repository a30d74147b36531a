"""`slipstream bench lbm --experiment NAME`: the experiments of a master's thesis on communication between GPUs, again.

C. Risso: Optimization of communication in the lattice Boltzmann method on GPUs, 2017, with the framework waLBerla. Its
protocol: 200 steps, 10 times within one process, the smallest time counts; D3Q19 with one relaxation time, f64, cubes.
Where the text of the thesis gives a number, its ratio stands beside ours; most of its results are pictures only.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream import bench, engine, plots, report
from slipstream.case import Case, Source, parse
from slipstream.core import core
from slipstream.errors import CaseError

Row = dict[str, Any]

STEPS, REPEATS = 200, 10
#: Columns of a row that are results and not inputs.
FIGURES = frozenset({"time_ms", "mlups", "populations_mb", "percent", "paper_percent"})
#: What `percent` is of, by experiment.
PERCENT_OF = {
    "layout": "% of the fastest",
    "imbalance": "% of the fastest axis",
    "weak": "% of n x one block",
    "strong": "% of n x one block",
}
#: How many devices along x, y and z, by decomposition and number of blocks (5.3.3).
SPLITS = {
    "xz": {1: (1, 1, 1), 2: (2, 1, 1), 4: (2, 1, 2)},
    "yz": {1: (1, 1, 1), 2: (1, 2, 1), 4: (1, 2, 2)},
}
AXES = {"x": (2, 1, 1), "y": (1, 2, 1), "z": (1, 1, 2)}
ALIGNMENTS = (0, 32, 64, 128, 256, 512)
#: Million updates a second in the text of the thesis, chapter 6.2: of one GPU (cubes of 320); of two, split in x (the
#: buffered scheme; 100 with the other one), and of four, split in y and z (the asynchronous scheme), cubes of 256.
PAPER_ONE = 550.0
PAPER = {("weak", "xz", 2): 854.0, ("weak", "yz", 4): 1149.0}
#: Those whose sides are walls, beyond which lie ghosts, along rows too, as the thesis's arrays always have.
CAVITIES = ("layout", "imbalance")
#: Cubes of cells of a block where none are named: small on a host, so that a minute is enough. Those of `layout` have,
#: with their two ghosts, rows whose length is another at each alignment; 321 is odd.
CELLS = {
    "layout": {"host": [64], "cuda": [128, 256, 321]},
    "imbalance": {"host": [16, 32, 64], "cuda": [16, 32, 64, 128, 256]},
    "weak": {"host": [64], "cuda": [256]},
    "strong": {"host": [64], "cuda": [256]},
}


@dataclass(frozen=True)
class Choice:
    """What to measure."""

    experiment: str
    backend: str
    devices: int  #: a rank
    threads: int
    cells: Sequence[int]  #: of the cube of a block, of strong scaling in all
    lattice: str
    collision: str
    precision: str
    overlap: str
    grid: str = ""  #: of blocks, as 3x3x3


@dataclass(frozen=True)
class Setup:
    """One measurement."""

    label: str  #: of its line or colour
    place: str  #: along the axis of the picture
    cells: int  #: cube of a block; of strong scaling in all
    split: tuple[int, int, int]
    layout: str = "auto"
    alignment: int | str = "auto"

    @property
    def blocks(self) -> int:
        return self.split[0] * self.split[1] * self.split[2]


def setups(experiment: str, cells: Sequence[int], most: int, least: int) -> Iterator[Setup]:
    """What an experiment measures with `least` to `most` devices."""
    for n in cells:
        if experiment == "layout":
            split = (most, 1, 1)  # so that messages leave from the ends of rows
            for layout in ("soa", "aos"):
                for alignment in ALIGNMENTS:
                    yield Setup(f"{layout}, {n}^3", str(alignment), n, split, layout, alignment)
        elif experiment == "imbalance":
            yield from (Setup(f"split in {axis}", str(n), n, split) for axis, split in AXES.items())
        else:
            for name, splits in SPLITS.items():
                counts = [count for count in splits if least <= count <= most and count % least == 0]
                label = name if len(cells) == 1 else f"{name}, {n}^3"
                yield from (Setup(label, str(count), n, splits[count]) for count in counts)


def grid(experiment: str, setup: Setup) -> list[int]:
    """Cells in all: strong scaling cuts the cube, the others put cubes together."""
    return [setup.cells] * 3 if experiment == "strong" else bench.grid_of(setup.cells, setup.split)


def case_of(choice: Choice, setup: Setup, nodes: int) -> Case:
    """A cavity, or, for the scaling, a box that is periodic in all directions: so each block has all its neighbours."""
    periodic = choice.experiment not in CAVITIES
    value = {"f32": 4, "f64": 8}[choice.precision]
    data: dict[str, Any] = {
        "grid": {"cells": grid(choice.experiment, setup), "periodic": [periodic] * 3},
        "lbm": {
            "precision": choice.precision,
            "lattice": choice.lattice,
            "collision": choice.collision,
            "layout": setup.layout,
            # 0: rows follow one another as they come.
            "alignment": setup.alignment or value,
        },
        "physics": {"viscosity": 0.05, "lid_speed": 0.05},
        "run": {"steps": 1},
        "machine": {"backend": choice.backend, "threads": choice.threads},
        "exchange": {"overlap": choice.overlap},
    }
    if not periodic:
        data["walls"] = {"y+": {"velocity": [1.0, 0.0, 0.0]}}
    # On one node its devices are cut as asked for; with a device a node the nodes are.
    data["exchange"]["device_grid" if nodes == 1 else "node_grid"] = list(setup.split)
    return parse(data, Source("bench"))


def smallest_time(lbm: Any) -> float:
    """Seconds of STEPS steps: the smallest of REPEATS times, by rank 0's clock between barriers. Collective."""
    module = core()
    return float(module.broadcast(repr(smallest_time_here(lbm, module.barrier)), 0))


def smallest_time_here(lbm: Any, wait: Callable[[], None] = lambda: None) -> float:
    """The same by this rank's clock; `wait` comes before and after the steps."""
    best = float("inf")
    for _ in range(REPEATS):
        wait()
        began = time.perf_counter()
        lbm.advance(STEPS)
        wait()
        best = min(best, time.perf_counter() - began)
    return best


def measure(choice: Choice, setup: Setup) -> Row:
    """One row; the machine is found again with as many devices as the setup has blocks. Collective."""
    ranks = core().size()
    machine = engine.discover(any_case(choice, setup.blocks // ranks))
    if machine.nodes not in (1, setup.blocks):
        raise CaseError(
            f"bench lbm --experiment {choice.experiment}: {setup.blocks} devices on {machine.nodes} nodes; all "
            "of them lie on one node, or one on each"
        )
    case = case_of(choice, setup, machine.nodes)
    prepared = engine.prepare(case, machine)
    seconds = smallest_time(engine.solver(prepared))
    cells = grid(choice.experiment, setup)
    return {
        "ranks": ranks,
        "devices": setup.blocks,
        "nodes": machine.nodes,
        "experiment": choice.experiment,
        "decomposition": setup.label.split(",")[0] if choice.experiment in ("weak", "strong") else "-",
        "split": list(setup.split),
        "cells_per_device": [n // part for n, part in zip(cells, setup.split, strict=True)],
        "lattice": choice.lattice,
        "collision": choice.collision,
        "storage": choice.precision,
        "arithmetic": choice.precision,
        "layout": prepared.plan["layout"],
        "alignment": setup.alignment,
        "overlap": choice.overlap,
        "periodic": choice.experiment not in CAVITIES,
        "steps": STEPS,
        "repeats": REPEATS,
        "clock": "host",
        "time_ms": bench.digits(1e3 * seconds),
        "mlups": bench.digits(case.cell_count * STEPS / seconds / 1e6),
        "populations_mb": bench.digits(_bytes_of_populations(prepared.plan) / 1e6),
    }


def _bytes_of_populations(plan: Row) -> int:
    return sum(array["bytes"] for array in plan["arrays"] if array["array"].startswith("populations"))


def compare(experiment: str, rows: list[Row]) -> None:
    """Adds what each row is in percent of the one that it is measured by, and what that is in the thesis."""
    for row in rows:
        alike = [other for other in rows if _peers(experiment, other) == _peers(experiment, row)]
        if experiment in ("weak", "strong"):
            ones = [other["mlups"] for other in alike if other["devices"] == 1]
            base = row["devices"] * ones[0] if ones else None
        else:
            base = max(other["mlups"] for other in alike)
        row["percent"] = bench.digits(100.0 * row["mlups"] / base) if base else None
        published = PAPER.get((experiment, row["decomposition"], row["devices"]))
        same = row["cells_per_device"] == [256] * 3
        row["paper_percent"] = (
            bench.digits(100.0 * published / (row["devices"] * PAPER_ONE)) if published and same else None
        )


def _peers(experiment: str, row: Row) -> Any:
    """What rows that are compared with one another have in common."""
    if experiment == "strong":
        cells = [n * part for n, part in zip(row["cells_per_device"], row["split"], strict=True)]
        return row["decomposition"], cells
    return row["decomposition"], row["cells_per_device"]


def picture(path: Path, experiment: str, machine: str, series: dict[str, list[tuple[str, Row]]]) -> None:
    """Updates a second, a line a setup; percent of the paper's as crosses."""
    titles = {
        "layout": "layout and alignment",
        "imbalance": "direction of the split",
        "weak": "weak scaling",
        "strong": "strong scaling",
    }
    names = {
        "layout": "bytes to which rows are aligned",
        "imbalance": "cube of cells of a block",
        "weak": "blocks",
        "strong": "blocks",
    }
    scaling = experiment in ("weak", "strong")
    figure = "percent" if scaling else "mlups"
    lines = {
        label: ([place for place, row in points if row[figure] is not None],
                [row[figure] for _, row in points if row[figure] is not None])
        for label, points in series.items()
    }  # fmt: skip
    marks = {
        f"Risso 2017, {label}": ([place for place, row in points if row["paper_percent"]],
                                 [row["paper_percent"] for _, row in points if row["paper_percent"]])
        for label, points in series.items()
        if scaling and any(row["paper_percent"] for _, row in points)
    }  # fmt: skip
    ylabel = "% of n times one block" if scaling else "million updates a second"
    plots.categories(path, f"{titles[experiment]}: {machine}", names[experiment], ylabel, lines, marks)


def run(choice: Choice, console: Console, folder: Path | None) -> None:
    """Measures, prints and, on rank 0, writes. Collective."""
    module = core()
    backend = engine.choose_backend(choice.backend)
    cells = choice.cells or CELLS[choice.experiment][backend]
    per_rank = choice.devices or (1 if choice.experiment == "layout" else devices_here(backend, module.size()))
    most = module.size() * per_rank
    found = list(setups(choice.experiment, cells, most, module.size()))
    if choice.experiment == "imbalance" and most < 2:
        raise CaseError("bench lbm --experiment imbalance: needs two devices; take --devices 2, or -n 2")
    if choice.experiment == "imbalance" and module.size() > 2:
        raise CaseError(f"bench lbm --experiment imbalance: has two blocks, but there are {module.size()} ranks")
    if not found:
        raise CaseError(f"bench lbm --experiment {choice.experiment}: 1, 2 or 4 ranks, there are {module.size()}")
    _check_cells(choice.experiment, found)
    rows = [measure(choice, setup) for setup in found]
    compare(choice.experiment, rows)
    machine = engine.discover(any_case(choice, per_rank))
    title = f"{choice.experiment}, {choice.lattice} {choice.collision} {choice.precision} on {machine.name}: "
    console.print(_table(title + f"{STEPS} steps, the smallest of {REPEATS} times", choice.experiment, found, rows))
    series: dict[str, list[tuple[str, Row]]] = {}
    for setup, row in zip(found, rows, strict=True):
        series.setdefault(setup.label, []).append((setup.place, row))
    name = choice.experiment
    write(name, machine, rows, FIGURES, console, folder, lambda path, what: picture(path, name, what, series))


def write(
    experiment: str,
    machine: Any,
    rows: list[Row],
    figures: frozenset[str],
    console: Console,
    folder: Path | None,
    draw: Callable[[Path, str], None] | None = None,
) -> None:
    """Rows and picture of an experiment, on rank 0; `draw` is given the picture's path and the machine's name."""
    module = core()
    if folder is None or module.rank() != 0:
        return
    build = module.build_info()
    described = bench.describe_machine(machine, build)
    path = bench.write(folder, f"lbm_{experiment}", described, build["commit"], rows, figures)
    if draw:
        draw(path.with_suffix(".png"), described["name"])
    console.print(f"written: {path}{f' and {path.stem}.png' if draw else ''}", soft_wrap=True)


def any_case(choice: Choice, devices: int) -> Case:
    """Says which machine is asked for, and nothing else."""
    data = {"grid": {"cells": [8, 8, 8]}, "physics": {"viscosity": 0.1}, "run": {"steps": 1}}
    machine = {"backend": choice.backend, "threads": choice.threads, "devices_per_rank": devices}
    return parse(data | {"machine": machine}, Source("bench"))


def devices_here(backend: str, ranks: int) -> int:
    """Of a rank: all GPUs shared out, at most four in all; of the emulator two, which a small machine can bear."""
    here = core().device_count("cuda") if backend == "cuda" else 2
    return max(1, min(4, here) // ranks)


def _check_cells(experiment: str, found: Sequence[Setup]) -> None:
    for setup in found:
        cells = grid(experiment, setup)
        if any(n % part or n // part < 4 for n, part in zip(cells, setup.split, strict=True)):
            parts = " x ".join(map(str, setup.split))
            raise CaseError(
                f"bench lbm: --cells {setup.cells} cannot be cut into {parts} blocks; a side is a multiple of the "
                "blocks along it, of 4 cells or more each"
            )


def _table(title: str, experiment: str, found: Sequence[Setup], rows: Sequence[Row]) -> Any:
    def percent(value: float | None) -> str:
        return "-" if value is None else f"{value:.1f}"

    shown = [
        (setup.label, setup.place, " x ".join(map(str, row["split"])), " x ".join(map(str, row["cells_per_device"])),
         f"{row['time_ms']:.4g}", f"{row['mlups']:.4g}", percent(row["percent"]), percent(row["paper_percent"]))
        for setup, row in zip(found, rows, strict=True)
    ]  # fmt: skip
    place = {"layout": "aligned to", "imbalance": "cube", "weak": "blocks", "strong": "blocks"}[experiment]
    columns = ["", place, "split", "cells a block", "ms", "MLUPS", PERCENT_OF[experiment], "Risso's %"]
    return report.table(title, columns, shown, left=1)
