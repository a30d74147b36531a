"""Planes of a frame: a quantity as colours, and streamlines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.case import Case
from slipstream.case.solver import solver_of
from slipstream.flow import derived
from slipstream.pictures import palette
from slipstream.pictures.style import headed, heading, styled
from slipstream.results import results
from slipstream.results.results import Frame, Results

Array = np.ndarray
#: Axes of a cutting plane, across and up, by the axis normal to it.
ACROSS = {"x": "yz", "y": "xz", "z": "xy"}
#: Name of the field that marks solid cells.
FLAGS = "flags"
#: Percentile of magnitudes at which colours of a signed field end, because values are singular in corners under a lid.
_WITHIN = 99.0


@dataclass(frozen=True)
class Cut:
    """Position of a plane that cuts the box, such as `z = 0.5`, in units of the length or in m."""

    normal: str
    at: float

    @property
    def name(self) -> str:
        return f"{self.normal}{self.at:.4g}"


class Plane:
    """Values of one frame in a plane through the box. Arrays are [up][across], with components last. The cells next to
    the cut are read on demand; values of the fluid are interpolated between them."""

    def __init__(self, shown: Results, frame: Frame, cut: Cut, time: float | None) -> None:
        """`time`: time to show in the title of the picture; None: the title shows no time."""
        self.case: Case = shown.case
        self.cut, self.time = cut, time
        self._shown, self._frame = shown, frame
        self._axis = "xyz".index(cut.normal)
        place = cut.at - self.case.corner[self._axis]
        self._low, self._high, self._weights = _weights(shown.extent[self._axis], self.case.spacings[self._axis], place)
        self._fields: dict[str, Array] = {}
        self._walls = self._read("flags") != 0 if FLAGS in shown.names(frame) else None
        self.solid: Array = self._mean(np.zeros(self._shape))[1] if self._walls is None else self._mean(self._walls)[1]

    @property
    def _shape(self) -> tuple[int, int, int]:
        cells = [*self._shown.extent]
        cells[self._axis] = self._high - self._low
        return (cells[2], cells[1], cells[0])

    def _read(self, name: str) -> Array:
        box = [slice(None)] * 3
        box[self._axis] = slice(self._low, self._high)
        return self._shown.read(self._frame, name, (box[0], box[1], box[2]))

    def _mean(self, values: Array) -> tuple[Array, Array]:
        walls = np.zeros(self._shape, bool) if self._walls is None else self._walls
        return derived.across_layers(values, walls, self._weights, 2 - self._axis)

    def field(self, name: str) -> Array:
        """Values of a field in the plane as the file stores them, [up][across][component]."""
        if name not in self._fields:
            values, _ = self._mean(self._read(name))
            self._fields[name] = values if values.ndim > 2 else values[..., None]
        return self._fields[name]

    def vectors(self, name: str) -> Array:
        """Components x, y, z of a vector field in the plane; 0 along z in two dimensions."""
        values = self.field(name)
        return np.pad(values, [(0, 0)] * 2 + [(0, 3 - values.shape[-1])])

    @property
    def axes(self) -> str:
        return ACROSS[self.cut.normal]

    @property
    def corner(self) -> tuple[float, float]:
        """Coordinates of the low corner of the plane."""
        across, up = (self.case.corner["xyz".index(axis)] for axis in self.axes)
        return across, up

    @property
    def edges(self) -> tuple[float, float]:
        """Width and height of the plane, in units of the case's reference length or, for cases in SI units, in m."""
        across, up = ("xyz".index(axis) for axis in self.axes)
        size = results.box_size(self.case)
        return size[across], size[up]

    def values(self, field: str) -> Array:
        """Values of a quantity in the plane; solid cells, and values that are not finite, are masked."""
        values = solver_of(self.case).quantities(self.case)[field].values(self)
        return np.ma.masked_invalid(np.ma.masked_array(values, self.solid))


def usual(shown: Results, frame: Frame) -> Cut:
    """Default position of a cut: half-way along z. If no body lies there, it is the first mid-plane of y and x that
    cuts one, else the layer along z that holds most of the bodies.
    """
    middle = parse_cut("z", shown.case)
    if shown.case.dimensions < 3 or FLAGS not in shown.names(frame):
        return middle
    for cut in (middle, parse_cut("y", shown.case), parse_cut("x", shown.case)):
        if Plane(shown, frame, cut, None).solid.any():
            return cut
    solid = (shown.read(frame, FLAGS) != 0).reshape(shown.extent[2], -1).sum(axis=1)
    at = shown.case.corner[2] + (float(solid.argmax()) + 0.5) * shown.case.spacings[2]
    return Cut("z", at) if solid.any() else middle


