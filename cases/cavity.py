"""A lid-driven cavity in a dozen lines, without a case file."""

import numpy as np
import slipstream as slip

cavity = slip.lbm.Simulation(cells=(64, 64, 64), reynolds=1000, lid_speed=0.1)  # the lid y+ moves along +x
cavity.run(until=10)  # in height / lid speed

u = cavity.velocity  # NumPy [z][y][x][component], gathered; cavity.arrays() are the blocks where they lie
if u is not None:  # rank 0
    print("fastest cell:", np.linalg.norm(u, axis=-1).max(), "cells a step")
    print("largest distance from Albensoeder & Kuhlmann:", cavity.compare().largest_percent, "% of the lid speed")
