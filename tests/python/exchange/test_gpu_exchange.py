"""Exchanges of arrays in GPU memory that the CUDA runtime allocated; skipped without a GPU."""

from pathlib import Path

import numpy as np
import pytest
import slipstream as slip
import slipstream._core as core
from arrays import GpuArray, numbered, runtime, wrapped
from errors import raises
from ranks import run_on, skip_where_missing
from test_exchange import check_large_messages

pytestmark = pytest.mark.skipif(not core.available("cuda"), reason="needs a GPU and a CUDA build")


def one_gpu_grid(**options: object) -> slip.Grid:
    return slip.Grid((12, 10, 9), periodic=(True,) * 3, backend="cuda", devices_per_rank=1, **options)


@pytest.mark.parametrize("managed", [False, True])
def test_ghosts_of_gpu_arrays_take_the_values_of_neighbours(managed: bool) -> None:
    grid = one_gpu_grid(blocks_per_device=(1, 2, 1))
    arrays = [GpuArray(values, managed) for values in numbered(grid, 2)]
    halo = slip.Exchange(grid, {"u": arrays}, ghost=2)
    halo.begin(0)
    halo.end()
    assert runtime().cudaDeviceSynchronize() == 0
    halo.check()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array.get(), wrapped(grid, 2, block))


def test_allocations_without_room_for_the_ghosts_are_refused() -> None:
    grid = one_gpu_grid()
    array = GpuArray(np.zeros((9, 10, 12), np.float32))
    array.values = np.zeros(grid.array_shape(100), np.float32)
    with pytest.raises(RuntimeError, match="allocation ends after"):
        slip.Exchange(grid, {"u": array}, ghost=100)


def test_host_arrays_are_refused_on_the_gpu() -> None:
    grid = one_gpu_grid()
    with raises(ValueError, "mismatch", given="host", needed="GPU"):
        slip.Exchange(grid, {"u": numbered(grid, 1)})


def test_gpu_arrays_are_refused_on_the_host() -> None:
    grid = slip.Grid((12, 10, 9), periodic=(True,) * 3, backend="host")
    with raises(ValueError, "mismatch", given="GPU", needed="host"):
        slip.Exchange(grid, {"u": GpuArray(numbered(grid, 1)[0])})


def test_cupy_arrays_are_exchanged_on_their_stream() -> None:
    cupy = pytest.importorskip("cupy", reason="needs cupy")
    grid = one_gpu_grid()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        array = cupy.asarray(numbered(grid, 1)[0])
        halo = slip.Exchange(grid, {"u": array})
        halo.run(stream)
        stream.synchronize()
        halo.check()
        found = array.get()
    np.testing.assert_array_equal(found, wrapped(grid, 1, 0))


def test_own_update_in_python_gives_on_the_gpu_what_it_gives_on_the_host() -> None:
    cupy = pytest.importorskip("cupy", reason="needs cupy")

    def update(u, before):
        around = u[1, 0, 0] + u[-1, 0, 0] + u[0, 2, 0] + u[0, -2, 0] + u[0, 0, 1] + u[0, 0, -1]
        return 2 * u[0, 0, 0] - before[0, 0, 0] + 0.05 * (around - 6 * u[0, 0, 0]), u[0, 0, 0]

    start = np.random.default_rng(1).random((9, 10, 12))
    found = []
    for backend in ("cuda", "host"):
        grid = slip.Grid((12, 10, 9), periodic=(True, False, True), backend=backend, blocks_per_device=(1, 2, 1))
        with slip.Stencil(grid, update, ("u", "before"), radius=2) as stencil:
            for name in stencil.names:
                for block, part in stencil.blocks(name):
                    places = tuple(slice(a, b) for a, b in zip(block.lo, block.hi, strict=True))
                    there = start[places[::-1]]
                    part[...] = cupy.asarray(there) if backend == "cuda" else there
            stencil.run(5)
            whole = np.full_like(start, np.nan)  # whole field, for comparison between numbers of GPUs
            for block, part in stencil.blocks("u"):
                places = tuple(slice(a, b) for a, b in zip(block.lo, block.hi, strict=True))
                whole[places[::-1]] = cupy.asnumpy(part) if backend == "cuda" else part
            found.append(whole)
    np.testing.assert_allclose(*found, rtol=1e-13)
    assert np.ptp(found[1]) > 0.1


