"""Scenes in three dimensions, drawn by PyVista without a display: slices, streamlines, vortices, bodies.

PyVista draws what is in the box; titles, colour bars and units come round it by matplotlib, as in the other pictures.
"""

import ctypes.util
import importlib.util
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from slipstream.base.errors import CaseError
from slipstream.case.case import Case
from slipstream.case.flow_case import FlowCase
from slipstream.flow import derived
from slipstream.pictures import palette
from slipstream.pictures.planes import Cut, short_ticks
from slipstream.pictures.style import STYLE, case_title
from slipstream.results import results
from slipstream.results.results import Frame, Results

Array = np.ndarray
#: Share of the fluid's cells inside the surface of Q where no value is named.
VORTEX_SHARE = 0.04
#: Lines that are traced.
LINES = 90
#: Colour of a body without values.
BODY = "#b9b4ab"
#: Of the eye from the middle of the box, in its diagonals.
DISTANCE = 2.6


def load_pyvista() -> Any:
    """The module, ready to draw off screen. Raises CaseError that says what to install."""
    if importlib.util.find_spec("pyvista") is None:
        raise CaseError(
            "render: PyVista is not installed; `tools/setup.sh render` in the source tree, or "
            "`pip install 'slipstream[render]'`, brings it. `slipstream plot` needs nothing more"
        )
    if not (os.environ.get("DISPLAY") or any(map(ctypes.util.find_library, ("EGL", "OSMesa")))):
        raise CaseError(
            "render: there is nothing to draw with: no display, and neither libEGL nor libOSMesa, with which VTK draws "
            "without one; install Debian's libegl1 (`tools/setup.sh render` does) or libosmesa6"
        )
    import pyvista

    pyvista.OFF_SCREEN = True
    return pyvista


@contextmanager
def _quiet(pyvista: Any) -> Iterator[None]:
    """VTK complains of the display that is not there before it does without."""
    with pyvista.vtk_verbosity("off"):
        yield


@dataclass(frozen=True)
class View:
    """From where to look, and how large."""

    up: str
    azimuth: float  #: degrees round the axis that points up
    elevation: float  #: degrees above the plane across it
    pixels: tuple[int, int]

    def direction(self) -> tuple[Array, Array]:
        """From the middle of the box to the eye, and up. At no azimuth the eye looks along a horizontal axis."""
        up = "xyz".index(self.up)
        # With y up, x goes right and z comes towards the eye; with z up, x goes right and y goes away.
        right, near, sign = {0: (1, 2, -1.0), 1: (0, 2, 1.0), 2: (0, 1, -1.0)}[up]
        turn, lift = np.radians(self.azimuth), np.radians(self.elevation)
        eye = np.zeros(3)
        eye[right] = np.sin(turn) * np.cos(lift)
        eye[near] = sign * np.cos(turn) * np.cos(lift)
        eye[up] = np.sin(lift)
        return eye, np.eye(3)[up]


def default_up(case: Case) -> str:
    """The axis of a lid, else z."""
    if not isinstance(case, FlowCase):
        return "z"
    return next((side[0] for side, wall in case.walls.given() if any(wall.velocity)), "z")


@dataclass(frozen=True)
class Picture:
    """A drawn scene and what its colours mean."""

    image: Array
    norm: Normalize
    colours: Colormap
    label: str
    title: str
    extend: str = "neither"


