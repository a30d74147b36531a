"""Interpolates high-order elements to a uniform grid, for pictures."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
#: Largest number of samples for pictures along the longest edge of the box.
MOST = 160
#: Largest number of pairwise distances that are computed at once, to bound the memory.
CHUNK = 1 << 22
#: Number of initial guesses along each edge of the box for the inverse of a map, and of tries per point.
SEEDS, TRIES = 13, 4


def bounds(case: Any) -> tuple[Array, Array]:
    """Low and high corner [x y z] of the grid of samples for pictures. It is the box itself, or for a mapped box the
    bounding box of many points on its sides."""
    edges = np.array(case.sem.lengths)
    if case.sem.map is None:
        return np.zeros(3), edges
    y = _lattice(5 * SEEDS) * edges
    there = case.mapped(y[((y == 0) | (y == edges)).any(axis=1)])
    low, size = there.min(axis=0), np.ptp(there, axis=0)
    spacing = size.max() / _wanted(case.grid.cells, case.sem.order)
    return low, low + np.ceil(size / spacing - 1e-9) * spacing


def _lattice(count: int) -> Array:
    """Regular grid of `count`^3 points in [0, 1]^3, [point][x y z]."""
    axis = np.linspace(0, 1, count)
    return np.stack([part.ravel() for part in np.meshgrid(axis, axis, axis, indexing="ij")], axis=1)


def counts(lengths: Sequence[float], elements: Sequence[int], order: int) -> tuple[int, int, int]:
    """Number of samples for pictures along x, y and z: about one per point of the elements, with a limit. Distances are
    the same along all axes if the edges allow it."""
    longest, wanted = max(lengths), _wanted(elements, order)

    def misfit(n: int) -> float:
        return max(abs(edge * n / longest - max(1, round(edge * n / longest))) for edge in lengths)

    best = next((n for n in range(wanted, 2 * wanted) if misfit(n) < 1e-6), wanted)
    x, y, z = (max(1, round(edge * best / longest)) for edge in lengths)
    return (x, y, z)


def _wanted(elements: Sequence[int], order: int) -> int:
    """Number of samples along the longest edge with which a picture shows each point of the elements."""
    return min(MOST, max(24, 2 * order * max(elements)))


def _before_the_sine_map(case: Any, shares: Array) -> Array:
    """Inverts the sine map: y in [0, 1]^3 with y_d + a sin(2 pi y_0) sin(2 pi y_1) sin(2 pi y_2) = shares_d. All three
    components differ from the shares by the same b = a prod sin(2 pi (share_d - b)), so Newton's method has one
    unknown."""
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


def _before_the_formula(case: Any, places: Array) -> Array:
    """Inverts the case's map at points of the mapped box; NaN if this fails. Newton's method starts from the nearest
    known points, one after the other.
    """
    if case.sem.map is None:
        return places
    edges, known = np.array(case.sem.lengths), _lattice(SEEDS) * case.sem.lengths
    there = case.mapped(known)
    boxes = there.reshape(SEEDS, SEEDS, SEEDS, 3)
    #: Bound of distances of mapped points from the nearest known point: points farther away lie in no element.
    reach = max(np.linalg.norm(np.diff(boxes, axis=d), axis=-1).max() for d in range(3)) * math.sqrt(3)
    found = np.full(places.shape, np.nan)
    nearest = _nearest(there, places)
    left = np.flatnonzero(np.linalg.norm(places - there[nearest[:, 0]], axis=1) < reach)
    for seeds in nearest.T:
        y, off = _newton(case.mapped, known[seeds[left]], places[left], edges)
        there_is = off < 1e-7 * np.ptp(there, axis=0).max()
        found[left[there_is]] = y[there_is]
        left = left[~there_is]
    return found


def _nearest(known: Array, places: Array) -> Array:
    """Indices of the TRIES known points nearest to each point, [point][nearest first]."""
    found, chunk = np.empty((len(places), TRIES), dtype=np.int64), max(1, CHUNK // len(known))
    for low in range(0, len(places), chunk):
        part = slice(low, low + chunk)
        # The constant |point|^2 of a squared distance is omitted, because it does not change the order.
        far = (known**2).sum(axis=1) - 2 * places[part] @ known.T
        some = np.argpartition(far, TRIES, axis=1)[:, :TRIES]
        order = np.take_along_axis(far, some, axis=1).argsort(axis=1)
        found[part] = np.take_along_axis(some, order, axis=1)
    return found


def _newton(mapped: Callable[[Array], Array], y: Array, x: Array, edges: Array) -> tuple[Array, Array]:
    """Solves mapped(y) = x by Newton's method from a guess y. Returns y and the remaining error."""
    step, y, going = 1e-6 * edges, y.copy(), np.arange(len(y))
    for _ in range(20):
        if not len(going):
            break
        now = y[going]
        within = np.clip(now, step, edges - step)  # clipped to the box, because a map may be undefined outside of it
        a, b, c = ((mapped(within + d) - mapped(within - d)) / (2 * d.sum()) for d in np.diag(step))
        off, bc = x[going] - mapped(now), np.cross(b, c)
        determinant = (a * bc).sum(axis=1)
        # Each Newton step solves a 3 x 3 linear system with the map's Jacobian by Cramer's rule.
        change = np.stack([(off * n).sum(axis=1) for n in (bc, np.cross(c, a), np.cross(a, b))], axis=1)
        change /= np.where(determinant == 0, 1, determinant)[:, None]
        y[going] = np.clip(now + np.clip(change, -0.25 * edges, 0.25 * edges), 0, edges)
        going = going[(np.abs(y[going] - now) > 1e-9 * edges).any(axis=1)]
    return y, np.abs(x - mapped(y)).max(axis=1, initial=0)


