"""The loop over time that the command line and Python share: advance, check the residual, stop."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from slipstream.base import failure
from slipstream.base.core import core
from slipstream.base.errors import ErrorCode, Fault, RunError
from slipstream.case.case import Case
from slipstream.case.solver import Run, solver_of
from slipstream.run.checkpoint import Keeper, Marks
from slipstream.run.live import Progress
from slipstream.run.meter import FRAMES, LOOKS, Meter, rows_of

#: Seconds of wall-clock time between two checks whether a signal or the clock ends the run.
BEAT = 0.25


class GivenUp(RunError):
    """A run cannot continue with its present options, because a check of its state failed."""

    code = ErrorCode.DIVERGED
    by = ""  #: name of the check that failed, for messages
    sound = True  #: whether the present state of the run is valid, so that a run may continue from it


class TooFast(GivenUp):
    """The flow has become too fast for its time step. A restart from the last checkpoint can use a smaller one."""

    by = "the limit of the time step"


class Diverged(GivenUp):
    """The values of the flow are no longer finite, or outside of the guard's range."""

    exit_code = failure.DIVERGED
    by = "the guard"
    sound = False


class NotSolved(Diverged):
    """The linear system of a step was not solved. The state before this step is still sound."""

    code = ErrorCode.NOT_CONVERGED
    by = "the linear solver"


@dataclass(frozen=True)
class Outcome:
    """Result of a march, the time loop of a run."""

    steps: int  #: number of steps of the solver since the start of the whole run
    seconds: float
    residual: float | None
    steady: bool
    first_step: int = 0  #: step at which this march began
    stopped: str = ""  #: reason for an early end; empty if there was none

    @property
    def steps_done(self) -> int:
        return self.steps - self.first_step


@dataclass(frozen=True)
class Between:
    """Functions that the loop over time steps calls between two steps, such as for output and checks."""

    look: Callable[[], None] | None = None  #: function that is called whenever a residual is computed
    apart: Sequence[tuple[int, Callable[[], None]]] = ()  #: periods in steps, each with the function to call after it
    ends: Callable[[], str] | None = None  #: function that returns the reason to end; empty if the run continues
    meter: Meter = field(default_factory=Meter)  #: measures the time of time steps and of functions called between them