def parse_cut(text: str, case: Case) -> Cut:
    """Parses a cut: `z`, the middle of the box along z, or `z=0.3`."""
    name, _, value = text.partition("=")
    normal = name.strip()
    if normal not in ACROSS:
        raise CaseError(f"--plane {text}: name an axis and a place, as z=0.5 or x", key="--plane", given=text)
    axis = "xyz".index(normal)
    low, high = case.corner[axis], case.corner[axis] + results.box_size(case)[axis]
    try:
        at = float(value) if value else (low + high) / 2
    except ValueError:
        raise CaseError(f"--plane {text}: '{value}' is not a number", key="--plane", given=text, value=value) from None
    if not low <= at <= high:
        unit = case.field_units.length
        raise CaseError(
            f"--plane {text}: outside of the box, which goes from {normal} = {low:.6g} to {high:.6g}{unit}",
            key="--plane",
            given=text,
            allowed=f"{low:.6g} to {high:.6g}{unit}",
        )
    if case.dimensions < 3 and normal != "z":
        raise CaseError(
            f"--plane {text}: a case in two dimensions has the plane z alone",
            ErrorCode.UNSUPPORTED,
            key="--plane",
            given=text,
            allowed="z",
        )
    return Cut(normal, at)


def _weights(cells: int, spacing: float, at: float) -> tuple[int, int, Array]:
    """Range of the cells on both sides of a position, and their interpolation weights; at a side only the outermost
    cell.
    """
    place = min(max(at / spacing - 0.5, 0.0), cells - 1.0)
    # The tolerance covers rounding errors of positions at a cell's centre.
    low = min(int(place + 1e-9), cells - 1)
    share = place - low
    if share < 1e-9:
        return low, low + 1, np.ones(1)
    return low, low + 2, np.array([1.0 - share, share])


def cut_plane(shown: Results, frame: Frame, cut: Cut) -> Plane:
    """The plane that interpolates between the cells next to a cut."""
    return Plane(shown, frame, cut, frame.time)


@dataclass(frozen=True)
class Look:
    """Colours and labels with which a field is drawn."""

    norm: Normalize
    colours: Colormap
    label: str
    extend: str


def look(case: Case, cut: Cut, field: str, values: Sequence[Array]) -> Look:
    """Range of colours and labels for a field in several planes: from zero on, or symmetric if both signs occur."""
    quantity = solver_of(case).quantities(case)[field]
    label = quantity.label(cut.normal)
    sizes = [np.ma.compressed(np.ma.abs(part)) for part in values]
    largest = max((float(part.max()) for part in sizes if part.size), default=0.0)
    least = min((float(np.ma.min(part)) for part in values if np.ma.count(part)), default=0.0)
    if not quantity.signed or least >= -1e-6 * largest:
        colours = matplotlib.colormaps[palette.SEQUENTIAL].with_extremes(bad=palette.SOLID)
        return Look(Normalize(0.0, largest or 1.0), colours, label, "neither")
    most = max((float(np.percentile(part, _WITHIN)) for part in sizes if part.size), default=0.0) or largest or 1.0
    colours = palette.diverging().with_extremes(bad=palette.SOLID)
    return Look(Normalize(-most, most), colours, label, "both" if largest > 1.0001 * most else "neither")


def _figure_size(width: float, height: float) -> tuple[float, float]:
    """Size in inches of a picture whose axes keep the proportions of the plane."""
    room = 6.2
    scale = room / max(width, height)
    across, up = max(width * scale, 1.6), max(height * scale, 1.4)
    bar = 1.5 if _bar_at_right(width, height) else 0.9
    return (across + bar, up + 1.0) if _bar_at_right(width, height) else (max(across, 4.0) + 0.9, up + 0.9 + bar)


def _bar_at_right(width: float, height: float) -> bool:
    """Whether the colour bar stands beside the picture; it lies below pictures that are wide."""
    return width <= 1.8 * height


def paint(axes: Axes, plane: Plane, field: str, how: Look) -> Any:
    """Draws a field into axes, in equal aspect."""
    (left, low), (width, height) = plane.corner, plane.edges
    image = axes.imshow(
        plane.values(field),
        origin="lower",
        extent=(left, left + width, low, low + height),
        norm=how.norm,
        cmap=how.colours,
        interpolation="nearest" if plane.solid.any() else "bilinear",
    )
    unit = plane.case.field_units
    axes.set(xlabel=unit.place(plane.axes[0]), ylabel=unit.place(plane.axes[1]), aspect="equal")
    axes.grid(False)
    return image


