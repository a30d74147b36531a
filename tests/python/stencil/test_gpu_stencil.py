"""A user's update on GPUs by CuPy; skipped without a GPU."""

import numpy as np
import pytest
import slipstream as slip
import slipstream._core as core
from conftest import ROOT
from ranks import run_on
from test_stencil import heat

pytestmark = pytest.mark.skipif(not core.available("cuda"), reason="needs a GPU and a CUDA build")


@pytest.mark.parametrize("ranks", [1, 2])
def test_example_runs_on_gpus(ranks: int) -> None:
    pytest.importorskip("cupy", reason="needs cupy")
    run = run_on(ranks, ROOT / "examples" / "stencil.py")
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("of its height") == ranks


def test_steps_are_those_of_numpy() -> None:
    pytest.importorskip("cupy", reason="needs cupy")
    found = []
    for backend in ("host", "cuda"):
        grid = slip.Grid(
            (13, 9, 11), periodic=(True,) * 3, backend=backend, devices_per_rank=1, blocks_per_device=(2, 1, 1)
        )
        with slip.Stencil(grid, heat, reach="faces") as stencil:
            stencil.fill(u=lambda x, y, z: np.sin(x) + np.cos(2 * y) * z).run(7)
            found.append([part.get() if hasattr(part, "get") else part.copy() for _, part in stencil.blocks("u")])
    for host, gpu in zip(*found, strict=True):
        np.testing.assert_allclose(gpu, host, rtol=1e-12, atol=1e-12)
