"""Random grids, widths, types, devices and routes against one array that NumPy wraps around."""

import numpy as np
import slipstream as ss
from hypothesis import given, settings
from hypothesis import strategies as st

#: Sets of routes that together serve any pair of devices of one process.
ROUTES = [[], ["staged"], ["kernel", "staged"], ["kernel", "direct"], ["kernel", "peer"], ["peer", "staged"]]
REACH = {"faces": 1, "faces_and_edges": 2, "all": 3}
UNTOUCHED = 251


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, object]:
    """An exchange that must work: periodic halos no wider than the grid, no more blocks than cells."""
    cells = tuple(draw(st.lists(st.integers(1, 9), min_size=3, max_size=3)))
    periodic = tuple(draw(st.lists(st.booleans(), min_size=3, max_size=3)))
    ghost = tuple(draw(st.integers(0, min(4, n))) for n in cells)
    devices = draw(st.integers(1, 4))
    blocks = draw(st.sampled_from([(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 2, 1), (1, 3, 2)]))
    cuts = [cut for cut in _cuts(devices) if all(c * b <= n for c, b, n in zip(cut, blocks, cells, strict=True))]
    if not cuts:
        devices, blocks, cuts = 1, (1, 1, 1), [(1, 1, 1)]
    return {
        "cells": cells,
        "periodic": periodic,
        "devices": devices,
        "blocks": blocks,
        "cut": draw(st.sampled_from(cuts)),
        "ghost": ghost,
        "low": tuple(draw(st.integers(0, g)) for g in ghost),
        "high": tuple(draw(st.integers(0, g)) for g in ghost),
        "padding": draw(st.sampled_from([(0, 0, 0), (3, 0, 0), (1, 2, 1)])),
        "reach": draw(st.sampled_from(list(REACH))),
        "components": draw(st.sampled_from([None, 1, 3])),
        "dtype": draw(st.sampled_from([np.uint8, np.int32, np.int64, np.float32, np.float64, np.complex64])),
        "layout": draw(st.sampled_from(["soa", "aos", "soa_z"])),
        "routes": draw(st.sampled_from(ROUTES)),
        "knobs": draw(st.sampled_from([{}, {"sealed": 0}, {"sealed": 0, "in_place": 8}, {"sealed": 0, "chunk": 64}])),
    }


def _cuts(devices: int) -> list[tuple[int, int, int]]:
    """All ways to write a number as a product of three."""
    every = range(1, devices + 1)
    return [(x, y, z) for x in every for y in every for z in every if x * y * z == devices]


def whole_grid(s: dict, shift: int) -> np.ndarray:
    """[component, z, y, x], every value different from its neighbours' and from UNTOUCHED."""
    nx, ny, nz = s["cells"]
    count = (s["components"] or 1) * nx * ny * nz
    return ((np.arange(count) * 7 + shift) % UNTOUCHED).astype(s["dtype"]).reshape(-1, nz, ny, nx)


def expected(s: dict, whole: np.ndarray, block: dict) -> np.ndarray:
    """The array of a block after the exchange: the grid indexed modulo its extents, where the halo reaches."""
    flat = s["cells"][2] == 1
    cells, away, reached = [], [], []
    for axis in (2, 1, 0):
        ghost, n = s["ghost"][axis], s["cells"][axis]
        lo, hi = block["lo"][axis], block["hi"][axis]
        here = np.arange(lo - ghost, hi + ghost)
        outside = (here < lo) | (here >= hi)
        filled = (here >= lo - s["low"][axis]) & (here < hi + s["high"][axis])
        if axis == 2 and flat:
            filled &= ~outside
        if not s["periodic"][axis]:
            filled &= (here >= 0) & (here < n)
        cells.append(here % n)
        away.append(outside.astype(int))
        reached.append(filled)
    distance = away[0][:, None, None] + away[1][:, None] + away[2]
    touched = reached[0][:, None, None] & reached[1][:, None] & reached[2] & (distance <= REACH[s["reach"]])
    values = whole[np.ix_(range(whole.shape[0]), *cells)]
    return np.where(touched, values, np.asarray(UNTOUCHED, whole.dtype))


def fill(array: np.ndarray, s: dict, whole: np.ndarray, block: dict) -> None:
    """Sets the interior of [component, z, y, x] to the block's part of the grid and the rest to UNTOUCHED."""
    array[:] = UNTOUCHED
    inside = [slice(s["ghost"][a], s["ghost"][a] + block["hi"][a] - block["lo"][a]) for a in (2, 1, 0)]
    here = [slice(block["lo"][a], block["hi"][a]) for a in (2, 1, 0)]
    array[(slice(None), *inside)] = whole[(slice(None), *here)]


def component_first(array: np.ndarray, s: dict) -> np.ndarray:
    """As [component, z, y, x]."""
    if s["components"] is None:
        array = array[None]
    elif s["layout"] == "aos":
        array = np.moveaxis(array, -1, 0)
    return array.transpose(0, 3, 2, 1) if s["layout"] == "soa_z" else array


@settings(derandomize=True, deadline=None, max_examples=150)
@given(scenarios())
def test_any_exchange_agrees_with_one_wrapped_array(s: dict) -> None:
    grid = ss.Grid(
        s["cells"],
        periodic=s["periodic"],
        backend="host",
        devices_per_rank=s["devices"],
        device_grid=s["cut"],
        blocks_per_device=s["blocks"],
    )
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
    halo = ss.Exchange(
        grid, {"u": inner}, reach=s["reach"], layout=s["layout"], routes=s["routes"], **s["knobs"], **widths
    )
    for round_number in (1, 2):
        whole = whole_grid(s, 5 * round_number)
        for array, block in zip(inner, grid.local, strict=True):
            fill(component_first(array, s), s, whole, block)
        halo.begin()
        halo.end()
        for array, block in zip(inner, grid.local, strict=True):
            np.testing.assert_array_equal(component_first(array, s), expected(s, whole, block))


@settings(derandomize=True, deadline=None, max_examples=25)
@given(scenarios(), scenarios())
def test_two_fields_in_one_exchange_agree_with_their_own_arrays(s: dict, other: dict) -> None:
    """The second scenario lends its type, components and widths to a second field on the first one's grid."""
    second = s | {key: other[key] for key in ("components", "dtype")}
    second |= {key: tuple(map(min, other[key], s["cells"])) for key in ("ghost", "low", "high")}
    both = {"a": s | {"layout": "soa"}, "b": second | {"layout": "soa"}}
    grid = ss.Grid(s["cells"], periodic=s["periodic"], backend="host", blocks_per_device=s["blocks"])
    arrays = {
        name: [
            np.empty(grid.array_shape(f["ghost"], f["components"], block=block), f["dtype"])
            for block in range(len(grid.local))
        ]
        for name, f in both.items()
    }
    for name, f in both.items():
        for array, block in zip(arrays[name], grid.local, strict=True):
            fill(component_first(array, f), f, whole_grid(f, 3), block)
    widths = {key: {name: f[key] for name, f in both.items()} for key in ("ghost", "low", "high")}
    ss.Exchange(grid, arrays, reach=s["reach"], **widths).run()
    for name, f in both.items():
        for array, block in zip(arrays[name], grid.local, strict=True):
            want = expected(f | {"reach": s["reach"]}, whole_grid(f, 3), block)
            np.testing.assert_array_equal(component_first(array, f), want)