class Flow:
    """One frame as PyVista sees it: values at the cell centres and on the sides of the box."""

    def __init__(self, shown: Results, frame: Frame, pyvista: Any) -> None:
        self.shown, self.case, self.frame, self.pyvista = shown, shown.case, frame, pyvista
        self.velocity = shown.read(frame, "velocity")
        self.solid = shown.read(frame, "flags") != 0
        if not np.isfinite(self.velocity).all():
            time = results.flow_units(shown.case).time(frame.time)
            raise CaseError(f"{frame.path}: the velocity at {time} is not finite; name an earlier --time, or plot it")
        at = [derived.coordinates(n, self.case.spacing) for n in shown.extent]
        self.grid = pyvista.RectilinearGrid(*at)
        padded = derived.velocity_with_sides(self.case, self.velocity)
        self._add("velocity", padded.reshape(-1, 3))
        self._add("speed", np.linalg.norm(padded, axis=-1).ravel())
        self.top = float(self.grid["speed"].max()) or 1.0
        #: What nearly all of the fluid is slower than: thin layers under a lid would darken the rest.
        self.usual_top = float(np.quantile(np.linalg.norm(self.velocity, axis=-1)[~self.solid], 0.97))
        self.usual_top = self.usual_top or float(self.grid["speed"].max())

    def _add(self, name: str, values: Array) -> None:
        self.grid.point_data[name] = np.ascontiguousarray(values, dtype=np.float32)

    def extend(self, norm: Normalize) -> str:
        """The ends of a colour bar beyond which there are values."""
        return "max" if self.top > 1.0001 * float(norm.vmax or 0.0) else "neither"

    def add_cells(self, name: str, values: Array) -> None:
        """Values [z][y][x] of the cells, continued to the sides."""
        self._add(name, derived.with_sides(values, (2, 1, 0), self.case.grid.periodic).ravel())

    def body(self) -> Any | None:
        """The surface of the solid cells, None where there are none: half-way between solid and fluid, smoothed."""
        if not self.solid.any():
            return None
        self.add_cells("solid", self.solid.astype(np.float32))
        return self.grid.contour([0.5], scalars="solid").smooth_taubin(n_iter=30, pass_band=0.05)

    def add_pressure(self) -> None:
        """Above that at rest; inside of bodies that of the nearest fluid, so that their surface shows it."""
        pressure = results.pressure(self.case, self.shown.read(self.frame, "density").astype(np.float64))
        self.add_cells("pressure", spread_into(pressure, self.solid, layers=3))


def spread_into(values: Array, solid: Array, layers: int) -> Array:
    """Gives the outermost layers of solid cells the mean of their neighbours that have a value, a layer at a time."""
    values, known = np.where(solid, 0.0, values), ~solid
    for _ in range(layers):
        total, count = np.zeros_like(values), np.zeros(values.shape)
        for axis in range(3):
            for step in (-1, 1):
                there = _shifted(known.astype(np.float64), axis, step)
                total += _shifted(values * known, axis, step)
                count += there
        fresh = ~known & (count > 0)
        values[fresh] = total[fresh] / count[fresh]
        known |= fresh
    return values


def _shifted(values: Array, axis: int, step: int) -> Array:
    """Neighbours' values along an axis; zero beyond the ends."""
    result = np.zeros_like(values)
    target: list[slice] = [slice(None)] * 3
    source: list[slice] = [slice(None)] * 3
    target[axis], source[axis] = (slice(1, None), slice(None, -1)) if step > 0 else (slice(None, -1), slice(1, None))
    result[tuple(target)] = values[tuple(source)]
    return result


class Shown(Protocol):
    """What a scene shows: a frame of results, and what draws it."""

    @property
    def shown(self) -> Results: ...
    @property
    def case(self) -> Case: ...
    @property
    def frame(self) -> Frame: ...
    @property
    def pyvista(self) -> Any: ...


def stage_of(flow: Shown, view: View, body: Any | None, box: bool = True) -> Any:
    """An empty box with its axes, and the body in it."""
    pv = flow.pyvista
    with _quiet(pv):
        stage = pv.Plotter(off_screen=True, window_size=list(view.pixels), lighting="light_kit")
    stage.set_background("white")
    edges = [edge for low, n in zip(flow.case.corner, flow.shown.size, strict=True) for edge in (low, low + n)]
    if box:
        stage.add_mesh(pv.Box(edges).extract_feature_edges(30), color="#555555", line_width=2)
    if body is not None:
        stage.add_mesh(body, color=BODY, smooth_shading=True, split_sharp_edges=True, specular=0.15)
    stage.add_axes(xlabel="x", ylabel="y", zlabel="z", line_width=4, color="#333333", viewport=(0.0, 0.0, 0.2, 0.26))
    return stage


