"""`slipstream bench placement`: gain of placing blocks by link rates, according to the model of an exchange."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.machine import discovery, topology
from slipstream.machine.machine_file import MachineFile, load

from slipstream_bench import charts, options, record
from slipstream_bench.exchange_model import ExchangeTime, exchange_time

#: Extent of the grid in fig. 11 of Pearson et al. 2020; the defaults of the options are their other settings, too.
CELLS = (1440, 1452, 700)
#: Number of random placements of grid blocks on devices; a result is the mean of their costs.
SEEDS = 20


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench placement`; without machine files it uses the discovered machine."""

    machine: Sequence[str]  #: paths of machine files
    backend: str
    devices: int
    nodes: int  #: number of nodes of the described machine; 0: as in the file
    cells: Sequence[int]
    radius: int
    quantities: int


@dataclass(frozen=True)
class Target:
    """A machine for which placements are computed, with its file or its measured rates."""

    machine: Any
    file: MachineFile | None
    measured: list[float]

    @property
    def methods(self) -> tuple[str, ...]:
        return ("trivial", "random", "theoretical") + (("measured",) if self.measured else ())


def _targets(choice: Choice) -> list[Target]:
    if not choice.machine:
        backend = discovery.choose_backend(choice.backend)
        with as_case_error():
            machine = core().Machine.discover(backend, devices_per_rank=choice.devices)
        return [Target(machine, None, core().measure_rates(machine))]
    files = [load(path) for path in choice.machine]
    if choice.nodes:
        files = [file.model_copy(update={"nodes": choice.nodes}) for file in files]
        for path, file in zip(choice.machine, files, strict=True):
            if faults := file.faults():
                raise CaseError(
                    "\n  ".join(f"{path}, with {choice.nodes} nodes: {fault}" for fault in faults),
                    ErrorCode.BAD_FILE,
                    option="machine",
                    limit=choice.nodes,
                )
    return [Target(discovery.describe(file), file, []) for file in files]


def _placed(choice: Choice, target: Target, method: str, seed: int) -> tuple[ExchangeTime, dict[str, Any]]:
    with as_case_error():
        plan = core().place(
            target.machine,
            tuple(choice.cells),
            (True, True, True),
            choice.radius,
            method,
            seed,
            target.measured if method == "measured" else [],
        )
    cell_bytes = 4 * choice.quantities
    traffic = [(source, to, cells * cell_bytes) for source, to, cells in plan["traffic"]]
    return exchange_time(target.machine, traffic, target.file, target.measured), plan


def _row(choice: Choice, target: Target, method: str, base: ExchangeTime) -> dict[str, Any]:
    """A row of results: predicted time of a halo exchange if `method` places blocks on devices, and gain over trivial
    placement. Times of random placement are means over several seeds; its busiest link is that of the first seed."""
    found = [_placed(choice, target, method, seed) for seed in range(SEEDS if method == "random" else 1)]
    total = mean(time.total for time, _ in found)
    links = mean(time.links for time, _ in found)
    # The cost with measured rates is compared with that of the trivial placement with the same rates.
    cost = mean(plan["placement_cost"] for _, plan in found) / (found[0][1]["trivial_cost"] or 1.0)
    return {
        "ranks": target.machine.ranks,
        "devices": len(target.machine.devices()),
        "nodes": target.machine.nodes,
        "cells": list(choice.cells),
        "quantities": choice.quantities,
        "dtype": "f32",
        "radius": choice.radius,
        "periodic": True,
        "clock": "model",
        "placement": method,
        "memory_us": record.digits(1e6 * mean(time.memory for time, _ in found)),
        "links_us": record.digits(1e6 * links),
        "time_us": record.digits(1e6 * total),
        "cost_of_trivial": record.digits(cost),
        "links_gain_percent": record.digits(_gain(links, base.links)),
        "gain_percent": record.digits(_gain(total, base.total)),
        "busiest": found[0][0].busiest,
        "devices_of_blocks": [block["device"] for block in found[0][1]["blocks"]][:64],
    }


def _gain(time: float, base: float) -> float:
    """Percentage by which the time of an exchange is below that of the same exchange with trivial placement."""
    return 100 * (1 - time / base) if base else 0.0


def _machine(target: Target) -> dict[str, Any]:
    if target.file is None:
        return record.describe_machine(target.machine)
    nodes = target.machine.nodes
    return {
        "name": f"{target.file.name}, {terminal.count(nodes, 'node')}",
        "card": target.file.device.name,
        "devices": [target.file.device.name] * target.file.devices_per_node * nodes,
        "links": topology.link_summary(target.machine),
        "memory_gb_per_s": target.file.device.memory_gb_per_s,
    }


def _show(console: Console, name: str, rows: list[dict[str, Any]]) -> None:
    columns = ["placement", "busiest link", "memory us", "links us", "time us", "links gain %", "gain %"]
    shown = [
        (row["placement"], row["busiest"], *(f"{row[key]:.1f}" for key in ("memory_us", "links_us", "time_us")),
         f"{row['links_gain_percent']:.1f}", f"{row['gain_percent']:.1f}")
        for row in rows
    ]  # fmt: skip
    cells = terminal.show_extent(rows[0]["cells"])
    title = f"placement of {cells} on {name}: model of an exchange, radius {rows[0]['radius']}"
    console.print(terminal.table(title, columns, shown, left=2))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cells", type=int, nargs="+", default=CELLS, metavar="N", help="X Y Z, total cells")
    options.devices(parser)
    options.halo(parser)
    parser.add_argument("--machine", nargs="+", default=[], metavar="FILE", help="machine files")
    parser.add_argument("--nodes", type=int, default=0, help="nodes of the machine files")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Predicts halo exchange times for several placements of blocks on devices, and prints them. Rank 0 writes tables
    and a picture. Collective."""
    choice, folder = record.chosen(Choice, arguments), arguments.folder
    if len(choice.cells) != 3 or min(choice.cells) < 1:
        raise CaseError(
            "bench placement: --cells needs three counts, as in --cells 1440 1452 700", option="cells", limit=3
        )
    if choice.radius < 1 or choice.quantities < 1:
        raise CaseError("bench placement: --radius and --quantities count from 1", option="radius", limit=1)
    if choice.nodes and not choice.machine:
        raise CaseError(
            "bench placement: --nodes goes with --machine; the nodes of a machine that is there are found",
            ErrorCode.UNSUPPORTED,
            option="nodes",
            other="machine",
        )
    everything = {}
    for target in _targets(choice):
        trivial = _placed(choice, target, "trivial", 0)[0]
        rows = [_row(choice, target, method, trivial) for method in target.methods]
        machine = _machine(target)
        _show(console, machine["name"], rows)
        everything[machine["name"]] = rows
        record.keep(folder, "placement", machine, rows, FIGURES, console)
    if folder is not None and core().rank() == 0:
        picture = folder / "placement" / f"{record.slug(next(iter(everything)))}.png"
        charts.placements(picture, everything)
        console.print(f"written: {picture}")


#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"memory_us", "links_us", "time_us", "cost_of_trivial", "links_gain_percent", "gain_percent", "busiest"}
    | {"devices_of_blocks"}
)
