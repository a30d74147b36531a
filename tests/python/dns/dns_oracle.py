"""Incompressible flow with passive scalars in a few lines of NumPy."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

CUBE = (2 * np.pi,) * 3
AXES = (1, 2, 3)


class Oracle:
    """A reference solution with one array, NumPy's transforms and textbook time schemes."""

    def __init__(
        self,
        velocity: Any,
        viscosity: float,
        *,
        rotation: Sequence[float] = (0, 0, 0),
        lengths: Sequence[float] = CUBE,
        scalars: Any = None,
        schmidt: Sequence[float] = (),
        gradients: Sequence[Sequence[float]] = (),
    ) -> None:
        """Sets the initial velocity, and `scalars` from an array [z][y][x][scalar]."""
        self.rotation = np.reshape(rotation, (3, 1, 1, 1))
        self.gradients = gradients
        self.cells = cells = velocity.shape[2::-1]
        self.lengths = lengths
        index = np.stack(np.meshgrid(*(np.fft.fftfreq(n, 1 / n) for n in cells[::-1]), indexing="ij")[::-1])
        self.k = index * (2 * np.pi / np.array(lengths)).reshape(3, 1, 1, 1)  # wave numbers along x, y, z
        self.square = (self.k**2).sum(0)
        self.kept = np.all([abs(k) * 3 < n for k, n in zip(index, cells, strict=True)], axis=0)
        values = velocity if scalars is None else np.concatenate([velocity, scalars], -1)
        self.modes = np.fft.fftn(np.moveaxis(values, -1, 0), axes=AXES)
        diffusivity = [viscosity] * 3 + [viscosity / number for number in schmidt]
        self.decay = np.reshape(diffusivity, (-1, 1, 1, 1)) * self.square

    def slope(self, modes: Any) -> Any:
        """Time derivative of the modes without viscosity and diffusion."""
        u = np.fft.ifftn(modes[:3], axes=AXES).real
        w = np.fft.ifftn(1j * np.cross(self.k, modes[:3], axis=0), axes=AXES).real
        n = np.fft.fftn(np.cross(u, w, axis=0), axes=AXES) * self.kept
        n = n - 2 * np.cross(self.rotation, modes[:3], axis=0)
        safe = np.where(self.square > 0, self.square, 1)
        found = [n - self.k * (self.k * n).sum(0) / safe]
        for theta, gradient in zip(modes[3:], self.gradients, strict=True):
            flux = np.fft.fftn(u * np.fft.ifftn(theta).real, axes=AXES)
            found.append(-(1j * self.k * flux + np.reshape(gradient, (3, 1, 1, 1)) * modes[:3]).sum(0)[None])
        return np.concatenate(found) * ((self.square > 0) & self.kept)

    def step(self, scheme: str, dt: float) -> None:
        e = np.exp(-self.decay * dt / 2)
        f: Callable[[Any], Any] = self.slope
        u = self.modes
        if scheme == "rk2":
            first = f(u)
            self.modes = e**2 * u + dt / 2 * (e**2 * first + f(e**2 * (u + dt * first)))
            return
        a = f(u)
        b = f(e * (u + dt / 2 * a))
        c = f(e * u + dt / 2 * b)
        d = f(e**2 * u + dt * e * c)
        self.modes = e**2 * u + dt / 6 * (e**2 * a + 2 * e * (b + c) + d)

    def values(self) -> Any:
        return np.moveaxis(np.fft.ifftn(self.modes, axes=AXES).real, 0, -1)

    def velocity(self) -> Any:
        return self.values()[..., :3]

    def scalars(self) -> Any:
        return self.values()[..., 3:]

    def speed(self) -> float:
        """Maximum over cells of the sum of |u_a| / dx_a, for the Courant number."""
        by_cells = np.array(self.cells) / np.array(self.lengths)
        return float((abs(self.velocity()) * by_cells).sum(-1).max())
