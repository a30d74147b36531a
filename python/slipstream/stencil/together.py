"""How many steps an exchange should serve: by measurement."""

import time
from typing import Any

from slipstream.base.core import core

#: Numbers of steps that are tried, the fewest first.
CANDIDATES = (1, 2, 3, 4, 6, 8)
#: A measurement lasts about so many seconds.
TRIAL = 0.1


def _seconds_a_step(machine: Any, options: dict[str, Any]) -> float:
    """Of the slowest rank. Collective."""
    module = core()
    engine = module.Stencil(machine, options)
    engine.advance(12)
    steps = 12
    while True:
        module.barrier()
        start = time.perf_counter()
        engine.advance(steps)
        spent = max(float(text) for text in module.Communicator.world().all_gather(repr(time.perf_counter() - start)))
        if spent >= TRIAL or steps > 100000:
            return spent / steps
        steps *= 2


def fastest(machine: Any, options: dict[str, Any]) -> tuple[int, list[str]]:
    """The number, and a line that says how it was found. Numbers for which blocks are too thin are not tried.
    Collective."""
    best, least, tried = 1, float("inf"), []
    for number in CANDIDATES:
        try:
            seconds = _seconds_a_step(machine, options | {"steps_per_exchange": number, "tune": "rules"})
        except RuntimeError as error:
            if "less than the" not in str(error):
                raise
            break
        tried.append(f"{number}: {seconds * 1e6:.3g} us")
        if seconds < least:
            best, least = number, seconds
    return best, [f"steps an exchange: {best}, measured ({', '.join(tried)} a step)"]
