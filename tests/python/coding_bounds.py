"""Compares coding errors of random values with the bound of each coding, in many exchanges of a pattern.

Usage: python coding_bounds.py PATTERN EXCHANGES [SEED], with PATTERN one of halo, transpose and gather_scatter. Shapes,
codings, formats and routes are random. Each object runs 200 times with different exponents, up to the limits of the
format. Raw exchanges of the same values give the reference.
"""

import math
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import slipstream as slip

RUNS = 200  #: number of runs of each exchange object
ROUTES = (["kernel", "direct"], ["kernel", "peer"], ["staged"], ["kernel", "staged"])
#: NumPy format and its name as an argument of GatherScatter.
FORMATS = {"f4": "f32", "f8": "f64"}
#: Largest finite exponent and smallest normal exponent of each floating-point format.
ENDS = {"f4": (127, -126), "f8": (1023, -1022)}

#: A coding, and its bound as a function of the largest magnitude in a message
Draw = tuple[str, Callable[[float], float]]


def zfp_bound(bits: int, width: int, dimensions: int) -> float:
    """Bound of the error of values after coding by zfp, divided by the largest magnitude (docs/coding.md). `bits`: code
    size of a block of 4^dimensions values; `width`: bits of an uncoded value.
    """
    cells, head = 4**dimensions, 9 if width == 32 else 12
    planes = max(0, min(width, (bits - head - cells) // (cells + 1)))
    left_out = 2 / 3 * 2.0 ** (3 - planes) if planes < width else 0.0
    grown = 3.75**dimensions * (left_out + 8 * dimensions * 2.0 ** (3 - width))
    return float(grown + 2.0 ** (-24 if width == 32 else -53))


def drawn_coding(r: random.Random, dtype: str, shared: bool) -> Draw:
    """Draws a coding. `shared`: several blocks share the values, so a coding must round all copies alike."""
    width, (_, least) = 32 if dtype == "f4" else 64, ENDS[dtype]
    kind = r.choice(["cast", "unit"] if shared else ["cast", "blockfloat", "zfp"])
    if kind == "cast":
        return ("cast", lambda most: max(2.0**-11 * most, 2.0**-25)) if width == 32 else (
            "cast", lambda most: max(2.0**-24 * most, 2.0**-150))  # fmt: skip
    if kind == "unit":
        error = math.ldexp(1 + r.random(), r.randint(-20, 20))
        return f"blockfloat, rate 16, max error {error!r}", lambda _: error
    if kind == "blockfloat":
        rate = r.randrange(8, 29 if width == 32 else 49, 4)
        return f"blockfloat, rate {rate}", lambda most: math.ldexp(1.0, max(math.frexp(most)[1] - 1, least) + 3 - rate)
    rate = r.randint(4, width)
    codes = [max(64, -(-rate * 4**d // 64) * 64) for d in (1, 2, 3)]
    worst = max(zfp_bound(bits, width, d + 1) for d, bits in enumerate(codes))
    return f"zfp, rate {rate}", lambda most: worst * max(most, 2.0**least)


def drawn_values(r: random.Random, random_: np.random.Generator, dtype: str, coding: str, shape: Any) -> np.ndarray:
    """Values in [-1, 1) times a power of two that overflows neither the coding nor, for sums, the format."""
    most, least = ENDS[dtype]
    low, high = least - 10, most - 8
    if coding == "cast":
        low, high = (-30, 14) if dtype == "f4" else (-155, 126)
    if "max error" in coding:
        unit = math.frexp(float(coding.rpartition(" ")[2]))[1]
        low, high = unit - 4, unit + 13
    values = np.ldexp(random_.uniform(-1, 1, shape), r.randint(low, high))
    return values.astype(dtype)


def pairs(pattern: str, r: random.Random) -> Iterator[tuple[str, float, np.ndarray, np.ndarray]]:
    """Yields a coding, its bound, and the results of a raw and a coded exchange of the same values."""
    dtype = r.choice(["f4", "f8"])
    coding, bound = drawn_coding(r, dtype, pattern == "gather_scatter")
    random_ = np.random.default_rng(r.getrandbits(32))
    how = {"routes": r.choice(ROUTES)}
    cells = tuple(r.randint(6, 20) for _ in range(3))
    grid = slip.Grid(cells, periodic=(True, True, True), backend="host", devices_per_rank=2)
    if pattern == "gather_scatter":
        count = r.randint(50, 2000)
        ids = [random_.integers(0, count, count) for _ in range(2)]
        made = [slip.GatherScatter(grid, ids, 8, dtype=FORMATS[dtype], coding=c, **how) for c in ("raw", coding)]
        shapes = [(count,), (count,)]
        ends = [[np.zeros(shape, dtype) for shape in shapes] for _ in made]
        runs = [lambda gs=gs, a=a: gs.run(a, "max") for gs, a in zip(made, ends, strict=True)]
        results = ends
    elif pattern == "halo":
        width = r.randint(1, 3)
        shapes = [grid.array_shape(width, block=block) for block in range(len(grid.local))]
        ends = [[np.zeros(shape, dtype) for shape in shapes] for _ in range(2)]
        made = [slip.Exchange(grid, {"u": a}, ghost=width, coding=c, **how)
                for a, c in zip(ends, ("raw", coding), strict=True)]  # fmt: skip
        runs, results = [exchange.run for exchange in made], ends
    else:
        axes = r.choice([(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
        there = [0, 0, 0]
        for axis, to in enumerate(axes):
            there[to] = cells[axis]
        target = slip.Grid(tuple(there), backend="host", devices_per_rank=2, device_grid=(1, 1, 2))
        ends, results = (
            [[np.zeros(g.array_shape(0, block=b), dtype) for b in range(len(g.local))] for _ in range(2)]
            for g in (grid, target)
        )
        shapes = [a.shape for a in ends[0]]
        made = [slip.Transpose(grid, target, a, b, axes=axes, coding=c, **how)
                for a, b, c in zip(ends, results, ("raw", coding), strict=True)]  # fmt: skip
        runs = [transpose.run for transpose in made]
    for _ in range(RUNS):
        values = [drawn_values(r, random_, dtype, coding, shape) for shape in shapes]
        for arrays in ends:
            for array, given in zip(arrays, values, strict=True):
                array[...] = given
        for run in runs:
            run()
        most = max(float(np.abs(given).max()) for given in values)
        raw, coded = (np.concatenate([array.ravel() for array in arrays]) for arrays in results)
        yield coding, bound(most), raw, coded
    for each in made:
        each.close()


def main(pattern: str, exchanges: int, seed: int) -> None:
    done, closest, lossy = 0, 0.0, 0
    while done < exchanges:
        r = random.Random(seed + done)
        for coding, allowed, raw, coded in pairs(pattern, r):
            off = float(np.abs(coded.astype("f8") - raw.astype("f8")).max())
            assert off <= allowed * (1 + 1e-12), f"seed {seed + done}, {coding}: off by {off}, at most {allowed}"
            closest, lossy, done = max(closest, off / allowed), lossy + (off > 0), done + 1
            if done == exchanges:
                break
    assert lossy > 0
    sys.stdout.write(f"{pattern}: {done} exchanges, {lossy} of them lossy, within {closest:.3f} of their bounds\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
