"""`slipstream render` of results without other scenes: planes in three dimensions, coloured by a quantity."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.case import Case
from slipstream.case.solver import solver_of
from slipstream.pictures import film, planes, scene
from slipstream.pictures.planes import Look, Plane
from slipstream.pictures.scene import Picture, Still, Wish
from slipstream.results.results import Frame, Results


def usual_field(case: Case, asked: Sequence[str]) -> str:
    """Name of the field to draw. Raises CaseError for a field that the case does not have."""
    known = solver_of(case).quantities(case)
    for name in asked:
        if name not in known:
            raise CaseError(
                f"--field {name}: there are {', '.join(known)}",
                ErrorCode.NOT_FOUND,
                key="--field",
                given=name,
                allowed=", ".join(known),
            )
    return next(iter(asked), None) or next(name for name, quantity in known.items() if quantity.usual)


class SliceArtist:
    """Draws cuts through frames, coloured by one field. Implements the protocol `slipstream.pictures.scene.Artist`."""

    scenes: ClassVar[tuple[str, ...]] = ("slices",)
    film_scene: ClassVar[str] = "slices"

    def __init__(self, shown: Results, wish: Wish) -> None:
        self._shown, self._view, self._cuts = shown, wish.view, wish.cuts
        self._field = usual_field(shown.case, wish.options.field)
        self._pyvista = scene.load_pyvista()

    def there(self, frame: Frame) -> list[str]:
        return [*self.scenes]

    def name(self, scene_name: str) -> str:
        return self._field

    def _planes(self, frame: Frame) -> list[Plane]:
        return [planes.cut_plane(self._shown, frame, cut) for cut in self._cuts]

    def _look(self, frames: Sequence[Frame]) -> Look:
        """Range of colours that all frames of a film share."""
        values = [plane.values(self._field) for frame in frames for plane in self._planes(frame)]
        return planes.look(self._shown.case, self._cuts[0], self._field, values)

    def figure(self, frame: Frame, scene_name: str) -> Figure:
        return self._figure(frame, self._look([frame]))

    def _figure(self, frame: Frame, how: Look) -> Figure:
        still = Still(self._shown, frame, self._pyvista)
        stage = scene.stage_of(still, self._view, None)
        for plane in self._planes(frame):
            stage.add_mesh(
                self._mesh(plane), scalars="values", lighting=False, cmap=how.colours, show_scalar_bar=False,
                clim=(how.norm.vmin, how.norm.vmax), nan_opacity=0.0,
            )  # fmt: skip
        units = still.case.field_units
        places = ", ".join(units.at(cut.normal, cut.at) for cut in self._cuts)
        image = scene.shot(still, stage, self._view)
        picture = Picture(image, how.norm, how.colours, how.label, f"{self._field} in {places}", how.extend)
        return scene.framed(still, picture)

    def _mesh(self, plane: Plane) -> Any:
        """A flat mesh for PyVista in the plane, with one value per cell."""
        values = np.ma.filled(plane.values(self._field).astype(np.float64), np.nan)
        at: list[np.ndarray] = [np.array([plane.cut.at])] * 3
        for axis, low, edge, count in zip(plane.axes, plane.corner, plane.edges, reversed(values.shape), strict=True):
            at["xyz".index(axis)] = np.linspace(low, low + edge, count + 1)
        mesh = self._pyvista.RectilinearGrid(*at)
        mesh.cell_data["values"] = values.ravel()  # the mesh takes values with the first axis of the plane fastest
        return mesh

    def film(self, scene_name: str) -> Iterator[np.ndarray]:
        how = self._look(self._shown.frames)
        for frame in self._shown.frames:
            yield film.pixels(self._figure(frame, how))
