"""`slipstream bench lbm_communication`: periodic cubes on all devices, by packing scheme (Risso, 5.3.1).

Compares the thesis's three schemes and the tuner's choice with n times one isolated block, and with the same step
without exchange. The thesis's time loop overlaps communication (4.3), except with the older scheme.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core, part
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.lbm import running
from slipstream.machine import discovery
from slipstream.run import engine

from slipstream_bench import charts, options, record
from slipstream_bench.exchange_setups import SCHEMES
from slipstream_bench.exchange_tables import reasons
from slipstream_bench.lbm import blocks, common
from slipstream_bench.lbm.common import any_case, devices_here, smallest_time, smallest_time_here, travels_by
from slipstream_bench.lbm.splits import ACROSS_ROWS, PAPER_ONE, Choice, Setup, case_of
from slipstream_bench.record import Row
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import need

#: Columns of the benchmark's rows that hold results, not inputs.
FIGURES = frozenset(
    {"time_ms", "mlups", "one_block_mlups", "percent", "without_exchange_ms", "over_without", "travels_by"}
    | {"overlapped", "rim", "paper_mlups", "paper_percent"}
)
TUNED = "tuned"
#: Default sides of a block's cube in cells, by backend.
CELLS = {"host": [8, 16, 32], "cuda": [8, 16, 32, 64, 128, 256, 320]}
#: Results in 6.2.1 of Risso's thesis for 1 x 2 x 2 GPUs: million updates per second for cubes of 256. The thesis gives
#: percentages of four times one GPU for cubes of 320 only.
PAPER_MLUPS = {"GPUPackInfo": 760.0, "asynchronous GPUPackInfo": 1149.0, "GPUBufferedScheme": 748.0}
PAPER_PERCENT = {("asynchronous GPUPackInfo", 320): 52.0}


@dataclass(frozen=True)
class Scheme:
    """A scheme of packing and sending halos."""

    name: str
    knobs: dict[str, Any]  #: options of the exchange that select this packing scheme
    overlap: str


def schemes(overlap: str) -> list[Scheme]:
    """Returns the three schemes of packing and sending halos in Risso's thesis, and the one that the tuner chooses."""
    found = []
    for name, scheme in SCHEMES.items():
        knobs = core().scheme(scheme)
        # A single route is allowed between devices, because an unavailable scheme must not be measured as another one.
        routes = {"routes": [*knobs["routes"], "kernel"]}
        found.append(Scheme(name, knobs | routes, "off" if name == "GPUPackInfo" else overlap))
    return [*found, Scheme(TUNED, {"tune": "measure", "tune_rim": True}, overlap)]


def refusal(error: RuntimeError) -> str:
    """Text on why no route of a packing scheme connects two devices. Reraises other errors."""
    if "no allowed route" not in str(error):
        raise error
    return reasons(str(error))


def one_block(choice: Choice, cells: int) -> float:
    """Million updates per second of one periodic block on one device. Rank 0 measures while others wait. Collective."""
    module, rate = core(), 0.0
    if module.rank() == 0:
        alone, backend = module.Communicator.alone(), discovery.choose_backend(choice.backend)
        machine = module.Machine.discover(backend, devices_per_rank=1, comm=alone)
        case = case_of(replace(choice, overlap="off"), Setup("", "", cells, (1, 1, 1)), 1)
        lbm = part("lbm").Lbm(machine, case.options(), comm=alone)
        rate = case.cell_count * common.STEPS / smallest_time_here(lbm) / 1e6
    return float(module.broadcast(repr(rate), 0))


def measure_all(choice: Choice, found: Sequence[Setup], ones: Mapping[int, float], console: Console) -> list[Row]:
    """Measures the rate of updates for each setup and each scheme of packing halos; returns a result row for each.
    Prints which schemes are unavailable and why. Collective."""
    rows, refused = [], dict[str, str]()
    for setup in found:
        for scheme in schemes(choice.overlap):
            if scheme.name in refused:
                continue
            try:
                rows.append(measure(choice, setup, scheme, ones[setup.cells]))
            except RuntimeError as error:
                refused[scheme.name] = refusal(error)
    for name, why in refused.items():
        console.print(f"{name}: left out: {why}", soft_wrap=True)
    return rows


