"""Random transposes; the oracle is numpy.moveaxis."""

import random

import numpy as np
import slipstream as slip
from drawing import (
    MOVED,
    NODES,
    ROUTES,
    Options,
    assert_same,
    coding,
    coding_refusals,
    keywords,
    knob_refusals,
    knobs,
    refused_or_right,
    room,
    small_numbers,
)
from test_exchange_property import _cuts, _fits, component_first

AXES = [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1), (1, 0, 2), (0, 2, 1)]


def draw(r: random.Random, ranks: int) -> Options:
    cells = tuple(r.choice([1, 2, 3, 4, 5, 7, 8, 11]) for _ in range(3))
    axes = r.choice(AXES)
    there = [0, 0, 0]
    for axis, to in enumerate(axes):
        there[to] = cells[axis]
    devices = r.randint(1, 5 if ranks == 1 else 2)
    names = r.choice([[""], [""], ["u", "v"], ["u", "v", "w"]])
    fields = {name: {"dtype": r.choice(MOVED), "components": r.choice([None, 1, 3])} for name in names}
    return {
        "cells": cells,
        "there": tuple(there),
        "axes": axes,
        "devices": devices,
        "ranks_per_node": r.choice(NODES[ranks]),
        "cuts": tuple(_grid(r, n, devices * ranks) for n in (cells, there)),
        "ghost": r.choice([0, 0, 1, 2]),
        "layouts": (r.choice(["soa", "aos", "soa_z"]), r.choice(["soa", "aos", "soa_z"])),
        "kept": _kept(r, cells),
        "rebinds": r.random() < 0.4,
        "coding": coding(r, *(f["dtype"] for f in fields.values())),
        "routes": r.choice(ROUTES),
        "knobs": knobs(r),
        "fields": fields,
        "onto_itself": r.random() < 0.25,
        "offset": r.choice([0, 0, 1, 3]),
        "read_only": r.random() < 0.3,
        "call": r.choice(["run", "begin and end"]),
        "trace": r.random() < 0.1,
    }


def _grid(r: random.Random, cells: tuple[int, ...], devices: int) -> Options:
    """Chooses at random how a grid is cut into blocks that each have a cell; {} (library default) if impossible."""
    blocks = r.choice([(1, 1, 1), (1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)])
    cuts = [cut for cut in _cuts(devices) if _fits(cells, cut, blocks)]
    return {"device_grid": r.choice(cuts), "blocks_per_device": blocks} if cuts else {}


def _kept(r: random.Random, cells: tuple[int, ...]) -> dict[int, list[tuple[int, int]]]:
    kept = {}
    for axis, n in enumerate(cells):
        if r.random() < 0.2:
            ends = sorted(r.sample(range(n + 1), min(n + 1, r.choice([2, 4]) if n >= 3 else 2)))
            kept[axis] = list(zip(ends[::2], ends[1::2], strict=True))
    return kept


def check(s: Options) -> None:
    must = [refusal for f in s["fields"].values() for refusal in coding_refusals(s["coding"], f["dtype"])]
    pack = s["knobs"].get("pack", "fused")
    too_many = any(not cut and s["devices"] * slip.world().size > 1 for cut in s["cuts"])
    may = [
        *knob_refusals(s["knobs"], s["routes"], s["coding"] != "raw"),
        (pack != "fused" and s["onto_itself"], "choose pack = fused"),
        (s["ranks_per_node"] == 1, "device grid .* has"),
        (too_many, "device|block|cut|cells"),
        (s["rebinds"] and s["onto_itself"], "shares memory with"),
        (s["onto_itself"] and s["read_only"], "is read-only, but"),
    ]
    refused_or_right(must, may, lambda: _check(s))


def _check(s: Options) -> None:
    source, target = (
        slip.Grid(cells, backend="host", devices_per_rank=s["devices"], ranks_per_node=s["ranks_per_node"], **cut)
        for cells, cut in zip((s["cells"], s["there"]), s["cuts"], strict=True)
    )
    made = _made(s, source, target, s["onto_itself"])
    how = {"axes": s["axes"], "ghost": s["ghost"], "layout": s["layouts"], "kept": s["kept"], "coding": s["coding"]}
    how |= keywords(s["knobs"]) | {"rebinds": s["rebinds"], "routes": s["routes"], "trace": s["trace"]}
    _fill(s, source, made[0], 1)
    before = {name: [array.copy() for array in arrays] for name, arrays in made[1].items()}
    with slip.Transpose(source, target, *map(_given, made), **how) as transpose:
        _run(transpose, s["call"])
        _compare(s, target, made[1], before, 1)
        if s["rebinds"]:
            others = _made(s, source, target, False)
            transpose.bind(*map(_given, others))
        else:
            others = made
        _fill(s, source, others[0], 2)
        before = {name: [array.copy() for array in arrays] for name, arrays in others[1].items()}
        _run(transpose, s["call"])
        _compare(s, target, others[1], before, 2)
        transpose.check()


