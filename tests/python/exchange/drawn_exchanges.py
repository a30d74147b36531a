"""Random halo exchanges; the oracle indexes the grid modulo its extents."""

import random
from typing import Any

import numpy as np
import slipstream as slip
from drawing import (
    EXACT,
    EXACT_BLOCKS,
    FOLDS,
    MOVED,
    UNTOUCHED,
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
from test_exchange_property import BETWEEN_NODES, component_first, grid_of, reached, scenario

#: Options that the random generator of exchanges chooses anew for each field, instead of once for the grid.
OF_FIELD = ("low", "high", "ghost", "padding", "reach", "components", "layout")


def draw(r: random.Random, ranks: int) -> Options:
    s = scenario(r.randint, r.choice)
    s["fields"] = {name: _field(r, s) for name in ("a", "b")[: r.choice([1, 1, 2])]}
    s["knobs"] = knobs(r)
    s["routes"] = r.choice([s["routes"], s["routes"], "-direct", ["staged"]])
    if s["nodes"] > 1 and isinstance(s["routes"], list) and s["routes"] and not BETWEEN_NODES & set(s["routes"]):
        s["routes"] = [*s["routes"], "staged"]
    s["call"] = r.choice(["run", "begin and end", "progress"])
    s["throttle"] = r.choice(["none", "none", "none", "10 GB/s, 1 us"])
    s["trace"] = r.random() < 0.1
    for key in (*OF_FIELD, "dtype", "at_once"):
        del s[key]
    return s


def _field(r: random.Random, s: Options) -> Options:
    other = scenario(r.randint, r.choice)
    field = {key: other[key] for key in OF_FIELD}
    for key in ("ghost", "low", "high"):
        field[key] = tuple(map(min, other[key], s["cells"]))
    combine = r.choice([None, None, None, *FOLDS])
    dtype = r.choice(MOVED if combine is None or r.random() < 0.1 else EXACT)
    how = coding(r, dtype)
    if combine in ("add", "multiply") and how.startswith("zfp"):
        how = EXACT_BLOCKS[0]  # a coding without error, because errors of many contributions have no useful bound
    return field | {
        "dtype": dtype,
        "combine": combine,
        "coding": how,
        "copies": r.choice([1, 1, 2]),
        "offset": r.choice([0, 0, 1, 3]),
        "padded": r.random() < 0.5,
    }


def check(s: Options) -> None:
    coded = any(f["coding"] != "raw" for f in s["fields"].values())
    must, may = [], knob_refusals(s["knobs"], s["routes"], coded)
    for f in s["fields"].values():
        inexact = f["dtype"] in ("uint16", "uint32", "uint64", "int16")
        order = f["combine"] in ("min", "max") and "complex" in f["dtype"]
        must += coding_refusals(f["coding"], f["dtype"])
        must += [
            (bool(f["combine"]) and inexact, "its values are not of f32"),
            (bool(f["combine"]) and f["dtype"] == "float16", "which is moved and not computed with"),
            (order, "which have no order"),
        ]
    may.append((s["throttle"] != "none", "no allowed route joins"))
    refused_or_right(must, may, lambda: _check(s))


def _check(s: Options) -> None:
    grid = grid_of(s)
    fields = {name: _arrays(grid, f) for name, f in s["fields"].items()}
    given = {}
    for name, copies in fields.items():
        lists = [[whole if s["fields"][name]["padded"] else inner for whole, inner in copy] for copy in copies]
        given[name] = tuple(lists) if len(lists) > 1 else lists[0]
    by_name = {
        key: {name: f[key] for name, f in s["fields"].items()}
        for key in ("ghost", "low", "high", "padding", "reach", "layout", "combine", "coding")
    }
    how = by_name | keywords(s["knobs"]) | {"routes": s["routes"], "trace": s["trace"], "throttle": s["throttle"]}
    with slip.Exchange(grid, given, **how) as halo:
        for round_number in range(3):
            wanted = {name: _wanted(grid, s, f, fields[name], round_number) for name, f in s["fields"].items()}
            _run(halo, s["call"])
            for name, f in s["fields"].items():
                copy = fields[name][round_number % f["copies"]]
                for (whole, inner), right in zip(copy, wanted[name], strict=True):
                    assert_same(component_first(inner, f), right, f["coding"], f"{name}, {round_number}")
                    rest = whole.copy()
                    rest[tuple(slice(0, n) for n in inner.shape)] = UNTOUCHED
                    assert (rest == np.asarray(UNTOUCHED, whole.dtype)).all(), "padding was written"
                if f["copies"] > 1:
                    halo.swap(name)
        halo.report()
        halo.check()


def _run(halo: slip.Exchange, call: str) -> None:
    if call == "run":
        halo.run()
        return
    halo.begin()
    if call == "progress":
        halo.progress()
    halo.end()


def _arrays(grid: slip.Grid, f: Options) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """Arrays of a field by [copy][block]. A field has several copies, such as two for double buffering, which are
    exchanged in turn. Each array is returned with its padding and as a view without it.
    """
    copies: list[list[tuple[np.ndarray, np.ndarray]]] = []
    for _ in range(f["copies"]):
        copies.append([])
        for block in range(len(grid.local)):
            shapes = [
                grid.array_shape(f["ghost"], f["components"], block=block, layout=f["layout"], padding=padding)
                for padding in (f["padding"], 0)
            ]
            whole = room(shapes[0], f["dtype"], f["offset"])
            copies[-1].append((whole, whole[tuple(slice(0, n) for n in shapes[1])]))
    return copies


def _values(grid: slip.Grid, f: Options, number: int, block: dict[str, Any]) -> np.ndarray:
    """Values of a block with ghosts, [component, z, y, x], which any rank can compute."""
    sizes = [hi - lo + 2 * g for lo, hi, g in zip(block.lo, block.hi, f["ghost"], strict=True)]
    seed = (number, *block.lo)
    return small_numbers((f["components"] or 1, *sizes[::-1]), f["dtype"], seed, f["combine"] or "add")


def _wanted(grid: slip.Grid, s: Options, f: Options, copies: list[Any], number: int) -> list[np.ndarray]:
    """Fills the arrays that the next exchange uses, and returns their expected contents after it."""
    scene = s | f
    whole = np.zeros((f["components"] or 1, *s["cells"][::-1]), f["dtype"])
    for block in grid.blocks:
        whole[(slice(None), *_here(block))] = _values(grid, f, number, block)[(slice(None), *_inside(f, block))]
    if f["combine"]:
        fold = FOLDS[f["combine"]]
        for block in grid.blocks:
            cells, touched, ghost = reached(scene, block)
            at = np.nonzero(touched & ghost)
            place = tuple(cells[axis][at[axis]] for axis in range(3))
            for component, values in enumerate(_values(grid, f, number, block)):
                fold.at(whole[component], place, values[at])
    wanted = []
    for (_, inner), block in zip(copies[number % f["copies"]], grid.local, strict=True):
        before = _values(grid, f, number, block)
        component_first(inner, f)[:] = before
        cells, touched, ghost = reached(scene, block)
        new = whole[np.ix_(range(len(whole)), *cells)]
        wanted.append(np.where(~ghost if f["combine"] else touched | ~ghost, new, before))
    return wanted


def _here(block: dict[str, Any]) -> tuple[slice, ...]:
    return tuple(slice(block.lo[a], block.hi[a]) for a in (2, 1, 0))


def _inside(f: Options, block: dict[str, Any]) -> tuple[slice, ...]:
    return tuple(slice(f["ghost"][a], f["ghost"][a] + block.hi[a] - block.lo[a]) for a in (2, 1, 0))
