"""Times what a run does: its steps, and what comes between them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Steps are timed for so many seconds, and at least so many of them; of slow ones these.
SECONDS, STEPS = 1.0, 20
SLOW_SECONDS, SLOW_STEPS = 10.0, 3
#: The first part of that time does not count: caches and first guesses are still empty.
WARM_UP = 1 / 3
#: Parts of a run between its steps.
LOOKS, FRAMES = "looks", "frames"


def rows_of(every: int) -> str:
    """The part of a run that is the rows of tables with a period of their own."""
    return f"rows each {every} steps"


class Meter:
    """Times the steps of a march, and what it does between them, by this rank's clock."""

    def __init__(self) -> None:
        self.steps, self.seconds = 0, 0.0
        self._first: list[tuple[int, float]] = []
        self._parts: dict[str, tuple[int, float]] = {}

    def advanced(self, steps: int, seconds: float) -> None:
        if not self.enough:
            self._first.append((steps, seconds))
        self.steps += steps
        self.seconds += seconds

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Inside, a part of the run is done once."""
        start = time.perf_counter()
        yield
        times, seconds = self._parts.get(part, (0, 0.0))
        self._parts[part] = times + 1, seconds + time.perf_counter() - start

    @property
    def enough(self) -> bool:
        """Whether a prediction may be made."""
        few = self.seconds >= SLOW_SECONDS and self.steps >= SLOW_STEPS
        return few or (self.seconds >= SECONDS and self.steps >= STEPS)

    def step(self) -> float:
        """Seconds of a step, by those that were timed first but for the warm-up; 0 where there were none. In a run that
        ends before, the warm-up counts."""
        warm_up = WARM_UP if self.enough else 0.0
        left = (1 - warm_up) * sum(seconds for _, seconds in self._first)
        steps, spent = 0, 0.0
        for done, seconds in reversed(self._first):
            if steps and spent + seconds > left:
                break
            steps, spent = steps + done, spent + seconds
        return spent / steps if steps else 0.0

    def of(self, part: str) -> float:
        """Mean seconds of a part; 0 where it was not done."""
        times, seconds = self._parts.get(part, (0, 0.0))
        return seconds / times if times else 0.0