def measure(choice: Choice, setup: Setup, scheme: Scheme, one: float) -> Row:
    """Measures steps with one packing scheme. Raises RuntimeError if none of its routes connects two devices.
    Collective."""
    ranks = core().size()
    machine = discovery.discover(any_case(choice, setup.blocks // ranks).machine)
    case = case_of(replace(choice, overlap=scheme.overlap), setup, machine.nodes)
    prepared = engine.prepare(case, machine)
    prepared.options.update(scheme.knobs)
    if scheme.name == TUNED:
        prepared.options.pop("rim")
    lbm = running.compiled(prepared)
    seconds = smallest_time(lbm)
    split = lbm.split()
    rate = case.cell_count * common.STEPS / seconds / 1e6
    row = {
        "ranks": ranks,
        "devices": setup.blocks,
        "nodes": machine.nodes,
        "experiment": "communication",
        "scheme": scheme.name,
        "split": list(setup.split),
        "cells_per_device": [setup.cells] * 3,
        **common.method(choice),
        "overlap": scheme.overlap,
        "periodic": True,
        "steps": common.STEPS,
        "repeats": common.REPEATS,
        "clock": "host",
        "travels_by": travels_by(lbm.report()),
        "overlapped": split["overlap"],
        "rim": list(split["rim"]) if split["overlap"] else None,
        "time_ms": record.digits(1e3 * seconds),
        "mlups": record.digits(rate),
        "one_block_mlups": record.digits(one),
        "percent": record.digits(100.0 * rate / (setup.blocks * one)),
        **published(scheme.name, setup),
        "without_exchange_ms": None,
        "over_without": None,
    }
    if scheme.name == TUNED:
        # The steps without exchange use the same arrays and kernels. Stale ghosts are correct, because the fluid is at
        # rest.
        without = smallest_time(timed().WithoutExchange(lbm))
        row["without_exchange_ms"] = record.digits(1e3 * without)
        row["over_without"] = record.digits(seconds / without)
    return row


def published(scheme: str, setup: Setup) -> Row:
    """Published rate of a packing scheme in Risso's thesis, and its percentage of four times one GPU."""
    rate = PAPER_MLUPS.get(scheme) if (setup.split, setup.cells) == ((1, 2, 2), 256) else None
    percent = record.digits(100.0 * rate / (setup.blocks * PAPER_ONE)) if rate else None
    if setup.split == (1, 2, 2):
        percent = PAPER_PERCENT.get((scheme, setup.cells), percent)
    return {"paper_mlups": rate, "paper_percent": percent}


def setups(cells: Sequence[int], most: int, least: int) -> list[Setup]:
    """Setups for `least` to `most` devices: one block per device, and equally many on every rank."""
    found = [Setup("", str(n), n, split) for split in ACROSS_ROWS for n in cells]
    return [setup for setup in found if least <= setup.blocks <= most and setup.blocks % least == 0]


def add_options(parser: argparse.ArgumentParser) -> None:
    common.add_options(parser)
    options.overlap(parser)
    parser.add_argument("--grid", metavar="AxBxC", help="instead measure blocks of an open box, as lbm_blocks")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Times lattice Boltzmann steps with each scheme of packing messages. Rank 0 prints and stores the results. All
    ranks must call it."""
    if arguments.grid is not None:
        if arguments.overlap != "auto":
            raise CaseError(
                "bench lbm_communication: --grid and --overlap exclude each other: open blocks do not overlap",
                ErrorCode.UNSUPPORTED,
                option="grid",
                other="overlap",
            )
        return blocks.run(arguments, console)
    module, choice = core(), record.chosen(Choice, arguments)
    backend = discovery.choose_backend(choice.backend)
    per_rank = choice.devices or (4 // module.size() if backend == "host" else devices_here(backend, module.size()))
    found = setups(choice.cells or CELLS[backend], module.size() * max(1, per_rank), module.size())
    if not found:
        raise CaseError(
            "bench lbm_communication: has 2 or 4 blocks; take --devices 4, -n 2 or -n 4",
            ErrorCode.UNSUPPORTED,
            limit="2 or 4",
        )
    need("lbm_communication", 4, cells=[setup.cells for setup in found])
    ones = {n: one_block(choice, n) for n in dict.fromkeys(setup.cells for setup in found)}
    rows = measure_all(choice, found, ones, console)
    machine = discovery.discover(any_case(choice, max(setup.blocks for setup in found) // module.size()).machine)
    console.print(_table(choice, machine.name, rows))
    described = record.describe_machine(machine)
    name = "lbm_communication"
    record.keep(arguments.folder, name, described, rows, FIGURES, console, lambda path, what: picture(path, what, rows))


def _label(row: Row) -> str:
    return f"{row['scheme']}, {' x '.join(map(str, row['split']))}"


def picture(path: Path, machine: str, rows: Sequence[Row]) -> None:
    """Draws cell updates per second on n devices in percent of n times those on one, by size of the cube. Each packing
    scheme has a line; circles show Risso's thesis."""
    lines: dict[str, tuple[list[str], list[float]]] = {}
    marks: dict[str, tuple[list[str], list[float]]] = {}
    for row in rows:
        for places, label, value in ((lines, _label(row), row["percent"]),
                                     (marks, f"Risso 2017, {_label(row)}", row["paper_percent"])):  # fmt: skip
            if value is not None:
                xs, ys = places.setdefault(label, ([], []))
                xs.append(str(row["cells_per_device"][0]))
                ys.append(value)
    charts.categories(path, f"communication: {machine}", "cube of cells of a block", "% of n times one block",
                     lines, marks)  # fmt: skip


def _table(choice: Choice, machine: str, rows: Sequence[Row]) -> Any:
    def shown(value: float | None, form: str = ".1f") -> str:
        return "-" if value is None else format(value, form)

    lines = [
        (f"{row['cells_per_device'][0]}^3", " x ".join(map(str, row["split"])), row["scheme"], row["travels_by"],
         " x ".join(map(str, row["rim"])) if row["overlapped"] else "no overlap", f"{row['time_ms']:.4g}",
         f"{row['mlups']:.4g}", shown(row["percent"]), shown(row["paper_percent"]), shown(row["over_without"], ".4f"))
        for row in rows
    ]  # fmt: skip
    columns = ["cells a block", "blocks", "scheme", "by", "rim", "ms", "MLUPS", "% of n x one block", "Risso's %",
               "over no exchange"]  # fmt: skip
    title = f"communication, {choice.lattice} {choice.collision} {choice.precision} on {machine}: "
    return terminal.table(
        title + f"{common.STEPS} steps, the smallest of {common.REPEATS} times",
        columns,
        lines,
        left=5,
    )
