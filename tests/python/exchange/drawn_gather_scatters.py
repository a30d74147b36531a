"""Random gather-scatters; the oracle is numpy's ufunc.at."""

import random

import numpy as np
import slipstream as slip
from drawing import (
    BLOCKS,
    EXACT_BLOCKS,
    FOLDS,
    NODES,
    ROUTES,
    Options,
    coding,
    coding_refusals,
    keywords,
    knob_refusals,
    knobs,
    refused_or_right,
    room,
    small_numbers,
)

FORMATS = {
    "f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "c128": "complex128", "c64": "complex64"
}  # fmt: skip


def draw(r: random.Random, ranks: int) -> Options:
    devices = r.randint(1, 5 if ranks == 1 else 2)
    points = [r.choice([0, 1, r.randint(2, 60)]) for _ in range(devices * ranks)]
    return {
        "devices": devices,
        "ranks_per_node": r.choice(NODES[ranks]),
        "points": points,
        "seed": r.randint(0, 10**6),
        "ids": r.choice([2, 7, 40, 200]),
        "spread": r.choice([1, 1, 10**12]),
        "block": r.choice([1, 3, 8, 100]),
        "order": r.choice([None, r.sample(range(len(points)), len(points))]),
        "dtype": (dtype := r.choice(list(FORMATS))),
        "components": r.choice([1, 1, 2, 5]),
        "unique": r.random() < 0.6,
        "host_packed": r.random() < 0.15,
        "coding": coding(r, FORMATS[dtype]),
        "routes": r.choice(ROUTES),
        "knobs": knobs(r),
        "ops": [r.choice(list(FOLDS)) for _ in range(3)],
        "parts": r.random() < 0.5,
        "shape": r.choice(["flat", "rows"]),
        "offset": r.choice([0, 0, 1, 3]),
    }


def check(s: Options) -> None:
    lone = bool(s["unique"] or s["knobs"].get("measure_errors") or "tune" in s["knobs"])
    must = [
        (s["host_packed"] and lone, "packed on the host has no"),
        *coding_refusals(s["coding"], FORMATS[s["dtype"]]),
        (s["coding"] in BLOCKS and s["coding"] != EXACT_BLOCKS[-1], "rounded differently|write f32, f64"),
    ]
    may = knob_refusals(s["knobs"], s["routes"], s["coding"] != "raw")
    refused_or_right(must, may, lambda: _check(s))


def _check(s: Options) -> None:
    grid = slip.Grid((8, 8, 8), backend="host", devices_per_rank=s["devices"], ranks_per_node=s["ranks_per_node"])
    random_ = np.random.default_rng(s["seed"])
    every = [random_.integers(0, s["ids"], n) * s["spread"] for n in s["points"]]
    mine = [grid.comm.rank * s["devices"] + d for d in range(s["devices"])]
    blocks = [-(-n // s["block"]) for n in s["points"]]
    first = None
    if s["order"]:
        first = [sum(blocks[other] for other in s["order"][: s["order"].index(device)]) for device in mine]
    how = {key: s[key] for key in ("dtype", "components", "unique", "host_packed", "coding", "routes")}
    how |= keywords(s["knobs"])
    with slip.GatherScatter(grid, [every[device] for device in mine], s["block"], first_block=first, **how) as gs:
        for number, op in enumerate(s["ops"]):
            if op in ("min", "max") and "c" in s["dtype"]:
                op = "add"
            _check_run(s, gs, every, mine, op, number)
            if s["unique"]:
                _check_unique(s, gs, every, mine, op, number)
        gs.check()


def _values(s: Options, device: int, op: str, number: int) -> np.ndarray:
    shape = (s["components"], s["points"][device])
    return small_numbers(shape, FORMATS[s["dtype"]], (s["seed"], device, number), op)


def _combined(s: Options, every: list[np.ndarray], op: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """All ids, ascending, and the combined value of each by component."""
    ids = np.concatenate(every)
    values = np.concatenate([_values(s, device, op, number) for device in range(len(every))], axis=1)
    known, first, group = np.unique(ids, return_index=True, return_inverse=True)
    later = np.ones(ids.size, bool)
    later[first] = False
    found = values[:, first].copy()
    for row, given in zip(found, values, strict=True):
        FOLDS[op].at(row, group[later], given[later])
    return known, found


def _arrays(s: Options, values: list[np.ndarray]) -> list[np.ndarray]:
    found = []
    for one in values:
        array = room(one.shape, FORMATS[s["dtype"]], s["offset"])
        array[...] = one
        found.append(array if s["shape"] == "rows" else array.reshape(-1))
    return found


def _check_run(
    s: Options, gs: slip.GatherScatter, every: list[np.ndarray], mine: list[int], op: str, number: int
) -> None:
    before = [_values(s, device, op, number) for device in mine]
    arrays = _arrays(s, before)
    if s["parts"]:
        gs.start(arrays, op)
        gs.finish()
    else:
        gs.run(arrays, op)
    known, found = _combined(s, every, op, number)
    for array, old, device in zip(arrays, before, mine, strict=True):
        ids = every[device]
        wanted = np.where(ids == 0, old, found[:, np.searchsorted(known, ids)])
        np.testing.assert_array_equal(array.reshape(old.shape), wanted, err_msg=f"{op} as run {number}")


def _check_unique(
    s: Options, gs: slip.GatherScatter, every: list[np.ndarray], mine: list[int], op: str, number: int
) -> None:
    before = [_values(s, device, op, number) for device in mine]
    arrays = _arrays(s, before)
    for array in arrays:
        array.flags.writeable = False
    owned = [every[device][gs.unique_points(d)] for d, device in enumerate(mine)]
    unique = _arrays(s, [np.zeros((s["components"], ids.size)) for ids in owned])
    (gs.start_gather if s["parts"] else gs.gather)(arrays, unique, op)
    if s["parts"]:
        gs.finish()
    known, found = _combined(s, every, op, number)
    for array, ids in zip(unique, owned, strict=True):
        wanted = found[:, np.searchsorted(known, ids)]
        np.testing.assert_array_equal(array.reshape(wanted.shape), wanted, err_msg=f"gather by {op}")
    # The owner of an id gives it the value 3 + 7 id: integers that are exact.
    values = [np.broadcast_to((3 + 7 * (ids // s["spread"])) % 200, (s["components"], ids.size)) for ids in owned]
    unique, arrays = _arrays(s, values), _arrays(s, before)
    for array in unique:
        array.flags.writeable = False
    (gs.start_scatter if s["parts"] else gs.scatter)(unique, arrays)
    if s["parts"]:
        gs.finish()
    for array, old, device in zip(arrays, before, mine, strict=True):
        ids = every[device]
        wanted = np.where(ids == 0, old, (3 + 7 * (ids // s["spread"])) % 200)
        np.testing.assert_array_equal(array.reshape(old.shape), wanted, err_msg="scatter")
