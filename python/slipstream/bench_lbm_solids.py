"""`slipstream bench lbm --experiment flagfield` and `simd`: what it is worth to leave solid cells alone.

Y. Zheng: Optimization of the GPU code of waLBerla, 2023, chapter 1: the flow round a car, whose inside a step skips by
its flags (1.2), and flags that are compared four at a time by the instruction __vsetne4 (1.3). The protocol of the
other experiments: the smallest of 10 times 200 steps.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from slipstream import beads, bench, engine, report
from slipstream import bench_lbm_counters as counters
from slipstream.case import Case, Source, parse
from slipstream.core import core
from slipstream.errors import CaseError

Row = dict[str, Any]

EXPERIMENTS = ("flagfield", "simd")
STEPS, REPEATS = 200, 10
FIGURES = frozenset(
    {"time_ms", "mlups", "mflups", "steps_per_second", "bytes_per_fluid_cell", "ratio", "to_empty", "paper_ratio"}
)
#: The same of the rows of counters.
COUNTED = frozenset(counters.METRICS) | {"profiled_ratio", "paper_ratio"}
WAYS = ("dense", "flags", "sparse")
#: Table 1.6: 65 536 cells, of which 0.6 % are solid (734.668 / 739.293 of the updates are of fluid cells).
PAPER_CELLS, PAPER_SHARE = (64, 32, 32), 1.0 - 734.668 / 739.293
#: Its updates of fluid cells with flags over those without: alone, and under the profiler.
PAPER_FLAGS, PAPER_FLAGS_PROFILED = 884.688 / 734.668, 702.689 / 629.713
#: Tables 1.7, 1.8 and 1.13: time by words over time by flags, of the two toy kernels and of the step.
PAPER_SIMD = {"outside": 20.707 / 20.719, "inside": 3.577 / 2.104, "step": 699.908 / 702.689}
#: Sides of the cubes, beside the paper's cells, and shares of solid cells; radius of the beads of a pack over the side.
CUBES = {"host": [48], "cuda": [256, 512]}
SHARES = (PAPER_SHARE, 0.05, 0.6)
#: Of cubes more of them: where in between `auto` changes from one way to another.
CUBE_SHARES = (PAPER_SHARE, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
#: Share of the body in a box with walls on all sides.
WALLED_SHARE = 0.05
BEAD = 0.1
#: The toy kernels' words and rounds of the loop: the paper's on a GPU.
TOY = {"host": (64 * 1024, 200), "cuda": (1024 * 1024, 100_000)}


@dataclass(frozen=True)
class Choice:
    """What to measure."""

    experiment: str
    backend: str
    threads: int
    cells: list[int]  #: cubes
    lattice: str
    collision: str
    precision: str
    streaming: str


def solids(cells: tuple[int, int, int], share: float) -> np.ndarray:
    """A ball in the middle, or from a third on a pack of beads."""
    if share < 0.3:
        radius = (share * cells[0] * cells[1] * cells[2] * 3.0 / (4.0 * np.pi)) ** (1.0 / 3.0)
        return beads.mask(cells, np.asarray([cells], dtype=float) / 2.0, float(radius))
    radius = max(4.0, BEAD * min(cells))
    centres = beads.pack(cells, radius, beads.count_for(share, radius, cells), seed=1)
    return beads.mask(cells, centres, radius)


def case_of(choice: Choice, cells: tuple[int, int, int], way: str, walls: bool = False) -> Case:
    """Periodic in all directions, or with walls at rest on all sides."""
    return parse(
        {
            "grid": {"cells": list(cells), "periodic": [not walls] * 3},
            "lbm": {
                "precision": choice.precision,
                "lattice": choice.lattice,
                "collision": choice.collision,
                "streaming": choice.streaming,
                "solids": way,
            },
            "physics": {"viscosity": 0.05, "lid_speed": 0.05, "length": float(cells[0])},
            "run": {"steps": 1},
            "machine": {"backend": choice.backend, "threads": choice.threads, "devices_per_rank": 1},
        },
        Source("bench"),
    )


def measure(
    choice: Choice,
    cells: tuple[int, int, int],
    mask: np.ndarray | None,
    way: str,
    walls: bool = False,
    by_word: bool = False,
) -> Row:
    """One row: the smallest of REPEATS times; without a mask the box is empty. Collective."""
    case = case_of(choice, cells, way, walls)
    setup = engine.prepare(case, engine.discover(case))
    setup.options["flags_by_word"] = by_word
    lbm = engine.solver(setup)
    if mask is not None:
        lbm.set_solid(mask)
    seconds = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        lbm.advance(STEPS)
        seconds = min(seconds, time.perf_counter() - began)
    fluid = lbm.fluid_cells()
    return {
        "ranks": 1,
        "devices": 1,
        "experiment": choice.experiment,
        "cells_per_device": list(cells),
        "walls": walls,
        "solid_share": bench.digits(1.0 - fluid / case.cell_count),
        "lattice": choice.lattice,
        "collision": choice.collision,
        "storage": choice.precision,
        "arithmetic": "f64" if choice.precision == "f64" else "f32",
        "streaming": choice.streaming,
        "solids": way,
        "steps": STEPS,
        "repeats": REPEATS,
        "clock": "host",
        "time_ms": bench.digits(1e3 * seconds),
        "mlups": bench.digits(case.cell_count * STEPS / seconds / 1e6),
        "mflups": bench.digits(fluid * STEPS / seconds / 1e6),
        "steps_per_second": bench.digits(STEPS / seconds),
        "bytes_per_fluid_cell": bench.digits(lbm.bytes_of_cells() / fluid),
    }


def flagfield(choice: Choice, backend: str) -> list[Row]:
    """The empty box, then solid cells computed, skipped, left out; ratios of updates of fluid cells to those of the
    first way and to those of the empty box."""
    rows = []
    grids = [PAPER_CELLS, *((n, n, n) for n in choice.cells or CUBES[backend])]
    for cells in grids:
        empty = measure(choice, cells, None, "dense")
        found = [[empty]]
        shares = SHARES if cells == PAPER_CELLS else CUBE_SHARES
        for share, walls in [*((share, False) for share in shares), (WALLED_SHARE, True)]:
            mask = solids(cells, share)
            found.append([measure(choice, cells, mask, way, walls) for way in WAYS])
            if cells == PAPER_CELLS and share == PAPER_SHARE:
                found[-1][WAYS.index("flags")]["paper_ratio"] = bench.digits(PAPER_FLAGS)
        for alike in found:
            rows += [{"paper_ratio": None} | row | _ratios(row, alike[0], empty) for row in alike]
    return rows


def _ratios(row: Row, dense: Row, empty: Row) -> Row:
    return {
        "ratio": bench.digits(row["mflups"] / dense["mflups"]),
        "to_empty": bench.digits(row["mflups"] / empty["mflups"]),
    }


def count(choice: Choice) -> list[Row]:
    """Hardware counters of one step, at the paper's cells and share, and of a cube with that share and a pack; its
    time computed over its time skipped or left out, beside the paper's updates under the profiler."""
    side = choice.cells[0] if choice.cells else CUBES["cuda"][0]
    rows = []
    for cells, share in ((PAPER_CELLS, PAPER_SHARE), ((side,) * 3, PAPER_SHARE), ((side,) * 3, SHARES[-1])):
        inputs = {
            "ranks": 1,
            "devices": 1,
            "experiment": choice.experiment,
            "cells_per_device": list(cells),
            "solid_share": bench.digits(share),
            "lattice": choice.lattice,
            "collision": choice.collision,
            "storage": choice.precision,
            "streaming": choice.streaming,
            "clock": "events",
        }
        found = counters.measure(choice, cells, share, WAYS)
        for row in found:
            same = (cells, share, row["solids"]) == (PAPER_CELLS, PAPER_SHARE, "flags")
            ratios = {
                "profiled_ratio": bench.digits(found[0]["duration_us"] / row["duration_us"]),
                "paper_ratio": bench.digits(PAPER_FLAGS_PROFILED) if same else None,
            }
            rows.append(inputs | row | ratios)
    return rows


