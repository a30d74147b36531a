"""Scenes of a flow in three dimensions: slices, streamlines, vortices, bodies."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import matplotlib
import numpy as np
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.flow_case import FlowCase
from slipstream.flow import derived
from slipstream.pictures import film, flow_quantities, palette, scene, surfaces
from slipstream.pictures.planes import Cut
from slipstream.pictures.scene import BODY, Picture, Still, View, Wish, shot, stage_of
from slipstream.results.results import Frame, Results

Array = np.ndarray
#: Share of the fluid's cells that a surface of the Q criterion encloses, if no value of Q is given.
VORTEX_SHARE = 0.04
#: Number of streamlines that a scene starts.
LINES = 90


class Flow(Still):
    """A frame of a flow for PyVista: values at the cell centres and on the sides of the box."""

    case: FlowCase

    def __init__(self, shown: Results, frame: Frame, pyvista: Any) -> None:
        super().__init__(shown, frame, pyvista)
        self.velocity = shown.read(frame, "velocity")
        self.solid = shown.read(frame, "flags") != 0
        if not np.isfinite(self.velocity).all():
            time = self.case.field_units.time(frame.time)
            raise CaseError(
                f"{frame.path}: the velocity at {time} is not finite; name an earlier --time, or plot it",
                ErrorCode.OVERFLOW,
                file=frame.path,
                key="--time",
                given=time,
            )
        at = [derived.coordinates(n, self.case.spacing) for n in shown.extent]
        self.grid = pyvista.RectilinearGrid(*at)
        padded = derived.velocity_with_sides(self.case, self.velocity)
        self._add("velocity", padded.reshape(-1, 3))
        self._add("speed", np.linalg.norm(padded, axis=-1).ravel())
        self.top = float(self.grid["speed"].max()) or 1.0
        #: Speed at which colours end: the 97th percentile. Thin fast layers under a lid would otherwise darken the
        #: rest.
        self.usual_top = float(np.quantile(np.linalg.norm(self.velocity, axis=-1)[~self.solid], 0.97))
        self.usual_top = self.usual_top or float(self.grid["speed"].max())

    def _add(self, name: str, values: Array) -> None:
        self.grid.point_data[name] = np.ascontiguousarray(values, dtype=np.float32)

    def extend(self, norm: Normalize) -> str:
        """Ends of a colour bar that some values exceed: `extend` in Matplotlib."""
        return "max" if self.top > 1.0001 * float(norm.vmax or 0.0) else "neither"

    def add_cells(self, name: str, values: Array) -> None:
        """Adds values [z][y][x] of the cells to the mesh, continued to the sides of the box."""
        self._add(name, derived.with_sides(values, (2, 1, 0), self.case.grid.periodic).ravel())

    def body(self) -> Any | None:
        """The surface of the solid cells, None where there are none: half-way between solid and fluid, smoothed."""
        if not self.solid.any():
            return None
        self.add_cells("solid", self.solid.astype(np.float32))
        return self.grid.contour([0.5], scalars="solid").smooth_taubin(n_iter=30, pass_band=0.05)

    def add_pressure(self) -> None:
        """Adds the pressure above that at rest to the mesh. Cells of bodies get the pressure of the nearest fluid, so
        that surfaces show it."""
        pressure = flow_quantities.pressure(self.case, self.shown.read(self.frame, "density").astype(np.float64))
        self.add_cells("pressure", spread_into(pressure, self.solid, layers=3))


def spread_into(values: Array, solid: Array, layers: int) -> Array:
    """Fills the outermost layers of solid cells, one after the other, with the mean of neighbours that have a value."""
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
    """An array shifted by one cell along an axis, so that cells get their neighbour's value; zero at the end."""
    result = np.zeros_like(values)
    target: list[slice] = [slice(None)] * 3
    source: list[slice] = [slice(None)] * 3
    target[axis], source[axis] = (slice(1, None), slice(None, -1)) if step > 0 else (slice(None, -1), slice(1, None))
    result[tuple(target)] = values[tuple(source)]
    return result


def _speed_look(flow: Flow, top: float | None) -> tuple[Normalize, Colormap, dict[str, Any]]:
    """Colours of the speed: the scale, the colour map, and arguments for PyVista."""
    norm = Normalize(0.0, top or flow.usual_top or 1.0)
    colours = matplotlib.colormaps[palette.SEQUENTIAL]
    return norm, colours, {"cmap": colours, "clim": (norm.vmin, norm.vmax), "show_scalar_bar": False}


