"""Your own update over shifted arrays: NumPy on one whole array is the oracle."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import slipstream as ss
from conftest import ROOT
from ranks import run_on


def whole(stencil: ss.Stencil, name: str) -> np.ndarray:
    """The field of a grid that lies on one rank, [z, y, x]."""
    values = np.full(stencil.grid.cells[stencil.grid.axes - 1 :: -1], np.nan)
    for block, part in stencil.blocks(name):
        places = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))[: stencil.grid.axes]
        values[tuple(reversed(places))] = part
    return values


def heat(u):
    around = u[1, 0, 0] + u[-1, 0, 0] + u[0, 1, 0] + u[0, -1, 0] + u[0, 0, 1] + u[0, 0, -1]
    return u[0, 0, 0] + 0.1 * (around - 6 * u[0, 0, 0])


@pytest.mark.parametrize("devices", [1, 2, 3, 8])
@pytest.mark.parametrize("routes", [["kernel", "direct"], ["kernel", "staged"]])
def test_steps_are_those_on_one_array(devices: int, routes: list[str]) -> None:
    cells = (13, 9, 11)
    grid = ss.Grid(cells, periodic=(True, True, True), backend="host", devices_per_rank=devices)
    start = np.random.default_rng(devices).random(cells[::-1])
    with ss.Stencil(grid, heat, reach="faces", routes=routes) as stencil:
        for block, part in stencil.blocks("u"):
            lo, hi = block["lo"], block["hi"]
            part[...] = start[lo[2] : hi[2], lo[1] : hi[1], lo[0] : hi[0]]
        stencil.run(7)
        found = whole(stencil, "u")
    for _ in range(7):
        around = sum(np.roll(start, -s, a) for a, s in ((2, 1), (2, -1), (1, 1), (1, -1), (0, 1), (0, -1)))
        start = start + 0.1 * (around - 6 * start)
    np.testing.assert_allclose(found, start, rtol=1e-13)
    assert stencil.steps == 7


def test_cuts_change_no_bit_of_a_wave_of_two_fields_in_two_dimensions() -> None:
    def wave(u, before):
        lap = u[2, 0] + u[-2, 0] + u[0, 2] + u[0, -2] + u[1, 1] - 5 * u[0, 0]
        return 2 * u[0, 0] - before[0, 0] + 0.05 * lap + 1e-3 * np.sin(u.x), u[0, 0]

    found = []
    for devices in (1, 2, 5):
        grid = ss.Grid((21, 16), backend="host", devices_per_rank=devices)
        with ss.Stencil(grid, wave, ("u", "before"), radius=2, outside=0.5) as stencil:
            stencil.fill(u=lambda x, y: np.exp(-((x - 9) ** 2 + (y - 7) ** 2) / 8), before=0.25).run(9)
            found.append((whole(stencil, "u"), whole(stencil, "before")))
    assert np.isfinite(found[0][0]).all() and np.ptp(found[0][0]) > 0.1
    assert all((u == found[0][0]).all() and (before == found[0][1]).all() for u, before in found[1:])


def test_on_gpus_exchanges_are_of_the_current_streams_and_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = ss.Grid((12, 6, 4), backend="host", devices_per_rank=2)
    said: list[str] = []
    with ss.Stencil(grid, heat) as stencil:

        class Cuda:
            """As much of cupy.cuda as a Stencil uses."""

            def Device(self, index: int) -> Any:  # noqa: N802
                self.index = index
                return nullcontext()

            def get_current_stream(self) -> Any:
                name = f"stream {self.index}"
                return SimpleNamespace(name=name, synchronize=lambda: said.append(f"waits for {name}"))

        class Exchange:
            def begin(self, streams: Any) -> None:
                said.append(f"begins behind {[stream.name for stream in streams]}")

            def end(self) -> None:
                said.append("ends")

            def swap(self, name: str) -> None:
                pass

            def check(self) -> None:
                said.append("checks")

        with monkeypatch.context() as change:
            change.setattr(grid, "backend", "cuda")
            change.setattr(stencil, "_xp", SimpleNamespace(cuda=Cuda()))
            change.setattr(stencil, "_exchange", Exchange())
            stencil.run()
    assert said == [
        "begins behind ['stream 0', 'stream 1']",
        "ends",
        "waits for stream 0",
        "waits for stream 1",
        "checks",
    ]


def test_bad_input_is_said() -> None:
    grid = ss.Grid((12, 4, 4), backend="host", devices_per_rank=2)
    with pytest.raises(ValueError, match="radius: 5 is more than the 4 cells of the thinnest block"):
        ss.Stencil(grid, heat, radius=5)
    with pytest.raises(ValueError, match="reaches one cell at least"):
        ss.Stencil(grid, heat, radius=0)
    with ss.Stencil(grid, lambda u: u[2, 0, 0]) as stencil, pytest.raises(IndexError, match="beyond the radius 1"):
        stencil.run()
    with ss.Stencil(grid, lambda u: u[0, 0]) as stencil, pytest.raises(IndexError, match="3 axes takes so many"):
        stencil.run()
    with ss.Stencil(grid, lambda u: (u[0, 0, 0],) * 2) as stencil, pytest.raises(ValueError, match="2 arrays for 1"):
        stencil.run()


@pytest.mark.parametrize("ranks", [1, 2])
def test_example_runs(ranks: int) -> None:
    result = run_on(ranks, ROOT / "examples" / "stencil.py")
    assert result.returncode == 0, result.stderr
    assert "after 100 steps the wave has 0.8" in result.stdout
