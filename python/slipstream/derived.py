"""What follows from the velocity of a frame: its gradient, vorticity and the Q criterion, walls included.

Cells are centred at (i + 1/2) h and sides lie at 0 and n h, half a cell outside the outermost centres. Arrays are given
a layer of values on the sides, so that differences next to a wall reach to the wall: they are those of the parabola
through three points at unequal distances, of second order.
"""

from collections.abc import Sequence

import numpy as np

from slipstream.case import Case

Array = np.ndarray


def side_velocity(case: Case, side: str) -> Array | None:
    """Of the fluid at a wall, in the file's units; None where the side is no wall."""
    if case.grid.periodic["xyz".index(side[0])]:
        return None
    speed = case.physics.lid_speed if case.si else 1.0
    return np.asarray(case.walls.velocity(side)) * speed


def coordinates(cells: int, spacing: float) -> Array:
    """Of the lower side, the cell centres and the upper side."""
    return np.concatenate([[0.0], (np.arange(cells) + 0.5) * spacing, [cells * spacing]])


def with_sides(values: Array, axes: Sequence[int], periodic: Sequence[bool]) -> Array:
    """Adds a layer at either end of each axis of the array: the mean across a periodic end, else the nearest value."""
    for axis, closed in zip(axes, periodic, strict=True):
        first, last = np.take(values, [0], axis), np.take(values, [-1], axis)
        if closed:
            first = last = 0.5 * (first + last)
        values = np.concatenate([first, values, last], axis)
    return values


def velocity_with_sides(case: Case, velocity: Array, axes: str = "xyz") -> Array:
    """Adds the velocity at the sides of the box along the named axes; the array is [axes in reverse][component].

    Where a resting and a moving wall meet, the edge rests, as it does for the solver.
    """
    periodic = [case.grid.periodic["xyz".index(axis)] for axis in axes]
    places = [len(axes) - 1 - n for n in range(len(axes))]
    result = with_sides(velocity, places, periodic)
    sides = [(place, axis + sign) for place, axis in zip(places, axes, strict=True) for sign in "-+"]
    walls = [(place, side, side_velocity(case, side)) for place, side in sides]
    known = [(place, side, value) for place, side, value in walls if value is not None]
    for place, side, value in sorted(known, key=lambda wall: not wall[2].any()):
        index: list[slice | int] = [slice(None)] * result.ndim
        index[place] = 0 if side[1] == "-" else -1
        result[tuple(index)] = value[: result.shape[-1]]
    return result


def _inner(values: Array, axes: int) -> Array:
    return values[(slice(1, -1),) * axes]


def derivative(padded: Array, place: int, at: Array) -> Array:
    """Of an array with sides, along one of its axes."""
    return np.gradient(padded, at, axis=place)


def plane_vorticity(case: Case, velocity: Array, axes: str) -> Array:
    """The vorticity normal to a plane from velocity [second axis][first axis][component], axes "xy", "xz" or "yz"."""
    first, second = ("xyz".index(axis) for axis in axes)
    padded = velocity_with_sides(case, velocity, axes)
    x, y = (coordinates(case.grid.cells[axis], case.spacing) for axis in (first, second))
    turn = derivative(padded[..., second], 1, x) - derivative(padded[..., first], 0, y)
    # x to z turns against the right hand about y.
    return (-1.0 if axes == "xz" else 1.0) * _inner(turn, 2)


def q_criterion(case: Case, velocity: Array) -> Array:
    """Q = (|rotation|^2 - |strain|^2) / 2 = -(du_i/dx_j)(du_j/dx_i) / 2 of an incompressible flow, from velocity
    [z][y][x][3]; positive where rotation outweighs strain (Hunt, Wray & Moin 1988)."""
    padded = velocity_with_sides(case, velocity)
    at = [coordinates(cells, case.spacing) for cells in case.grid.cells]

    def part(i: int, j: int) -> Array:
        return _inner(derivative(padded[..., i], 2 - j, at[j]), 3)

    q = sum(-0.5 * part(i, i) ** 2 for i in range(3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        q = q - part(i, j) * part(j, i)
    return np.asarray(q)
