"""The heat equation on a periodic box by a user-defined update: `[mpiexec -n 2] python stencil.py`."""

import numpy as np
import slipstream as slip


def heat(u):  # 0.1 is diffusivity x time step / cell^2
    around = u[1, 0, 0] + u[-1, 0, 0] + u[0, 1, 0] + u[0, -1, 0] + u[0, 0, 1] + u[0, 0, -1]
    return u[0, 0, 0] + 0.1 * (around - 6 * u[0, 0, 0])


grid = slip.Grid((48, 32, 32), periodic=(True, True, True))
with slip.Stencil(grid, heat, reach="faces") as flow:
    flow.fill(u=lambda x, y, z: np.sin(2 * np.pi * x / 48) + 0 * y + 0 * z).run(100)
    decay = (1 - 4 * 0.1 * np.sin(np.pi / 48) ** 2) ** 100
    for block, u in flow.blocks("u"):
        u = u.get() if hasattr(u, "get") else u  # copies a CuPy array from the GPU
        x = np.arange(block.lo[0], block.hi[0]) + 0.5
        assert abs(u - decay * np.sin(2 * np.pi * x / 48)).max() < 1e-12
    print(f"rank {grid.comm.rank}: after {flow.steps} steps the wave has {decay:.6f} of its height")