def simd(choice: Choice, backend: str) -> list[Row]:
    """Flags one by one and four at a time, in the toy kernels and in the step."""
    words, rounds = TOY[backend]
    rows: list[Row] = []
    for kernel in ("outside", "inside"):
        sums = []
        for four in (False, True):
            times = [core().flag_toy(backend, kernel == "inside", four, words, rounds) for _ in range(3)]
            sums.append(times[0][1])
            row = {"ranks": 1, "devices": 1, "experiment": "simd", "kernel": kernel, "test": _test(four)}
            row |= {"words": words, "rounds": rounds, "clock": "events"}
            rows.append(row | {"time_ms": bench.digits(min(t for t, _ in times))})
        if sums[0] != sums[1]:
            raise CaseError(
                f"bench lbm --experiment simd: both tests must compute the same, not {sums[0]} and {sums[1]}"
            )
    cells = (choice.cells[0],) * 3 if choice.cells else PAPER_CELLS
    mask = solids(cells, PAPER_SHARE)
    for four in (False, True):
        step = measure(choice, cells, mask, "flags", by_word=four)
        rows.append(step | {"kernel": "step", "test": _test(four)})
    for plain, four_row in zip(rows[::2], rows[1::2], strict=True):
        plain["ratio"], plain["paper_ratio"] = 1.0, None
        four_row["ratio"] = bench.digits(plain["time_ms"] / four_row["time_ms"])
        four_row["paper_ratio"] = bench.digits(PAPER_SIMD[four_row["kernel"]])
    return rows