def slices(flow: Flow, view: View, body: Any | None, cuts: Sequence[Cut], top: float | None = None) -> Picture:
    """Draws planes through the box, coloured by the speed."""
    stage = stage_of(flow, view, body)
    norm, colours, style = _speed_look(flow, top)
    names = []
    for cut in cuts:
        place = np.array(flow.shown.size) / 2
        axis = "xyz".index(cut.normal)
        # A plane on a side is moved inwards, because rounding can put it outside of the box.
        edge = 1e-6 * flow.case.spacing
        place[axis] = np.clip(cut.at, edge, flow.shown.size[axis] - edge)
        plane = flow.grid.slice(normal=np.eye(3)[axis], origin=place)
        stage.add_mesh(plane, scalars="speed", lighting=False, **style)
        names.append(flow.case.field_units.at(cut.normal, cut.at))
    label = flow.case.field_units.speed()
    return Picture(shot(flow, stage, view), norm, colours, label, "speed in " + ", ".join(names), flow.extend(norm))


def _seeds(flow: Flow) -> Any:
    """Cells of the fluid spread over the box, from a deterministic low-discrepancy sequence."""
    golden = np.array([0.8191725134, 0.6710436067, 0.5497004779])
    places = (0.5 + np.outer(np.arange(1, 8 * LINES), golden)) % 1.0
    cells = (places * flow.shown.extent).astype(int)
    free = ~flow.solid[cells[:, 2], cells[:, 1], cells[:, 0]]
    return flow.pyvista.PolyData((places * flow.shown.size)[free][:LINES])


def streamlines(flow: Flow, view: View, body: Any | None, top: float | None = None) -> Picture:
    """Draws streamlines of the velocity as tubes, coloured by the speed."""
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
    # A flow at rest, as at the start of a run, has points but no streamlines.
    tubes = lines.tube(radius=0.0032 * float(np.linalg.norm(flow.shown.size)), n_sides=10) if lines.n_points else lines
    if "speed" in tubes.point_data:
        stage.add_mesh(tubes, scalars="speed", smooth_shading=True, ambient=0.35, **style)
    label = flow.case.field_units.speed()
    return Picture(shot(flow, stage, view), norm, colours, label, "streamlines", flow.extend(norm))


def usual_q(q: Array, solid: Array) -> float:
    """The value of the Q criterion above which VORTEX_SHARE of the fluid's cells lie; 0 without rotation."""
    return max(0.0, float(np.quantile(q[~solid], 1.0 - VORTEX_SHARE)))


def vortices(flow: Flow, view: View, body: Any | None, value: float | None, top: float | None = None) -> Picture:
    """Draws the surface on which the Q criterion has a given value, coloured by the speed."""
    stage = stage_of(flow, view, body)
    norm, colours, style = _speed_look(flow, top)
    q = derived.q_criterion(flow.case, flow.velocity, flow.solid)
    value = usual_q(q, flow.solid) if value is None else value
    flow.add_cells("q", q)
    surface = flow.grid.contour([value], scalars="q") if q.min() < value < q.max() else None
    if surface is not None and surface.n_points:
        stage.add_mesh(surface, scalars="speed", smooth_shading=True, ambient=0.2, specular=0.15, **style)
    unit = flow.case.field_units
    title = f"surface Q = {value:.3g} {unit.q}" + ("" if surface is not None else ": there is none")
    return Picture(shot(flow, stage, view), norm, colours, unit.speed(), title, flow.extend(norm))


def _inside_of_sides(flow: Flow, body: Any) -> Any:
    """Moves points on the sides of the box inwards by a rounding error, because VTK finds no value there."""
    edge = 1e-6 * flow.case.spacing
    points = np.asarray(body.points, dtype=np.float64)
    inside = np.clip(points, edge, np.array(flow.shown.size) - edge)
    moved = body.copy()
    moved.points = np.where(np.abs(points - inside) < 1e3 * edge, inside, points)
    return moved


