"""The stage of scenes in three dimensions, drawn by PyVista without a display, and what artists of scenes share.

PyVista draws the inside of the box; matplotlib adds titles, colour bars and units, as in other pictures.
"""

import argparse
import ctypes.util
import importlib.util
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from rich.console import Console

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.case import Case
from slipstream.pictures.planes import Cut, short_ticks
from slipstream.pictures.style import heading, styled
from slipstream.results.results import Frame, Results

Array = np.ndarray
#: Colour of a body that shows no quantity.
BODY = "#b9b4ab"
#: Distance of the camera from the middle of the box, in diagonals of the box.
DISTANCE = 2.6


def load_pyvista() -> Any:
    """Imports PyVista, set up for off-screen rendering. Raises CaseError that says what to install."""
    if importlib.util.find_spec("pyvista") is None:
        raise CaseError(
            "render: PyVista is not installed; `tools/setup.sh render` in the source tree, or "
            "`pip install 'slipstream[render]'`, brings it. `slipstream plot` needs nothing more",
            ErrorCode.UNAVAILABLE,
            needed="pyvista",
        )
    if not (os.environ.get("DISPLAY") or any(map(ctypes.util.find_library, ("EGL", "OSMesa")))):
        raise CaseError(
            "render: there is nothing to draw with: no display, and neither libEGL nor libOSMesa, with which VTK draws "
            "without one; install Debian's libegl1 (`tools/setup.sh render` does) or libosmesa6",
            ErrorCode.UNAVAILABLE,
            needed="libEGL, libOSMesa",
        )
    import pyvista

    pyvista.OFF_SCREEN = True
    return pyvista


@contextmanager
def _quiet(pyvista: Any) -> Iterator[None]:
    """Suppresses VTK's warning about a missing display, which it does not need."""
    with pyvista.vtk_verbosity("off"):
        yield


@dataclass(frozen=True)
class View:
    """Camera position and size of a picture."""

    up: str
    azimuth: float  #: angle of the camera in degrees round the axis that points up
    elevation: float  #: angle of the camera in degrees above the horizontal plane
    pixels: tuple[int, int]

    def direction(self) -> tuple[Array, Array]:
        """Vectors from the middle of the box to the eye, and up. At azimuth 0 the eye looks along a horizontal axis."""
        up = "xyz".index(self.up)
        # If y points up, x points right and z towards the eye. If z points up, x points right and y away from the eye.
        right, near, sign = {0: (1, 2, -1.0), 1: (0, 2, 1.0), 2: (0, 1, -1.0)}[up]
        turn, lift = np.radians(self.azimuth), np.radians(self.elevation)
        eye = np.zeros(3)
        eye[right] = np.sin(turn) * np.cos(lift)
        eye[near] = sign * np.cos(turn) * np.cos(lift)
        eye[up] = np.sin(lift)
        return eye, np.eye(3)[up]


@dataclass(frozen=True)
class Wish:
    """Options of `slipstream render`, except scenes and times."""

    #: parsed arguments of `slipstream render`; used are the field, the value of the Q criterion and the files of bodies
    options: argparse.Namespace
    view: View
    cuts: Sequence[Cut]
    console: Console


class Artist(Protocol):
    """Draws the fields that a run has written. Each solver has such a class for its cases. It is constructed from the
    Results and the options of `slipstream render` (Wish). Raises CaseError for options that are not supported."""

    scenes: ClassVar[tuple[str, ...]]  #: names of all scenes that the class can draw
    film_scene: ClassVar[str]  #: default scene of a film

    def there(self, frame: Frame) -> list[str]:
        """Names of the scenes that can be drawn of a frame."""

    def name(self, scene_name: str) -> str:
        """The part of a picture's file name that names the scene."""

    def figure(self, frame: Frame, scene_name: str) -> Figure:
        """Draws one scene of a frame. The caller saves and closes the figure."""

    def film(self, scene_name: str) -> Iterator[Array]:
        """The pixels of all frames of one scene, in the same colours, for a film."""


@dataclass(frozen=True)
class Picture:
    """An image of a scene, and the meaning of its colours."""

    image: Array
    norm: Normalize
    colours: Colormap
    label: str
    title: str
    extend: str = "neither"


class Still:
    """A frame of results, and the PyVista module that draws it."""

    case: Case

    def __init__(self, shown: Results, frame: Frame, pyvista: Any) -> None:
        self.shown, self.case, self.frame, self.pyvista = shown, shown.case, frame, pyvista


def stage_of(flow: Still, view: View, body: Any | None, box: bool = True) -> Any:
    """A PyVista plotter with the box, its axes and the body."""
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


def shot(flow: Still, stage: Any, view: View, bounds: Sequence[float] | None = None) -> Array:
    """Fits the camera to the box or to `bounds`, and renders an image."""
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


def framed(flow: Still, picture: Picture) -> Figure:
    """Draws the image of a scene with its title and colour bar; the caller saves and closes the figure."""
    rows, columns = picture.image.shape[:2]
    unit = flow.case.field_units
    with styled():
        width = 7.6
        figure, axes = plt.subplots(figsize=(width + 1.1, width * rows / columns + 0.6), layout="constrained")
        axes.imshow(picture.image, interpolation="antialiased")
        axes.axis("off")
        time = f", {unit.time(flow.frame.time)}" if flow.case.marches else ""
        what = f"{picture.title}{time}; box {unit.box(flow.shown.size)}"
        title = heading(flow.case, width + 1.0, 10.5)
        figure.suptitle(f"{title}\n{what}", x=0.01, ha="left", fontsize=10.5, parse_math=False)
        mapped = ScalarMappable(picture.norm, picture.colours)
        bar = figure.colorbar(
            mapped, ax=axes, label=picture.label, extend=picture.extend, shrink=0.75, pad=0.01, aspect=28
        )
        short_ticks(bar)
        return figure
