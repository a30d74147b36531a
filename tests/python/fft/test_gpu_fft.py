"""Transforms of CuPy arrays on their stream; skipped without a GPU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
import slipstream._core as core
from errors import raises
from ranks import run_on
from test_fft import CELLS, spectrum, values

pytestmark = pytest.mark.skipif(not core.available("cuda"), reason="needs a GPU and a CUDA build")


def one_gpu(dtype: str, **how: Any) -> slip.fft.Plan:
    return slip.fft.Plan(slip.Grid(CELLS, backend="cuda", devices_per_rank=1), dtype, **how)


def exact(dtype: str) -> float:
    return 1e-12 if dtype in ("float64", "complex128") else 1e-4


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "float64"])
@pytest.mark.parametrize("transposed", [True, False])
def test_transforms_of_gpu_arrays_are_those_of_numpy(dtype: str, transposed: bool) -> None:
    cupy = pytest.importorskip("cupy", reason="needs cupy")
    u = values(CELLS, dtype)
    wanted = spectrum(u, transposed)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream, one_gpu(dtype, transposed=transposed) as plan:
        there = cupy.asarray(u)
        v = cupy.empty(wanted.shape, np.result_type(dtype, "complex64"))
        back = cupy.empty_like(there)
        plan.forward(there, v, stream)
        plan.backward(v, back, stream)
        stream.synchronize()
        plan.check()
        np.testing.assert_allclose(v.get(), wanted, atol=exact(dtype) * abs(wanted).max())
        np.testing.assert_allclose(back.get(), u, atol=exact(dtype))
        np.testing.assert_array_equal(there.get(), u)


@pytest.mark.parametrize("dtype", ["complex64", "float64"])
def test_both_sides_may_be_one_gpu_array(dtype: str) -> None:
    cupy = pytest.importorskip("cupy", reason="needs cupy")
    u = values(CELLS, dtype)
    wanted = spectrum(u, True)
    with one_gpu(dtype) as plan:
        mine, v = plan.in_place(cupy.empty(plan.room(), np.uint8))
        mine[...] = cupy.asarray(u)
        plan.forward(mine, v)
        cupy.cuda.Device().synchronize()
        np.testing.assert_allclose(v.get(), wanted, atol=exact(dtype) * abs(wanted).max())
        plan.backward(v, mine)
        cupy.cuda.Device().synchronize()
        np.testing.assert_allclose(mine.get(), u, atol=exact(dtype))


@pytest.mark.parametrize("cells", [CELLS, (32, 64, 128)])
def test_a_convolution_of_gpu_arrays_is_that_of_numpy(cells: tuple[int, int, int]) -> None:
    cupy = pytest.importorskip("cupy", reason="needs cupy")
    u = values(cells, "float64")
    modes = spectrum(u, True)
    with slip.fft.Plan(slip.Grid(cells, backend="cuda", devices_per_rank=1), "float64") as plan:
        there, through = cupy.asarray(u), cupy.empty(modes.shape, complex)
        w = cupy.empty_like(there)
        kx, ky, kz = plan.modes()
        factor = 1 / (1 + kx**2 + ky**2 + kz**2)
        plan.convolve(there, through, w, multiply=cupy.asarray(factor))
        cupy.cuda.Device().synchronize()
        plan.check()
    right = np.fft.irfftn(np.moveaxis(modes * factor, -1, -3), s=u.shape, axes=(-3, -2, -1))
    np.testing.assert_allclose(w.get(), right, atol=1e-12)


def test_host_arrays_are_refused_on_the_gpu() -> None:
    with one_gpu("float64") as plan, raises(ValueError, "mismatch", given="host", needed="GPU"):
        plan.forward(values(CELLS, "float64"), np.empty(plan.spectral.array_shape(0), complex))


ON_TWO = """
import cupy, numpy as np, slipstream as slip
from arrays import parts
from arrays import parts
from test_fft import spectrum, values
cells = (32, 64, 48)
grid = slip.Grid(cells, backend="cuda", devices_per_rank=1)
cupy.cuda.Device(grid.local[0].device_index).use()
u = values(cells, "float64")
for store in (True, False):
    with slip.fft.Plan(grid, "float64", store=store) as plan:
        mine = cupy.asarray(parts(plan.physical, u)[0])
        v, back = cupy.empty(plan.spectral.array_shape(0), complex), cupy.empty_like(mine)
        stream = cupy.cuda.Stream.null
        stream.synchronize()
        plan.forward(mine, v, stream)
        plan.backward(v, back, stream)
        stream.synchronize()
        plan.check()
        wanted = spectrum(u, True)
        np.testing.assert_allclose(v.get(), parts(plan.spectral, wanted)[0], atol=1e-12 * abs(wanted).max())
        np.testing.assert_allclose(back.get(), mine.get(), atol=1e-12)
print("right\\n", end="", flush=True)
"""


@pytest.mark.skipif(core.device_count("cuda") < 2, reason="needs two GPUs")
def test_two_ranks_transform_gpu_arrays(tmp_path: Path) -> None:
    pytest.importorskip("cupy", reason="needs cupy")
    program = tmp_path / "two.py"
    program.write_text(f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n{ON_TWO}")
    result = run_on(2, program)
    assert result.returncode == 0 and result.stdout.count("right") == 2, result.stdout + result.stderr
