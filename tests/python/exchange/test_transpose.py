"""Transposes from Python, compared with NumPy."""

import json
from pathlib import Path

import numpy as np
import pytest
import slipstream as slip
from arrays import parts
from conftest import ROOT
from errors import raises
from numpy.typing import NDArray
from ranks import run_on


def whole(cells: tuple[int, int, int], dtype: str, seed: int = 0) -> NDArray[np.generic]:
    """Values of a cube as [z, y, x]."""
    random = np.random.default_rng(seed)
    return (random.integers(0, 100, cells[::-1]) + (1j if "complex" in dtype else 0)).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "int64"])
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_every_cell_comes_to_its_place(axes: tuple[int, int, int], dtype: str) -> None:
    cells = (20, 9, 14)
    there = [0, 0, 0]
    for axis, to in enumerate(axes):
        there[to] = cells[axis]
    source = slip.Grid(cells, backend="host", devices_per_rank=2, device_grid=(1, 1, 2))
    target = slip.Grid(there, backend="host", devices_per_rank=2, device_grid=(2, 1, 1))
    u = whole(cells, dtype)
    # Expected values; NumPy counts axes from the slowest.
    wanted = np.moveaxis(u, (2, 1, 0), [2 - to for to in axes])
    into = [np.zeros_like(part) for part in parts(target, wanted)]
    with slip.Transpose(source, target, parts(source, u), into, axes=axes, rebinds=True) as transpose:
        transpose.run()
        assert all((a == b).all() for a, b in zip(into, parts(target, wanted), strict=True))
        others, zeros = parts(source, 2 * u), [np.zeros_like(part) for part in into]
        transpose.bind(others, zeros)
        transpose.begin()
        transpose.end()
        assert all((2 * a == b).all() for a, b in zip(into, zeros, strict=True))
        assert {row.bytes for row in transpose.report().rows} != {0}


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_an_array_may_be_transposed_onto_itself(axes: tuple[int, int, int]) -> None:
    cells = (8, 8, 8)
    source = slip.Grid(cells, backend="host", devices_per_rank=2, device_grid=(1, 1, 2))
    target = slip.Grid(cells, backend="host", devices_per_rank=2, device_grid=(2, 1, 1))
    u = whole(cells, "float64")
    memory = [np.ascontiguousarray(part) for part in parts(source, u)]
    seen = [part.reshape(target.array_shape(0, block=n)) for n, part in enumerate(memory)]
    with slip.Transpose(source, target, memory, seen, axes=axes) as transpose:
        transpose.run()
        with raises(ValueError, "wrong_state", argument="rebinds"):
            transpose.bind([part.copy() for part in memory])
    with raises(RuntimeError, "unsupported", field="source", other="target"):
        slip.Transpose(source, target, memory, seen, axes=axes, rebinds=True)
    wanted = np.moveaxis(u, (2, 1, 0), [2 - to for to in axes])
    assert all((a == b).all() for a, b in zip(seen, parts(target, wanted), strict=True))


def test_what_lies_where_it_would_go_is_in_no_message() -> None:
    grid = slip.Grid((8, 6, 4), backend="host", devices_per_rank=2)
    u = [np.ascontiguousarray(part) for part in parts(grid, whole((8, 6, 4), "float64"))]
    before = [part.copy() for part in u]
    with slip.Transpose(grid, grid, u, u) as transpose:
        transpose.run()
        assert transpose.report().rows == ()
    assert all((a == b).all() for a, b in zip(u, before, strict=True))


def test_what_truncation_leaves_travels_and_nothing_else() -> None:
    grid = slip.Grid((12, 4, 6), backend="host")
    u, v = whole((12, 4, 6), "complex128"), np.full((6, 4, 12), -1.0 + 0j)
    slip.Transpose(grid, grid, u, v, kept={0: [(0, 4), (9, 12)], 2: [(1, 3)]}).run()
    wanted = np.full_like(v, -1)
    for x in (slice(0, 4), slice(9, 12)):
        wanted[1:3, :, x] = u[1:3, :, x]
    assert (v == wanted).all()


def test_fields_that_lie_apart_travel_in_one_exchange() -> None:
    cells = (8, 6, 4)
    source = slip.Grid(cells, backend="host", devices_per_rank=2, device_grid=(1, 1, 2))
    target = slip.Grid(cells[::-1], backend="host", devices_per_rank=2, device_grid=(1, 1, 2))
    given = {"u": whole(cells, "float64", 1), "v": whole(cells, "complex64", 2), "w": whole(cells, "float64", 3)}
    arrays = {name: parts(source, u) for name, u in given.items()}
    into = {name: parts(target, np.zeros_like(u.T)) for name, u in given.items()}

    def arrived(name: str, u: NDArray[np.generic]) -> bool:
        return all((a == b).all() for a, b in zip(into[name], parts(target, u.T), strict=True))

    with slip.Transpose(source, target, arrays, into, axes=(2, 1, 0), rebinds=True) as transpose:
        transpose.run()
        assert all(arrived(name, u) for name, u in given.items())
        # Number of messages: one per pair of devices, for any number of fields.
        assert len([m for m in transpose.messages() if m.source != m.target]) == 2
        transpose.bind({"v": parts(source, 2 * given["v"])})
        transpose.run()
        assert arrived("v", 2 * given["v"]) and arrived("w", given["w"])
        with raises(ValueError, "not_found", field="q", allowed="u, v, w"):
            transpose.bind(into={"q": into["u"]})
    with raises(ValueError, "mismatch", argument="into", given="v", needed="u, v, w"):
        slip.Transpose(source, target, arrays, {"v": into["v"]}, axes=(2, 1, 0))


