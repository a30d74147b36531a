"""Poisson's equation in a periodic box of edges 2 pi: an inverse Laplacian between two transforms, in one call."""

import numpy as np
import slipstream as slip

grid = slip.Grid((24, 20, 16), backend="host")
plan = slip.fft.Plan(grid, "float64")
z = np.arange(plan.physical.local[0].lo[2], plan.physical.local[0].hi[2])[:, None, None]
f = np.cos(2 * np.pi * (3 * np.arange(24) / 24 + 2 * z / 16)) * np.ones(plan.physical.array_shape(0))
phi, work = np.empty_like(f), np.empty(plan.spectral.array_shape(0), complex)
plan.convolve(f, work, phi, laplacian=-1)
print(f"rank {grid.comm.rank}: {abs(phi + f / 13).max():.0e}\n", end="", flush=True)
assert np.allclose(phi, -f / 13)
