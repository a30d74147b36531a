"""Random grids, widths, types, devices, routes and tuning parameters, compared with one periodic NumPy array."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import slipstream as slip
from hypothesis import given, settings
from hypothesis import strategies as st
from ranks import run_on

#: Sets of routes that together support any pair of devices of a node.
ROUTES = [
    [],
    ["staged"],
    ["gpu_mpi"],
    ["kernel", "staged"],
    ["kernel", "gpu_mpi"],
    ["kernel", "direct"],
    ["kernel", "peer", "colocated"],
    ["peer", "staged"],
    ["colocated", "gpu_mpi"],
]
BETWEEN_NODES = {"gpu_mpi", "staged"}
KNOBS = {
    "pack": ["fused", "per_direction", "memcpy3d", "zero_copy"],
    "streams": ["one", "per_direction"],
    "grouping": ["devices", "nodes"],
    "sync": [False, True],
    "teams": [0, 1],
    "packet_limit": [-1, 0],
    "in_place": [-1, 8],
    "chunk": [0, 64],
}
REACH = {"faces": 1, "faces_and_edges": 2, "all": 3}
UNTOUCHED = 251
Integer = Callable[[int, int], int]  #: function that draws an integer between two bounds, inclusive
Choice = Callable[[Sequence], object]


def scenario(integer: Integer, choice: Choice) -> dict[str, object]:
    """Draws a valid exchange: periodic halos no wider than the grid, and no more blocks than cells."""
    cells = tuple(integer(1, 9) for _ in range(3))
    periodic = tuple(choice([False, True]) for _ in range(3))
    ghost = tuple(integer(0, min(4, n)) for n in cells)
    ranks = slip.world().size
    nodes = choice([1, ranks])
    devices = integer(1, 4 if ranks == 1 else 2)
    blocks = choice([(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 2, 1), (1, 3, 2)])
    cuts = [(a, b) for a in _cuts(nodes) for b in _cuts(devices * ranks // nodes) if _fits(cells, a, b, blocks)]
    if not cuts:
        cells, ghost = tuple(max(n, ranks) for n in cells), tuple(map(min, ghost, cells))
        devices, blocks, cuts = 1, (1, 1, 1), [(a, b) for a in _cuts(nodes) for b in _cuts(ranks // nodes)]
    node_grid, cut = choice(cuts)
    routes = choice(ROUTES)
    if nodes > 1 and routes and not BETWEEN_NODES & set(routes):
        routes = [*routes, "staged"]
    knobs = {name: choice(values) for name, values in KNOBS.items()}
    if knobs["pack"] == "zero_copy" and (not routes or "gpu_mpi" in routes):
        knobs["pack"] = "fused"  # not zero_copy, because the route gpu_mpi cannot pack into host memory
    return {
        "cells": cells,
        "periodic": periodic,
        "devices": devices,
        "nodes": nodes,
        "node_grid": node_grid,
        "blocks": blocks,
        "cut": cut,
        "ghost": ghost,
        "low": tuple(integer(0, g) for g in ghost),
        "high": tuple(integer(0, g) for g in ghost),
        "padding": choice([(0, 0, 0), (3, 0, 0), (1, 2, 1)]),
        "reach": choice(list(REACH)),
        "components": choice([None, 1, 3]),
        "dtype": choice([np.uint8, np.int32, np.int64, np.float32, np.float64, np.complex64]),
        "layout": choice(["soa", "aos", "soa_z"]),
        "routes": routes,
        "knobs": knobs,
        "at_once": choice([False, True]),
    }


def _fits(cells: tuple[int, ...], *cuts: tuple[int, ...]) -> bool:
    """Whether each part of the grid has a cell, if the grid is cut into nodes, these into devices, these into blocks.
    `cuts`: for each of these levels, the number of parts along each axis.
    """
    for n, *counts in zip(cells, *cuts, strict=True):
        for count in counts:
            n //= count
        if n < 1:
            return False
    return True


def grid_of(s: dict) -> slip.Grid:
    ranks = slip.world().size
    return slip.Grid(
        s["cells"],
        periodic=s["periodic"],
        backend="host",
        devices_per_rank=s["devices"],
        ranks_per_node=ranks // s["nodes"],
        node_grid=s["node_grid"],
        device_grid=s["cut"],
        blocks_per_device=s["blocks"],
    )


def _cuts(devices: int) -> list[tuple[int, int, int]]:
    """All ways to write a number as a product of three."""
    every = range(1, devices + 1)
    return [(x, y, z) for x in every for y in every for z in every if x * y * z == devices]


def whole_grid(s: dict, shift: int) -> np.ndarray:
    """Values of a field, [component, z, y, x]; each differs from its neighbours and from UNTOUCHED."""
    nx, ny, nz = s["cells"]
    count = (s["components"] or 1) * nx * ny * nz
    return ((np.arange(count) * 7 + shift) % UNTOUCHED).astype(s["dtype"]).reshape(-1, nz, ny, nx)


def reached(s: dict, block: dict) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Indices [z], [y], [x] of the grid cell of each element of a block's array; a mask of elements that the halo
    fills; and a mask of ghosts.
    """
    cells, away, within = [], [], []
    for axis in (2, 1, 0):
        ghost, n = s["ghost"][axis], s["cells"][axis]
        lo, hi = block.lo[axis], block.hi[axis]
        here = np.arange(lo - ghost, hi + ghost)
        outside = (here < lo) | (here >= hi)
        filled = (here >= lo - s["low"][axis]) & (here < hi + s["high"][axis])
        if not s["periodic"][axis]:
            filled &= (here >= 0) & (here < n)
        cells.append(here % n)
        away.append(outside.astype(int))
        within.append(filled)
    distance = away[0][:, None, None] + away[1][:, None] + away[2]
    touched = within[0][:, None, None] & within[1][:, None] & within[2] & (distance <= REACH[s["reach"]])
    return cells, touched, distance > 0


