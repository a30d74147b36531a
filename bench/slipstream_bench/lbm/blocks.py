"""`slipstream bench lbm_blocks`: blocks inside and at the sides of an open box.

The thesis (5.3.1) needed 27 GPUs, because only the middle block of 3 x 3 x 3 has all 18 neighbours, and used a periodic
box of four instead. Here one device holds one block and the others hold its neighbours. The messages of that device are
the block's communication, timed from an idle machine to the arrival of the last message. Another row has the thesis's
shortcut: one periodic block per device.
"""

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core, part
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.reader import Source, parse
from slipstream.lbm import running
from slipstream.lbm.case import LbmCase
from slipstream.machine import discovery
from slipstream.run import engine

from slipstream_bench import options, record
from slipstream_bench.lbm import common
from slipstream_bench.lbm.common import any_case, devices_here, smallest_time, travels_by
from slipstream_bench.lbm.splits import ACROSS_ROWS, Setup, case_of
from slipstream_bench.record import Row
from slipstream_bench.whole_machine import need

Triple = tuple[int, int, int]

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"received_kb", "sent_kb", "exchange_us", "percent_of_periodic", "step_us", "mlups", "travels_by"})
#: Kinds of blocks, by the number of sides of the domain that they touch: 0 to 3.
KINDS = ("middle", "face", "edge", "corner")
PERIODIC, ALL = "periodic", "all"
#: Number of timed exchanges, of which the fastest counts.
EXCHANGES = 50
CELLS = {"host": [8, 16], "cuda": [16, 32, 64, 128]}


@dataclass(frozen=True)
class Choice(common.Choice):
    """Options of `slipstream bench lbm_blocks`."""

    grid: str  #: number of blocks along each axis, such as 3x3x3

    @property
    def overlap(self) -> str:
        return "off"


def kind_of(place: Triple, grid: Triple) -> str:
    return KINDS[sum(at in (0, count - 1) for at, count in zip(place, grid, strict=True))]


def neighbours(place: Triple, grid: Triple, lattice: str) -> int:
    """Number of blocks that a block sends to: across faces and edges, with D3Q27 also across corners."""
    farthest = 3 if lattice == "D3Q27" else 2
    ways = [way for way in itertools.product((-1, 0, 1), repeat=3) if 1 <= sum(map(abs, way)) <= farthest]
    inside = [all(0 <= at + step < count for at, step, count in zip(place, way, grid, strict=True)) for way in ways]
    return sum(inside)


@dataclass(frozen=True)
class Dealt:
    """Blocks of the domain, with the device of each."""

    places: Sequence[Triple]
    devices: Sequence[int]

    def boxes(self, side: int) -> list[list[int]]:
        """The blocks as the solver reads them: low x, y, z, high x, y, z, device."""
        return [
            [*(side * at for at in place), *(side * (at + 1) for at in place), device]
            for place, device in zip(self.places, self.devices, strict=True)
        ]


def in_order(grid: Triple) -> list[Triple]:
    return [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]


def alone(grid: Triple, chosen: Triple, devices: int) -> Dealt:
    """Assigns blocks to devices. Device 0 holds only the block whose communication is timed, so that all messages of
    this device are that block's. The other blocks go round-robin on the other devices."""
    turn: Iterator[int] = itertools.cycle(range(1, devices))
    places = in_order(grid)
    return Dealt(places, [0 if place == chosen else next(turn) for place in places])


