"""Published lid-driven cavities, as tables beside this file: each CSV opens with its citation."""

import csv
from dataclasses import dataclass, field
from importlib.resources import files

import numpy as np

from slipstream.base.errors import CaseError, ErrorCode


@dataclass(frozen=True)
class Line:
    """Reference points of one velocity component along one centreline."""

    name: str  #: name of the line: u_of_y or v_of_x
    place: np.ndarray  #: position along the centreline, as a share 0 to 1 of its length
    value: np.ndarray  #: velocity in units of the lid speed


@dataclass(frozen=True)
class Extremum:
    """A published minimum or maximum of a velocity profile."""

    name: str  #: name of the extremum: u_min, v_min or v_max
    value: float
    place: float


@dataclass(frozen=True)
class Reference:
    """Published velocities of a driven cavity at one Reynolds number."""

    name: str
    title: str
    citation: str
    reynolds: float
    lines: tuple[Line, ...]
    extrema: tuple[Extremum, ...] = field(default=())


#: Sets of published velocities of cavities: name, title for legends, and dimensions; the most accurate set comes first.
_SETS = (
    ("botella1998", "Botella & Peyret 1998 (spectral)", 2),
    ("ghia1982", "Ghia et al. 1982", 2),
    ("albensoeder2005", "Albensoeder & Kuhlmann 2005 (spectral)", 3),
)
#: Relative difference up to which two Reynolds numbers count as the same.
_SAME = 1e-6


def _read(name: str) -> tuple[str, list[dict[str, str]]]:
    """Reads a table of published velocities: its citation and rows."""
    lines = (files(__package__) / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    header = [line for line in lines if line.startswith("#")]
    return header[0].lstrip("# "), list(csv.DictReader(lines[len(header) :]))


def _columns(name: str) -> list[float]:
    """Reynolds numbers that a set of published values has."""
    return [float(column) for column in list(_read(f"{name}_u_of_y")[1][0])[1:]]


def _line(name: str, line: str, reynolds: float) -> Line:
    axis = line[-1]
    _, rows = _read(f"{name}_{line}")
    column = next(key for key in rows[0] if key != axis and abs(float(key) - reynolds) <= _SAME * reynolds)
    points = [(float(row[axis]), float(row[column])) for row in rows if row[column]]
    place, value = np.array(points).T
    return Line(line, place, value)


def load(name: str, reynolds: float) -> Reference:
    """Published velocities of the named set at a Reynolds number. Raises CaseError that lists the available ones."""
    title = {key: title for key, title, _ in _SETS}.get(name)
    if title is None:
        raise CaseError(
            f"no reference '{name}'; there are {', '.join(key for key, _, _ in _SETS)}",
            ErrorCode.NOT_FOUND,
            given=name,
            allowed=", ".join(key for key, _, _ in _SETS),
        )
    if not any(abs(known - reynolds) <= _SAME * reynolds for known in _columns(name)):
        there = ", ".join(f"{known:g}" for known in _columns(name))
        raise CaseError(
            f"reference '{name}' has no Reynolds number {reynolds:g}; it has {there}",
            ErrorCode.NOT_FOUND,
            key="output.reference",
            given=f"{reynolds:g}",
            allowed=there,
        )
    citation, _ = _read(f"{name}_u_of_y")
    extrema: tuple[Extremum, ...] = ()
    if name == "albensoeder2005":
        _, rows = _read(f"{name}_extrema")
        extrema = tuple(Extremum(row["quantity"], float(row["value"]), float(row["place"])) for row in rows)
    return Reference(
        name, title, citation, reynolds, tuple(_line(name, line, reynolds) for line in ("u_of_y", "v_of_x")), extrema
    )


def dimensions(name: str) -> int:
    """Number of dimensions, 2 or 3, of the cavity of a set of published velocities."""
    return next(d for key, _, d in _SETS if key == name)


def best(dimension: int, reynolds: float) -> Reference | None:
    """The most accurate set of published velocities for a square or cubic cavity, None where there is none."""
    for name, _, of in _SETS:
        if of == dimension and any(abs(known - reynolds) <= _SAME * reynolds for known in _columns(name)):
            return load(name, reynolds)
    return None
