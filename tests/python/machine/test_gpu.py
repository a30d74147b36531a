"""Behaviour that needs a GPU; skipped with a message elsewhere."""

import numpy as np
import pytest
import slipstream as slip
import slipstream._core as core

pytestmark = pytest.mark.skipif(not core.available("cuda"), reason="needs a GPU and a CUDA build")


def flow(**options: object) -> slip.lbm.Simulation:
    return slip.lbm.Simulation(
        (24, 20, 16), reynolds=50, reference_velocity=0.1, backend="cuda", devices_per_rank=1, **options
    )


def test_blocks_on_the_gpu_are_dlpack_arrays_without_a_copy() -> None:
    cupy = pytest.importorskip("cupy", reason="needs cupy to read arrays where they lie")
    run = flow()
    run.run(steps=60, quiet=True)
    ((block, array),) = run.arrays("velocity")
    there = cupy.from_dlpack(array)
    assert there.shape == (16, 20, 24, 3)
    assert block["lo"] == (0, 0, 0)
    whole = run.velocity
    assert whole is not None
    np.testing.assert_array_equal(cupy.asnumpy(there), whole)
    assert abs(whole).max() > 0.01


def test_cavity_on_the_gpu_agrees_with_the_host() -> None:
    host = slip.lbm.Simulation((24, 20, 16), reynolds=50, reference_velocity=0.1, backend="host", precision="f64")
    there = flow(precision="f64")
    for run in (host, there):
        run.run(steps=100, quiet=True)
    np.testing.assert_allclose(there.velocity, host.velocity, rtol=0, atol=1e-12 * 0.1)
