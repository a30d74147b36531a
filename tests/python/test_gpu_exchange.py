"""Exchanges of arrays in GPU memory, allocated by the CUDA runtime itself; skipped where there is no GPU."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
import slipstream as ss
import slipstream._core as core
from test_exchange import check_large_messages, numbered, wrapped

pytestmark = pytest.mark.skipif(not core.available("cuda"), reason="needs a GPU and a CUDA build")


def runtime() -> ctypes.CDLL:
    """The CUDA runtime that the compiled module brought into this process."""
    maps = Path("/proc/self/maps").read_text().split()
    return ctypes.CDLL(next(word for word in maps if "/libcudart.so" in word))


class GpuArray:
    """A copy of a NumPy array in GPU memory."""

    def __init__(self, values: np.ndarray, managed: bool = False) -> None:
        self.values = values
        self.pointer = ctypes.c_void_p()
        size = ctypes.c_size_t(values.nbytes)
        if managed:
            status = runtime().cudaMallocManaged(ctypes.byref(self.pointer), size, ctypes.c_uint(1))
        else:
            status = runtime().cudaMalloc(ctypes.byref(self.pointer), size)
        assert status == 0
        self._copy(self.pointer, values.ctypes.data_as(ctypes.c_void_p))

    def _copy(self, to: ctypes.c_void_p, source: ctypes.c_void_p) -> None:
        by_address = ctypes.c_int(4)
        assert runtime().cudaMemcpy(to, source, ctypes.c_size_t(self.values.nbytes), by_address) == 0

    def get(self) -> np.ndarray:
        found = np.empty_like(self.values)
        self._copy(found.ctypes.data_as(ctypes.c_void_p), self.pointer)
        return found

    @property
    def __cuda_array_interface__(self) -> dict:
        return {
            "data": (self.pointer.value, False),
            "shape": self.values.shape,
            "typestr": self.values.dtype.str,
            "version": 3,
        }


def one_gpu_grid(**options: object) -> ss.Grid:
    return ss.Grid((12, 10, 9), periodic=(True,) * 3, backend="cuda", devices_per_rank=1, **options)


@pytest.mark.parametrize("managed", [False, True])
def test_ghosts_of_gpu_arrays_take_the_values_of_neighbours(managed: bool) -> None:
    grid = one_gpu_grid(blocks_per_device=(1, 2, 1))
    arrays = [GpuArray(values, managed) for values in numbered(grid, 2)]
    halo = ss.Exchange(grid, {"u": arrays}, ghost=2)
    halo.begin(0)
    halo.end()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array.get(), wrapped(grid, 2, block))


def test_allocations_without_room_for_the_ghosts_are_refused() -> None:
    grid = one_gpu_grid()
    array = GpuArray(np.zeros((9, 10, 12), np.float32))
    array.values = np.zeros(grid.array_shape(100), np.float32)
    with pytest.raises(RuntimeError, match="allocation ends after"):
        ss.Exchange(grid, {"u": array}, ghost=100)


def test_host_arrays_are_refused_on_the_gpu() -> None:
    grid = one_gpu_grid()
    with pytest.raises(ValueError, match="lies in host memory"):
        ss.Exchange(grid, {"u": numbered(grid, 1)})


def test_gpu_arrays_are_refused_on_the_host() -> None:
    grid = ss.Grid((12, 10, 9), periodic=(True,) * 3, backend="host")
    with pytest.raises(ValueError, match="lies in GPU memory"):
        ss.Exchange(grid, {"u": GpuArray(numbered(grid, 1)[0])})


def test_cupy_arrays_are_exchanged_on_their_stream() -> None:
    cupy = pytest.importorskip("cupy", reason="needs cupy")
    grid = one_gpu_grid()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        array = cupy.asarray(numbered(grid, 1)[0])
        halo = ss.Exchange(grid, {"u": array})
        halo.run(stream)
        found = array.get()
    np.testing.assert_array_equal(found, wrapped(grid, 1, 0))


def test_the_suited_layout_has_rows_along_z_where_devices_share_x() -> None:
    grid = ss.Grid((64, 64, 64), backend="cuda", devices_per_rank=1, device_grid=(1, 1, 1))
    assert grid.suited_layout == "soa"
    if core.device_count("cuda") > 1:
        pair = ss.Grid((64, 64, 64), backend="cuda", devices_per_rank=2, device_grid=(2, 1, 1))
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
        # CuPy assigns on a stream of the current device, wherever the array lies, and exchanges wait for their own.
        cupy.cuda.Device().synchronize()

    check_large_messages(layout, device_grid, put, cupy.asnumpy, finish, backend="cuda")