def expected(s: dict, whole: np.ndarray, block: dict) -> np.ndarray:
    """Expected array of a block: the grid's values wherever the halo reaches."""
    cells, touched, _ = reached(s, block)
    values = whole[np.ix_(range(whole.shape[0]), *cells)]
    return np.where(touched, values, np.asarray(UNTOUCHED, whole.dtype))


def fill(array: np.ndarray, s: dict, whole: np.ndarray, block: dict) -> None:
    """Sets the interior of an array [component, z, y, x] to the block's part of the grid, and the rest to UNTOUCHED."""
    array[:] = UNTOUCHED
    inside = [slice(s["ghost"][a], s["ghost"][a] + block.hi[a] - block.lo[a]) for a in (2, 1, 0)]
    here = [slice(block.lo[a], block.hi[a]) for a in (2, 1, 0)]
    array[(slice(None), *inside)] = whole[(slice(None), *here)]


def component_first(array: np.ndarray, s: dict) -> np.ndarray:
    """A view of an array as [component, z, y, x]."""
    if s["components"] is None:
        array = array[None]
    elif s["layout"] == "aos":
        array = np.moveaxis(array, -1, 0)
    return array.transpose(0, 3, 2, 1) if s["layout"] == "soa_z" else array


def check_exchange(s: dict) -> None:
    """Fills the ghost cells of one field twice, from different values, and compares them with the expected ones."""
    grid = grid_of(s)
    shapes = [
        grid.array_shape(s["ghost"], s["components"], block=block, layout=s["layout"], padding=s["padding"])
        for block in range(len(grid.local))
    ]
    arrays = [np.full(shape, UNTOUCHED, s["dtype"]) for shape in shapes]
    padding = s["padding"] if s["layout"] == "soa_z" else s["padding"][::-1]
    cut = tuple(slice(0, None if p == 0 else -p) for p in padding)
    space = cut if s["components"] is None else (*cut, slice(None)) if s["layout"] == "aos" else (slice(None), *cut)
    inner = [array[space] for array in arrays]
    widths = {key: s[key] for key in ("ghost", "low", "high", "padding")}
    how = {key: s[key] for key in ("reach", "layout", "routes")}
    with slip.Exchange(grid, {"u": inner}, **how, **s["knobs"], **widths) as halo:
        for round_number in (1, 2):
            whole = whole_grid(s, 5 * round_number)
            for array, block in zip(inner, grid.local, strict=True):
                fill(component_first(array, s), s, whole, block)
            if s["at_once"]:
                halo.run()
            else:
                halo.begin()
                halo.end()
            for array, block in zip(inner, grid.local, strict=True):
                np.testing.assert_array_equal(component_first(array, s), expected(s, whole, block))


def check_two_fields(s: dict, other: dict) -> None:
    """Exchanges two fields of one grid. The first field is that of scenario `s`. The second has the type, components,
    widths, layout and reach (neighbours across faces, edges or corners) of scenario `other`.
    """
    second = s | {key: other[key] for key in ("components", "dtype", "layout", "reach")}
    second |= {key: tuple(map(min, other[key], s["cells"])) for key in ("ghost", "low", "high")}
    both = {"a": s, "b": second}
    grid = grid_of(s)
    arrays = {
        name: [
            np.empty(grid.array_shape(f["ghost"], f["components"], block=block, layout=f["layout"]), f["dtype"])
            for block in range(len(grid.local))
        ]
        for name, f in both.items()
    }
    for name, f in both.items():
        for array, block in zip(arrays[name], grid.local, strict=True):
            fill(component_first(array, f), f, whole_grid(f, 3), block)
    by_name = {key: {name: f[key] for name, f in both.items()} for key in ("ghost", "low", "high", "layout", "reach")}
    with slip.Exchange(grid, arrays, routes=s["routes"], **s["knobs"], **by_name) as halo:
        halo.run()
    for name, f in both.items():
        for array, block in zip(arrays[name], grid.local, strict=True):
            np.testing.assert_array_equal(component_first(array, f), expected(f, whole_grid(f, 3), block))


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, object]:
    return scenario(lambda low, high: draw(st.integers(low, high)), lambda values: draw(st.sampled_from(values)))


@settings(derandomize=True, deadline=None, max_examples=150)
@given(scenarios())
def test_any_exchange_agrees_with_one_wrapped_array(s: dict) -> None:
    check_exchange(s)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(scenarios(), scenarios())
def test_two_fields_in_one_exchange_agree_with_their_own_arrays(s: dict, other: dict) -> None:
    check_two_fields(s, other)


# Program for two ranks. Both draw the same random exchanges; a failure on one ends both.
ON_TWO = """
import random, sys
from test_exchange_property import check_exchange, check_two_fields, scenario
for seed in range(60):
    chance = random.Random(seed)
    some = [scenario(chance.randint, chance.choice) for _ in range(2)]
    try:
        check_exchange(some[0])
        if seed % 4 == 0:
            check_two_fields(*some)
    except Exception as error:
        error.add_note(f"seed {seed}: {some}")
        raise
sys.stdout.write("good\\n")
"""


def test_the_same_holds_on_two_ranks(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(ON_TWO)
    result = run_on(2, path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.split() == ["good", "good"]