def shared(grid: Triple, devices: int) -> Dealt:
    """Puts blocks on all devices, in consecutive runs of equal length, or one less."""
    places = in_order(grid)
    return Dealt(places, [n * devices // len(places) for n in range(len(places))])


def open_case(choice: Choice, grid: Triple, side: int) -> LbmCase:
    """A case with inflow at x-, outflow at x+, and slip along the other sides."""
    sides: dict[str, Any] = {"x-": {"kind": "velocity", "velocity": [1.0, 0.0, 0.0]}, "x+": {"kind": "pressure"}}
    data: dict[str, Any] = {
        "grid": {"cells": [side * count for count in grid]},
        "lbm": common.method_keys(choice),
        "physics": {"viscosity": 0.05, "reference_velocity": 0.05},
        "boundaries": sides | {name: {"kind": "slip"} for name in ("y-", "y+", "z-", "z+")},
        "run": {"steps": 1},
        "machine": {"backend": choice.backend, "threads": choice.threads},
        "exchange": {"overlap": "off"},
    }
    return parse(data, Source("bench"))


class Blocks:
    """Measures communication of blocks on one machine. All methods are collective."""

    def __init__(self, choice: Choice, grid: Triple, machine: Any) -> None:
        self.choice, self.grid, self.machine = choice, grid, machine
        self.devices = len(machine.devices())

    def rows(self, side: int) -> list[Row]:
        periodic = self._periodic(side)
        found = [periodic]
        for kind, chosen in zip(KINDS, self._examples(), strict=True):
            lbm = self._open(side, alone(self.grid, chosen, self.devices))
            found.append(self._row(side, kind, neighbours(chosen, self.grid, self.choice.lattice), lbm))
        for row in found:
            row["percent_of_periodic"] = record.digits(100.0 * row["exchange_us"] / periodic["exchange_us"])
        return [*found, self._all(side)]

    def _examples(self) -> list[Triple]:
        """Position of one block of each kind: the middle one, and blocks towards x-, then y-, then z-."""
        middle = [count // 2 for count in self.grid]
        return [(0 if n > 0 else middle[0], 0 if n > 1 else middle[1], 0 if n > 2 else middle[2]) for n in range(4)]

    def _open(self, side: int, dealt: Dealt) -> Any:
        options = open_case(self.choice, self.grid, side).options() | {"boxes": dealt.boxes(side)}
        return part("lbm").Lbm(self.machine, options)

    def _periodic(self, side: int) -> Row:
        split = next((split for split in ACROSS_ROWS if split[1] * split[2] == self.devices), (1, 1, self.devices))
        case = case_of(self.choice, Setup("", "", side, split), self.machine.nodes)
        lbm = running.compiled(engine.prepare(case, self.machine))
        row = self._row(side, PERIODIC, neighbours((1, 1, 1), (3, 3, 3), self.choice.lattice), lbm)
        return row | self._speed(lbm, case.cell_count)

    def _all(self, side: int) -> Row:
        lbm = self._open(side, shared(self.grid, self.devices))
        cells = side**3 * self.grid[0] * self.grid[1] * self.grid[2]
        return self._inputs(side, ALL, None) | {"travels_by": travels_by(lbm.report())} | self._speed(lbm, cells)

    def _speed(self, lbm: Any, cells: int) -> Row:
        seconds = smallest_time(lbm)
        return {
            "step_us": record.digits(1e6 * seconds / common.STEPS),
            "mlups": record.digits(cells * common.STEPS / seconds / 1e6),
        }

    def _row(self, side: int, kind: str, others: int, lbm: Any) -> Row:
        """A row of results: the messages of device 0, and the time until the last of them has arrived."""
        best = float("inf")
        for _ in range(EXCHANGES):
            core().barrier()
            lbm.advance(1)
            mine = [row for row in lbm.report() if (row["source"] == 0) != (row["target"] == 0)]
            best = min(best, max(row["time_us"] for row in mine))
        received = sum(row["bytes"] for row in mine if row["target"] == 0)
        sent = sum(row["bytes"] for row in mine if row["source"] == 0)
        return self._inputs(side, kind, others) | {
            "received_kb": record.digits(received / 1e3),
            "sent_kb": record.digits(sent / 1e3),
            "exchange_us": record.digits(float(core().broadcast(repr(best), 0))),
            "travels_by": travels_by(mine),
        }

    def _inputs(self, side: int, kind: str, others: int | None) -> Row:
        choice = self.choice
        empty = dict.fromkeys(("received_kb", "sent_kb", "exchange_us", "percent_of_periodic", "step_us", "mlups"))
        return {
            "ranks": self.machine.ranks,
            "devices": self.devices,
            "nodes": self.machine.nodes,
            "experiment": "communication",
            "grid": "x".join(map(str, self.grid)),
            "block": kind,
            "neighbours": others,
            "cells_per_block": [side] * 3,
            **common.method(choice),
            "overlap": "off",
            "periodic": kind == PERIODIC,
            "exchanges": EXCHANGES,
            "steps": common.STEPS,
            "repeats": common.REPEATS,
            "clock": "host",
        } | empty


def add_options(parser: argparse.ArgumentParser) -> None:
    common.add_options(parser, "cubes of N^3 cells a block")
    parser.add_argument("--grid", default="3x3x3", metavar="AxBxC", help="blocks along x, y and z (default: 3x3x3)")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints the communication of single blocks; rank 0 writes. Collective."""
    module, choice = core(), record.chosen(Choice, arguments)
    # There are at least 3 blocks along each axis, so that some block has neighbours on all sides.
    grid = options.parse_grid(choice.grid, 3)
    backend = discovery.choose_backend(choice.backend)
    per_rank = choice.devices or (4 // module.size() if backend == "host" else devices_here(backend, module.size()))
    machine = discovery.discover(any_case(choice, max(1, per_rank)).machine)
    if len(machine.devices()) < 2:
        raise CaseError(
            "bench lbm_blocks: needs two devices or more, one of them for a block alone; take --devices 4",
            ErrorCode.UNSUPPORTED,
            limit=2,
        )
    cells = choice.cells or CELLS[backend]
    need("lbm_blocks", 4, cells=cells)
    blocks = Blocks(choice, grid, machine)
    rows = [row for side in cells for row in blocks.rows(side)]
    console.print(_table(choice, machine.name, rows))
    record.keep(arguments.folder, "lbm_blocks", record.describe_machine(machine), rows, FIGURES, console)


def _table(choice: Choice, machine: str, rows: Sequence[Row]) -> Any:
    def shown(value: Any, form: str = ".4g") -> str:
        return "-" if value is None else format(value, form)

    lines = [
        (f"{row['cells_per_block'][0]}^3", row["block"], shown(row["neighbours"], "d"), row["travels_by"],
         shown(row["received_kb"]), shown(row["exchange_us"]), shown(row["percent_of_periodic"]),
         shown(row["step_us"]), shown(row["mlups"]))
        for row in rows
    ]  # fmt: skip
    columns = ["cells a block", "block", "neighbours", "by", "kB received", "exchange us", "% of periodic", "step us",
               "MLUPS"]  # fmt: skip
    title = f"{choice.grid} open blocks, {choice.lattice} {choice.precision} on {machine}: "
    return terminal.table(title + f"the fastest of {EXCHANGES} exchanges", columns, lines, left=2)
