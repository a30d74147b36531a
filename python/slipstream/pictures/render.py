"""`slipstream render`: pictures and films in three dimensions of a run's fields."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from slipstream.base.errors import CaseError
from slipstream.case.flow_case import FlowCase
from slipstream.flow import derived
from slipstream.pictures import film, planes, scene, slices, style, surfaces
from slipstream.pictures.picture_options import SCENES, check_film
from slipstream.pictures.planes import Cut
from slipstream.pictures.plot import report_files, report_film
from slipstream.pictures.scene import Flow, Picture, View
from slipstream.results.results import PICTURES, Frame, Results


def command(arguments: argparse.Namespace, console: Console) -> None:
    check_film(arguments)
    shown = Results(arguments.results)
    if shown.case.dimensions < 3:
        raise CaseError(f"render: {shown.folder} holds a case in two dimensions; `slipstream plot` draws it")
    first = shown.frame(arguments.time)
    view = _view(arguments, shown)
    cuts = [planes.parse_cut(text, shown.case) for text in arguments.plane or "xyz"]
    if not isinstance(shown.case, FlowCase):
        _slices(arguments, shown, first, view, cuts, console)
        return
    if arguments.field:
        raise CaseError(
            "--field: the scenes of a flow have fields of their own; `slipstream plot --field` draws others"
        )
    pyvista = scene.load_pyvista()
    artist = Artist(shown, pyvista, view, cuts, arguments.q, surfaces.find(arguments, shown, pyvista, console))
    try:
        if arguments.film:
            if len(arguments.scene) > 1:
                raise CaseError("--film: a film shows one scene; name one --scene")
            name = arguments.scene[0] if arguments.scene else "q"
            report_film(console, film.write(arguments.film, artist.film(name), arguments.fps))
            return
        folder = arguments.output or shown.folder / PICTURES
        folder.mkdir(parents=True, exist_ok=True)
        flow = artist.flow(first)
        written = []
        for name in arguments.scene or artist.scenes(flow):
            path = folder / f"render_{name}.png"
            style.save(scene.framed(flow, artist.draw(flow, name)), path)
            written.append(path)
    except OSError as error:
        raise CaseError(f"a picture cannot be written: {error}") from None
    report_files(console, written)


def _slices(
    arguments: argparse.Namespace, shown: Results, frame: Frame, view: View, cuts: Sequence[Cut], console: Console
) -> None:
    """Of solvers that have no other scenes."""
    if others := [name for name in arguments.scene if name != "slices"]:
        raise CaseError(
            f"--scene {others[0]}: {shown.folder} is of [{shown.case.solver}], whose results are shown by slices alone"
        )
    field = slices.usual_field(shown.case, arguments.field)
    artist = slices.SliceArtist(shown, scene.load_pyvista(), view, cuts, field)
    try:
        if arguments.film:
            report_film(console, film.write(arguments.film, artist.film(), arguments.fps))
            return
        folder = arguments.output or shown.folder / PICTURES
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"render_{field}.png"
        style.save(artist.figure(frame, artist.look([frame])), path)
    except OSError as error:
        raise CaseError(f"a picture cannot be written: {error}") from None
    report_files(console, [path])


def _view(arguments: argparse.Namespace, shown: Results) -> View:
    if min(arguments.size) < 64 or max(arguments.size) > 8192:
        raise CaseError(f"--size {arguments.size[0]} {arguments.size[1]}: 64 to 8192 pixels each")
    azimuth, elevation = arguments.view
    if not -89.0 <= elevation <= 89.0:
        raise CaseError(f"--view: an elevation of {elevation:g} degrees; -89 to 89 keep what is up up")
    return View(arguments.up or scene.default_up(shown.case), azimuth, elevation, tuple(arguments.size))


class Artist:
    """Draws scenes of frames, each frame read once."""

    def __init__(
        self, shown: Results, pyvista: Any, view: View, cuts: Sequence[Cut], q: float | None, mesh: Any | None
    ) -> None:
        self._shown, self._pyvista, self._view = shown, pyvista, view
        self._cuts, self._q, self._mesh = cuts, q, mesh

    def flow(self, frame: Any) -> Flow:
        return Flow(self._shown, frame, self._pyvista)

    def scenes(self, flow: Flow) -> list[str]:
        """All that there are to draw."""
        return [name for name in SCENES if name != "body" or self._body(flow) is not None]

    def _body(self, flow: Flow) -> Any | None:
        return self._mesh if self._mesh is not None else flow.body()

    def draw(self, flow: Flow, name: str, top: float | None = None) -> Picture:
        """One scene; `top`: the speed at the end of the colours."""
        body = self._body(flow)
        if name == "slices":
            return scene.slices(flow, self._view, body, self._cuts, top)
        if name == "streamlines":
            return scene.streamlines(flow, self._view, body, top)
        if name == "q":
            return scene.vortices(flow, self._view, body, self._q, top)
        if body is None:
            raise CaseError(
                f"--scene body: {self._shown.folder} has neither solid cells nor a surface; name one by --body"
            )
        return scene.body_pressure(flow, self._view, body)

    def film(self, name: str) -> Iterator[np.ndarray]:
        """All frames in the colours of the fastest, with the surface of Q of the last."""
        top = max(self.flow(frame).usual_top for frame in self._shown.frames)
        if name == "q" and self._q is None:
            last = self.flow(self._shown.frames[-1])
            self._q = scene.usual_q(derived.q_criterion(last.case, last.velocity, last.solid), last.solid)
        for frame in self._shown.frames:
            flow = self.flow(frame)
            yield film.pixels(scene.framed(flow, self.draw(flow, name, top)))
