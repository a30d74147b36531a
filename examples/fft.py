"""The Laplacian of a wave by Fourier transforms over all devices, each with its part of a 24 x 20 x 16 box."""

import numpy as np
import slipstream as slip

grid = slip.Grid((24, 20, 16), backend="host")
plan = slip.fft.Plan(grid, "float64")
u = np.empty(plan.physical.array_shape(0))  # values of this rank's slab [z, y, x]
v = np.empty(plan.spectral.array_shape(0), complex)  # values of the modes [y, x, z]
z = np.arange(plan.physical.local[0].lo[2], plan.physical.local[0].hi[2])[:, None, None]
u[:] = np.cos(2 * np.pi * (3 * np.arange(24) / 24 + 2 * z / 16))
plan.forward(u, v)
kx, ky, kz = plan.modes()
v *= -(kx**2 + ky**2 + kz**2)
w = np.empty_like(u)
plan.backward(v, w)
print(f"rank {grid.comm.rank}: {abs(w + 13 * u).max():.0e}\n", end="", flush=True)
assert np.allclose(w, -13 * u)
