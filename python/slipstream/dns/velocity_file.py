"""Initial velocity from a file of NumPy or of a run, [z][y][x][component]."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.base.errors import ArgumentError, CaseError, ErrorCode
from slipstream.results.results import FIELDS, field_files

Cell = Sequence[int]


def _refused(path: str | Path, said: str, code: ErrorCode, **facts: Any) -> CaseError:
    return CaseError(f"initial.file: {path} {said}", code, key="initial.file", file=path, **facts)


def check(path: str | Path, cells: Cell) -> None:
    """Raises CaseError where the file has no velocity on this grid. Does not read its values."""
    with _velocity(path, cells):
        pass


def read(path: str | Path, cells: Cell, boxes: Sequence[tuple[Cell, Cell]]) -> list[np.ndarray]:
    """Reads the velocity of the cells lo .. hi - 1 of each box, and nothing else. Raises CaseError."""
    found = []
    with _velocity(path, cells) as values:
        for lo, hi in boxes:
            box = tuple(slice(a, b) for a, b in zip(reversed(lo), reversed(hi), strict=True))
            block = np.ascontiguousarray(values[box], dtype=np.float64)
            if not np.isfinite(block).all():
                z, y, x, _ = np.argwhere(~np.isfinite(block))[0] + [*reversed(lo), 0]
                at = f"{x}, {y}, {z}"
                raise _refused(path, f"has a value that is not finite, at x, y, z = {at}", ErrorCode.OVERFLOW, at=at)
            found.append(block)
    return found


@contextmanager
def _velocity(path: str | Path, cells: Cell) -> Iterator[Any]:
    """Opens the array of a velocity without reading its values, and checks its shape."""
    path = _latest(Path(path))
    try:
        if Path(path).suffix == ".npy":
            values = np.load(path, mmap_mode="r", allow_pickle=False)
            _check_array(path, values, cells)
            yield values
        else:
            import h5py

            with h5py.File(path, "r", locking=False) as file:
                values = _Last(file) if "VTKHDF" in file else file["velocity"]
                _check_array(path, values, cells)
                yield values
    except (OSError, ValueError, EOFError, KeyError) as error:
        code = ErrorCode.NOT_FOUND if isinstance(error, FileNotFoundError) else ErrorCode.BAD_FILE
        raise _refused(path, f"cannot be read as a velocity, .npy or HDF5 with 'velocity': {error}", code) from None


def _latest(path: Path) -> Path:
    """The newest file of fields in a folder of results, or next to its fields.vtkhdf. Restarts of earlier versions made
    separate files."""
    folder = path if path.is_dir() else path.parent
    if not path.is_dir() and path.name != FIELDS:
        return path
    files = field_files(folder)
    if path.is_dir() and not files:
        said = f"holds no fields ({FIELDS}); run its case with output.fields = true"
        raise _refused(path, said, ErrorCode.NOT_FOUND, needed=FIELDS)
    return files[-1] if files else path


class _Last:
    """Reads the velocity of the last frame in a file of fields."""

    def __init__(self, file: Any) -> None:
        steps = file["VTKHDF/Steps"]
        count = int(np.ravel(steps.attrs["NSteps"])[0])
        if not count:
            raise ArgumentError("it holds no time")
        self._values = file["Series/velocity"]
        self._row = int(steps["CellDataOffsets/velocity"][count - 1])
        self.shape, self.dtype = self._values.shape[1:], self._values.dtype

    def __getitem__(self, box: tuple[slice, ...]) -> Any:
        return self._values[(self._row, *box)]


def _check_array(path: str | Path, values: Any, cells: Cell) -> None:
    given, wanted = tuple(values.shape), (*reversed(cells), 3)
    if values.dtype.kind != "f":
        said, allowed = f"holds {values.dtype}: a velocity is float32 or float64", "float32, float64"
        raise _refused(path, said, ErrorCode.UNSUPPORTED, given=values.dtype, allowed=allowed)
    if given != wanted:
        said = f"has the shape {given}, but the velocity on this grid has {wanted}, [z][y][x][component]: write it so, "
        raise _refused(path, said + "or change grid.cells", ErrorCode.MISMATCH, given=given, needed=wanted)
