"""Reads the results of a run: its case, and its fields frame by frame. Nothing here needs MPI or the solver."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.case import Case
from slipstream.case.reader import stored_case

CASE = "case.resolved.toml"
FIELDS = "fields.vtkhdf"
#: Suffix of a file of fields that a restart could not continue.
DAMAGED = ".damaged"
#: Name of the file of fields that earlier versions wrote after a restart at a step.
FIELDS_FROM = "fields_from_{}.vtkhdf"
#: Folder for the pictures of `plot` and `render`, within the folder of a run.
PICTURES = "pictures"

Array = np.ndarray
Slices = tuple[slice, slice, slice]
WHOLE: Slices = (slice(None), slice(None), slice(None))


@dataclass(frozen=True)
class Frame:
    """One of the times at which a run wrote its fields."""

    path: Path
    step: int  #: index of the frame in the file's list of times
    time: float  #: time of the frame in length / reference velocity, or in s


class Results:
    """A folder of results. Raises CaseError where the folder holds none."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise CaseError(
                f"{folder}: no such folder of results; `slipstream run` makes one, results/<name>",
                ErrorCode.NOT_FOUND,
                file=folder,
            )
        if not (self.folder / CASE).exists():
            raise CaseError(
                f"{folder}: holds no results of a run ({CASE} is missing)",
                ErrorCode.NOT_FOUND,
                file=folder,
                needed=CASE,
            )
        # The case is not checked again: results of any version can be shown, even if mesh files are missing.
        self.case: Case = _case(self.folder / CASE)
        self.frames = frames(self.folder)

    def frame(self, time: float | None = None) -> Frame:
        """The frame nearest to a time; by default the last frame of the run."""
        if not self.frames:
            raise CaseError(
                f"{self.folder}: holds no fields ({FIELDS}); run the case with output.fields = true",
                ErrorCode.NOT_FOUND,
                file=self.folder,
                needed=FIELDS,
                key="output.fields",
            )
        if time is None:
            return self.frames[-1]
        return min(self.frames, key=lambda frame: abs(frame.time - time))

    @property
    def extent(self) -> tuple[int, int, int]:
        return self.case.samples

    @property
    def size(self) -> tuple[float, float, float]:
        return box_size(self.case)

    def find(self, name: str) -> Path:
        """The path of a file that the case names. It is looked for in the folder of results. In cases of earlier
        versions the path is relative to the folder in which the run started. That folder follows from output.folder
        if possible; else it is the working directory."""
        if (self.folder / name).exists():
            return self.folder / name
        here, below = self.folder.absolute().parts, self.case.folder.parts
        start = len(here) - len(below)
        there = Path(*here[:start], name)
        return there if here[start:] == below and there.exists() else Path(name)

    def names(self, frame: Frame) -> frozenset[str]:
        """Names of the fields that a frame has."""
        with _open(frame.path) as file:
            steps = file["VTKHDF/Steps"]
            return frozenset(name for kind in ("Cell", "Point") for name in steps.get(f"{kind}DataOffsets", ()))

    def read(self, frame: Frame, name: str, box: Slices = WHOLE) -> Array:
        """Values of a field at the cells box[x, y, z], as [z][y][x] or [z][y][x][component]."""
        with _open(frame.path, f"the field {name} cannot be read", field=name) as file:
            return np.asarray(self.case.read(file, name, frame.step, box))


def _case(path: Path) -> Case:
    try:
        return stored_case(path.read_text(encoding="utf-8"), str(path))[0]
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: cannot be read: {error}", ErrorCode.IO, file=path) from None


@contextmanager
def _open(path: Path, fault: str = "is not a file of fields, or is damaged", **facts: str) -> Iterator[Any]:
    """Opens a file of fields. Raises CaseError with the text `fault` if it cannot be read."""
    # Imported late, because a run needs the names only. The file is opened without a lock, because a run may still be
    # writing.
    import h5py

    try:
        with h5py.File(path, "r", locking=False) as file:
            yield file
    except (OSError, KeyError) as error:
        raise CaseError(f"{path}: {fault}: {error}", ErrorCode.BAD_FILE, file=path, **facts) from None


def box_size(case: Case) -> tuple[float, float, float]:
    """Edges of the box, in units of the length or in m for SI."""
    x, y, z = (n * h for n, h in zip(case.samples, case.spacings, strict=True))
    return (x, y, z)


def _times(path: Path) -> list[float]:
    """Times of the complete frames in a file; a run may still be writing it."""
    with _open(path) as file:
        steps = file["VTKHDF/Steps"]
        return [float(time) for time in steps["Values"][: int(np.ravel(steps.attrs["NSteps"])[0])]]


def field_files(folder: Path) -> list[Path]:
    """Files of fields, in the order in which the runs wrote them."""
    found = [folder / FIELDS, *folder.glob(FIELDS_FROM.format("*"))]
    return sorted((path for path in found if path.exists()), key=lambda path: path.stat().st_mtime_ns)


def frames(folder: Path) -> list[Frame]:
    """All frames in the order of time. Frames of a restarted run replace earlier ones of the same times."""
    found: list[Frame] = []
    for path in field_files(folder):
        times = _times(path)
        if times:
            found = [frame for frame in found if frame.time < times[0]]
        found += [Frame(path, step, time) for step, time in enumerate(times)]
    return found
