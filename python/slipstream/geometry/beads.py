"""Packings of equal spheres in a periodic box, regular and random."""

import math

import numpy as np

from slipstream.base.errors import ArgumentError, ErrorCode

#: Limit on the number of iterations that push overlapping spheres of a random packing apart.
ROUNDS = 4000


def solid_share(count: int, radius: float, cells: tuple[int, int, int]) -> float:
    """Volume fraction of `count` spheres of one radius in a box, if they do not overlap."""
    return count * 4.0 / 3.0 * math.pi * radius**3 / math.prod(cells)


def count_for(share: float, radius: float, cells: tuple[int, int, int]) -> int:
    """Number of spheres of one radius in a box whose volume fraction is nearest to `share`."""
    return max(1, round(share * math.prod(cells) * 3.0 / (4.0 * math.pi * radius**3)))


def pack(cells: tuple[int, int, int], radius: float, count: int, seed: int) -> np.ndarray:
    """Centres [n][3] of a random packing of spheres in a periodic box. They start at random places, and overlapping
    ones are pushed apart until none overlap. This succeeds up to a volume fraction of about 62 %. Equal arguments
    give equal results.

    Raises ValueError where they cannot be brought apart.
    """
    random = np.random.default_rng(seed)
    box = np.asarray(cells, dtype=float)
    centres: np.ndarray = random.random((count, 3)) * box
    if count == 1:
        return centres
    for _ in range(ROUNDS):
        apart, distance, first, second = _near(centres, box, 2.0 * radius)
        overlap = 2.0 * radius - distance
        # Spheres are moved slightly beyond contact, so that the last overlaps vanish, too.
        if len(first) == 0 or overlap.max() < 1e-3 * radius:
            return centres
        push = 0.5 * (overlap + 1e-3 * radius)[:, None] * apart / np.maximum(distance, 1e-9)[:, None]
        np.add.at(centres, first, push)
        np.add.at(centres, second, -push)
        centres %= box
    share = solid_share(count, radius, cells)
    raise ArgumentError(
        f"{count} beads of radius {radius:g} do not find room in {cells[0]} x {cells[1]} x {cells[2]} cells, of which "
        f"they would fill {100 * share:.0f} %: take fewer or smaller ones; about 62 % can be filled",
        ErrorCode.UNSUPPORTED,
        given=count,
        radius=radius,
        cells=cells,
        share=f"{100 * share:.0f} %",
    )


def _near(centres: np.ndarray, box: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of spheres' centres nearer than `reach`: vectors from the second to the first, their lengths, and both
    indices."""
    count = len(centres)
    first, second = np.triu_indices(count, 1)
    apart = centres[first] - centres[second]
    apart -= box * np.round(apart / box)
    distance = np.sqrt((apart**2).sum(axis=1))
    close = distance < reach
    return apart[close], distance[close], first[close], second[close]


def mask(cells: tuple[int, int, int], centres: np.ndarray, radius: float) -> np.ndarray:
    """Marks cells [z][y][x] of a periodic box whose centre lies inside one of the spheres."""
    solid = np.zeros(tuple(reversed(cells)), dtype=bool)
    for centre in centres:
        near = [np.arange(math.floor(c - radius), math.ceil(c + radius) + 1) for c in centre]
        x, y, z = ((axis + 0.5 - c) ** 2 for axis, c in zip(near, centre, strict=True))
        inside = z[:, None, None] + y[None, :, None] + x[None, None, :] < radius**2
        wrapped = [axis % n for axis, n in zip(near, cells, strict=True)]
        part = np.ix_(wrapped[2], wrapped[1], wrapped[0])
        solid[part] |= inside
    return solid


def with_images(cells: tuple[int, int, int], centres: np.ndarray, reach: float) -> np.ndarray:
    """Centres of all spheres, and their periodic images that lie within `reach` of the box."""
    box = np.asarray(cells, dtype=float)
    steps = np.stack(np.meshgrid(*[(-1.0, 0.0, 1.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    images = (centres[None] + steps * box).reshape(-1, 3)
    near: np.ndarray = images[np.all((images > -reach) & (images < box + reach), axis=1)]
    return near