def _test(four: bool) -> str:
    return "four flags a word" if four else "plain"


def _table(choice: Choice, machine: str, rows: list[Row]) -> Any:
    def number(value: float | None, form: str = ".4g") -> str:
        return "-" if value is None else format(value, form)

    if choice.experiment == "simd":
        shown = [
            (row["kernel"], row["test"], number(row["time_ms"]), number(row["ratio"], ".3f"),
             number(row["paper_ratio"], ".3f"))
            for row in rows
        ]  # fmt: skip
        columns = ["if", "test", "ms", "speed-up", "Zheng's"]
        return report.table(f"flags by word on {machine}, {choice.precision}", columns, shown, left=2)
    shown = [
        (" x ".join(map(str, row["cells_per_device"])), "yes" if row["walls"] else "no",
         f"{100 * row['solid_share']:.2g}", row["solids"], number(row["mlups"]), number(row["mflups"]),
         number(row["steps_per_second"]), f"{row['bytes_per_fluid_cell']:.0f}", number(row["to_empty"], ".3f"),
         number(row["ratio"], ".2f"), number(row["paper_ratio"], ".2f"))
        for row in rows
    ]  # fmt: skip
    columns = ["cells", "walls", "% solid", "solid cells", "MLUPS", "MFLUPS", "steps/s", "B a fluid cell",
               "to empty box", "to dense", "Zheng's"]  # fmt: skip
    title = f"solid cells, {choice.lattice} {choice.collision} {choice.precision}, {choice.streaming} on {machine}: "
    title += f"{STEPS} steps, the smallest of {REPEATS} times"
    return report.table(title, columns, shown, left=4)


def _counter_table(choice: Choice, machine: str, rows: list[Row]) -> Any:
    names = [name for name in counters.METRICS if not name.endswith("_requests") and name != "cycles"]
    shown = [
        (" x ".join(map(str, row["cells_per_device"])), f"{100 * row['solid_share']:.2g}", row["solids"],
         *(f"{row[name]:.4g}" for name in names), f"{row['profiled_ratio']:.2f}",
         f"{row['paper_ratio']:.2f}" if row["paper_ratio"] else "-")
        for row in rows
    ]  # fmt: skip
    columns = ["cells", "% solid", "solid cells", *(name.replace("_", " ") for name in names), "to dense", "Zheng's"]
    return report.table(f"counters of one step, {choice.streaming} on {machine}", columns, shown, left=3)


def run(choice: Choice, console: Console, folder: Path | None) -> None:
    """Measures, prints and writes. One rank with one device."""
    module = core()
    if module.size() != 1:
        raise CaseError(f"bench lbm --experiment {choice.experiment}: one rank measures one device; drop -n")
    if choice.experiment == "simd" and len(choice.cells) > 1:
        raise CaseError("bench lbm --experiment simd: one --cells")
    backend = engine.choose_backend(choice.backend)
    if choice.experiment == "simd" and backend == "cuda" and choice.precision != "f64":
        raise CaseError(
            "bench lbm --experiment simd: on GPUs f32 and f16 step by groups of cells, which look at all of their "
            "flags at once; take --precision f64"
        )
    machine = engine.discover(case_of(choice, PAPER_CELLS, "dense"))
    rows = (flagfield if choice.experiment == "flagfield" else simd)(choice, backend)
    console.print(_table(choice, machine.name, rows))
    results = [(f"lbm_{choice.experiment}", rows, FIGURES)]
    if choice.experiment == "flagfield" and backend == "cuda":
        if counters.profiler():
            counted = count(choice)
            console.print(_counter_table(choice, machine.name, counted))
            results.append(("lbm_counters", counted, COUNTED))
        else:
            console.print("no counters: Nsight Compute's ncu is not on the path")
    if folder is not None:
        build = module.build_info()
        described = bench.describe_machine(machine, build)
        for name, found, figures in results:
            path = bench.write(folder, name, described, build["commit"], found, figures)
            console.print(f"written: {path}", soft_wrap=True)
