"""Sums over points that elements share. In a ring of elements, one a rank, the last point is the next one's first."""

import numpy as np
import slipstream as slip

grid = slip.Grid((8, 8, 8), backend="host")  # a grid, whose devices do the gather-scatter
rank, size = grid.comm.rank, grid.comm.size
ids = np.asarray([2 * rank + 1, 2 * rank + 2, 2 * ((rank + 1) % size) + 1])  # global numbers of points, from 1
u = np.ones(3)
slip.GatherScatter(grid, ids, block=3).run(u)  # each point gets the sum of all its copies
print(f"rank {rank}: {u}\n", end="", flush=True)
assert u.tolist() == [2, 1, 2]
