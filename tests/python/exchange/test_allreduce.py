"""All-reduces of NumPy arrays through slipstream.AllReduce."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from arrays import grid_of
from errors import raises
from ranks import run_on

FORMATS = {"f64": np.float64, "f32": np.float32, "i64": np.int64}
FOLDS = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def values_of(device: int, dtype: str) -> np.ndarray:
    """Six integers per device; their sums and products are exact."""
    return np.asarray([(device * 5 + n * 3) % 7 - 3 for n in range(6)], FORMATS[dtype])


@pytest.mark.parametrize("method", ["automatic", "peer", "mpi"])
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("op", FOLDS)
def test_every_device_holds_the_result(op: str, dtype: str, method: str) -> None:
    grid = grid_of(devices_per_rank=3)
    given = [values_of(device, dtype) for device in range(3)]
    arrays = [values.copy() for values in given]
    with slip.AllReduce(grid, 6, dtype, op, method=method) as reduce:
        reduce.run(arrays)
        reduce.check()
        assert reduce.method == (method if method != "automatic" else "peer") and reduce.reason
        assert reduce.needs_host == (method == "mpi")
    want = FOLDS[op].reduce(given)
    for array in arrays:
        np.testing.assert_array_equal(array, want)


def test_arrays_of_any_shape_are_taken_one_after_the_other() -> None:
    grid = grid_of(devices_per_rank=2)
    reduce = slip.AllReduce(grid, 6)
    for times in (1, 2):
        arrays = [np.full((2, 3), float(times)), np.full((6, 1), 10.0)]
        reduce.run(arrays)
        assert (arrays[0] == 10 + times).all() and (arrays[1] == 10 + times).all()


BAD = {
    "count": (lambda a: a[:5], "mismatch", {"given": "5 x f64", "needed": "6 x f64"}),
    "format": (lambda a: a.astype(np.float32), "mismatch", {"given": "6 x f32", "needed": "6 x f64"}),
    "kind": (lambda a: a.astype(np.uint64), "mismatch", {"given": "6 x another format", "needed": "6 x f64"}),
    "gaps": (lambda a: np.zeros(12)[::2], "unsupported", {"given": (2,)}),
    "number_of_arrays": (lambda a: [a, a], "invalid_argument", {"given": 2, "needed": 1}),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_are_refused(case: str) -> None:
    change, code, facts = BAD[case]
    reduce = slip.AllReduce(grid_of(), 6)
    with raises(ValueError, code, **facts):
        reduce.run(change(np.zeros(6)))


@pytest.mark.parametrize(
    ("arguments", "code", "facts"),
    [
        ((6, "f16"), "unsupported", {"option": "type", "given": "f16"}),
        ((0,), "invalid_argument", {"option": "values", "given": 0, "limit": 1024}),
        ((6, "f64", "mean"), "invalid_argument", {"option": "combination", "given": "mean"}),
    ],
)
def test_what_cannot_be_reduced_is_refused(arguments: tuple, code: str, facts: dict[str, Any]) -> None:
    with raises(RuntimeError, code, **facts):
        slip.AllReduce(grid_of(), *arguments)


def test_a_closed_one_reduces_no_more() -> None:
    reduce = slip.AllReduce(grid_of(), 1)
    reduce.close()
    reduce.close()
    with raises(RuntimeError, "wrong_state", problem="closed"):
        reduce.run(np.zeros(1))


ON_TWO = """
import sys, numpy as np, slipstream as slip
from test_allreduce import values_of
from arrays import grid_of
grid = grid_of(devices_per_rank=2)
for method in ("peer", "mpi"):
    with slip.AllReduce(grid, 6, "f64", method=method) as total:
        for _ in range(3):
            arrays = [values_of(2 * grid.comm.rank + device, "f64") for device in range(2)]
            total.run(arrays)
            want = sum(values_of(device, "f64") for device in range(4))
            assert all((array == want).all() for array in arrays), (arrays, want)
sys.stdout.write(f"right on rank {grid.comm.rank}\\n")
"""


def test_two_ranks_get_the_same_sum(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(ON_TWO)
    result = run_on(2, path)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == ["right on rank 0", "right on rank 1"]
