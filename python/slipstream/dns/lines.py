"""Along lines of the box: longitudinal spectra and structure functions, of a velocity [z][y][x][component]."""

from collections.abc import Sequence

import numpy as np

Array = np.ndarray


def _lines(velocity: Array, axis: int) -> Array:
    """The component along an axis (0: x), [line][place]."""
    component = np.moveaxis(np.asarray(velocity)[..., axis], 2 - axis, -1)
    return component.reshape(-1, component.shape[-1]).astype(np.float64)


def longitudinal_spectrum(velocity: Array, axis: int = 0) -> Array:
    """E_aa(k) of the component along an axis, k = 0, 1, ...: the sum over k is <u_a^2> (Pope 2000, 6.5)."""
    lines = _lines(velocity, axis)
    n = lines.shape[1]
    found: Array = (abs(np.fft.rfft(lines, axis=1)) ** 2).mean(0) / n**2
    found[1 : (n + 1) // 2] *= 2  # with the mode of -k
    return found


def structure_function(velocity: Array, order: int, axis: int = 0, places: Sequence[int] | None = None) -> Array:
    """<(u_a(x + r e_a) - u_a(x))^order> for r of so many cells along the axis; without `places`, of 0 to half the box.
    The third follows -4/5 of the dissipation times r in the inertial range (Kolmogorov 1941)."""
    lines = _lines(velocity, axis)
    apart = range(lines.shape[1] // 2 + 1) if places is None else places
    return np.array([((np.roll(lines, -r, axis=1) - lines) ** order).mean() for r in apart])