ON_TWO = """
import sys, numpy as np, slipstream as slip
from arrays import numbered, wrapped
from arrays import GpuArray, runtime
library, routes = sys.argv[1], sys.argv[2].split(",")
grid = slip.Grid((12, 10, 9), periodic=(True,) * 3, backend="cuda", devices_per_rank=1, blocks_per_device=(1, 2, 1))
device = grid.local[0].device_index
runtime().cudaSetDevice(device)
if library == "cupy":
    import cupy
    cupy.cuda.Device(device).use()
    on_gpu, get = cupy.asarray, cupy.asnumpy
else:
    on_gpu, get = GpuArray, GpuArray.get
def wait():
    assert runtime().cudaDeviceSynchronize() == 0
filled = [on_gpu(array) for array in numbered(grid, 2)]
summed = [on_gpu(np.ones_like(array)) for array in numbered(grid, 2)]
numbers = on_gpu(np.full(3, 1.0 + grid.comm.rank))
fields, combine = {"filled": filled, "summed": summed}, {"filled": None, "summed": "add"}
try:
    halo = slip.Exchange(grid, fields, ghost=2, reach="faces", low=1, high=1, combine=combine, routes=routes)
except RuntimeError as error:
    sys.stdout.write(f"no exchange: {error}\\n")
    sys.exit()
used = {message.route for message in halo.messages() if message.source != message.target}
wait()
for _ in range(3):
    halo.begin(0)
    halo.end()
wait()
halo.check()
with slip.AllReduce(grid, 3) as total:
    total.run(numbers)
    wait()
    total.check()
for block, (array, sums) in enumerate(zip(filled, summed)):
    want, found = wrapped(grid, 2, block), get(array)
    for side in (1, -2):
        for axis in range(3):
            here = [slice(2, -2)] * 3
            here[axis] = side
            np.testing.assert_array_equal(found[tuple(here)], want[tuple(here)])
    # A cell takes 1 for each face of the block that it lies at, in each of the three exchanges.
    ends = [np.isin(np.arange(2, n - 2), (2, n - 3)).astype(np.float32) for n in found.shape]
    count = ends[0][:, None, None] + ends[1][:, None] + ends[2]
    np.testing.assert_array_equal(get(sums)[2:-2, 2:-2, 2:-2], 1 + 3 * count)
np.testing.assert_array_equal(get(numbers), [3.0] * 3)
halo.close()
sys.stdout.write(f"right by {'+'.join(sorted(used))}\\n")
"""


@pytest.mark.skipif(core.device_count("cuda") < 2, reason="needs two GPUs")
@pytest.mark.parametrize("library", ["cudaMalloc", "cupy"])
@pytest.mark.parametrize("route", ["direct", "colocated", "nccl", "nvshmem", "gpu_mpi", "staged"])
def test_two_ranks_exchange_and_sum_gpu_arrays(tmp_path: Path, route: str, library: str) -> None:
    if library == "cupy":
        pytest.importorskip("cupy", reason="needs cupy")
    path = tmp_path / "two.py"
    path.write_text(ON_TWO)
    result = run_on(2, path, library, f"kernel,{route}")
    skip_where_missing(route, result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines() == [f"right by {route}"] * 2


def test_the_suited_layout_has_rows_along_z_where_devices_share_x() -> None:
    grid = slip.Grid((64, 64, 64), backend="cuda", devices_per_rank=1, device_grid=(1, 1, 1))
    assert grid.suited_layout == "soa"
    if core.device_count("cuda") > 1:
        pair = slip.Grid((64, 64, 64), backend="cuda", devices_per_rank=2, device_grid=(2, 1, 1))
        assert pair.suited_layout == "soa_z"


@pytest.mark.parametrize("layout", ["soa", "soa_z"])
@pytest.mark.parametrize("device_grid", [(1, 1, 1), (2, 1, 1), (2, 2, 1)])
def test_large_messages_go_in_another_order_and_arrive_as_well(layout: str, device_grid: tuple[int, int, int]) -> None:
    cupy = pytest.importorskip("cupy", reason="needs cupy")
    devices = int(np.prod(device_grid))
    if cupy.cuda.runtime.getDeviceCount() < devices:
        pytest.skip(f"needs {devices} GPUs")

    def put(array: np.ndarray, device: int) -> "cupy.ndarray":
        with cupy.cuda.Device(device):
            return cupy.asarray(array)

    def finish() -> None:
        # CuPy assigns on a stream of the current device, wherever the array is, while exchanges wait for streams of
        # their devices.
        cupy.cuda.Device().synchronize()

    check_large_messages(layout, device_grid, put, cupy.asnumpy, finish, backend="cuda")
