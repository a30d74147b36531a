"""Measures the time of steps, and of the work between them."""

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Least time in seconds and least number of steps from which a prediction is made; the second pair is for slow steps.
SECONDS, STEPS = 1.0, 20
SLOW_SECONDS, SLOW_STEPS = 10.0, 3
#: Fraction of the measured time that is excluded as a warm-up: caches and initial guesses are empty at first.
WARM_UP = 1 / 3
#: Step times have settled if the shortest is at least this share of the median. The share is smaller at first, while
#: some steps are slow because CUDA graphs are recorded.
SETTLED = 0.8
#: A step that takes longer than so many medians is a stall. Every third step of a flow may take twice the median.
STALL = 3.0
#: Names of the parts of a run that are timed between its steps: checks of the residual, and writing of fields.
LOOKS, FRAMES = "looks", "frames"


def rows_of(every: int) -> str:
    """Name of the timed part of a run that writes rows of tables with this period."""
    return f"rows each {every} steps"


class Meter:
    """Measures the time of the steps of a march, and of the work between them, by this rank's clock."""

    def __init__(self) -> None:
        self.steps, self.seconds = 0, 0.0
        self._first: list[tuple[int, float]] = []
        # for each timed part of a run, such as writing a table: seconds of its first execution; number and
        # total seconds of later executions
        self._parts: dict[str, tuple[float, int, float]] = {}

    def advanced(self, steps: int, seconds: float) -> None:
        if not self.enough:
            self._first.append((steps, seconds))
        self.steps += steps
        self.seconds += seconds

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Context that times one execution of a part of the run."""
        start = time.perf_counter()
        yield
        took = time.perf_counter() - start
        if part not in self._parts:
            self._parts[part] = took, 0, 0.0
            return
        first, later, seconds = self._parts[part]
        self._parts[part] = first, later + 1, seconds + took

    @property
    def enough(self) -> bool:
        """Whether enough steps of the run were timed for a prediction: a few slow ones, or more that have settled."""
        if self.seconds >= SLOW_SECONDS and self.steps >= SLOW_STEPS:
            return True
        if self.seconds < SECONDS or self.steps < STEPS:
            return False
        return min(each for each, _ in self._counted()) >= SETTLED * self._median()

    def step(self) -> float:
        """Seconds per step: the mean of the timed steps without the warm-up and without stalls of the machine. In a run
        that ends earlier it is the mean of all steps; 0 if there were none."""
        if not self.enough:
            return self.seconds / self.steps if self.steps else 0.0
        limit = STALL * self._median()
        usual = [(each, steps) for each, steps in self._counted() if each <= limit]
        return sum(each * steps for each, steps in usual) / sum(steps for _, steps in usual)

    def of_steps(self, left: int) -> float:
        """Predicted seconds of all steps of a run that has made the timed ones and has `left` to go."""
        return self.seconds + left * self.step()

    def _counted(self) -> list[tuple[float, int]]:
        """Seconds per step, and number of steps, of each timed advance after the warm-up."""
        left = (1 - WARM_UP) * sum(seconds for _, seconds in self._first)
        counted: list[tuple[float, int]] = []
        for steps, seconds in reversed(self._first):
            if counted and seconds > left:
                break
            left -= seconds
            counted.append((seconds / steps, steps))
        return counted

    def _median(self) -> float:
        counted = sorted(self._counted())
        steps_so_far = list(itertools.accumulate(steps for _, steps in counted))
        return next(
            each for (each, _), so_far in zip(counted, steps_so_far, strict=True) if 2 * so_far >= steps_so_far[-1]
        )

    def of(self, part: str, times: int) -> float:
        """Predicted seconds of `times` executions of a part of the run, such as its output; 0 if it never ran. The
        first execution may load kernels, so it counts once; all others count with their mean time."""
        if not times or part not in self._parts:
            return 0.0
        first, later, seconds = self._parts[part]
        return first + (times - 1) * (seconds / later if later else first)
