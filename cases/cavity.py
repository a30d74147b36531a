"""A lid-driven cavity in a dozen lines, without a case file."""

import numpy as np
import slipstream as slip

cavity = slip.lbm.Simulation(cells=(64, 64, 64), reynolds=1000, reference_velocity=0.1)  # the lid y+ moves along +x
cavity.run(until=10)  # the end time, in units of height / lid speed

# All ranks call this. Rank 0 gets a gathered NumPy array [z][y][x][component]; cavity.arrays() gives the local blocks.
u, found = cavity.velocity, cavity.compare()
if u is not None and found is not None:
    print("fastest cell:", np.linalg.norm(u, axis=-1).max(), "cells a step")
    print("largest distance from Albensoeder & Kuhlmann:", found.largest_percent, "% of the lid speed")
