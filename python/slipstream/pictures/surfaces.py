"""The surfaces of bodies that pictures show: from files, else those of the case itself."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.flow_case import FlowCase
from slipstream.geometry import bodies
from slipstream.results.results import Results

#: Endings of mesh files, which are also searched in the folder of results.
MESHES = (".stl", ".obj", ".ply", ".vtp")


def find(arguments: argparse.Namespace, shown: Results, pyvista: Any, console: Console) -> Any | None:
    """The surface of bodies to draw: the named ones, else those in mesh files beside the fields, else the case's own.
    None if there are none, or if the case's bodies cannot be made, which is printed."""
    paths = arguments.body or sorted(path for path in shown.folder.iterdir() if path.suffix.lower() in MESHES)
    if paths:
        whole = _joined([read(path, pyvista) for path in paths])
        if arguments.body:
            whole = whole.scale(arguments.body_scale, inplace=False).translate(arguments.body_move, inplace=False)
        _check_inside(whole, paths, shown)
    else:
        try:
            whole = of_case(shown, pyvista)
        except (CaseError, ImportError) as error:
            console.print(
                f"warning: {error}; pictures show the solid cells instead, --body would name a surface", soft_wrap=True
            )
            return None
    if whole is None:
        return None
    return _as_fine_as_cells(whole, shown).compute_normals(auto_orient_normals=False, split_vertices=False)


def _as_fine_as_cells(surface: Any, shown: Results) -> Any:
    """Splits triangles along the planes between cells, because colours are interpolated between corners. Bisection
    would make too many triangles of long thin ones."""
    edge = shown.case.spacing
    for axis, cells in enumerate(shown.extent):
        places = np.asarray(surface.points)[:, axis] / edge
        first, last = max(0, math.floor(places.min())), min(cells, math.ceil(places.max()))
        if np.ptp(places[surface.regular_faces], axis=1).max() <= 1.0 or last <= first:
            continue
        surface.point_data["place"] = places
        cut = surface.contour_banded(
            last - first + 1, rng=(first, last), scalars="place", scalar_mode="index", clipping=False,
            generate_contour_edges=False,
        )  # fmt: skip
        surface = cut.triangulate()
    surface.clear_data()
    return surface


def _joined(surfaces: Sequence[Any]) -> Any:
    return surfaces[0].append_polydata(*surfaces[1:])


def read(path: Path, pyvista: Any) -> Any:
    """Reads a surface from a file. It prefers the solver's own reader, because PyVista's reads some dialects
    differently. Raises CaseError."""
    if path.suffix.lower() not in MESHES:
        raise CaseError(
            f"--body {path}: name a file that ends in {', '.join(MESHES)}",
            ErrorCode.UNSUPPORTED,
            key="--body",
            file=path,
            allowed=", ".join(MESHES),
        )
    if not path.exists():
        raise CaseError(f"--body {path}: no such file", ErrorCode.NOT_FOUND, key="--body", file=path)
    if path.suffix.lower() in (".stl", ".obj"):
        with as_case_error("--body"):
            mesh = core().Mesh.read(str(path))
        return pyvista.PolyData.from_regular_faces(mesh.vertices, mesh.triangles)
    with pyvista.vtk_verbosity("off"):
        surface = pyvista.read(path)
    triangles = surface.triangulate() if isinstance(surface, pyvista.PolyData) else surface
    if not isinstance(triangles, pyvista.PolyData) or not triangles.n_cells:
        raise CaseError(f"--body {path}: holds no triangles", ErrorCode.BAD_FILE, key="--body", file=path)
    return triangles


def _check_inside(surface: Any, paths: Sequence[Path], shown: Results) -> None:
    low, high = np.array(surface.bounds[::2]), np.array(surface.bounds[1::2])
    if (high <= 0).any() or (low >= np.array(shown.size)).any():
        unit = shown.case.field_units.length.strip()
        spans = ", ".join(f"{a} {lo:.4g} to {hi:.4g}" for a, lo, hi in zip("xyz", low, high, strict=True))
        box = " x ".join(f"{edge:.4g}" for edge in shown.size)
        raise CaseError(
            f"--body {paths[0]}: {spans} {unit} lies outside of the box of {box} {unit}; --body-scale and --body-move "
            "bring the file's coordinates to those of the fields",
            ErrorCode.MISMATCH,
            key="--body",
            file=paths[0],
            given=spans,
            allowed=box,
        )


def of_case(shown: Results, pyvista: Any) -> Any | None:
    """The bodies of the case as the solver had them, clipped to the box, in the coordinates of the fields. None without
    bodies. Raises CaseError that names the body that cannot be made."""
    case, made = shown.case, []
    assert isinstance(case, FlowCase)
    for name, body in case.bodies.items():
        if body.mesh is not None:
            body = body.model_copy(update={"mesh": str(shown.find(body.mesh))})
        with as_case_error(f"bodies.{name}"):
            mesh = bodies.with_images(bodies.surface(body, case), body, case)
        points = mesh.vertices * (case.spacing / case.cell_edge)
        # A part of a file includes the vertices of the other parts, so unused ones are dropped.
        made.append(pyvista.PolyData.from_regular_faces(points, mesh.triangles).clean(point_merging=False))
    whole = _within(_joined(made), shown) if made else None
    return whole.triangulate() if whole is not None else None


def _within(surface: Any, shown: Results) -> Any | None:
    """Clips a surface to the box: cylinders, spheres and bodies at periodic sides extend beyond it."""
    for axis, edge in enumerate(shown.size):
        for end, sign in ((0.0, -1.0), (edge, 1.0)):
            if max(sign * (bound - end) for bound in surface.bounds[2 * axis : 2 * axis + 2]) <= 1e-6 * edge:
                continue
            surface = surface.clip(normal=sign * np.eye(3)[axis], origin=end * np.eye(3)[axis])
            if not surface.n_cells:
                return None
    return surface