def _edges(count: int, stretch: float) -> Array:
    """Boundaries of elements along an axis of [0, 1], whose widths grow geometrically."""
    n = np.arange(count + 1)
    if stretch == 1 or count == 1:
        return n / count
    growth = math.log(stretch) / (count - 1)
    places: Array = np.expm1(growth * n) / np.expm1(growth * count)
    return places


def find(case: Any, places: Array) -> tuple[Array, Array]:
    """Elements that contain points [point][x y z], and the coordinates within them, [point][r s t] in [0, 1]; NaN if a
    point is in no element.
    """
    y = _before_the_sine_map(case, _before_the_formula(case, places) / np.array(case.sem.lengths))
    element, local, step = np.zeros(len(y), dtype=np.int64), np.empty_like(y), 1
    for d, (count, stretch) in enumerate(zip(case.grid.cells, case.sem.stretch, strict=True)):
        edges = _edges(count, stretch)
        at = np.clip(np.searchsorted(edges, y[:, d], side="right") - 1, 0, count - 1)
        local[:, d] = (y[:, d] - edges[at]) / (edges[at + 1] - edges[at])
        element += step * at
        step *= count
    return element, local


def _polynomials(order: int, at: Array) -> Array:
    """Values of the Lagrange polynomials of equidistant nodes in [0, 1], [point][node]."""
    nodes = np.linspace(0, 1, order + 1)
    others = [np.delete(nodes, m) for m in range(order + 1)]
    parts = [np.prod((at[:, None] - o) / (nodes[m] - o), axis=1) for m, o in enumerate(others)]
    return np.stack(parts, axis=1)


def values_at(case: Any, u: Array, places: Array) -> Array:
    """Interpolates u [element][t][s][r] from equidistant nodes to points [point][x y z]."""
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
    """A field of a file of elements at samples box[x, y, z], as [z][y][x], with components last if it has several."""
    n, elements = case.sem.order + 1, math.prod(case.grid.cells)
    begin = int(file[f"VTKHDF/Steps/PointDataOffsets/{name}"][step])
    u = np.asarray(file[f"VTKHDF/PointData/{name}"][begin : begin + elements * n**3])
    parts = u.reshape(elements, n, n, n, -1)
    x, y, z = (
        low + (np.arange(count)[part] + 0.5) * (high - low) / count
        for count, low, high, part in zip(case.samples, *bounds(case), box, strict=True)
    )
    grid = np.meshgrid(z, y, x, indexing="ij")
    places = np.stack([axis.ravel() for axis in reversed(grid)], axis=1)
    found = [values_at(case, parts[..., c], places).reshape(grid[0].shape) for c in range(parts.shape[-1])]
    return found[0] if u.ndim == 1 else np.stack(found, axis=-1)