class Chunk:
    """Number of time steps between two checks of signals and the clock: a power of two, the same on every rank. They
    take about 0.25 s (BEAT)."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self.steps = 1

    def adapt(self, done: int, seconds: float) -> None:
        """Adapts the number of steps between checks to the time of `done` steps. Collective: the clock of rank 0
        decides for all."""
        wanted = self.steps
        if seconds < BEAT / 2 and done == self.steps:
            wanted *= 2
        elif seconds > 2 * BEAT:
            wanted = max(1, wanted // 2)
        self.steps = int(core().broadcast(str(wanted), 0))


def next_multiple(step: int, every: int) -> int:
    return (step // every + 1) * every


def next_nearest(step: int, period: float) -> int:
    """The first step after `step` that is nearest to a multiple of the period, which need not be an integer. The
    difference is at most half a step, and does not accumulate."""
    count = math.floor((step + 0.5) / period)
    while (nearest := math.floor(count * period + 0.5)) <= step:
        count += 1
    return nearest


@contextmanager
def _with_advice(run: Run, keeper: Keeper | None) -> Iterator[None]:
    """Adds to an error that ends a run the checkpoint from which the run can continue. If the flow has become too fast
    for its time step, that checkpoint is of the present step, and is written here.
    """
    try:
        yield
        return
    except TooFast as error:
        raise _ended(error, f"; {keeper.leave(run.engine.step)}" if keeper else "", keeper) from None
    except core().Diverged as error:
        fault = Fault.of(error, ErrorCode.DIVERGED)
        found: Diverged = Diverged(fault.reworded(f"the flow is no longer sound: {fault} ({run.advice()})"))
    except core().NotSolved as error:
        found = NotSolved(Fault.of(error, ErrorCode.NOT_CONVERGED))
    raise _ended(found, f"; {keeper.last_good()}" if keeper else "", keeper) from None


def _ended(error: GivenUp, how: str, keeper: Keeper | None) -> GivenUp:
    """The error of a failed check with advice, which names the checkpoint from which a run can continue."""
    fault = Fault.of(error)
    return type(error)(fault.reworded(fault + how), checkpoint=keeper.last if keeper and keeper.last else None)


def march(
    run: Run,
    case: Case,
    last_step: int,
    bytes_per_cell: int,
    show: Callable[[Progress], None],
    write: Callable[[], None] | None = None,
    keeper: Keeper | None = None,
    between: Between | None = None,
) -> Outcome:
    """Advances to `last_step`, or to the steady state that the case asks for. Collective.

    The residual is the solver's change (`Run.change`) since the last check. `write` is called at the start and then
    every case.output_period steps, the calls of `between` at their own periods. `keeper` makes checkpoints, gives the
    start of a restart, and may end the march. Raises Diverged if the guard or the residual finds the flow unsound, and
    NotSolved if the linear system of a step was not solved. If a check raises TooFast, a checkpoint of that step is
    made.
    """
    between = between or Between()
    with _with_advice(run, keeper):
        engine, check_every, meter = run.engine, case.check_every, between.meter
        period = case.output_period if write else None
        chunk, unit = Chunk(core().rank()), solver_of(case).unit_of_rate
        marks = keeper.marks if keeper else None
        if marks is None:
            # The first check of the residual only stores the state from which the next one measures.
            run.look()
            marks = Marks(engine.step)
            if write and period:
                with meter.timed(FRAMES):
                    write()
        first_step, stopped = engine.step, ""
        checked, residual = marks.checked, marks.residual
        steady = marks.are_steady(case.run.residual)
        periods = [check_every, *(every for every, _ in between.apart)] + (
            [keeper.every] if keeper and keeper.every else []
        )
        start = time.perf_counter()
        while engine.step < last_step and not steady and not stopped:
            stops = [last_step] + [next_multiple(engine.step, every) for every in periods]
            frame = next_nearest(engine.step, period) if period else -1
            stops += [frame] if period else []
            before, began = engine.step, time.perf_counter()
            engine.advance(min(chunk.steps, min(stops) - before))
            now = time.perf_counter()
            meter.advanced(engine.step - before, now - began)
            for every, take in between.apart:
                if engine.step % every == 0:
                    with meter.timed(rows_of(every)):
                        take()
            if engine.step == last_step or engine.step % check_every == 0:
                with meter.timed(LOOKS):
                    residual = run.change(checked)
                    checked = engine.step
                    if residual is not None and not math.isfinite(residual):
                        engine.inspect()  # raises an error that tells where the invalid value is
                        said = f"the flow became infinite before step {engine.step} ({run.advice()})"
                        good = f"; {keeper.last_good()}" if keeper else ""
                        raise _ended(Diverged(said, step=engine.step), good, keeper)
                    steady = case.run.residual is not None and residual is not None and residual < case.run.residual
                    if between.look:
                        between.look()
            if write and engine.step == frame:
                with meter.timed(FRAMES):
                    write()
                checked = engine.step  # writing the fields updates the velocity, from which the next change is measured
            if keeper:
                stopped = keeper.after(engine.step, Marks(checked, residual, steady))
            if between.ends and not stopped:
                stopped = between.ends()
            updates = case.cell_count * (engine.step - before) / max(now - began, 1e-9)
            elapsed = time.perf_counter() - start
            show(
                Progress(
                    step=engine.step,
                    last_step=last_step,
                    time=case.show_time(engine.step),
                    residual=residual,
                    rate=updates / 1e6,
                    unit=unit,
                    gb_per_s=updates * bytes_per_cell / 1e9,
                    seconds=elapsed,
                    seconds_left=elapsed * (last_step - engine.step) / (engine.step - first_step),
                )
            )
            chunk.adapt(engine.step - before, now - began)
        outcome = Outcome(engine.step, time.perf_counter() - start, residual, steady, first_step, stopped)
        if keeper and not stopped:
            keeper.end(engine.step)
        return outcome
