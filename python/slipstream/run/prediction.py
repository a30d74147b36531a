"""Predicts the time and the disk space of a run from timed steps."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstream.base.core import core
from slipstream.base.errors import CaseError, RunError
from slipstream.base.terminal import about, count, size
from slipstream.case.case import Case
from slipstream.case.solver import Run, solver_of
from slipstream.results.results import FIELDS, field_files
from slipstream.run import coding, engine
from slipstream.run.checkpoint import files_in
from slipstream.run.march import Between, march
from slipstream.run.meter import FRAMES, LOOKS, Meter, rows_of

if TYPE_CHECKING:
    from slipstream._core import Machine

#: Largest share of a device's memory that a trial, a few steps before a run, may use.
MOST_MEMORY = 0.5
#: Size in bytes of the largest frame of fields that a trial, a few steps before a run, may write.
MOST_FRAME_BYTES = 1 << 30
#: Largest number of cells for trials of steady problems, because their only step is the whole solution.
MOST_CELLS_SOLVED = 1_000_000
#: Estimated overhead of a field in a checkpoint in bytes, because its headers lie on separate pages.
PAGES_OF_A_FIELD = 1 << 16


@dataclass(frozen=True)
class Prediction:
    """Time and disk space that a run needs from its first step to its last one."""

    step: float  #: predicted seconds per step, the mean of the whole run with its slower start
    steps: int
    seconds: float  #: predicted seconds of all steps, with the checks and output between them
    bytes: int  #: bytes of the fields and checkpoints that the run adds to the disk
    at_most: bool  #: whether the run may end earlier, because it becomes steady
    timed: int  #: number of timed steps from which the prediction is made

    def words(self) -> str:
        most = "at most " if self.at_most else ""
        return (
            f"{most}{about(self.seconds)} for {count(self.steps, 'step')} of {1e3 * self.step:.3g} ms "
            f"({self.timed} were timed), {size(self.bytes)} on disk"
        )


def predict(meter: Meter, work: Run, case: Case, periods: Iterable[int] = ()) -> Prediction:
    """Predicts the time and disk space of a run from the steps that it has made. `periods`: for each table of results
    that the run writes, the number of steps between two rows."""
    left, output = max(case.last_step - work.engine.step, 0), case.output_period
    steps, in_steps = meter.steps + left, meter.of_steps(left)
    seconds = in_steps + meter.of(LOOKS, steps // case.check_every + 1)
    seconds += sum(meter.of(rows_of(every), steps // every) for every in periods)
    frames = (2 + int(steps / output) if output else 1) if case.output.fields else 0
    every = case.checkpoint.every
    kept = min((steps // every if every else 0) + int(case.checkpoint.final), case.checkpoint.keep)
    state = core().state_bytes(work.engine)
    on_disk = (work.bytes_of(frames) if frames else 0) + kept * (sum(state.values()) + PAGES_OF_A_FIELD * len(state))
    seconds += meter.of(FRAMES, frames)
    return Prediction(in_steps / max(steps, 1), steps, seconds, on_disk, case.run.residual is not None, meter.steps)


def bytes_there(case: Case) -> int:
    """Bytes of the fields and checkpoints that a run has on disk. Rank 0 only."""
    there = [*field_files(case.folder), *case.folder.glob("fields0.f*"), *files_in(case.checkpoint_folder)]
    return sum(path.stat().st_size for path in there)


def took(meter: Meter, seconds: float, on_disk: int) -> dict[str, Any]:
    """Measured costs of a run, in the quantities of `Prediction`."""
    step = meter.seconds / meter.steps if meter.steps else None
    return {"step": step, "steps": meter.steps, "seconds": seconds, "bytes": on_disk}


def trial(case: Case, machine: "Machine") -> str:
    """Estimates the time and the disk space of a run on this machine, as text. It makes the first steps and discards
    them. If that is impossible, the text says why. Collective."""
    if not case.marches and case.cell_count > MOST_CELLS_SOLVED:
        return "not known before the one system of equations is solved"
    try:
        with tempfile.TemporaryDirectory(prefix="slipstream-") as folder:
            settled, _ = coding.settled(case, None)
            return _tried(settled, machine, Path(core().broadcast(folder, 0))).words()
    except (CaseError, RunError, RuntimeError, OSError) as error:
        return f"not known: {str(error).splitlines()[0]}"


def _tried(case: Case, machine: "Machine", folder: Path) -> Prediction:
    within = case.changed(output={"folder": str(folder)}, checkpoint={"folder": None})
    setup = engine.prepare(within, machine)
    devices = machine.devices()
    for needed, device in zip(engine.needed_per_device(setup.plan, len(devices)), devices, strict=True):
        if needed > MOST_MEMORY * device["memory"]:
            raise CaseError(f"a trial would take {size(needed)} of the {size(device['memory'])} of a device")
    work = solver_of(case).start(setup, None)
    meter, monitors = Meter(), work.monitors(False)

    def look() -> None:
        for monitor in monitors:
            if not monitor.every:
                monitor.take()

    def end() -> str:
        return str(core().broadcast("a trial" if meter.enough else "", 0))

    unsteady = within.changed(run={"residual": None})
    apart = [(monitor.every, monitor.take) for monitor in monitors if monitor.every]
    march(work, unsteady, case.last_step, 0, lambda progress: None, between=Between(look, apart, end, meter))
    with meter.timed(LOOKS):
        work.change(work.engine.step - 1)
        look()
    if case.output.fields and work.bytes_of(1) <= MOST_FRAME_BYTES:
        with meter.timed(FRAMES):
            fields = work.fields(folder / FIELDS, False)
            fields.write()
            fields.close()
    return predict(meter, work, case, [every for every, _ in apart])
