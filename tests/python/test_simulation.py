"""The solver as Python calls it: solid cells."""

import numpy as np
import pytest
import slipstream as slip
import slipstream._core  # noqa: F401
from slipstream.lbm import Simulation

CELLS = (12, 10, 8)


def block() -> np.ndarray:
    mask = np.zeros(CELLS[::-1], dtype=bool)
    mask[2:5, 3:6, 4:8] = True
    return mask


@pytest.mark.parametrize("solids", ["auto", "dense", "flags", "sparse"])
def test_flow_with_solid_cells_starts_from_the_flow_that_was_given(solids: str) -> None:
    flow = Simulation(
        CELLS,
        20,
        0.05,
        walls={},
        periodic=(True, True, True),
        initial={"velocity": ("sin(2*pi*y/Ly)", 0.5, 0)},
        precision="f64",
        backend="host",
        solids=solids,
    )
    flow.set_solid(block())
    velocity = flow.velocity
    assert velocity is not None
    y = (np.arange(10) + 0.5) / 10
    wanted = np.broadcast_to(0.05 * np.sin(2 * np.pi * y)[None, :, None], CELLS[::-1])
    np.testing.assert_allclose(velocity[..., 0], np.where(block(), 0, wanted), atol=1e-12)
    np.testing.assert_allclose(velocity[..., 1], np.where(block(), 0, 0.025), atol=1e-12)


def outlet_filled() -> np.ndarray:
    mask = np.zeros(CELLS[::-1], dtype=bool)
    mask[:, :, -1] = True
    return mask


@pytest.mark.parametrize(
    ("mask", "says"),
    [
        (np.ones(CELLS[::-1], dtype=bool), "solid cells: they fill the whole box and leave no fluid"),
        (outlet_filled(), r"boundaries.x\+: solid cells fill all cells of this side"),
        (np.zeros(CELLS, dtype=bool), r"the mask is \[12, 10, 8\]; it must be \[z\]\[y\]\[x\] = \[8, 10, 12\]"),
    ],
)
def test_solid_cells_that_leave_no_way_for_the_flow_are_refused(mask: np.ndarray, says: str) -> None:
    sides = {"x-": {"kind": "velocity", "velocity": (1, 0, 0)}, "x+": {"kind": "pressure"}}
    flow = Simulation(CELLS, 20, 0.05, walls={}, boundaries=sides, backend="host")
    with pytest.raises(slip.CaseError, match=says):
        flow.set_solid(mask)


def test_solid_cells_are_refused_after_the_first_step() -> None:
    flow = Simulation(CELLS, 20, 0.05, backend="host")
    flow.run(steps=1, quiet=True)
    with pytest.raises(slip.CaseError, match="1 steps were made; set solid cells before the first one"):
        flow.set_solid(block())