def body_pressure(flow: Flow, view: View, body: Any) -> Picture:
    """Draws a body coloured by the pressure of the fluid next to it."""
    stage = stage_of(flow, view, None, box=False)
    flow.add_pressure()
    sampled = _inside_of_sides(flow, body).sample(flow.grid)
    # Parts of the body outside of the box have no pressure.
    sampled["pressure"] = np.where(sampled["vtkValidPointMask"] == 1, sampled["pressure"], np.nan)
    size = np.abs(sampled["pressure"][np.isfinite(sampled["pressure"])])
    if not size.size:
        raise CaseError(
            "--scene body: no point of the body lies in the box", ErrorCode.NOT_FOUND, key="--scene", given="body"
        )
    most = float(np.percentile(size, 99.5)) or 1.0
    norm, colours = Normalize(-most, most), palette.diverging()
    stage.add_mesh(
        sampled, scalars="pressure", smooth_shading=True, split_sharp_edges=True, cmap=colours,
        clim=(norm.vmin, norm.vmax), show_scalar_bar=False, ambient=0.3, diffuse=0.75, nan_color=BODY,
    )  # fmt: skip
    extend = "both" if size.max() > 1.0001 * most else "neither"
    label = flow.case.field_units.pressure
    return Picture(shot(flow, stage, view, body.bounds), norm, colours, label, "pressure on the body", extend)


class FlowArtist:
    """Draws scenes of the frames of a flow: `slipstream.pictures.scene.Artist`."""

    scenes: ClassVar[tuple[str, ...]] = ("slices", "streamlines", "q", "body")
    film_scene: ClassVar[str] = "q"

    def __init__(self, shown: Results, wish: Wish) -> None:
        if wish.options.field:
            raise CaseError(
                "--field: the scenes of a flow have fields of their own; `slipstream plot --field` draws others",
                ErrorCode.UNSUPPORTED,
                key="--field",
            )
        self._shown, self._wish, self._q = shown, wish, wish.options.q
        self._pyvista = scene.load_pyvista()
        self._mesh = surfaces.find(wish.options, shown, self._pyvista, wish.console)
        self._read: tuple[Frame, Flow] | None = None

    def _flow(self, frame: Frame) -> Flow:
        """The flow of a frame, cached for all its scenes."""
        if self._read is None or self._read[0] != frame:
            self._read = frame, Flow(self._shown, frame, self._pyvista)
        return self._read[1]

    def _body(self, flow: Flow) -> Any | None:
        return self._mesh if self._mesh is not None else flow.body()

    def there(self, frame: Frame) -> list[str]:
        """Names of the scenes that can be drawn of a frame; "body" only if there is a body."""
        return [name for name in self.scenes if name != "body" or self._body(self._flow(frame)) is not None]

    def name(self, scene_name: str) -> str:
        return scene_name

    def figure(self, frame: Frame, scene_name: str) -> Figure:
        return self._figure(self._flow(frame), scene_name, None)

    def _figure(self, flow: Flow, scene_name: str, top: float | None) -> Figure:
        return scene.framed(flow, self._draw(flow, scene_name, top))

    def _draw(self, flow: Flow, name: str, top: float | None) -> Picture:
        """Draws one scene; `top`: the speed at the end of the colours."""
        body, view = self._body(flow), self._wish.view
        if name == "slices":
            return slices(flow, view, body, self._wish.cuts, top)
        if name == "streamlines":
            return streamlines(flow, view, body, top)
        if name == "q":
            return vortices(flow, view, body, self._q, top)
        if body is None:
            raise CaseError(
                f"--scene body: {self._shown.folder} has neither solid cells nor a surface; name one by --body",
                ErrorCode.NOT_FOUND,
                key="--body",
                file=self._shown.folder,
            )
        return body_pressure(flow, view, body)

    def film(self, scene_name: str) -> Iterator[Array]:
        """All frames of a film of one scene. All have one colour scale, up to the speed of the fastest frame.
        Surfaces of the Q criterion are drawn at one value of Q, which is chosen for the last frame."""
        top = max(self._flow(frame).usual_top for frame in self._shown.frames)
        if scene_name == "q" and self._q is None:
            last = self._flow(self._shown.frames[-1])
            self._q = usual_q(derived.q_criterion(last.case, last.velocity, last.solid), last.solid)
        for frame in self._shown.frames:
            yield film.pixels(self._figure(self._flow(frame), scene_name, top))
