"""Longitudinal spectra and structure functions of a velocity [z][y][x][component]."""

import json
from collections.abc import Iterable, Sequence

import numpy as np

from slipstream.base.core import core

Array = np.ndarray


def _lines(velocity: Array, axis: int) -> Array:
    """The velocity component along an axis (0: x), as values on all grid lines along this axis, [line][cell]."""
    component = np.moveaxis(np.asarray(velocity)[..., axis], 2 - axis, -1)
    return component.reshape(-1, component.shape[-1]).astype(np.float64)


def longitudinal_spectrum(velocity: Array, axis: int = 0) -> Array:
    """Longitudinal spectrum E_aa(k) of the velocity component u_a along axis a, k = 0, 1, ... Its sum over k is
    <u_a^2> (Pope 2000, 6.5)."""
    lines = _lines(velocity, axis)
    n = lines.shape[1]
    found: Array = (abs(np.fft.rfft(lines, axis=1)) ** 2).mean(0) / n**2
    found[1 : (n + 1) // 2] *= 2  # the modes k and -k have the same energy
    return found


def structure_function(velocity: Array, order: int, axis: int = 0, places: Sequence[int] | None = None) -> Array:
    """Structure functions <(u_a(x + r e_a) - u_a(x))^order> for distances r = `places` cells along the axis; without
    `places`, from 0 to half the box. The third follows -4/5 of the dissipation times r in the inertial range
    (Kolmogorov 1941)."""
    lines = _lines(velocity, axis)
    apart = range(lines.shape[1] // 2 + 1) if places is None else places
    return np.array([((np.roll(lines, -r, axis=1) - lines) ** order).mean() for r in apart])


def distances(cells: int) -> list[int]:
    """Distances in cells of the structure functions in lines.csv: powers of two up to half the box."""
    return [1 << n for n in range(cells.bit_length() - 1) if 2 << n <= cells]


def columns(cells: int) -> list[str]:
    """Names of the columns of lines.csv after step and time."""
    return [f"E{k}" for k in range(cells // 2 + 1)] + [f"S{order}_{r}" for order in (2, 3) for r in distances(cells)]


def along_x(blocks: Iterable[tuple[int, Array]], cells: Sequence[int]) -> dict[str, float]:
    """E_11(k), and <(u(x + r) - u(x))^2> and ^3 for distances of r cells, from blocks with whole lines along x.
    Collective: sums run over all blocks in their order."""
    mine = {}
    for number, velocity in blocks:
        lines = np.asarray(velocity).shape[0] * np.asarray(velocity).shape[1]
        found = [*longitudinal_spectrum(velocity)]
        for order in (2, 3):
            found += [*structure_function(velocity, order, places=distances(cells[0]))]
        mine[number] = [float(value) * lines for value in found]
    everyone: dict[int, list[float]] = {}
    for text in core().Communicator.world().all_gather(json.dumps(mine)):
        everyone |= {int(number): values for number, values in json.loads(text).items()}
    total = np.sum([everyone[number] for number in sorted(everyone)], axis=0) / (cells[1] * cells[2])
    return dict(zip(columns(cells[0]), map(float, total), strict=True))
