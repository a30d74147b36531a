"""The time loop, with a flow whose velocity changes by the same amount in each step."""

from typing import Any

import numpy as np
import pytest
from slipstream.case.reader import Source, parse
from slipstream.lbm.case import LbmCase
from slipstream.lbm.running import LbmRun
from slipstream.run.live import Progress
from slipstream.run.march import Chunk, march, next_nearest


class Steady:
    """Imitates a compiled solver: its residual is the change since the last query."""

    def __init__(self) -> None:
        self.step = 0
        self._seen = 0

    def advance(self, steps: int) -> None:
        self.step += steps

    def residual(self) -> float:
        change, self._seen = 1e-6 * (self.step - self._seen), self.step
        return change


def case(every: float | None) -> LbmCase:
    data: dict[str, Any] = {
        "grid": {"cells": [32, 32, 1]},
        "lbm": {"lattice": "D2Q9"},
        "physics": {"reynolds": 100, "reference_velocity": 0.1},
        "walls": {"y+": {"velocity": [1, 0, 0]}},
        "run": {"steps": 1000, "check_every": 100},
        "output": {"every": every} if every else {},
    }
    return parse(data, Source("test"))


@pytest.mark.parametrize("every", [None, 0.1, 0.3, 0.77])
def test_writing_between_two_looks_does_not_change_the_residual(every: float | None) -> None:
    flow = Steady()
    outcome = march(LbmRun(flow, case(every)), case(every), 1000, 72, lambda progress: None, flow.residual)
    assert outcome.steps == 1000
    # The residual follows from 1e-6 per step, 320 steps per length / reference velocity, and a reference velocity of
    # 0.1.
    assert outcome.residual == pytest.approx(1e-6 * 320 / 0.1)


@pytest.mark.parametrize("period", [3.84, 1.5, 177.777, 2.0, 1.0, 0.3])
def test_frames_lie_at_the_steps_nearest_to_whole_periods_without_drift(period: float) -> None:
    steps = [0]
    while steps[-1] < 1000:
        steps.append(next_nearest(steps[-1], period))
    wanted = period * np.arange(round(steps[-1] / period) + 1)
    # Each wanted time has a step within half a time step, and there are no other steps.
    assert sorted({int(np.floor(time + 0.5)) for time in wanted}) == steps


def test_first_frame_is_that_of_the_start_and_the_fiftieth_of_50_periods() -> None:
    flow, times, small = Steady(), [], case(0.012)
    # The flow has 320 steps per length / reference velocity.
    march(LbmRun(flow, small), small, 1000, 72, lambda progress: None, lambda: times.append(flow.step / 320))
    assert len(times) == 1 + 260 and times[0] == 0.0
    np.testing.assert_allclose(times, 0.012 * np.arange(261), atol=0.5 / 320 + 1e-9)


def test_live_line_drops_what_is_missed_least_and_keeps_how_long_it_takes() -> None:
    now = Progress(123456, 400000, "12.34 L/U", 1.23e-4, 1234.5, "MLUPS", 123.4, 1.0, 3723.0)
    whole = "step 123456/400000  time 12.34 L/U  residual 1.23e-04  1234.5 MLUPS  123.4 GB/s  31 %  ETA 1:02:03"
    assert now.line() == now.line(len(whole)) == whole
    assert now.line(80) == "step 123456/400000  residual 1.23e-04  1234.5 MLUPS  31 %  ETA 1:02:03"
    for width in range(11, 120):
        assert len(now.line(width)) <= width and now.line(width).endswith("ETA 1:02:03")


def test_chunk_grows_only_where_all_of_it_was_done() -> None:
    chunk = Chunk(0)
    for _ in range(50):
        chunk.adapt(min(chunk.steps, 8), 1e-3)
    assert chunk.steps == 16
