"""Grids and arrays for tests of exchanges."""

import ctypes
from pathlib import Path

import numpy as np
import slipstream as slip
from numpy.typing import NDArray


def grid_of(cells: tuple[int, ...] = (8, 6, 5), **options: object) -> slip.Grid:
    return slip.Grid(cells, periodic=(True,) * len(cells), backend="host", **options)


def numbered(grid: slip.Grid, ghost: int, dtype: type = np.float32) -> list[np.ndarray]:
    """Arrays [z, y, x] whose interior cells hold their global number, and whose ghosts hold -1."""
    nx, ny, nz = grid.cells
    whole = np.arange(nx * ny * nz, dtype=dtype).reshape(nz, ny, nx)
    found = []
    for index, block in enumerate(grid.local):
        array = np.full(grid.array_shape(ghost, block=index), -1, dtype)
        (x0, y0, z0), (x1, y1, z1) = block.lo, block.hi
        array[ghost:-ghost, ghost:-ghost, ghost:-ghost] = whole[z0:z1, y0:y1, x0:x1]
        found.append(array)
    return found


def wrapped(grid: slip.Grid, ghost: int, block: int, dtype: type = np.float32) -> np.ndarray:
    """Expected array of a block after an exchange with all neighbours."""
    nx, ny, nz = grid.cells
    whole = np.arange(nx * ny * nz, dtype=dtype).reshape(nz, ny, nx)
    lo, hi = grid.local[block].lo, grid.local[block].hi
    cells = [np.arange(lo[a] - ghost, hi[a] + ghost) % grid.cells[a] for a in (2, 1, 0)]
    return whole[np.ix_(*cells)]


def parts(grid: slip.Grid, values: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """The part of `values` in each local block."""
    boxes = [(block.lo, block.hi) for block in grid.local]
    return [values[lo[2] : hi[2], lo[1] : hi[1], lo[0] : hi[0]].copy() for lo, hi in boxes]


def runtime() -> ctypes.CDLL:
    """The CUDA runtime that the compiled module loaded."""
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
