"""The folder that a run leaves: its case and its fields, frame by frame. Nothing here needs MPI or the solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.case.case import Case
from slipstream.case.flow_case import FlowCase
from slipstream.case.reader import remembered
from slipstream.base.errors import CaseError

CASE = "case.resolved.toml"
FIELDS = "fields.vtkhdf"
#: Fields that a run wrote after it was restarted at a step.
FIELDS_FROM = "fields_from_{}.vtkhdf"
#: Where `plot` and `render` put what they draw.
PICTURES = "pictures"

Array = np.ndarray
Slices = tuple[slice, slice, slice]
WHOLE: Slices = (slice(None), slice(None), slice(None))


@dataclass(frozen=True)
class Frame:
    """One time at which fields were written."""

    path: Path
    step: int  #: place in the file's list of times
    time: float  #: length / lid speed, or s


class Results:
    """A folder of results. Raises CaseError where it holds none."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise CaseError(f"{folder}: no such folder of results; `slipstream run` makes one, results/<name>")
        if not (self.folder / CASE).exists():
            raise CaseError(f"{folder}: holds no results of a run ({CASE} is missing)")
        # What a run of any version has left can be shown, and without its meshes.
        self.case: Case = _case(self.folder / CASE)
        self.frames = _frames(self.folder)

    def frame(self, time: float | None = None) -> Frame:
        """The frame nearest to a time, the last by default."""
        if not self.frames:
            raise CaseError(f"{self.folder}: holds no fields ({FIELDS}); run the case with output.fields = true")
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
        """A file that the case names: from where the run was started, as far as output.folder tells it, else from
        here."""
        here, below = self.folder.absolute().parts, self.case.folder.parts
        start = len(here) - len(below)
        there = Path(*here[:start], name)
        return there if here[start:] == below and there.exists() else Path(name)

    def names(self, frame: Frame) -> frozenset[str]:
        """Fields that a frame has."""
        try:
            with _open(frame.path) as file:
                steps = file["VTKHDF/Steps"]
                return frozenset(name for kind in ("Cell", "Point") for name in steps.get(f"{kind}DataOffsets", ()))
        except (OSError, KeyError) as error:
            raise CaseError(f"{frame.path}: is not a file of fields, or is damaged: {error}") from None

    def read(self, frame: Frame, name: str, box: Slices = WHOLE) -> Array:
        """Values of a field at the cells box[x, y, z], as [z][y][x] or [z][y][x][component]."""
        try:
            with _open(frame.path) as file:
                return np.asarray(self.case.read(file, name, frame.step, box))
        except (OSError, KeyError) as error:
            raise CaseError(f"{frame.path}: the field {name} cannot be read: {error}") from None


def _case(path: Path) -> Case:
    try:
        return remembered(path.read_text(encoding="utf-8"), str(path))[0]
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: cannot be read: {error}") from None


def _open(path: Path) -> Any:
    # Imported late: a run needs its names only. Without a lock, because a run may still be writing.
    import h5py

    return h5py.File(path, "r", locking=False)


def box_size(case: Case) -> tuple[float, float, float]:
    """Edges of the box, in the length or m."""
    x, y, z = (n * case.spacing for n in case.samples)
    return (x, y, z)


def _times(path: Path) -> list[float]:
    """Times that are complete in a file: a run may still be writing it."""
    try:
        with _open(path) as file:
            steps = file["VTKHDF/Steps"]
            return [float(time) for time in steps["Values"][: int(np.ravel(steps.attrs["NSteps"])[0])]]
    except (OSError, KeyError) as error:
        raise CaseError(f"{path}: is not a file of fields, or is damaged: {error}") from None


def field_files(folder: Path) -> list[Path]:
    """Files of fields, in the order in which the runs wrote them."""
    found = [folder / FIELDS, *folder.glob(FIELDS_FROM.format("*"))]
    return sorted((path for path in found if path.exists()), key=lambda path: path.stat().st_mtime_ns)


def _frames(folder: Path) -> list[Frame]:
    """All frames in the order of time. Where a run was restarted from an earlier time, what it wrote counts."""
    frames: list[Frame] = []
    for path in field_files(folder):
        times = _times(path)
        if times:
            frames = [frame for frame in frames if frame.time < times[0]]
        frames += [Frame(path, step, time) for step, time in enumerate(times)]
    return frames


class Units:
    """In what the fields of a case are, and how pictures say it."""

    length = ""  #: behind a number

    def place(self, axis: str) -> str:
        return axis

    def at(self, axis: str, place: float) -> str:
        return f"{axis} = {place:.4g}{self.length}"

    def time(self, time: float) -> str:
        return f"t = {time:.4g}"

    def box(self, size: Sequence[float]) -> str:
        return " × ".join(f"{edge:.4g}" for edge in size) + self.length


class FlowUnits(Units):
    """Of a flow: in the length, length / lid speed and the lid speed; or in SI."""

    def __init__(self, si: bool) -> None:
        self.si = si
        self.length = " m" if si else " L"

    def place(self, axis: str) -> str:
        return f"{axis} in m" if self.si else f"{axis} / L"

    def time(self, time: float) -> str:
        return f"t = {time:.4g} s" if self.si else f"t = {time:.4g} L / U"

    def speed(self, name: str = "speed") -> str:
        return f"{name} in m/s" if self.si else f"{name} / U"

    @property
    def pressure(self) -> str:
        return r"pressure $p - p_0$ in Pa" if self.si else r"pressure $(p - p_0)\,/\,\rho_0 U^2$"

    @property
    def density(self) -> str:
        return r"density $\rho - \rho_0$ in kg/m$^3$" if self.si else r"density $\rho\,/\,\rho_0 - 1$"

    def vorticity(self, axis: str) -> str:
        return rf"vorticity $\omega_{axis}$ in 1/s" if self.si else rf"vorticity $\omega_{axis}\,L\,/\,U$"

    @property
    def q(self) -> str:
        return "1/s²" if self.si else "(U/L)²"


def units(case: Case) -> Units:
    return FlowUnits(case.si) if isinstance(case, FlowCase) else Units()


def flow_units(case: FlowCase) -> FlowUnits:
    return FlowUnits(case.si)


def density_at_rest(case: FlowCase) -> float:
    """As the files have it."""
    return case.converter.density if case.converter else 1.0


def pressure(case: FlowCase, density: Array) -> Array:
    """Above that at rest, by p = c_s^2 rho with c_s^2 = 1/3 in the lattice: Pa, or over rho U^2."""
    above = (density - density_at_rest(case)) / 3.0
    if case.converter:
        return above * case.converter.velocity**2
    return above / case.scales.lid_speed**2
