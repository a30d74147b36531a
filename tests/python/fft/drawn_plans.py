"""Random Fourier transforms and convolutions; the oracle is numpy.fft."""

import math
import random
from typing import Any

import numpy as np
import slipstream as slip
from drawing import (
    CASTS,
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
)

EXTENTS = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16]
#: Tolerance for rounding, relative to the largest possible value.
EXACT = {"float32": 1e-5, "complex64": 1e-5, "float64": 1e-13, "complex128": 1e-13}


def draw(r: random.Random, ranks: int) -> Options:
    cells = tuple(r.choice(EXTENTS) for _ in range(3))
    devices = r.randint(1, 5 if ranks == 1 else 2)
    total = devices * ranks
    grids = [(p, total // p) for p in range(1, total + 1) if total % p == 0]
    components = r.choice([1, 1, 2, 3])
    return {
        "cells": cells,
        "devices": devices,
        "ranks_per_node": r.choice(NODES[ranks]),
        "dtype": (dtype := r.choice(list(EXACT))),
        "process_grid": r.choice([(0, 0), (0, 0), *grids]),
        "transposed": r.random() < 0.6,
        "highest": tuple(r.choice([-1, -1, r.randint(0, n)]) for n in cells),
        "scaled": r.random() < 0.7,
        "components": components,
        "stated": r.random() < 0.5,
        "form": r.choice(["axis", "tuple"]) if components > 1 else r.choice(["plain", "axis", "tuple"]),
        "overlap": r.random() < 0.3,
        "store": r.choice([None, True, False]),
        "parts": r.choice([0, 0, 1, 2, 3]),
        "coding": coding(r, _spectral(dtype), of=CASTS),
        "verify": r.random() < 0.2,
        "routes": r.choice(ROUTES),
        "knobs": knobs(r),
        "in_place": r.random() < 0.25,
        "offset": r.choice([0, 0, 1, 3]),
        "factor": _factor(r, cells),
        "seed": r.randint(0, 10**6),
    }


def _factor(r: random.Random, cells: tuple[int, ...]) -> Options:
    """Draws keyword arguments of convolve(). For `multiply` it draws "real" or "complex", the type of the array of
    factors that check() makes."""
    possible = {
        "constant": r.choice([2.5, -1, 0.5 - 2j, 1j]),
        "derivative": tuple(r.choice([0, 0, 1, 2]) for _ in cells),
        "laplacian": r.choice([-1, 1]),
        "gaussian": r.choice([0.0, 0.7]),
        "sharp": r.choice([0.0, 2.345, 5.678, -1.0, math.nan]),
        "multiply": r.choice(["real", "complex"]),
        "edges": (2 * math.pi, math.pi, 3.0),
    }
    return {name: value for name, value in possible.items() if r.random() < 0.35}


def check(s: Options) -> None:
    factor, real = s["factor"], "float" in s["dtype"]
    sharp = factor.get("sharp", 0.0)
    must = coding_refusals(s["coding"], _spectral(s["dtype"]))
    may = knob_refusals(s["knobs"], s["routes"], s["coding"] != "raw")
    may.append((math.prod(s["cells"]) < 4 * s["devices"] * slip.world().size, "a grid of .* cannot be cut"))
    must_not = [
        (real and complex(factor.get("constant", 1)).imag != 0, "must be real"),
        (not sharp >= 0, "a sharp filter was asked for"),
    ]
    refused_or_right(must, may, lambda: _check(s, must_not))


def _check(s: Options, refusals: list[tuple[bool, str]]) -> None:
    grid = slip.Grid(s["cells"], backend="host", devices_per_rank=s["devices"], ranks_per_node=s["ranks_per_node"])
    how = {
        key: s[key]
        for key in ("process_grid", "transposed", "highest", "scaled", "overlap", "store", "parts", "coding", "verify")
    }
    how |= keywords(s["knobs"]) | {"routes": s["routes"], "components": s["components"] if s["stated"] else None}
    # A rank without a block cannot infer the number of components from its arrays.
    if s["components"] > 1 and math.prod(s["cells"]) < 200:
        how["components"] = s["components"]
    with slip.fft.Plan(grid, s["dtype"], **how) as plan:
        u = _random(s, s["cells"], s["dtype"])
        spectra = _spectrum(s, u)
        used = _used(s)
        mine, modes = _both(s, plan)
        _fill(plan.physical, mine, u, read_only=not s["in_place"])
        plan.forward(_form(s, mine), _form(s, modes))
        natural = _in_order(s, spectra)
        _compare(s, plan.spectral, modes, natural, abs(spectra).max(), _in_order(s, used))
        if not s["in_place"]:
            _compare(s, plan.physical, mine, u, 0)
        # The backward transform starts from the expected modes, with zeros where modes are not used.
        back, modes = _both(s, plan)
        _fill(plan.spectral, modes, np.where(_in_order(s, used), natural, 0), read_only=not s["in_place"])
        plan.backward(_form(s, modes), _form(s, back))
        inverse = _inverse(s, np.where(used, spectra, 0))
        times = 1 if s["scaled"] else math.prod(s["cells"])
        _compare(s, plan.physical, back, inverse * times, times * _norm(s, np.where(used, spectra, 0)))
        refused_or_right(refusals, [], lambda: _convolve(s, plan, u, np.where(used, spectra, 0)))
        plan.check()


def _convolve(s: Options, plan: slip.fft.Plan, u: np.ndarray, spectra: np.ndarray) -> None:
    factor = dict(s["factor"])
    number, given = _number(s, factor)
    if given is not None:
        arrays = [
            np.ascontiguousarray(_part(_in_order(s, given), block)).astype(given.dtype) for block in plan.spectral.local
        ]
        for array in arrays:
            array.flags.writeable = False
        factor["multiply"] = arrays if len(arrays) != 1 else arrays[0]
    mine, modes = _both(s, plan)
    _fill(plan.physical, mine, u, read_only=False)
    w = mine if s["in_place"] else _both(s, plan)[0]
    plan.convolve(_form(s, mine), _form(s, modes), _form(s, w), **factor)
    times = 1 if s["scaled"] else math.prod(s["cells"])
    with np.errstate(invalid="ignore"):
        product = np.where(spectra == 0, 0, spectra * number)
    largest = abs(spectra).max() * abs(number).max() / math.sqrt(math.prod(s["cells"]))
    bound = max(_norm(s, product), largest)
    _compare(s, plan.physical, w, times * _inverse(s, product), times * bound)


def _number(s: Options, factor: Options) -> tuple[np.ndarray, Any]:
    """The factor of each Fourier mode, [z, y, x], and the random array that is part of it, which the FFT's option
    `multiply` takes (None: no such array)."""
    edges = factor.get("edges", (2 * math.pi,) * 3)
    modes = _wave_numbers(s)
    kappa = [2 * math.pi * k / edge for k, edge in zip(modes, edges, strict=True)]
    square = kappa[0] ** 2 + kappa[1] ** 2 + kappa[2] ** 2
    number = np.full(square.shape, factor.get("constant", 1), complex)
    for axis, order in enumerate(factor.get("derivative", (0, 0, 0))):
        number *= (1j * kappa[axis]) ** order
        if order % 2 and s["cells"][axis] % 2 == 0:
            number = np.where(modes[axis] == s["cells"][axis] // 2, 0, number)
    laplacian = factor.get("laplacian", 0)
    with np.errstate(divide="ignore"):
        number *= np.where(square == 0, 0.0 if laplacian else 1.0, (-square) ** float(laplacian))
    number *= np.exp(-square * factor.get("gaussian", 0.0) ** 2 / 24)
    if "sharp" in factor:
        number = np.where(square > factor["sharp"] ** 2, 0, number)
    given = None
    if "multiply" in factor:
        # A real kernel is transformed, because its transform is Hermitian, as required of factors for real values.
        kernel = np.random.default_rng(s["seed"] + 2).normal(size=s["cells"][::-1])
        given = _transform(s)(kernel) / math.sqrt(kernel.size)
        if factor["multiply"] == "real":
            given = given.real + 1
        narrow = s["dtype"] in ("float32", "complex64")
        given = given.astype(
            {True: "f4", False: "f8"}[narrow] if given.dtype.kind == "f" else "c8" if narrow else "c16"
        )
        number = number * given
    return number, given


def _spectral(dtype: str) -> str:
    return np.result_type(dtype, "complex64").name


def _transform(s: Options) -> Any:
    return np.fft.rfftn if "float" in s["dtype"] else np.fft.fftn


def _random(s: Options, cells: tuple[int, ...], dtype: str) -> np.ndarray:
    random_ = np.random.default_rng(s["seed"])
    u = random_.normal(size=(s["components"], *cells[::-1]))
    return (u + 1j * random_.normal(size=u.shape) if "complex" in dtype else u).astype(dtype)


def _spectrum(s: Options, u: np.ndarray) -> np.ndarray:
    """Expected spectrum, [component, z, y, x], in double precision."""
    wide = u.astype("complex128" if np.iscomplexobj(u) else "float64")
    return _transform(s)(wide, axes=(1, 2, 3))


def _inverse(s: Options, spectra: np.ndarray) -> np.ndarray:
    if "float" in s["dtype"]:
        return np.fft.irfftn(spectra, s["cells"][::-1], axes=(1, 2, 3))
    return np.fft.ifftn(spectra, axes=(1, 2, 3))


def _norm(s: Options, spectra: np.ndarray) -> float:
    """Upper bound of the transformed values, for the rounding tolerance."""
    return float(abs(spectra).sum(axis=(1, 2, 3)).max() / math.prod(s["cells"]))


def _wave_numbers(s: Options) -> list[np.ndarray]:
    """Wave numbers -n/2 < k <= n/2 along x, y, z, shaped for broadcasting to [z, y, x]."""
    found = []
    for axis, n in enumerate(s["cells"]):
        index = np.arange(n // 2 + 1 if axis == 0 and "float" in s["dtype"] else n)
        shape = [1, 1, 1]
        shape[2 - axis] = -1
        found.append(np.where(index <= n // 2, index, index - n).reshape(shape))
    return found


def _used(s: Options) -> np.ndarray:
    used = np.ones((1, 1, 1), bool)
    for k, highest in zip(_wave_numbers(s), s["highest"], strict=True):
        used = used & ((abs(k) <= highest) | (highest < 0))
    return used


def _in_order(s: Options, spectra: np.ndarray) -> np.ndarray:
    """Permutes axes to the order of the plan: [y, x, z] or [z, y, x]."""
    return np.moveaxis(spectra, -3, -1) if s["transposed"] else spectra


def _part(whole: np.ndarray, block: dict) -> np.ndarray:
    return whole[(..., *(slice(block.lo[a], block.hi[a]) for a in (2, 1, 0)))]


def _both(s: Options, plan: slip.fft.Plan) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arrays [component, ...] of each local block, in physical and in spectral space. Both share memory if the
    transform is in place."""
    sides: tuple[list, list] = [], []
    blocks = [{block.device: n for n, block in enumerate(grid.local)} for grid in (plan.physical, plan.spectral)]
    if s["in_place"] and blocks[0] == blocks[1] and s["components"] == 1:
        for block in range(len(plan.physical.local)):
            for side, view in zip(sides, plan.in_place(np.zeros(plan.room(block), np.uint8), block), strict=True):
                side.append(view[None])
        return sides
    for side, grid, dtype in zip(
        sides, (plan.physical, plan.spectral), (s["dtype"], _spectral(s["dtype"])), strict=True
    ):
        for block in range(len(grid.local)):
            side.append(room(grid.array_shape(0, s["components"], block=block), dtype, s["offset"]))
    return sides


def _form(s: Options, arrays: list[np.ndarray]) -> Any:
    """Arrays in the form in which the test passes them to a plan: single, a list over blocks, or a tuple of fields."""
    if s["form"] == "tuple":
        fields = [[array[component] for array in arrays] for component in range(s["components"])]
        return tuple(field[0] if len(field) == 1 else field for field in fields)
    given = [array[0] if s["form"] == "plain" else array for array in arrays]
    return given[0] if len(given) == 1 else given


def _fill(grid: slip.Grid, arrays: list[np.ndarray], whole: np.ndarray, read_only: bool) -> None:
    for array, block in zip(arrays, grid.local, strict=True):
        array[...] = _part(whole, block)
        array.flags.writeable = not read_only


def _compare(
    s: Options, grid: slip.Grid, arrays: list[np.ndarray], whole: np.ndarray, largest: float, used: Any = True
) -> None:
    exact = 1e-5 if s["coding"] != "raw" else EXACT[s["dtype"]]
    used = np.broadcast_to(used, whole.shape)
    for array, block in zip(arrays, grid.local, strict=True):
        right, here = _part(whole, block), _part(used, block)
        off = abs(np.where(here, array - right, 0)).max(initial=0)
        assert off <= exact * largest * (1 + math.log2(math.prod(s["cells"]))), f"off by {off}, largest {largest}"
