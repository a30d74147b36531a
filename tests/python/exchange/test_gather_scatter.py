"""Gather-scatters of NumPy arrays through slipstream.GatherScatter."""

from pathlib import Path

import numpy as np
import pytest
import slipstream as slip
from arrays import grid_of
from conftest import ROOT
from errors import raises
from ranks import run_on


def by_numpy(ids: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Expected sums by NumPy; they are exact, because the values are integers."""
    unique, group = np.unique(ids, return_inverse=True)
    sums = np.zeros((values.shape[0], unique.size))
    for component, row in enumerate(values):
        np.add.at(sums[component], group, row)
    return np.where(ids == 0, values, sums[:, group])


def whole_numbers(components: int, points: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 9, (components, points)).astype(np.float64)


@pytest.mark.parametrize("routes", [[], ["staged"], ["direct", "kernel"]])
@pytest.mark.parametrize("devices", [1, 3])
def test_copies_on_all_devices_get_the_sum(devices: int, routes: list[str]) -> None:
    ids = np.random.default_rng(3).integers(0, 40, 24 * devices)
    values = whole_numbers(2, ids.size, 5)
    each = np.split(np.arange(ids.size), devices)
    with slip.GatherScatter(
        grid_of(devices_per_rank=devices), [ids[part] for part in each], 8, components=2, routes=routes
    ) as gs:
        for _ in range(2):
            arrays = [np.ascontiguousarray(values[:, part]) for part in each]
            gs.run(arrays)
            np.testing.assert_array_equal(np.concatenate(arrays, axis=1), by_numpy(ids, values))
        gs.start(arrays, "max")
        gs.finish()
        gs.check()
        counts = [gs.counts(device) for device in range(devices)]
    assert all(count.shared_points > 0 for count in counts)
    assert (sum(count.sent_values for count in counts) > 0) == (devices > 1)


def test_faces_of_two_elements_of_order_two() -> None:
    # Ids of elements [z][y][x] in a row: the last points along x of one are the first of the next.
    ids = np.arange(1, 3 * 3 * 5 + 1).reshape(3, 3, 5)
    both = np.stack([ids[..., :3], ids[..., 2:]])
    u = np.ones_like(both, float)
    slip.GatherScatter(grid_of(), both, 27).run(u)
    assert (u[0, ..., 2] == 2).all() and (u[1, ..., 0] == 2).all() and u.sum() == 54 + 18


def test_what_devices_share_may_be_packed_on_the_host() -> None:
    ids, values = np.random.default_rng(9).integers(0, 40, 72), whole_numbers(1, 72, 10)
    u = [part.copy() for part in np.split(values[0], 3)]
    with slip.GatherScatter(grid_of(devices_per_rank=3), np.split(ids, 3), 8, host_packed=True) as gs:
        gs.run(u)
        np.testing.assert_array_equal(np.concatenate(u), by_numpy(ids, values)[0])
        gs.start(u, "max")
        gs.finish()
    np.testing.assert_array_equal(np.concatenate(u), by_numpy(ids, values)[0])


@pytest.mark.parametrize("devices", [1, 3])
def test_unique_values_are_gathered_and_scattered(devices: int) -> None:
    ids = np.random.default_rng(7).integers(0, 40, 24 * devices)
    values = whole_numbers(2, ids.size, 8)
    each = np.split(np.arange(ids.size), devices)
    u = [np.ascontiguousarray(values[:, part]) for part in each]
    with slip.GatherScatter(
        grid_of(devices_per_rank=devices), [ids[part] for part in each], 8, components=2, unique=True
    ) as gs:
        owned = [part[gs.unique_points(device)] for device, part in enumerate(each)]
        v = [np.full((2, points.size), np.nan) for points in owned]
        gs.gather(u, v)
        # Unique values come in the order of first appearance, on any number of devices.
        unique, first = np.unique(ids, return_index=True)
        first = np.sort(first[unique > 0])
        np.testing.assert_array_equal(np.concatenate(owned), first)
        np.testing.assert_array_equal(np.concatenate(v, axis=1), by_numpy(ids, values)[:, first])
        np.testing.assert_array_equal(np.concatenate(u, axis=1), values)
        tenfold = [10 * one for one in v]
        gs.start_scatter(tenfold, u)
        gs.finish()
        assert [gs.counts(device).unique_ids for device in range(devices)] == [points.size for points in owned]
        gs.start_gather(u, v, "max")
        gs.finish()
    np.testing.assert_array_equal(np.concatenate(u, axis=1), np.where(ids == 0, values, 10 * by_numpy(ids, values)))
    np.testing.assert_array_equal(np.concatenate(v, axis=1), 10 * by_numpy(ids, values)[:, first])


def test_unique_values_are_refused_where_nobody_asked_for_them() -> None:
    with slip.GatherScatter(grid_of(), np.asarray([1, 1])) as gs:
        with raises(ValueError, "mismatch", given="1 x f64", needed="0 x f64"):
            gs.gather(np.ones(2), np.ones(1))
        with raises(RuntimeError, "wrong_state", option="unique"):
            gs.gather(np.ones(2), np.ones(0))
        assert gs.unique_points().size == 0


BAD = {
    "ids": (
        lambda gs, ids: slip.GatherScatter(grid_of(), ids - 5.0),
        ValueError,
        {"code": "invalid_argument", "argument": "ids"},
    ),
    "negative": (
        lambda gs, ids: slip.GatherScatter(grid_of(), ids - 5),
        RuntimeError,
        {"code": "invalid_argument", "point": 0},
    ),
    "devices": (
        lambda gs, ids: slip.GatherScatter(grid_of(), [ids, ids]),
        ValueError,
        {"code": "invalid_argument", "given": 2, "needed": 1},
    ),
    "block": (
        lambda gs, ids: slip.GatherScatter(grid_of(), ids, 0),
        RuntimeError,
        {"code": "invalid_argument", "option": "block", "given": 0},
    ),
    "type": (
        lambda gs, ids: slip.GatherScatter(grid_of(), ids, dtype="f16"),
        RuntimeError,
        {"code": "unsupported", "option": "type"},
    ),
    "size": (
        lambda gs, ids: gs.run(np.zeros(3)),
        ValueError,
        {"code": "mismatch", "given": "3 x f64", "needed": "6 x f64"},
    ),
    "format": (
        lambda gs, ids: gs.run(np.zeros(6, np.float32)),
        ValueError,
        {"code": "mismatch", "given": "6 x f32", "needed": "6 x f64"},
    ),
    "operation": (
        lambda gs, ids: gs.run(np.zeros(6), "mean"),
        RuntimeError,
        {"code": "invalid_argument", "given": "mean"},
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: str) -> None:
    call, kind, said = BAD[case]
    ids = np.asarray([1, 2, 3, 1, 2, 4])
    with slip.GatherScatter(grid_of(), ids) as gs, raises(kind, **said):
        call(gs, ids)


def test_complex_numbers_have_sums_and_no_smallest_one() -> None:
    grid = slip.Grid((8, 8, 8), backend="host")
    ids = np.asarray([1, 2, 1, 0, 2, 1])
    u = np.asarray([1 + 2j, 3j, 4, 5 - 1j, 6 + 6j, -1j])
    with slip.GatherScatter(grid, ids, block=2, dtype="c128") as gs:
        v = u.copy()
        gs.run(v)
        assert v.tolist() == [5 + 1j, 6 + 9j, 5 + 1j, 5 - 1j, 6 + 9j, 5 + 1j]
        with raises(RuntimeError, "unsupported", option="op", type="c128"):
            gs.run(v, "min")


def test_routes_may_be_measured(tmp_path: Path) -> None:
    grid = slip.Grid((8, 8, 8), backend="host", devices_per_rank=2)
    ids = [np.arange(1, 100), np.arange(50, 149)]
    with slip.GatherScatter(grid, ids, block=99, tune="measure", tuner_cache=str(tmp_path)) as gs:
        assert gs.tuning.source == "measured"
        u = [np.ones(99), np.ones(99)]
        gs.run(u)
        assert (u[0][49:] == 2).all() and (u[0][:49] == 1).all() and (u[1][50:] == 1).all()
    with slip.GatherScatter(grid, ids, block=99, tune="measure", tuner_cache=str(tmp_path)) as gs:
        assert gs.tuning.source == "cache"


def test_routes_may_be_measured_with_work(tmp_path: Path) -> None:
    grid = slip.Grid((8, 8, 8), backend="host", devices_per_rank=2)
    ids = [np.arange(1, 100), np.arange(50, 149)]
    called = []
    cache = {"tune": "measure", "tuner_cache": str(tmp_path)}
    with slip.GatherScatter(grid, ids, block=99, tune_with=("interior", called.append), **cache) as gs:
        assert gs.tuning.source == "measured" and called and all(streams == [0, 0] for streams in called)
        called.clear()
        u = [np.ones(99), np.ones(99)]
        gs.run(u)
        assert (u[0][49:] == 2).all() and not called
    with raises(RuntimeError, "unsupported", option="tune_with"):
        slip.GatherScatter(grid, ids, block=99, tune_with=("interior", called.append))
    with raises(RuntimeError, "invalid_argument", given="'interior'", of="an exchange", option="tune_with"):
        slip.GatherScatter(grid, ids, block=99, tune_with="interior", **cache)


def test_closed_gather_scatter_is_refused() -> None:
    gs = slip.GatherScatter(grid_of(), np.asarray([1, 1]))
    gs.close()
    gs.close()
    with raises(RuntimeError, "wrong_state", problem="closed"):
        gs.run(np.zeros(2))


ON_TWO = """
import sys, numpy as np, slipstream as slip
from arrays import grid_of
from test_gather_scatter import by_numpy, whole_numbers
grid = grid_of((8, 8, 8))
ids, values = np.random.default_rng(1).integers(0, 30, 64), whole_numbers(1, 64, 2)
mine = slice(32 * grid.comm.rank, 32 * grid.comm.rank + 32)
array = values[0, mine].copy()
slip.GatherScatter(grid, ids[mine], 8).run(array)
np.testing.assert_array_equal(array, by_numpy(ids, values)[0, mine])
sys.stdout.write(f"right on rank {grid.comm.rank}\\n")
"""


def expect_on_both(folder: Path, program: str, said: str) -> None:
    """Runs a Python program on two ranks, and checks that each prints the text `said` with its rank."""
    path = folder / "two.py"
    path.write_text(program)
    result = run_on(2, path)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.split("\n")) == ["", f"{said} on rank 0", f"{said} on rank 1"]


def test_two_ranks_combine_what_they_share(tmp_path: Path) -> None:
    expect_on_both(tmp_path, ON_TWO, "right")


BAD_ON_ONE = """
import sys, numpy as np, slipstream as slip
from arrays import grid_of
from errors import raises
grid = grid_of((8, 8, 8))
ids, bad = np.asarray([1, 2, 3]), grid.comm.rank == 1
invalid, first = "invalid_argument", dict(option="first_block")
cases = [
    (lambda: slip.GatherScatter(grid, [ids, ids] if bad else ids), invalid, dict(argument="ids", given=2, needed=1)),
    (lambda: slip.GatherScatter(grid, ids * 1.0 if bad else ids), invalid, dict(argument="ids", given="float64")),
    (lambda: slip.GatherScatter(grid, np.asarray([1, 2**64 - 1], np.uint64) if bad else ids),
        "overflow", dict(argument="ids", given=2**64 - 1, allowed=2**63 - 1)),
    (lambda: slip.GatherScatter(grid, ids, 1.5 if bad else 1), invalid, {}),
    (lambda: slip.GatherScatter(grid, ids, 3, first_block=[1, 2] if bad else 0),
        "mismatch", first | dict(given=2, needed=1)),
    (lambda: slip.GatherScatter(grid, ids, 3, first_block=1 if bad else None), "mismatch", first),
    (lambda: slip.GatherScatter(grid, ids).run(np.ones(3), "max" if bad else "add"), "mismatch", {}),
]
for call, code, facts in cases:
    with raises((ValueError, RuntimeError), code, **facts):
        call()
u = np.ones(3)
slip.GatherScatter(grid, ids, 3).run(u)
assert u.tolist() == [2, 2, 2]
sys.stdout.write(f"refused on rank {grid.comm.rank}\\n")
"""


def test_what_one_rank_does_wrong_is_refused_on_all(tmp_path: Path) -> None:
    expect_on_both(tmp_path, BAD_ON_ONE, "refused")


def test_components_are_the_first_axis() -> None:
    ids, rows = np.asarray([[1, 2], [1, 3]]), np.arange(12.0).reshape(3, 2, 2)
    with slip.GatherScatter(grid_of(), ids, components=3) as gs:
        for array in (rows.copy(), rows.reshape(-1).copy(), rows.reshape(3, 4).copy()):
            gs.run(array)
            np.testing.assert_array_equal(array.reshape(3, 4), by_numpy(ids.reshape(-1), rows.reshape(3, 4)))
        for wrong in (np.ones((4, 3)), np.ones((2, 2, 3))):
            with raises(ValueError, "mismatch", given=wrong.shape, needed=3):
                gs.run(wrong)


def test_example_runs() -> None:
    result = run_on(2, ROOT / "examples" / "gather_scatter.py")
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.split("\n")) == ["", "rank 0: [2. 1. 2.]", "rank 1: [2. 1. 2.]"]
