"""Options of slipstream.Grid and slipstream.Exchange per field, and for the placement of blocks."""

import time
from pathlib import Path

import numpy as np
import pytest
import slipstream as slip
from arrays import grid_of, numbered, wrapped
from errors import raises
from ranks import run_on


def owners(grid: slip.Grid) -> list[int]:
    """The device of each block of the grid. The blocks are sorted by their lowest cell (x, y, z)."""
    return [block.device for block in sorted(grid.blocks, key=lambda block: block.lo)]


def test_rates_are_measured_for_a_measured_placement() -> None:
    grid = grid_of(devices_per_rank=4, placement="measured")
    assert sorted(owners(grid)) == [0, 1, 2, 3]
    arrays = numbered(grid, 1)
    slip.Exchange(grid, {"u": arrays}).run()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array, wrapped(grid, 1, block))


def test_the_seed_shuffles_a_random_placement() -> None:
    placed = [
        tuple(owners(grid_of((8, 8, 8), devices_per_rank=8, placement="random", placement_seed=seed)))
        for seed in (1, 1, 2, 3)
    ]
    assert placed[0] == placed[1] and len(set(placed)) > 1


def test_an_unknown_placement_is_told_the_known_ones() -> None:
    with raises(RuntimeError, "invalid_argument", given="best", option="placement"):
        grid_of(placement="best")


DEALT = """
import sys
from arrays import grid_of
for cyclic in (False, True):
    grid = grid_of(ranks_per_node=2, cyclic=cyclic)
    sys.stdout.write(f"{[device['rank'] for device in grid.machine.devices()]}\\n")
# Rates of a part of the ranks are measured by these.
import slipstream as slip
alone = grid_of(comm=type(grid.comm).alone(), devices_per_rank=2, placement="measured")
sys.stdout.write(f"{len(alone.blocks)} blocks\\n")
"""


def test_ranks_are_dealt_to_nodes_in_turn_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "dealt.py"
    path.write_text(DEALT)
    result = run_on(4, path)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == ["2 blocks"] * 4 + ["[0, 1, 2, 3]"] * 4 + ["[0, 2, 1, 3]"] * 4


@pytest.mark.parametrize("route", ["direct", "peer", "staged"])
def test_poisoned_ghosts_are_no_numbers_until_the_end(route: str) -> None:
    grid = grid_of(devices_per_rank=2)
    arrays = numbered(grid, 1)
    halo = slip.Exchange(grid, {"u": arrays}, routes=["kernel", route], poison=True)
    assert not any(np.isnan(array).any() for array in arrays)
    halo.begin()
    # Polls until ghosts are NaN, because begin() only queues the kernel that overwrites them.
    deadline = time.monotonic() + 20
    while any(np.isfinite(array).all() for array in arrays):
        assert time.monotonic() < deadline
    for block, array in enumerate(arrays):
        right = wrapped(grid, 1, block)
        inside = np.isfinite(array)
        assert not inside.all() and inside[1:-1, 1:-1, 1:-1].all()
        assert (array[inside] == right[inside]).all()
    halo.end()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array, wrapped(grid, 1, block))


def test_arrays_right_behind_one_another_are_apart() -> None:
    grid = grid_of(devices_per_rank=2)
    arrays = numbered(grid, 1)
    memory = np.concatenate([array.ravel() for array in arrays])
    behind = np.cumsum([array.size for array in arrays])
    arrays = [memory[end - a.size : end].reshape(a.shape) for end, a in zip(behind, arrays, strict=True)]
    # expected to fail, because in-place transposes refuse zero_copy
    slip.Exchange(grid, {"u": arrays}, pack="zero_copy").run()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array, wrapped(grid, 1, block))


def test_fields_of_other_layouts_and_reaches_travel_together() -> None:
    grid = grid_of(devices_per_rank=2)
    rows_along_x, rows_along_z = numbered(grid, 1), [np.ascontiguousarray(a.T) for a in numbered(grid, 1)]
    slip.Exchange(
        grid,
        {"x": rows_along_x, "z": rows_along_z},
        layout={"x": "soa", "z": "soa_z"},
        reach={"x": "all", "z": "faces"},
    ).run()
    for block in range(2):
        want = wrapped(grid, 1, block)
        np.testing.assert_array_equal(rows_along_x[block], want)
        outside = [np.isin(np.arange(n), (0, n - 1)).astype(int) for n in want.shape]
        reached = outside[0][:, None, None] + outside[1][:, None] + outside[2] <= 1
        np.testing.assert_array_equal(rows_along_z[block].T, np.where(reached, want, -1))


@pytest.mark.parametrize("option", ["layout", "reach", "combine", "ghost", "padding", "low"])
def test_an_option_by_field_name_must_name_all_fields(option: str) -> None:
    grid = grid_of()
    with raises(ValueError, "not_found", argument=option, field="u"):
        slip.Exchange(grid, {"u": numbered(grid, 1)}, **{option: {"v": 1}})


@pytest.mark.parametrize(
    ("given", "kind", "value"),
    [
        ({"cells": 5}, ValueError, 5),
        ({"cells": (4.0, 4, 4)}, ValueError, (4.0, 4, 4)),
        ({"cells": ("a", 4, 4)}, ValueError, ("a", 4, 4)),
        ({"cells": (4,)}, ValueError, 1),
        ({"periodic": True}, ValueError, True),
        ({"comm": "x"}, TypeError, "'x'"),
    ],
    ids=str,
)
def test_argument_of_a_grid_that_cannot_be_is_said(
    given: dict[str, object], kind: type[Exception], value: object
) -> None:
    with raises(kind, "invalid_argument", argument=next(iter(given)), given=value):
        slip.Grid(**({"cells": (6, 6, 4), "backend": "host"} | given))


@pytest.mark.parametrize("option", [{"ghost": "1"}, {"ghost": 1.5}, {"low": (1, 1)}], ids=str)
def test_option_of_an_exchange_that_cannot_be_is_said(option: dict[str, object]) -> None:
    grid = slip.Grid((6, 6, 4), backend="host")
    with raises(ValueError, "invalid_argument", given=repr(*option.values()), needed=3):
        slip.Exchange(grid, {"u": np.zeros(grid.array_shape(1))}, **option)
