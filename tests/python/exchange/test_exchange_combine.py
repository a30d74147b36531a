"""Exchanges that combine ghosts into the cells that they are copies of."""

from pathlib import Path

import numpy as np
import pytest
import slipstream as slip
from arrays import grid_of
from errors import raises
from ranks import run_on

INSIDE = (slice(2, -2),) * 3


def numbers(grid: slip.Grid, seed: int, ghosts: bool) -> list[np.ndarray]:
    """Integers, whose sums are exact, for the arrays of this rank; ghosts are zero unless `ghosts`."""
    found = []
    for index, block in enumerate(grid.local):
        shape = grid.array_shape(2, block=index)
        values = np.random.default_rng([seed, block.device, index]).integers(-9, 10, shape).astype(np.float64)
        if not ghosts:
            inside = values[INSIDE].copy()
            values[:] = 0
            values[INSIDE] = inside
        found.append(values)
    return found


def check_adjoint(grid: slip.Grid, **options: object) -> None:
    """Checks <H x, y> = <x, H* y>. H fills ghosts, H* adds them to their sources. Here y also has ghosts."""
    x, y = numbers(grid, 1, ghosts=False), numbers(grid, 2, ghosts=True)
    hx, hty = [a.copy() for a in x], [a.copy() for a in y]
    with (
        slip.Exchange(grid, {"x": hx}, ghost=2, **options) as halo,
        slip.Exchange(grid, {"y": hty}, ghost=2, combine="add", **options) as adjoint,
    ):
        halo.run()
        adjoint.run()
    both = np.array([0.0, 0.0])
    for index in range(len(grid.local)):
        ghosts = np.ones_like(y[index], bool)
        ghosts[INSIDE] = False
        np.testing.assert_array_equal(hty[index][ghosts], y[index][ghosts])
        both += (hx[index] * y[index]).sum(), (x[index][INSIDE] * hty[index][INSIDE]).sum()
    assert both[0] != sum((x[i] * y[i]).sum() for i in range(len(x)))
    with slip.AllReduce(grid, 2) as total:
        devices = len({block.device for block in grid.local})
        arrays = [both, *(np.zeros(2) for _ in range(devices - 1))]
        total.run(arrays)
    assert arrays[0][0] == arrays[0][1]


@pytest.mark.parametrize("reach", ["faces", "faces_and_edges", "all"])
@pytest.mark.parametrize("routes", [[], ["staged"], ["kernel", "direct"], ["kernel", "peer"]])
def test_adding_is_the_transpose_of_filling(routes: list[str], reach: str) -> None:
    grid = grid_of(devices_per_rank=2, blocks_per_device=(1, 2, 1))
    check_adjoint(grid, routes=routes, reach=reach, low=(2, 1, 2))


ON_TWO = """
import sys
from arrays import grid_of
from test_exchange_combine import check_adjoint
grid = grid_of((9, 8, 7), devices_per_rank=2)
for routes in ([], ["kernel", "peer", "colocated"], ["gpu_mpi"], ["staged"]):
    check_adjoint(grid, routes=routes)
sys.stdout.write(f"right on rank {grid.comm.rank}\\n")
"""


def test_two_ranks_add_into_each_other(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(ON_TWO)
    result = run_on(2, path)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == ["right on rank 0", "right on rank 1"]


@pytest.mark.parametrize(("combine", "want"), [("add", 34), ("min", 4), ("max", 30), ("multiply", 120)])
def test_a_cell_takes_what_the_ghost_beside_the_other_end_holds(combine: str, want: int) -> None:
    grid = slip.Grid((4, 1, 1), periodic=(True, False, False), backend="host")
    array = np.zeros((1, 1, 6), np.int32)
    array[0, 0] = [30, 5, 6, 7, 4, 30]
    slip.Exchange(grid, {"u": array}, ghost=(1, 0, 0), high=(0, 0, 0), combine=combine).run()
    np.testing.assert_array_equal(array[0, 0], [30, 5, 6, 7, want, 30])


def test_one_field_is_filled_while_another_is_summed() -> None:
    grid = slip.Grid((4, 1, 1), periodic=(True, False, False), backend="host")
    arrays = {name: np.arange(6.0).reshape(1, 1, 6) for name in ("filled", "summed")}
    slip.Exchange(grid, arrays, ghost=(1, 0, 0), combine={"filled": None, "summed": "add"}).run()
    np.testing.assert_array_equal(arrays["filled"][0, 0], [4, 1, 2, 3, 4, 1])
    np.testing.assert_array_equal(arrays["summed"][0, 0], [0, 6, 2, 3, 4, 5])


def test_numbers_that_are_only_moved_are_not_combined() -> None:
    grid = grid_of()
    array = np.zeros(grid.array_shape(1), np.uint64)
    slip.Exchange(grid, {"u": array}).run()
    with raises(ValueError, "unsupported", field="u", argument="combine", given="add"):
        slip.Exchange(grid, {"u": array}, combine="add")


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_are_added_and_have_no_smallest(dtype: type) -> None:
    grid = grid_of()
    array = np.zeros(grid.array_shape(1), dtype)
    array[0, 3, 3] = 2 - 3j  # a ghost below the block; by periodicity its cell is at the top
    array[-2, 3, 3] = 1 + 1j
    slip.Exchange(grid, {"u": array}, combine="add").run()
    assert array[-2, 3, 3] == 3 - 2j
    with raises(RuntimeError, "unsupported", field="u", pattern="halo adjoint"):
        slip.Exchange(grid, {"u": array}, combine="max")


def test_an_unknown_combination_is_told_the_known_ones() -> None:
    grid = grid_of()
    with raises(
        RuntimeError, "invalid_argument", choices="add, min, max, multiply", given="mean", option="combination"
    ):
        slip.Exchange(grid, {"u": np.zeros(grid.array_shape(1))}, combine="mean")
