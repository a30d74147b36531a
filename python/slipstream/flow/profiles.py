"""Centreline profiles, their extrema, and their distance from published ones.

Cells are centred at (i + 1/2) / N and walls lie half-way, at 0 and 1. A centreline is sampled by Lagrange polynomials
through four points: transversely between cell centres, along the line between centres and walls. In solids the velocity
is nan, and so it is between a solid point and the next one.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.base import rows
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.files import write_text
from slipstream.case.flow_case import FlowCase
from slipstream.flow import derived
from slipstream.flow import reference as references
from slipstream.flow.reference import Reference

Array = np.ndarray
Box = tuple[tuple[int, int, int], tuple[int, int, int]]


def lagrange_weights(nodes: Array, at: float) -> Array:
    """Weights of values at `nodes` in the Lagrange polynomial through them, evaluated at one position."""
    weights = np.ones(len(nodes))
    for i, node in enumerate(nodes):
        others = np.delete(nodes, i)
        weights[i] = np.prod((at - others) / (node - others))
    return weights


def _window(nodes: Array, at: float) -> slice:
    """Range of the four nodes nearest to a position, two on each side if possible; cubic interpolation uses them."""
    first = int(np.searchsorted(nodes, at)) - 2
    first = max(0, min(first, len(nodes) - 4))
    return slice(first, min(first + 4, len(nodes)))


def interpolate(nodes: Array, values: Array, at: Array) -> Array:
    """Cubic interpolant of values at sorted nodes (two at least), separately for each interval of fluid."""
    result = np.full(len(at), np.nan)
    for stretch in _stretches(values):
        inner, known = nodes[stretch], values[stretch]
        for i in np.flatnonzero((at >= inner[0]) & (at <= inner[-1])):
            window = _window(inner, at[i])
            result[i] = lagrange_weights(inner[window], at[i]) @ known[window]
    return result


def _stretches(values: Array) -> list[slice]:
    """Ranges of consecutive points in the fluid, between solid points."""
    ends = np.flatnonzero(np.diff(np.isfinite(values).astype(int), prepend=0, append=0))
    return [slice(first, last) for first, last in zip(ends[::2], ends[1::2], strict=True)]


def extremum(nodes: Array, values: Array, sign: int) -> tuple[float, float] | None:
    """Largest (sign 1) or smallest (-1) value of the cubic interpolant, and its position; None where all points are
    solid.
    """
    found = [_extremum(nodes[stretch], values[stretch], sign) for stretch in _stretches(values)]
    return max(found, key=lambda entry: sign * entry[0], default=None)


def _extremum(nodes: Array, values: Array, sign: int) -> tuple[float, float]:
    best_value, best_place = max((sign * v, x) for v, x in zip(values, nodes, strict=True))
    for low, high in pairwise(nodes):
        window = _window(nodes, (low + high) / 2)
        centre, width = (low + high) / 2, (high - low) / 2
        scaled = (nodes[window] - centre) / width
        cubic = np.polynomial.Polynomial(np.linalg.solve(np.vander(scaled, increasing=True), values[window]))
        for root in cubic.deriv().roots():
            if abs(root.imag) < 1e-12 and abs(root.real) <= 1:
                value = sign * cubic(root.real)
                if value > best_value:
                    best_value, best_place = value, centre + width * root.real
    return sign * float(best_value), float(best_place)


def middle(cells: int) -> tuple[int, int, Array]:
    """First cell around the middle of an axis, one past the last, and their interpolation weights: one cell, or up to
    four."""
    if cells % 2 == 1 or cells < 2:
        return cells // 2, cells // 2 + 1, np.ones(1)
    half = min(2, cells // 2)
    low, high = cells // 2 - half, cells // 2 + half
    return low, high, lagrange_weights((np.arange(low, high) + 0.5) / cells, 0.5)


@dataclass(frozen=True)
class Profile:
    """Velocity along a centreline, walls included, in units of the reference velocity."""

    axis: str  #: axis of the line, x or y
    place: Array  #: position along the axis, as a share 0 to 1 of the box's edge
    velocity: Array  #: velocity as [point][component], nan where the point is solid


def _profile(engine: Any, case: FlowCase, axis: int) -> Profile | None:
    cells = case.grid.cells
    low, high, weights = [0, 0, 0], [1, 1, 1], [np.ones(1)] * 3
    for a in range(3):
        if a == axis:
            low[a], high[a] = 0, cells[a]
        else:
            low[a], high[a], weights[a] = middle(cells[a])
    box, flags = (engine.gather(name, tuple(low), tuple(high)) for name in ("velocity", "flags"))
    if box is None or flags is None:
        return None
    box = np.asarray(box, dtype=np.float64) / case.scales.reference_velocity
    solid = np.asarray(flags).reshape(box.shape[:3]) != 0
    for a in range(3):
        if a != axis:
            box, solid = (np.expand_dims(part, 2 - a) for part in _half_way(box, solid, weights[a], 2 - a))
    line = box.reshape(cells[axis], box.shape[-1])
    line = np.pad(line, ((0, 0), (0, 3 - line.shape[1])))
    line[solid.ravel()] = np.nan
    return Profile("xyz"[axis], *_with_ends(case, axis, line))


def _half_way(values: Array, solid: Array, weights: Array, axis: int) -> tuple[Array, Array]:
    """Interpolates layers of cells to the middle of an axis of the arrays. Returns the mean of the fluid, and the mask
    of solids."""
    if solid.any() and len(weights) > 2:
        # Cubic interpolation over four layers would cross walls here, so two layers are averaged.
        values, solid, weights = values.take([1, 2], axis), solid.take([1, 2], axis), np.full(2, 0.5)
    return derived.across_layers(values, solid, weights, axis)


def _with_ends(case: FlowCase, axis: int, line: Array) -> tuple[Array, Array]:
    """Adds the end points 0 and 1 to a profile: walls, or the neighbours across a periodic side."""
    count = len(line)
    centres = (np.arange(count) + 0.5) / count
    if case.grid.periodic[axis]:
        # Indices may wrap more than once on an axis of one or two cells.
        wrapped = np.take(line, np.arange(-2, 2), axis=0, mode="wrap")
        if not np.isfinite(wrapped).all():
            wrapped[:] = wrapped[1:3].mean(axis=0)
        first = last = lagrange_weights((np.arange(-2, 2) + 0.5) / count, 0.0) @ wrapped
    else:
        first, last = (np.array(case.wall_velocity(f"{'xyz'[axis]}{sign}")) for sign in "-+")
        # At an open side the velocity is known half a cell away only, so the nearest value is used.
        open_sides = {side for side, _ in case.boundaries.given()}
        first = line[0] if f"{'xyz'[axis]}-" in open_sides else first
        last = line[-1] if f"{'xyz'[axis]}+" in open_sides else last
    return np.concatenate([[0.0], centres, [1.0]]), np.vstack([first, line, last])


def profiles(engine: Any, case: FlowCase) -> tuple[Profile, Profile] | None:
    """Profiles of the velocity along the centre lines x = z = 1/2 and y = z = 1/2 of the unit box, in units of the
    reference velocity. They are interpolated from fluid cells only, and NaN in solids. Returns None except on rank 0.
    Collective."""
    vertical, horizontal = _profile(engine, case, 1), _profile(engine, case, 0)
    return None if vertical is None or horizontal is None else (vertical, horizontal)


def _mid_layers(engine: Any, name: str, case: FlowCase, axis: int, only: int | None = None) -> Array | None:
    """Middle layers of a field along an axis, or the layer `only`, as [z][y][x][component] on rank 0. Collective."""
    low, high = [0, 0, 0], [*case.grid.cells]
    low[axis], high[axis] = middle(high[axis])[:2] if only is None else (only, only + 1)
    found = engine.gather(name, tuple(low), tuple(high))
    return None if found is None else np.asarray(found).reshape(*np.subtract(high, low)[::-1], -1)


def shown_plane(engine: Any, case: FlowCase) -> str:
    """The plane that pictures show: the first mid-plane of `z`, `y` and `x` that cuts a body. If there is none, the
    plane is the layer of cells that contains most of the bodies, such as `z=12`. Collective."""
    if not case.bodies:
        return "z"
    planes = {axis: mid_plane(engine, case, axis) for axis in "zyx"}
    cut = [axis for axis, plane in planes.items() if plane is not None and np.ma.getmaskarray(plane).any()]
    found: str = core().broadcast("".join(cut[:1]), 0)
    if found:
        return found
    flags = engine.gather("flags", (0, 0, 0), case.grid.cells)
    solid = np.zeros(1) if flags is None else (np.asarray(flags) != 0).reshape(case.grid.cells[2], -1).sum(axis=1)
    found = core().broadcast(f"z={int(solid.argmax())}" if solid.any() else "z", 0)
    return found


def mid_plane(engine: Any, case: FlowCase, where: str = "z") -> Array | None:
    """Velocity in the plane at 1/2 of an axis, or in a layer of cells as `shown_plane` names it. On rank 0 it is
    [up][across][component] in units of the reference velocity, masked in solid cells. Collective."""
    normal, _, layer = where.partition("=")
    axis, only = "xyz".index(normal), int(layer) if layer else None
    slab, flags = (_mid_layers(engine, name, case, axis, only) for name in ("velocity", "flags"))
    if slab is None or flags is None:
        return None
    weights = np.ones(1) if layer else middle(case.grid.cells[axis])[2]
    plane, wall = _half_way(slab.astype(np.float64), flags[..., 0] != 0, weights, 2 - axis)
    return np.ma.masked_array(plane / case.scales.reference_velocity, np.broadcast_to(wall[..., None], plane.shape))


def spanwise(engine: Any, case: FlowCase) -> float | None:
    """Largest |w| of the mean of the two middle planes, for the fluid only, on rank 0. It is in units of the reference
    velocity, 0 by symmetry, and nan without fluid. Collective."""
    nx, ny, nz = case.grid.cells
    low, high = (nz - 1) // 2, nz // 2 + 1
    slab, flags = (engine.gather(name, (0, 0, low), (nx, ny, high)) for name in ("velocity", "flags"))
    if slab is None or flags is None:
        return None
    if slab.shape[-1] < 3:
        return 0.0
    solid = np.asarray(flags).reshape(slab.shape[:3]) != 0
    mean, _ = derived.across_layers(np.asarray(slab)[..., 2], solid, np.ones(high - low), 0)
    fluid = np.abs(mean[~solid.all(axis=0)])
    return float(fluid.max() / case.scales.reference_velocity) if fluid.size else np.nan


def reference_for(case: FlowCase) -> Reference | None:
    """Published velocities of a cavity that the case asks for. Raises CaseError if the named table belongs to another
    cavity."""
    wanted = case.output.reference
    if wanted in ("none", "taylor_green1600"):
        return None
    dimension = 2 if case.dimensions < 3 else 3
    sides = case.grid.cells[:dimension]
    moving = {side: case.wall_velocity(side) for side, wall in case.walls.given() if any(wall.velocity)}
    cavity = len(set(sides)) == 1 and moving == {"y+": (1.0, 0.0, 0.0)} and not any(case.grid.periodic[:dimension])
    cavity = cavity and not any(case.physics.force) and not case.bodies and not [*case.boundaries.given()]
    if wanted == "auto":
        return references.best(dimension, case.scales.reynolds) if cavity else None
    if not cavity or references.dimensions(wanted) != dimension:
        raise CaseError(
            f"output.reference: '{wanted}' is a {references.dimensions(wanted)}-D cavity with equal sides whose lid y+ "
            'moves along +x; this case is another one; take "auto" or "none"',
            ErrorCode.UNSUPPORTED,
            key="output.reference",
            given=wanted,
            allowed="auto, none",
        )
    return references.load(wanted, case.scales.reynolds)


@dataclass(frozen=True)
class Point:
    """A published point of a velocity profile, with the computed value."""

    line: str
    place: float
    reference: float
    computed: float

    @property
    def error_percent(self) -> float:
        """Difference of computed and published velocity, in percent of the reference velocity."""
        return 100.0 * (self.computed - self.reference)


@dataclass(frozen=True)
class ExtremumPoint:
    """An extremum of a velocity profile; its reference is None where no published one is known here."""

    name: str
    value: float
    place: float
    reference: float | None = None
    reference_place: float | None = None

    @property
    def error_percent(self) -> float | None:
        """Difference of computed and published extremum, in percent of the published one."""
        return None if self.reference is None else 100.0 * (self.value / self.reference - 1.0)


@dataclass(frozen=True)
class Comparison:
    """Comparison of velocity profiles with published values, point by point."""

    reference: Reference | None
    points: tuple[Point, ...]
    extrema: tuple[ExtremumPoint, ...]

    @property
    def largest_percent(self) -> float | None:
        """Largest error of all points of the profiles, in percent of the reference velocity."""
        return max((abs(point.error_percent) for point in self.points), default=None)

    def as_dict(self) -> dict[str, Any]:
        reference = self.reference
        return {
            "reference": reference and {key: getattr(reference, key) for key in ("name", "title", "citation")},
            "largest_error_percent_of_lid_speed": self.largest_percent,
            "points": [asdict(point) | {"error_percent": point.error_percent} for point in self.points],
            "extrema": [asdict(entry) | {"error_percent": entry.error_percent} for entry in self.extrema],
        }


def compare(lines: Sequence[Profile], reference: Reference | None) -> Comparison:
    """Compares velocity profiles with a reference. `lines`: the vertical and the horizontal profile."""
    vertical, horizontal = lines
    columns = {
        "u_of_y": (vertical.place, vertical.velocity[:, 0]),
        "v_of_x": (horizontal.place, horizontal.velocity[:, 1]),
    }
    points = []
    for known_line in reference.lines if reference else ():
        place, value = known_line.place, known_line.value
        computed = interpolate(*columns[known_line.name], place)
        points += [Point(known_line.name, *map(float, row)) for row in zip(place, value, computed, strict=True)]
    published = {entry.name: entry for entry in reference.extrema} if reference else {}
    extrema = []
    for name, line, sign in (("u_min", "u_of_y", -1), ("v_min", "v_of_x", -1), ("v_max", "v_of_x", 1)):
        known = published.get(name)
        if found := extremum(*columns[line], sign):
            extrema.append(
                ExtremumPoint(name, *found, known.value, known.place) if known else ExtremumPoint(name, *found)
            )
    return Comparison(reference, tuple(points), tuple(extrema))


def write_profiles(path: Path, lines: Sequence[Profile], case: FlowCase) -> None:
    """Writes both velocity profiles as CSV, relative to the box side and the reference velocity, or in m and m/s for
    SI."""
    converter = case.converter
    speed = case.physics.reference_velocity if converter else 1.0
    header = ["axis", "place", "u", "v", "w"]
    if converter:
        header = ["axis", "place_m", "u_m_per_s", "v_m_per_s", "w_m_per_s"]
    table = []
    for line in lines:
        side = case.grid.cells["xyz".index(line.axis)] * converter.length if converter else 1.0
        for place, velocity in zip(line.place, line.velocity, strict=True):
            table.append([line.axis, f"{place * side:.9g}", *(f"{component * speed:.9g}" for component in velocity)])
    rows.replace(path, header, table)


def read_profiles(path: Path, case: FlowCase) -> tuple[Profile, Profile]:
    """Reads velocity profiles that write_profiles() wrote, vertical and horizontal, in units of the reference
    velocity."""
    speed = case.physics.reference_velocity if case.converter else 1.0
    assert speed is not None
    found: dict[str, list[list[float]]] = {"y": [], "x": []}
    try:
        for axis, *numbers in rows.read(path)[1]:
            found[axis].append([float(number) for number in numbers])
        vertical, horizontal = (_profile_of(axis, np.array(numbers), speed) for axis, numbers in found.items())
    except (OSError, KeyError, ValueError, IndexError) as error:
        raise CaseError(
            f"{path}: is not a file of profiles, or is damaged: {error}", ErrorCode.BAD_FILE, file=path
        ) from None
    return vertical, horizontal


def _profile_of(axis: str, table: Array, speed: float) -> Profile:
    # The last point is the side of the box, so dividing by its coordinate removes the unit.
    return Profile(axis, table[:, 0] / table[-1, 0], table[:, 1:] / speed)


def write_json(path: Path, comparison: Comparison, run: dict[str, Any]) -> None:
    """Writes the comparison with published profiles and the results of the run as JSON."""
    write_text(path, json.dumps({"run": run, **comparison.as_dict()}, indent=2) + "\n")