BAD_ON_ONE_RANK = """
import json

import numpy as np
import slipstream as slip

rank, said = slip.world().rank, []
grid = slip.Grid((8, 8, 8), backend="host")
u, v = (np.zeros(grid.array_shape(0)) for _ in range(2))
for bad in [{"axes": (2, 1, 0, 5)}, {"axes": (1, 0)}, {"kept": {3: [(0, 1)]}}, {"kept": {0: []}}, {"layout": ("soa",)}]:
    try:
        slip.Transpose(grid, grid, u, v, **(bad if rank == 1 else {}))
    except ValueError as error:
        said.append([error.code, error.facts])
halves = [((0, 0, 0), (8, 8, 4), 0), ((0, 0, 4), (8, 8, 8), 1)]
for bad in [halves[:1], [((0, 0, 0), (8, 8, 4))], [*halves[:1], ((0, 0, 4), (8, 8, 8), 7)]]:
    try:
        slip.Grid((8, 8, 8), backend="host", boxes=bad if rank == 1 else halves)
    except ValueError as error:
        said.append([error.code, error.facts])
    except RuntimeError as error:
        said.append(str(error))
everyone = slip.world().all_gather(json.dumps(said))
if rank == 0:
    print(json.dumps([json.loads(mine) for mine in everyone]))
"""


def test_bad_input_of_one_rank_is_the_same_error_on_all(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(BAD_ON_ONE_RANK)
    result = run_on(2, path)
    assert result.returncode == 0, result.stderr
    said = json.loads(result.stdout)
    assert said[0] == said[1] and len(said[0]) == 8, result.stdout
    for argument, facts in (
        ("axes", {"given": "4", "needed": "3"}),
        ("axes", {"given": "2", "needed": "3"}),
        ("kept", {"given": "3", "allowed": "0, 1, 2"}),
        ("kept", {"axis": "0", "given": "0", "needed": "1 or more"}),
        ("layout", {"given": "1", "needed": "2"}),
        ("boxes", {}),
    ):
        assert ["invalid_argument", {"argument": argument, "rank": "1"} | facts] in said[0], result.stdout


def test_bad_input_is_one_error() -> None:
    grid, other = slip.Grid((8, 4, 6), backend="host"), slip.Grid((6, 4, 8), backend="host")
    u, v = np.zeros((6, 4, 8)), np.zeros((8, 4, 6))
    with raises((ValueError, RuntimeError), "invalid_argument", given="(0, 1, 1)", option="axes"):
        slip.Transpose(grid, grid, u, u.copy(), axes=(0, 1, 1))
    with raises((ValueError, RuntimeError), "mismatch", axis=0, given=8, needed=6, option="axes"):
        slip.Transpose(grid, other, u, v)
    for second, facts in (((3, 0, 0), {"block": 0, "other": 1}), ((5, 0, 0), {"given": 168, "needed": 192})):
        with raises((ValueError, RuntimeError), "invalid_argument", **facts):
            slip.Grid((8, 4, 6), backend="host", boxes=[((0, 0, 0), (4, 4, 6), 0), (second, (8, 4, 6), 0)])
    with raises(ValueError, "mismatch", field="target", given=(6, 4, 8), needed=(8, 4, 6)):
        slip.Transpose(grid, other, u, v.T.copy(), axes=(2, 1, 0))
    with raises(
        (ValueError, RuntimeError), "mismatch", option="type", pattern="transpose", source="source", target="target"
    ):
        slip.Transpose(grid, other, u, v.astype(np.float32), axes=(2, 1, 0))
    with raises((ValueError, RuntimeError), "invalid_argument", axis=0, limit=8, option="keep"):
        slip.Transpose(grid, other, u, v, axes=(2, 1, 0), kept={0: [(0, 9)]})
    transpose = slip.Transpose(grid, other, u, v, axes=(2, 1, 0), rebinds=True)
    with raises(ValueError, "mismatch", given="1 x f32", needed="1 x f64"):
        transpose.bind(u.astype(np.float32))


def test_example_of_two_ranks() -> None:
    result = run_on(2, ROOT / "examples" / "transpose.py")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("rank") == 2
