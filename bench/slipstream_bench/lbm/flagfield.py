"""`slipstream bench lbm_flagfield`: benefit of skipping solid cells (Zheng 2023, 1.2)."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.errors import CaseError
from slipstream.lbm.tables import BY_MOMENTS
from slipstream.machine import discovery

from slipstream_bench import options, record
from slipstream_bench.lbm import common, counters, solids
from slipstream_bench.lbm.solids import PAPER_CELLS, PAPER_SHARE, case_of, measure, number
from slipstream_bench.record import Row

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"repeats", "time_ms", "mlups", "mflups", "steps_per_second", "bytes_per_fluid_cell", "ratio", "to_empty"}
    | {"paper_ratio"}
)
#: Columns with results in the table of hardware counters; the other columns of this table are inputs.
COUNTED = frozenset(counters.METRICS) | {"profiled_ratio", "paper_ratio"}
#: Ways to store solid cells: computed like fluid, skipped by flags, or omitted. The moment representation stores all
#: cells, so it lacks the last one.
WAYS = ("dense", "flags", "sparse")
#: Ratio of fluid cell updates with and without flags in table 1.6 of Zheng 2023: alone, and under the profiler.
PAPER_FLAGS, PAPER_FLAGS_PROFILED = 884.688 / 734.668, 702.689 / 629.713
#: Sides of the cubes that are measured in addition to the grid of Zheng 2023, by backend.
CUBES = {"host": [48], "cuda": [256, 512]}
SHARES = (PAPER_SHARE, 0.05, 0.6)
#: Fractions of solid cells in the measured cubic grids. They show where `auto` changes how it stores blocks with solid
#: cells.
CUBE_SHARES = (PAPER_SHARE, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
#: Volume fraction of the solid body in the box, for the boxes with walls on all sides.
WALLED_SHARE = 0.05


@dataclass(frozen=True)
class Choice(solids.Choice):
    """Options of `slipstream bench lbm_flagfield`."""

    cells: Sequence[int]  #: numbers of cells along the edges of the measured cubic grids
    shares: Sequence[float] = ()  #: fractions of solid cells in the measured cubic grids; empty: the defaults


def flagfield(choice: Choice, backend: str) -> list[Row]:
    """Measures an empty box, periodic and with walls, then boxes whose solid cells are computed, skipped or omitted.
    Ratios are fluid cell updates over those of the first variant, and over those of the empty periodic box."""
    rows, ways = [], WAYS[:2] if choice.collision in BY_MOMENTS else WAYS
    grids = [PAPER_CELLS, *((n, n, n) for n in choice.cells or CUBES[backend])]
    for cells in grids:
        empty = measure("flagfield", choice, cells, None, "dense")
        found = [[empty], [measure("flagfield", choice, cells, None, "dense", walls=True)]]
        shares = SHARES if cells == PAPER_CELLS else choice.shares or CUBE_SHARES
        for share, walls in [*((share, False) for share in shares), (WALLED_SHARE, True)]:
            mask = solids.solids(cells, share)
            found.append([measure("flagfield", choice, cells, mask, way, walls) for way in ways])
            if cells == PAPER_CELLS and share == PAPER_SHARE:
                found[-1][ways.index("flags")]["paper_ratio"] = record.digits(PAPER_FLAGS)
        for alike in found:
            rows += [{"paper_ratio": None} | row | _ratios(row, alike[0], empty) for row in alike]
    return rows


def _ratios(row: Row, dense: Row, empty: Row) -> Row:
    return {
        "ratio": record.digits(row["mflups"] / dense["mflups"]),
        "to_empty": record.digits(row["mflups"] / empty["mflups"]),
    }


def count(choice: Choice) -> list[Row]:
    """Measures hardware counters of one step: for the grid and solid fraction of Zheng 2023, and for a cube with that
    fraction and a sphere packing. Compares computed with skipped or omitted solid cells, beside the published profiled
    updates."""
    side = choice.cells[0] if choice.cells else CUBES["cuda"][0]
    rows = []
    for cells, share in ((PAPER_CELLS, PAPER_SHARE), ((side,) * 3, PAPER_SHARE), ((side,) * 3, SHARES[-1])):
        inputs = {
            "ranks": 1,
            "devices": 1,
            "experiment": "flagfield",
            "cells_per_device": list(cells),
            "solid_share": record.digits(share),
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
                "profiled_ratio": record.digits(found[0]["duration_us"] / row["duration_us"]),
                "paper_ratio": record.digits(PAPER_FLAGS_PROFILED) if same else None,
            }
            rows.append(inputs | row | ratios)
    return rows


def _table(choice: Choice, machine: str, rows: Sequence[Row]) -> Any:
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
    title += f"{common.STEPS} steps, the smallest of at most {common.REPEATS} times"
    return terminal.table(title, columns, shown, left=4)


def _counter_table(choice: Choice, machine: str, rows: list[Row]) -> Any:
    names = [name for name in counters.METRICS if not name.endswith("_requests") and name != "cycles"]
    shown = [
        (" x ".join(map(str, row["cells_per_device"])), f"{100 * row['solid_share']:.2g}", row["solids"],
         *(f"{row[name]:.4g}" for name in names), f"{row['profiled_ratio']:.2f}",
         f"{row['paper_ratio']:.2f}" if row["paper_ratio"] else "-")
        for row in rows
    ]  # fmt: skip
    columns = ["cells", "% solid", "solid cells", *(name.replace("_", " ") for name in names), "to dense", "Zheng's"]
    return terminal.table(f"counters of one step, {choice.streaming} on {machine}", columns, shown, left=3)


def add_options(parser: argparse.ArgumentParser) -> None:
    options.precision(parser, "f32", ("f16", "f32", "f64"))
    options.cells(parser, "cubes of N^3 cells, beside the report's")
    parser.add_argument("--shares", type=float, nargs="+", default=[], metavar="S",
                        help="solid fractions of cubes; default: eight from the report's to 0.6")  # fmt: skip
    options.threads(parser)
    options.method(parser)
    options.streaming(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures steps with solid cells, prints and writes; uses one rank with one device."""
    choice, folder = record.chosen(Choice, arguments), arguments.folder
    solids.check_ranks("lbm_flagfield")
    if any(not 0 < share < 0.64 for share in choice.shares):
        raise CaseError(
            f"bench lbm_flagfield: --shares takes numbers above 0 and below 0.64, not {choice.shares}",
            option="shares",
            limit="0 to 0.64",
        )
    backend = discovery.choose_backend(choice.backend)
    machine = discovery.discover(case_of(choice, PAPER_CELLS, "dense").machine)
    described = record.describe_machine(machine)
    rows = flagfield(choice, backend)
    console.print(_table(choice, machine.name, rows))
    record.keep(folder, "lbm_flagfield", described, rows, FIGURES, console)
    if backend != "cuda" or choice.collision in BY_MOMENTS:
        return
    if not counters.profiler():
        console.print("no counters: Nsight Compute's ncu is not on the path")
        return
    counted = count(choice)
    console.print(_counter_table(choice, machine.name, counted))
    record.keep(folder, "lbm_counters", described, counted, COUNTED, console)
