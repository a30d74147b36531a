"""Slabs along z become slabs along x, with x and z swapped. Each rank then holds whole lines along z, contiguous."""

import numpy as np
import slipstream as slip

slabs = slip.Grid((16, 8, 24), backend="host")
rank, size = slabs.comm.rank, slabs.comm.size
slabs = slip.Grid((16, 8, 24), backend="host", device_grid=(1, 1, size))
turned = slip.Grid((24, 8, 16), backend="host", device_grid=(1, 1, size))
(_, _, first), (_, _, behind) = slabs.local[0].lo, slabs.local[0].hi
# values of this rank's slab [z, y, x]
u = np.broadcast_to(np.arange(first, behind)[:, None, None] + 1j, (behind - first, 8, 16)).copy()
v = np.empty(turned.array_shape(0), complex)
slip.Transpose(slabs, turned, u, v, axes=(2, 1, 0)).run()
print(f"rank {rank}: {v[0, 0, :4]} ...\n", end="", flush=True)
assert (v == np.arange(24) + 1j).all()
