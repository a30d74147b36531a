"""`slipstream bench lbm_validation`: a cavity on one device, one node and two nodes (Risso, 5.2).

The thesis needed 20 000 steps with split kernels where 10 000 had sufficed before, and did not explain this. Here
populations at both times are compared bitwise between split steps, at every width of the boundary region, and unsplit
steps. The velocity is compared with the steady flow. A deviation at 10 000 steps is then common to all.
"""

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core, part
from slipstream.base.errors import CaseError
from slipstream.case.reader import Source, parse
from slipstream.flow import profiles
from slipstream.lbm.case import LbmCase
from slipstream.machine import discovery

from slipstream_bench import options, record
from slipstream_bench.exchange_setups import device_grid
from slipstream_bench.lbm import common
from slipstream_bench.lbm.common import any_case, devices_here, travels_by
from slipstream_bench.lbm.communication import refusal, schemes
from slipstream_bench.record import Row

Triple = tuple[int, int, int]

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"error_percent", "residual", "same_bits", "sha256", "travels_by"})
#: Setup of Risso's thesis: cells along a side of the cavity, blocks along it, lid velocity, relaxation rate.
SIDE, BLOCKS, LID, OMEGA = 128, 4, 0.1, 1.4
#: Numbers of steps after which flows are compared, for a cavity of 128 cells along a side. A cavity of another size
#: takes the number of steps in which momentum diffuses as far across it. After the last one the flow counts as steady.
MOMENTS, STEADY = (10_000, 20_000), 100_000
#: Number of steps between the two velocities whose difference is the residual, for a cavity of SIDE cells.
APART = 100
CELLS = {"host": 16, "cuda": SIDE}
ONE = "one device"


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench lbm_validation`."""

    backend: str
    devices: int  #: number of devices per rank
    threads: int
    cells: int | None  #: number of cells along a side of the cavity; None: depends on the backend
    lattice: str
    collision: str
    precision: str


@dataclass(frozen=True)
class Setup:
    """A machine, and how blocks are distributed to its devices."""

    name: str
    machine: Any
    cut: dict[str, Any]  #: keys of [exchange] that distribute the blocks
    keys: dict[str, Any]  #: keys of [machine] that select the devices
    comm: Any = None  #: communicator of a single rank that runs the flow; None: all ranks


@dataclass(frozen=True)
class Variant:
    """A way to split a step into interior and boundary region, with a packing scheme."""

    overlap: str
    rim: int = 1
    scheme: str = ""  #: name of a packing scheme of Risso's thesis; empty: the rules choose

    @property
    def name(self) -> str:
        split = f"split, rim {self.rim}" if self.overlap == "on" else "unsplit"
        return f"{split}, {self.scheme}" if self.scheme else split


@dataclass(frozen=True)
class Moment:
    """Velocities of a flow after a number of steps, on rank 0."""

    step: int
    digest: str
    lines: np.ndarray  #: velocities along both centrelines of the cavity, relative to the reference velocity
    residual: float
    travels_by: str  #: names of the routes by which messages travelled between devices


def scaled(steps: int, cells: int) -> int:
    """Number of time steps on `cells`^3 cells that corresponds to `steps` steps on SIDE^3 cells. In both, momentum
    diffuses over the same fraction of the cavity's edge, as in Risso's thesis."""
    return max(2, round(steps * (cells / SIDE) ** 2))


def boundary_widths(cells: int) -> list[int]:
    """Widths of the boundary region in cells, up to the one that leaves a block no interior."""
    return [width for width in (1, 2, 4, 8, 16, 32) if 2 * width <= cells // BLOCKS]


def variants(cells: int, several_devices: bool, every: bool) -> Iterator[Variant]:
    """Variants of a run to compare: steps not split, and steps split into boundary region and interior. `every`: with
    every width of the boundary region, else with the narrowest and widest. Several devices also use the packing schemes
    of Risso's thesis."""
    widths = boundary_widths(cells)
    yield Variant("off")
    yield from (Variant("on", width) for width in (widths if every else sorted({widths[0], widths[-1]})))
    if several_devices:
        yield from (Variant("on", 1, name) for name in ("asynchronous GPUPackInfo", "GPUBufferedScheme"))


def case_of(choice: Choice, cells: int, setup: Setup, variant: Variant) -> LbmCase:
    """Case of the cavity in Risso's thesis; its lid is y+ here."""
    data: dict[str, Any] = {
        "grid": {"cells": [cells] * 3},
        "lbm": common.method_keys(choice),
        "physics": {"viscosity": (1.0 / OMEGA - 0.5) / 3.0, "reference_velocity": LID},
        "walls": {"y+": {"velocity": [1.0, 0.0, 0.0]}},
        "run": {"steps": 1},
        "machine": {"backend": choice.backend, "threads": choice.threads} | setup.keys,
        "exchange": setup.cut | {"overlap": variant.overlap, "rim": [variant.rim] * 3},
    }
    return parse(data, Source("bench"))


def _blocks(*grids: Sequence[int]) -> list[int]:
    """Number of blocks per device along each axis, so that the domain has as many as the constant BLOCKS. `grids`:
    numbers of nodes and devices along each axis."""
    return [BLOCKS // (int(np.prod(counts))) for counts in zip(*grids, strict=True)]


def setups(choice: Choice, backend: str, console: Console) -> Iterator[Setup]:
    """Yields the three distributions of a flow's blocks in Risso's thesis: on one device, on one node, on two nodes.
    Leaves out those for which this job has too few devices. Collective."""
    module = core()
    ranks, comm = module.size(), None
    if ranks > 1:
        comm = module.Communicator.alone()
    machine = None
    if module.rank() == 0 or ranks == 1:
        machine = module.Machine.discover(backend, devices_per_rank=1, comm=comm)
    yield Setup(ONE, machine, {"blocks_per_device": [BLOCKS] * 3}, {}, comm)
    per_rank = choice.devices or devices_here(backend, ranks)
    machine = discovery.discover(any_case(choice, per_rank).machine)
    devices = len(machine.devices())
    grid = device_grid(devices)
    if devices < 2 or machine.nodes != 1 or any(BLOCKS % count for count in grid):
        console.print("one node: left out, it needs 2, 4 or 8 devices of one node; use --devices 2, or -n 2")
    else:
        cut = {"device_grid": list(grid), "blocks_per_device": _blocks(grid)}
        yield Setup("one node", machine, cut, {})
    if ranks % 2 or machine.nodes != 1 or ranks * per_rank not in (2, 4, 8):
        console.print(
            "two nodes: left out, it needs 2, 4 or 8 ranks with one device each on one host; use -n 2 or -n 4"
        )
        return
    keys = {"devices_per_rank": per_rank, "ranks_per_node": ranks // 2, "cyclic": True}
    grid = device_grid(ranks * per_rank // 2)
    cut = {"node_grid": [1, 1, 2], "device_grid": list(grid), "blocks_per_device": _blocks((1, 1, 2), grid)}
    probe = Setup("", None, {}, keys)
    yield Setup(
        "two nodes", discovery.discover(case_of(choice, CELLS["host"], probe, Variant("off")).machine), cut, keys
    )


def flow(choice: Choice, cells: int, setup: Setup, variant: Variant, moments: Sequence[int]) -> list[Moment]:
    """Runs the lid-driven cavity, and returns its velocities and residual after each number of steps in `moments`.
    Raises RuntimeError if no message route connects two devices with the scheme of packing halos that `variant` names.
    Collective on the ranks of `setup.comm`; only rank 0 gets valid results."""
    case = case_of(choice, cells, setup, variant)
    options = case.options()
    if variant.scheme:
        options |= next(scheme.knobs for scheme in schemes("on") if scheme.name == variant.scheme)
    lbm = part("lbm").Lbm(setup.machine, options, comm=setup.comm)
    apart, found = max(1, scaled(APART, cells)), []
    for moment in moments:
        lbm.advance(moment - apart - lbm.step)
        lbm.residual()
        lbm.advance(apart)
        change = lbm.residual() * case.scales.steps_per_time / apart / case.scales.reference_velocity
        values, lines = getattr(lbm, case.lbm.representation)(), profiles.profiles(lbm, case)
        by = travels_by(lbm.report())
        if lines is not None:
            both = np.concatenate([line.velocity for line in lines])
            digest = hashlib.sha256(np.ascontiguousarray(values)).hexdigest()
            found.append(Moment(moment, digest, both, change, by))
    return found


def rows_of(
    choice: Choice, cells: int, setup: Setup, ran: dict[Variant, list[Moment]], first: list[Moment]
) -> Iterator[Row]:
    """Rows of results on rank 0, one for each flow and number of steps. `first` is the flow that was run first, whose
    last velocity counts as steady. A row has the largest difference from this velocity along lines through the cavity,
    and whether the populations have the same bits as those of `first`."""
    *rights, steady = first
    for variant, moments in ran.items():
        for moment, right in zip(moments, rights, strict=False):
            yield {
                "ranks": 1 if setup.comm else core().size(),
                "devices": len(setup.machine.devices()),
                "nodes": setup.machine.nodes,
                "experiment": "validation",
                "setup": setup.name,
                "overlap": variant.overlap,
                "rim": variant.rim if variant.overlap == "on" else None,
                "scheme": variant.scheme or "rules",
                "cells": [cells] * 3,
                "blocks": [BLOCKS] * 3,
                **common.method(choice),
                "steps": moment.step,
                "error_percent": record.digits(100.0 * float(np.abs(moment.lines - steady.lines).max())),
                "residual": record.digits(moment.residual),
                "travels_by": moment.travels_by,
                "same_bits": moment.digest == right.digest,
                "sha256": moment.digest[:16],
            }


def add_options(parser: argparse.ArgumentParser) -> None:
    options.precision(parser, "f64")
    options.one_cube(parser)
    options.devices(parser)
    options.threads(parser)
    options.method(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Runs the cavity in all variants and prints errors; rank 0 writes. Collective."""
    module, choice = core(), record.chosen(Choice, arguments)
    backend = discovery.choose_backend(choice.backend)
    cells = CELLS[backend] if choice.cells is None else choice.cells
    if cells % BLOCKS or cells < 4 * BLOCKS:
        raise CaseError(
            f"bench lbm_validation: --cells {cells} is no multiple of {BLOCKS} from 16", option="cells", limit=BLOCKS
        )
    per_rank = choice.devices or devices_here(backend, module.size())
    moments = [scaled(steps, cells) for steps in MOMENTS]
    rows: list[Row] = []
    first: list[Moment] = []
    # Time steps until the flow is steady. Only the first run goes so far: its end is the reference for errors.
    further = [scaled(STEADY, cells)]
    for setup in setups(choice, backend, console):
        ran: dict[Variant, list[Moment]] = {}
        several = setup.name != ONE
        # With one device of several, only the narrowest and the widest boundary region are measured. Its 64 blocks each
        # have an interior and six boundary boxes, so a time step makes many kernel launches.
        for variant in variants(cells, several, several or per_rank * module.size() == 1):
            if setup.comm is None or module.rank() == 0:
                try:
                    ran[variant] = flow(choice, cells, setup, variant, [*moments, *further])
                except RuntimeError as error:
                    why = refusal(error)
                    console.print(f"{setup.name}, {variant.scheme}: left out: {why}", soft_wrap=True)
                    continue
                first = first or ran[variant]
            further = []
        if module.rank() == 0:
            rows.extend(rows_of(choice, cells, setup, ran, first))
        module.barrier()
    if module.rank() == 0:
        console.print(_table(choice, cells, rows))
        console.print(_verdict(rows, moments, first[-1]))
    machine = discovery.discover(any_case(choice, per_rank).machine)
    record.keep(arguments.folder, "lbm_validation", record.describe_machine(machine), rows, FIGURES, console)


def _verdict(rows: Sequence[Row], moments: Sequence[int], steady: Moment) -> str:
    ways = {(row["setup"], row["overlap"], row["rim"], row["scheme"]) for row in rows}
    wrong = [row for row in rows if not row["same_bits"]]
    said = "the same bits" if not wrong else f"OTHER BITS in {len(wrong)} rows"
    when = " and ".join(str(moment) for moment in moments)
    return (
        f"{len(ways)} ways of stepping, {said} after {when} steps; errors are against the flow after {steady.step} "
        f"steps, residual {steady.residual:.1e}"
    )


def _table(choice: Choice, cells: int, rows: Sequence[Row]) -> Any:
    lines = [
        (row["setup"], Variant(row["overlap"], row["rim"] or 1, row["scheme"].replace("rules", "")).name,
         str(row["steps"]), f"{row['error_percent']:.4g}", f"{row['residual']:.3g}",
         "yes" if row["same_bits"] else "NO")
        for row in rows
    ]  # fmt: skip
    columns = ["blocks on", "step", "steps", "error, % of the lid speed", "residual", "same bits"]
    title = f"validation, cavity of {cells}^3, {choice.lattice} {choice.collision} {choice.precision}, omega {OMEGA}"
    return terminal.table(title, columns, lines, left=2)
