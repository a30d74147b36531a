"""Chooses the coding of a run by measurement, for `exchange.coding = "auto, max error 1e-6"`.

Steps of the run itself are timed before anything is written. The resolved case and checkpoints record the coding,
because bits depend on it.
"""

import gc
import math
import time
import tomllib
from typing import TYPE_CHECKING

from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError
from slipstream.case.case import Case
from slipstream.case.solver import solver_of
from slipstream.machine import discovery
from slipstream.run import checkpoint, engine

if TYPE_CHECKING:
    from slipstream._core import Machine

AUTO, ERROR = "auto", ", max error "
WARM_UPS, STEPS, TRIALS = 3, 10, 3
#: Least speed-up over uncoded messages for which a coding is chosen; it exceeds the scatter of repeated measurements.
LEAST_GAIN = 1.03


def is_open(coding: str) -> bool:
    return coding.partition(",")[0] == AUTO


def settled(case: Case, restart: str | None) -> tuple[Case, str]:
    """The case with the chosen coding, and a line with the choice and the reason; empty if the case names a coding. A
    restart keeps the coding of its checkpoint. Collective."""
    asked = case.exchange.coding
    if not is_open(asked):
        return case, ""
    if restart:
        kept = tomllib.loads(checkpoint.text_of(case, restart)).get("exchange", {}).get("coding", "raw")
        return case.changed(exchange={"coding": kept}), f"coding: {kept}, as the checkpoint has it"
    if ERROR not in asked:
        return case.changed(exchange={"coding": "raw"}), "coding: raw: without a max error nothing may be lost"
    precision = getattr(getattr(case, case.solver), "precision", "f64")
    with as_case_error("exchange.coding"):
        codings = ["raw", *core().codings_that_keep(precision, float(asked.partition(ERROR)[2]))]
    machine = discovery.discover(case.machine)
    seconds = {name: _seconds_of_a_step(case.changed(exchange={"coding": name}), machine) for name in codings}
    fastest = min(codings, key=lambda coding: seconds[coding] * (LEAST_GAIN if coding != "raw" else 1))
    return case.changed(exchange={"coding": fastest}), f"coding: {fastest}: the fastest of {_shown(seconds)} a step"


def _shown(seconds: dict[str, float]) -> str:
    return ", ".join(
        f"{coding} {1e6 * taken:.3g} us" if math.isfinite(taken) else f"{coding} (cannot be taken)"
        for coding, taken in seconds.items()
    )


def _seconds_of_a_step(case: Case, machine: "Machine") -> float:
    """Shortest time of several steps with a coding, on the slowest rank. Infinite on all ranks if the solver refuses
    the coding, or a value overflows it. Collective."""
    try:
        return _measured(case, machine)
    except (CaseError, OverflowError) as error:
        if case.exchange.coding == "raw" or getattr(error, "code", "overflow") not in ("unsupported", "overflow"):
            raise
        return math.inf
    finally:
        gc.collect()  # frees the solver of this trial, so that the solver of the next one fits into memory


def _measured(case: Case, machine: "Machine") -> float:
    work = solver_of(case).start(engine.prepare(case, machine), None)
    work.engine.advance(WARM_UPS)
    best = math.inf
    for _ in range(TRIALS):
        core().barrier()
        start = time.perf_counter()
        work.engine.advance(STEPS)
        best = min(best, _largest(time.perf_counter() - start) / STEPS)
    return best


def _largest(number: float) -> float:
    """The largest value that any rank passes. Collective."""
    return max(float(text) for text in core().Communicator.world().all_gather(repr(number)))
