"""`slipstream bench lbm_io`: cost of a checkpoint written while steps continue.

Compares the places where values wait for writing (`checkpoint.snapshot`). These are: pinned memory for all values;
pinned memory for two pieces, so that the step waits for the disk; and device memory. From device memory a thread
fetches pieces through two buffers, or a GPU-aware MPI writes them directly. A reference row times a plain write of the
same bytes to the same disk.
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import agree_on_error, core
from slipstream.base.errors import RunError
from slipstream.lbm import running
from slipstream.machine import discovery
from slipstream.run import engine

from slipstream_bench import record
from slipstream_bench.exchange_setups import device_grid
from slipstream_bench.lbm import common, splits
from slipstream_bench.lbm.common import any_case, devices_here, smallest_time
from slipstream_bench.lbm.splits import Choice, Setup, case_of
from slipstream_bench.record import Row
from slipstream_bench.whole_machine import need

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"state_gb", "step_ms", "begin_ms", "written_s", "gbs", "plain_gbs", "percent_of_plain", "steps_meanwhile"}
    | {"lost_ms", "lost_steps"}
)
#: Ways of writing checkpoints by name: where values are staged, and bytes of pinned memory; 0 bytes: the default of
#: runs.
WAYS: Mapping[str, tuple[str, int]] = {
    "pinned": ("pinned", 0),
    "two pieces": ("pinned", 1),
    "device": ("device", 0),
    "device, by MPI": ("mpi", 0),
}
#: Number of timed checkpoints, of which the one that delays steps least counts. One before them allocates memory.
CHECKPOINTS = 3
#: Seconds of steps between two checks whether the output is complete.
LOOK = 0.02
CELLS = {"host": [32, 64], "cuda": [128, 256, 512]}
PIECE = 16 << 20


@dataclass(frozen=True)
class Timing:
    """Times of one checkpoint in seconds, by rank 0's clock."""

    begin: float  #: seconds after the call that starts a checkpoint until time steps continued
    written: float  #: seconds until the file of the checkpoint was complete
    lost: float  #: seconds by which the steps took longer than without a checkpoint
    steps: int
    bytes: int