def shot(flow: Shown, stage: Any, view: View, bounds: Sequence[float] | None = None) -> Array:
    """Points the camera at the box, or at what lies within bounds, so that it fills the picture, and takes it."""
    low, high = flow.case.corner + np.array([np.zeros(3), flow.shown.size])
    if bounds is not None:
        low, high = np.reshape(bounds, (3, 2)).T
    size = high - low
    middle, distance = (low + high) / 2, DISTANCE * float(np.linalg.norm(size))
    eye, up = view.direction()
    across = np.cross(up, eye) / np.linalg.norm(np.cross(up, eye))
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * size
    depth = distance - corners @ eye
    tall = np.abs(corners @ np.cross(eye, across)) / depth
    wide = np.abs(corners @ across) / depth * view.pixels[1] / view.pixels[0]
    stage.camera.focal_point = middle
    stage.camera.position = middle + eye * distance
    stage.camera.up = up
    stage.camera.view_angle = 2.0 * np.degrees(np.arctan(1.05 * max(tall.max(), wide.max())))
    stage.reset_camera_clipping_range()
    stage.enable_anti_aliasing("ssaa")
    with _quiet(flow.pyvista):
        image = np.asarray(stage.screenshot(return_img=True))[..., :3].copy()
    stage.close()
    return image


def _speed_look(flow: Flow, top: float | None) -> tuple[Normalize, Colormap, dict[str, Any]]:
    """Colours of the speed, and how PyVista is told of them."""
    norm = Normalize(0.0, top or flow.usual_top or 1.0)
    colours = matplotlib.colormaps[palette.SEQUENTIAL]
    return norm, colours, {"cmap": colours, "clim": (norm.vmin, norm.vmax), "show_scalar_bar": False}


def slices(flow: Flow, view: View, body: Any | None, cuts: Sequence[Cut], top: float | None = None) -> Picture:
    """Planes coloured by the speed."""
    stage = stage_of(flow, view, body)
    norm, colours, style = _speed_look(flow, top)
    names = []
    for cut in cuts:
        place = np.array(flow.shown.size) / 2
        axis = "xyz".index(cut.normal)
        # A plane on the side itself would miss the box by rounding.
        edge = 1e-6 * flow.case.spacing
        place[axis] = np.clip(cut.at, edge, flow.shown.size[axis] - edge)
        plane = flow.grid.slice(normal=np.eye(3)[axis], origin=place)
        stage.add_mesh(plane, scalars="speed", lighting=False, **style)
        names.append(results.flow_units(flow.case).at(cut.normal, cut.at))
    label = results.flow_units(flow.case).speed()
    return Picture(shot(flow, stage, view), norm, colours, label, "speed in " + ", ".join(names), flow.extend(norm))


def _seeds(flow: Flow) -> Any:
    """Cells of the fluid spread over the box, the same in each run: those of a sequence that fills it evenly."""
    golden = np.array([0.8191725134, 0.6710436067, 0.5497004779])
    places = (0.5 + np.outer(np.arange(1, 8 * LINES), golden)) % 1.0
    cells = (places * flow.shown.extent).astype(int)
    free = ~flow.solid[cells[:, 2], cells[:, 1], cells[:, 0]]
    return flow.pyvista.PolyData((places * flow.shown.size)[free][:LINES])


def streamlines(flow: Flow, view: View, body: Any | None, top: float | None = None) -> Picture:
    """Tubes along the velocity, coloured by the speed."""
    stage = stage_of(flow, view, body)
    norm, colours, style = _speed_look(flow, top)
    lines = flow.grid.streamlines_from_source(
        _seeds(flow),
        vectors="velocity",
        integration_direction="both",
        initial_step_length=0.5,
        step_unit="cl",
        max_length=2.5 * max(flow.shown.size),
        terminal_speed=1e-4 * flow.top,
        max_steps=4000,
    )
    # Of a fluid at rest, as at the start of a run, there are points but no lines.
    tubes = lines.tube(radius=0.0032 * float(np.linalg.norm(flow.shown.size)), n_sides=10) if lines.n_points else lines
    if "speed" in tubes.point_data:
        stage.add_mesh(tubes, scalars="speed", smooth_shading=True, ambient=0.35, **style)
    label = results.flow_units(flow.case).speed()
    return Picture(shot(flow, stage, view), norm, colours, label, "streamlines", flow.extend(norm))


