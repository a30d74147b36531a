"""Elements of high order on a uniform grid, for pictures: where a sample lies in which element, and its value there."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray
#: Samples along the longest edge of the box, about.
MOST = 160
#: Numbers of elements that are looked at in one go.
CHUNK = 1 << 22


def counts(lengths: Sequence[float], elements: Sequence[int], order: int) -> tuple[int, int, int]:
    """Of samples along x, y and z, as many as points where they are few; the same distance apart along all axes where
    the edges allow it."""
    longest = max(lengths)
    wanted = min(MOST, max(24, 2 * order * max(elements)))

    def misfit(n: int) -> float:
        return max(abs(edge * n / longest - max(1, round(edge * n / longest))) for edge in lengths)

    best = next((n for n in range(wanted, 2 * wanted) if misfit(n) < 1e-6), wanted)
    x, y, z = (max(1, round(edge * best / longest)) for edge in lengths)
    return (x, y, z)


def _before_the_sine_map(case: Any, shares: Array) -> Array:
    """The y in [0, 1]^3 with y_d + a sin(2 pi y_0) sin(2 pi y_1) sin(2 pi y_2) = shares_d. All three differ from the
    shares by one and the same bump b = a prod sin(2 pi (share_d - b)): Newton's method for one number a place."""
    a, bump = case.sem.deformation, np.zeros(len(shares))
    for _ in range(50 if a else 0):
        angle = 2 * math.pi * (shares - bump[:, None])
        sine, cosine = np.sin(angle), np.cos(angle)
        slope = -2 * math.pi * sum(cosine[:, d] * sine[:, d - 1] * sine[:, d - 2] for d in range(3))
        change = (bump - a * sine.prod(axis=1)) / np.maximum(1 - a * slope, 1e-3)
        bump = bump - change
        if np.abs(change).max() < 1e-13:
            break
    return np.clip(shares - bump[:, None], 0.0, 1.0)


def _edges(count: int, stretch: float) -> Array:
    """Where elements begin and end in [0, 1]; their widths grow geometrically."""
    n = np.arange(count + 1)
    if stretch == 1 or count == 1:
        return n / count
    growth = math.log(stretch) / (count - 1)
    return np.expm1(growth * n) / np.expm1(growth * count)


def find(case: Any, places: Array) -> tuple[Array, Array]:
    """The elements of places [point][x y z] in the box, and where they lie there, [point][r s t] in [0, 1]."""
    y = _before_the_sine_map(case, places / np.array(case.sem.lengths))
    element, local, step = np.zeros(len(y), dtype=np.int64), np.empty_like(y), 1
    for d, (count, stretch) in enumerate(zip(case.grid.cells, case.sem.stretch, strict=True)):
        edges = _edges(count, stretch)
        at = np.clip(np.searchsorted(edges, y[:, d], side="right") - 1, 0, count - 1)
        local[:, d] = (y[:, d] - edges[at]) / (edges[at + 1] - edges[at])
        element += step * at
        step *= count
    return element, local


def _polynomials(order: int, at: Array) -> Array:
    """Lagrange's at equidistant nodes of [0, 1]: [point][node]."""
    nodes = np.linspace(0, 1, order + 1)
    others = [np.delete(nodes, m) for m in range(order + 1)]
    parts = [np.prod((at[:, None] - o) / (nodes[m] - o), axis=1) for m, o in enumerate(others)]
    return np.stack(parts, axis=1)


def values_at(case: Any, u: Array, places: Array) -> Array:
    """Of u [element][t][s][r] at equidistant nodes, at places [point][x y z]."""
    found = np.empty(len(places))
    samples = max(1, CHUNK // (case.sem.order + 1) ** 3)
    for low in range(0, len(places), samples):
        part = slice(low, low + samples)
        element, local = find(case, places[part])
        r, s, t = (_polynomials(case.sem.order, local[:, d]) for d in range(3))
        along_r = np.einsum("pkji,pi->pkj", u[element], r)
        found[part] = np.einsum("pkj,pj,pk->p", along_r, s, t)
    return found


def read(file: Any, name: str, step: int, case: Any, box: tuple[slice, slice, slice]) -> Array:
    """A field of a file of elements at samples box[x, y, z], as [z][y][x]."""
    n, elements = case.sem.order + 1, math.prod(case.grid.cells)
    begin = int(file[f"VTKHDF/Steps/PointDataOffsets/{name}"][step])
    u = np.asarray(file[f"VTKHDF/PointData/{name}"][begin : begin + elements * n**3]).reshape(elements, n, n, n)
    x, y, z = (
        (np.arange(count)[part] + 0.5) * edge / count
        for count, edge, part in zip(case.samples, case.sem.lengths, box, strict=True)
    )
    grid = np.meshgrid(z, y, x, indexing="ij")
    places = np.stack([axis.ravel() for axis in reversed(grid)], axis=1)
    return values_at(case, u, places).reshape(grid[0].shape)
