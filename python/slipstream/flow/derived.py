"""Quantities derived from a velocity field: gradient, vorticity and Q criterion, including walls and bodies.

Cells are centred at (i + 1/2) h. Walls lie at the sides of the box and half-way between fluid and solid cells, half a
cell from a centre. Next to a wall a derivative is that of the parabola through the wall, the cell and its other
neighbour.
"""

from collections.abc import Sequence

import numpy as np

from slipstream.case.case import Case
from slipstream.case.sides import SIDES

Array = np.ndarray


def coordinates(cells: int, spacing: float) -> Array:
    """Coordinates along an axis: the lower side, the cell centres and the upper side."""
    return np.concatenate([[0.0], (np.arange(cells) + 0.5) * spacing, [cells * spacing]])


def across_layers(values: Array, solid: Array, weights: Array, axis: int) -> tuple[Array, Array]:
    """The weighted mean of layers of cells [z][y][x], or [z][y][x][component], along an axis of the arrays. Solid cells
    do not count, as their values are no data. Also returns the mask of solid results. They have at least half of the
    weight in solid cells, because a wall is half-way between solid and fluid cells."""
    shares = weights.reshape([-1 if place == axis else 1 for place in range(3)]) * ~solid
    fluid = shares.sum(axis=axis)
    part = shares[..., None] if values.ndim > 3 else shares
    total = np.where(fluid > 0, fluid, 1.0)
    mean = (values.astype(np.float64) * part).sum(axis=axis)
    return mean / (total[..., None] if values.ndim > 3 else total), fluid < 0.5 + 1e-9


def with_sides(values: Array, axes: Sequence[int], periodic: Sequence[bool]) -> Array:
    """Adds a layer at both ends of each axis of the array. Its values are the mean of both ends if the axis is
    periodic, otherwise the nearest value."""
    for axis, closed in zip(axes, periodic, strict=True):
        first, last = np.take(values, [0], axis), np.take(values, [-1], axis)
        if closed:
            first = last = 0.5 * (first + last)
        values = np.concatenate([first, values, last], axis)
    return values


def velocity_with_sides(case: Case, velocity: Array) -> Array:
    """Adds the velocity [z][y][x][component] at the sides of the box. Where a resting and a moving wall meet, the edge
    rests, as in the solver.
    """
    result = with_sides(velocity, (2, 1, 0), case.grid.periodic)
    walls = [(2 - n // 2, side, case.side_velocity(side)) for n, side in enumerate(SIDES)]
    known = [(place, side, value) for place, side, value in walls if value is not None]
    for place, side, value in sorted(known, key=lambda wall: not wall[2].any()):
        index: list[slice | int] = [slice(None)] * result.ndim
        index[place] = 0 if side[1] == "-" else -1
        result[tuple(index)] = value[: result.shape[-1]]
    return result


def derivative(case: Case, values: Array, component: int, axis: int, place: int, solid: Array) -> Array:
    """Second-order derivative of a velocity component along an axis of space, which is the axis `place` of the arrays.

    With the distances a and b to the neighbours f- and f+ it is (a^2 (f+ - f) + b^2 (f - f-)) / (a b (a + b)).
    """
    below, a = _neighbour(case, values, component, axis, place, solid, "-")
    above, b = _neighbour(case, values, component, axis, place, solid, "+")
    found: Array = (a * a * (above - values) + b * b * (values - below)) / (a * b * (a + b))
    return found


def _neighbour(
    case: Case, values: Array, component: int, axis: int, place: int, solid: Array, sign: str
) -> tuple[Array, Array]:
    """Values of a field on one side of each cell, at the neighbour or at a wall between them, and the distances to
    them."""
    h, step = case.spacing, 1 if sign == "-" else -1
    wall = np.roll(solid, step, place)
    near = np.where(wall, 0.0, np.roll(values, step, place))
    distance = np.where(wall, 0.5 * h, h)
    if not case.grid.periodic[axis]:
        end: list[slice | int] = [slice(None)] * values.ndim
        end[place] = 0 if sign == "-" else -1
        side = case.side_velocity("xyz"[axis] + sign)
        # Beyond a side that is no wall no values are known, so they are extrapolated linearly from two cells.
        near[tuple(end)] = side[component] if side is not None else _continued(values, place, step)
        distance[tuple(end)] = 0.5 * h
    return near, distance


def _continued(values: Array, place: int, step: int) -> Array:
    """Linear extrapolation of values to half a cell beyond the first (step 1) or last cell of an axis."""
    count = values.shape[place]
    last, before = (0, min(1, count - 1)) if step == 1 else (count - 1, max(count - 2, 0))
    found: Array = 1.5 * np.take(values, last, place) - 0.5 * np.take(values, before, place)
    return found


def plane_vorticity(case: Case, velocity: Array, solid: Array, axes: str) -> Array:
    """The vorticity normal to a plane from velocity [second axis][first axis][component], axes "xy", "xz" or "yz"."""
    first, second = ("xyz".index(axis) for axis in axes)
    turn: Array = derivative(case, velocity[..., second], second, first, 1, solid)
    turn = turn - derivative(case, velocity[..., first], first, second, 0, solid)
    # The sign is reversed, because the rotation from x to z is negative about y.
    return -turn if axes == "xz" else turn


def q_criterion(case: Case, velocity: Array, solid: Array) -> Array:
    """Q = (|rotation|^2 - |strain|^2) / 2 = -(du_i/dx_j)(du_j/dx_i) / 2 of an incompressible flow, from velocity
    [z][y][x][3]; positive where rotation outweighs strain (Hunt, Wray & Moin 1988). 0 in solid cells."""

    def part(i: int, j: int) -> Array:
        return derivative(case, velocity[..., i], i, j, 2 - j, solid)

    q = sum(-0.5 * part(i, i) ** 2 for i in range(3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        q = q - part(i, j) * part(j, i)
    return np.where(solid, 0.0, q)