def plain_write(folder: Path, size: int) -> float:
    """Seconds that one process needs to write as many bytes as a checkpoint has, and sync them to disk."""
    piece, path = bytes(min(PIECE, size)), folder / "plain"
    began = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(-(-size // len(piece))):
            file.write(piece)
        os.fsync(file.fileno())
    seconds = time.perf_counter() - began
    path.unlink()
    return seconds


class Meter:
    """Measures checkpoints of one solver. All methods are collective."""

    def __init__(self, lbm: Any, step_seconds: float) -> None:
        self.lbm, self.chunk = lbm, max(1, int(LOOK / step_seconds))

    def best(self, folder: Path, way: str) -> Timing | str:
        """Times of the best of several checkpoints, or the reason why MPI does not accept device memory."""
        snapshot, staging = WAYS[way]
        ring = core().Checkpoints(self.lbm, str(folder), 1, "", snapshot, staging)
        found = [self._one(ring)]
        if ring.mpi_refusal:
            return str(ring.mpi_refusal)
        found = [self._one(ring) for _ in range(CHECKPOINTS)]
        return min(found, key=lambda timing: timing.lost)

    def _one(self, ring: Any) -> Timing:
        module, lbm = core(), self.lbm
        lbm.advance(1)  # a new step, because checkpoints of one step have the same file name
        module.barrier()
        began, first = time.perf_counter(), lbm.step
        ring.begin("{}")
        module.barrier()
        begin = time.perf_counter() - began
        done = ""
        while not done:
            done = self._some_steps(ring)
        spent, steps = time.perf_counter() - began, lbm.step - first
        ring.finish()
        if done.startswith("!"):
            raise RunError(f"bench lbm_io: a checkpoint was not written: {done[1:]}")
        # The same steps and checks run without output right afterwards, because a machine's speed varies over minutes.
        again = time.perf_counter()
        for _ in range(0, steps, self.chunk):
            self._some_steps(ring)
        alone = time.perf_counter() - again
        return Timing(begin, spent, spent - alone, steps, Path(done).stat().st_size)

    def _some_steps(self, ring: Any) -> str:
        """Runs some steps while a checkpoint is written. Returns the path of a completed checkpoint, "!" and
        the reason of a failed one, or "" while it is being written."""
        self.lbm.advance(self.chunk)
        ring.poll()
        # Rank 0 broadcasts the result, because the other ranks do not know when all have written.
        return core().broadcast("".join(path or f"!{error}" for _, path, error in ring.results()), 0)


def measure(choice: Choice, machine: Any, cells: int, folder: Path, console: Console) -> list[Row]:
    """Measures one row per way of writing checkpoints. Collective."""
    devices = len(machine.devices())
    case = case_of(choice, Setup("", "", cells, device_grid(devices)), machine.nodes)
    lbm = running.compiled(engine.prepare(case, machine))
    step = smallest_time(lbm) / common.STEPS
    rows, meter = [], Meter(lbm, step)
    for way in WAYS:
        timing = meter.best(folder, way)
        if isinstance(timing, str):
            console.print(f"{way}: left out: {timing}", soft_wrap=True)
            continue
        plain = plain_write(folder, timing.bytes) if core().rank() == 0 else 1.0
        rows.append(
            {
                "ranks": machine.ranks,
                "devices": devices,
                "nodes": machine.nodes,
                "experiment": "io",
                "way": way,
                "cells_per_device": [cells] * 3,
                **common.method(choice),
                "checkpoints": CHECKPOINTS,
                "clock": "host",
                "state_gb": record.digits(timing.bytes / 1e9),
                "step_ms": record.digits(1e3 * step),
                "begin_ms": record.digits(1e3 * timing.begin),
                "written_s": record.digits(timing.written),
                "gbs": record.digits(timing.bytes / timing.written / 1e9),
                "plain_gbs": record.digits(timing.bytes / plain / 1e9),
                "percent_of_plain": record.digits(100.0 * plain / timing.written),
                "steps_meanwhile": timing.steps,
                "lost_ms": record.digits(1e3 * timing.lost),
                "lost_steps": record.digits(timing.lost / step),
            }
        )
    return rows


add_options = splits.add_options


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures the cost of output, and prints rows; rank 0 writes them. Collective."""
    module, choice = core(), record.chosen(Choice, arguments)
    backend = discovery.choose_backend(choice.backend)
    cells = choice.cells or CELLS[backend]
    need("lbm_io", 4, cells=cells)
    machine = discovery.discover(any_case(choice, choice.devices or devices_here(backend, module.size())).machine)
    there, problem = "", ""
    if module.rank() == 0:
        try:
            there = tempfile.mkdtemp(prefix=".slipstream-io-", dir=Path.cwd())
        except OSError as error:
            problem = f"bench lbm_io: cannot write to {Path.cwd()}: {error.strerror}; run it elsewhere"
    agree_on_error(problem)
    there = module.broadcast(there, 0)
    try:
        rows = [row for n in cells for row in measure(choice, machine, n, Path(there), console)]
    finally:
        if module.rank() == 0:
            shutil.rmtree(there, ignore_errors=True)
    console.print(_table(choice, machine.name, rows))
    record.keep(arguments.folder, "lbm_io", record.describe_machine(machine), rows, FIGURES, console)


def _table(choice: Choice, machine: str, rows: Sequence[Row]) -> Any:
    lines = [
        (f"{row['cells_per_device'][0]}^3", row["way"], f"{row['state_gb']:.3g}", f"{row['begin_ms']:.3g}",
         f"{row['written_s']:.3g}", f"{row['gbs']:.3g}", f"{row['plain_gbs']:.3g}", str(row["steps_meanwhile"]),
         f"{row['lost_ms']:.3g}", f"{row['lost_steps']:.3g}")
        for row in rows
    ]  # fmt: skip
    columns = ["cells a device", "values wait in", "GB", "steps stand ms", "written s", "GB/s", "plain write GB/s",
               "steps meanwhile", "lost ms", "lost steps"]  # fmt: skip
    title = f"checkpoints, {choice.lattice} {choice.collision} {choice.precision} on {machine}: "
    return terminal.table(title + f"the best of {CHECKPOINTS}", columns, lines, left=2)