def usual_q(q: Array, solid: Array) -> float:
    """The value above which VORTEX_SHARE of the fluid's cells lie; 0 where nothing turns."""
    return max(0.0, float(np.quantile(q[~solid], 1.0 - VORTEX_SHARE)))


def vortices(flow: Flow, view: View, body: Any | None, value: float | None, top: float | None = None) -> Picture:
    """The surface on which Q has a value, coloured by the speed."""
    stage = stage_of(flow, view, body)
    norm, colours, style = _speed_look(flow, top)
    q = derived.q_criterion(flow.case, flow.velocity, flow.solid)
    value = usual_q(q, flow.solid) if value is None else value
    flow.add_cells("q", q)
    surface = flow.grid.contour([value], scalars="q") if q.min() < value < q.max() else None
    if surface is not None and surface.n_points:
        stage.add_mesh(surface, scalars="speed", smooth_shading=True, ambient=0.2, specular=0.15, **style)
    unit = results.flow_units(flow.case)
    title = f"surface Q = {value:.3g} {unit.q}" + ("" if surface is not None else ": there is none")
    return Picture(shot(flow, stage, view), norm, colours, unit.speed(), title, flow.extend(norm))


def _inside_of_sides(flow: Flow, body: Any) -> Any:
    """Points on the sides of the box moved in by a rounding: VTK finds no value on a side itself."""
    edge = 1e-6 * flow.case.spacing
    points = np.asarray(body.points, dtype=np.float64)
    inside = np.clip(points, edge, np.array(flow.shown.size) - edge)
    moved = body.copy()
    moved.points = np.where(np.abs(points - inside) < 1e3 * edge, inside, points)
    return moved


def body_pressure(flow: Flow, view: View, body: Any) -> Picture:
    """The body coloured by the pressure of the fluid next to it."""
    stage = stage_of(flow, view, None, box=False)
    flow.add_pressure()
    sampled = _inside_of_sides(flow, body).sample(flow.grid)
    # What sticks out of the box has no pressure.
    sampled["pressure"] = np.where(sampled["vtkValidPointMask"] == 1, sampled["pressure"], np.nan)
    size = np.abs(sampled["pressure"][np.isfinite(sampled["pressure"])])
    if not size.size:
        raise CaseError("--scene body: no point of the body lies in the box")
    most = float(np.percentile(size, 99.5)) or 1.0
    norm, colours = Normalize(-most, most), palette.diverging()
    stage.add_mesh(
        sampled, scalars="pressure", smooth_shading=True, split_sharp_edges=True, cmap=colours,
        clim=(norm.vmin, norm.vmax), show_scalar_bar=False, ambient=0.3, diffuse=0.75, nan_color=BODY,
    )  # fmt: skip
    extend = "both" if size.max() > 1.0001 * most else "neither"
    label = results.flow_units(flow.case).pressure
    return Picture(shot(flow, stage, view, body.bounds), norm, colours, label, "pressure on the body", extend)


def framed(flow: Shown, picture: Picture) -> Figure:
    """The scene with its title and colour bar; the caller saves and closes it."""
    rows, columns = picture.image.shape[:2]
    unit = results.units(flow.case)
    with plt.rc_context(STYLE):
        width = 7.6
        figure, axes = plt.subplots(figsize=(width + 1.1, width * rows / columns + 0.6), layout="constrained")
        axes.imshow(picture.image, interpolation="antialiased")
        axes.axis("off")
        time = f", {unit.time(flow.frame.time)}" if flow.case.marches else ""
        what = f"{picture.title}{time}; box {unit.box(flow.shown.size)}"
        figure.suptitle(f"{case_title(flow.case)}\n{what}", x=0.01, ha="left", fontsize=10.5, parse_math=False)
        mapped = ScalarMappable(picture.norm, picture.colours)
        bar = figure.colorbar(
            mapped, ax=axes, label=picture.label, extend=picture.extend, shrink=0.75, pad=0.01, aspect=28
        )
        short_ticks(bar)
        return figure