def _run(transpose: slip.Transpose, call: str) -> None:
    if call == "run":
        transpose.run()
        return
    transpose.begin()
    transpose.end()


def _given(by_name: dict[str, list[np.ndarray]]) -> object:
    return by_name[""] if list(by_name) == [""] else by_name


def _shapes(s: Options, grid: slip.Grid, end: int, f: Options) -> list[tuple[int, ...]]:
    count = range(len(grid.local))
    ghost, layout = s["ghost"], s["layouts"][end]
    return [grid.array_shape(ghost, f["components"], block=block, layout=layout) for block in count]


def _made(s: Options, source: slip.Grid, target: slip.Grid, onto_itself: bool) -> tuple[dict, dict]:
    """Makes the source and the target arrays of a transpose, in the same memory if sizes permit."""
    made: tuple[dict, dict] = {}, {}
    for name, f in s["fields"].items():
        shapes = [_shapes(s, grid, end, f) for end, grid in enumerate((source, target))]
        for end in range(2):
            made[end][name] = [room(shape, f["dtype"], s["offset"]) for shape in shapes[end]]
        sizes = [[int(np.prod(shape)) for shape in each] for each in shapes]
        if onto_itself and sizes[0] == sizes[1]:
            made[1][name] = [array.reshape(shape) for array, shape in zip(made[0][name], shapes[1], strict=True)]
    return made


def _whole(s: Options, f: Options, number: int) -> np.ndarray:
    """Values of the whole source grid before a transpose, [component, z, y, x]."""
    return small_numbers((f["components"] or 1, *s["cells"][::-1]), f["dtype"], (number, len(s["fields"])))


def _fill(s: Options, grid: slip.Grid, arrays: dict[str, list[np.ndarray]], number: int) -> None:
    for name, f in s["fields"].items():
        for array, block in zip(arrays[name], grid.local, strict=True):
            array.flags.writeable = True
            _cells(s, array, 0, f, block)[...] = _part(_whole(s, f, number), block)
            array.flags.writeable = not s["read_only"]


def _cells(s: Options, array: np.ndarray, end: int, f: Options, block: dict) -> np.ndarray:
    """View of a block without ghosts, [component, z, y, x]."""
    shown = component_first(array, {"components": f["components"], "layout": s["layouts"][end]})
    inside = [slice(s["ghost"], s["ghost"] + hi - lo) for lo, hi in zip(block.lo, block.hi, strict=True)]
    return shown[(slice(None), *inside[::-1])]


def _part(whole: np.ndarray, block: dict) -> np.ndarray:
    return whole[(slice(None), *(slice(block.lo[a], block.hi[a]) for a in (2, 1, 0)))]


def _permuted(s: Options, whole: np.ndarray) -> np.ndarray:
    """Values with permuted axes; NumPy counts axes from the slowest."""
    return np.moveaxis(whole, (3, 2, 1), [3 - to for to in s["axes"]])


def _compare(s: Options, grid: slip.Grid, arrays: dict, before: dict, number: int) -> None:
    travels = np.ones((1, *s["cells"][::-1]), bool)
    for axis, ranges in s["kept"].items():
        here = np.zeros(s["cells"][axis], bool)
        for first, behind in ranges:
            here[first:behind] = True
        shape = [1, 1, 1, 1]
        shape[3 - axis] = -1
        travels &= here.reshape(shape)
    for name, f in s["fields"].items():
        values, moved = _permuted(s, _whole(s, f, number)), _permuted(s, travels)
        for array, old, block in zip(arrays[name], before[name], grid.local, strict=True):
            wanted = old.copy()
            cells = _cells(s, wanted, 1, f, block)
            cells[...] = np.where(_part(moved, block), _part(values, block), cells)
            assert_same(array, wanted, s["coding"], f"field '{name}', run {number}")