def where(plane: Plane) -> str:
    """Text on the position of the plane and the time of the frame."""
    unit = plane.case.field_units
    parts = [] if plane.case.dimensions < 3 else [unit.at(plane.cut.normal, plane.cut.at)]
    parts += [] if plane.time is None or not plane.case.marches else [unit.time(plane.time)]
    return ", ".join(parts)


def _framed(plane: Plane, what: str) -> tuple[Figure, Axes]:
    size = _figure_size(*plane.edges)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    title, place = heading(plane.case, size[0] - 1.0, 10.5), where(plane)
    axes.set_title(f"{title}\n{what}{', ' if place else ''}{place}", fontsize=10.5, loc="left", parse_math=False)
    return figure, axes


def _bar(figure: Figure, axes: Axes, image: Any, plane: Plane, how: Look) -> None:
    add = partial(figure.colorbar, image, ax=axes, label=how.label, extend=how.extend, pad=0.02)
    at_right = _bar_at_right(*plane.edges)
    short_ticks(add(location="right", shrink=0.9) if at_right else add(location="bottom", shrink=0.6, aspect=40))


def short_ticks(bar: Any) -> None:
    """Uses few ticks and a common power of ten, so that numbers of narrow bars do not overlap."""
    bar.locator = MaxNLocator(6, symmetric=False)
    bar.formatter = ScalarFormatter(useMathText=True)
    bar.formatter.set_powerlimits((-2, 4))
    bar.update_ticks()


def picture(plane: Plane, field: str, how: Look) -> Figure:
    """Draws a field of a plane; the caller saves and closes the figure."""
    with styled():
        figure, axes = _framed(plane, field)
        _bar(figure, axes, paint(axes, plane, field, how), plane, how)
        return figure


def streamlines(plane: Plane, how: Look | None = None) -> Figure:
    """Draws streamlines of the velocity within a plane, over the speed; the caller saves and closes the figure."""
    how = how or look(plane.case, plane.cut, "speed", [plane.values("speed")])
    with styled():
        figure, axes = _framed(plane, "streamlines in the plane")
        _bar(figure, axes, paint(axes, plane, "speed", how), plane, how)
        draw_lines(axes, plane)
        return figure


def draw_lines(axes: Axes, plane: Plane) -> None:
    """Draws white lines along the velocity within a plane."""
    first, second = ("xyz".index(axis) for axis in plane.axes)
    u, v = (
        np.ma.masked_invalid(np.ma.masked_array(plane.vectors("velocity")[..., n], plane.solid))
        for n in (first, second)
    )
    if min(u.shape) < 2 or not np.hypot(u, v).any():
        return
    width, height = plane.edges
    x, y = (
        (np.arange(n) + 0.5) * (edge / n) for n, edge in zip((u.shape[1], u.shape[0]), (width, height), strict=True)
    )
    density = (1.7 * min(width / height, 4.0) ** 0.5, 1.7 * min(height / width, 4.0) ** 0.5)
    axes.streamplot(x, y, u, v, color="white", density=density, linewidth=0.7, arrowsize=0.7)
    axes.set(xlim=(0.0, width), ylim=(0.0, height))


def sheet(planes: Sequence[tuple[Plane, str]]) -> Figure:
    """Draws several fields side by side, each with its own colours; the caller saves and closes the figure."""
    width, height = planes[0][0].edges
    at_right = width <= 1.8 * height
    shape = (1, len(planes)) if at_right else (len(planes), 1)
    up = min(4.2 * height / width, 5.0) if at_right else 9.0 * height / width + 1.2
    size = (4.2 * len(planes), up + 1.3) if at_right else (9.5, len(planes) * up)
    with styled():
        figure, panels = plt.subplots(*shape, figsize=size, layout="constrained", squeeze=False)
        for axes, (plane, field) in zip(panels.flat, planes, strict=True):
            how = look(plane.case, plane.cut, field, [plane.values(field)])
            image = paint(axes, plane, field, how)
            axes.set_title(field, loc="left")
            short_ticks(
                figure.colorbar(image, ax=axes, location="bottom", label=how.label, extend=how.extend, shrink=0.9)
            )
        headed(figure, planes[0][0].case, where(planes[0][0]), 11)
        return figure
