"""Surfaces of bodies in pictures. Rendering tests need PyVista and are skipped without it."""

import argparse
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SMALL, TETRAHEDRON, Cli, needs_pyvista
from errors import raises
from rich.console import Console
from slipstream.base.core import core
from slipstream.base.errors import CaseError
from slipstream.case.reader import load
from slipstream.pictures import scene, surfaces
from slipstream.results.results import Results

IN_CELLS = """\
[grid]
cells = [24, 16, 16]
periodic = [true, true, true]
[physics]
viscosity = 0.05
length = 8
reference_velocity = 0.05
[run]
steps = 1
"""
IN_SI = """\
[grid]
cells = [24, 16, 16]
periodic = [true, true, true]
[units]
system = "SI"
cell = 0.05
density = 1.2
lattice_speed = 0.05
[physics]
reynolds = 10
length = 0.4
reference_velocity = 2
[run]
steps = 1
"""


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def results(case: str, bodies: str, folder: str = "results/some") -> Results:
    """A result folder without fields."""
    Path("some.toml").write_text(f'{case}[output]\nfolder = "{folder}"\n{bodies}')
    Path(folder).mkdir(parents=True)
    (Path(folder) / "case.resolved.toml").write_text(load("some.toml").resolved("host").to_toml())
    return Results(folder)


def found(shown: Results, *named: str) -> tuple[Any | None, str]:
    """The surface that `slipstream render` chooses for these files of bodies, and the console output."""
    arguments = argparse.Namespace(body=[Path(name) for name in named], body_scale=1.0, body_move=(0.0, 0.0, 0.0))
    said = io.StringIO()
    return surfaces.find(arguments, shown, scene.load_pyvista(), Console(file=said, width=80)), said.getvalue()


def test_mesh_shows_its_vertices_and_triangles_as_copies() -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2.5]])
    triangles = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype=np.int32)
    mesh = core().Mesh.of(vertices, triangles)
    np.testing.assert_array_equal(mesh.vertices, vertices)
    np.testing.assert_array_equal(mesh.triangles, triangles)
    mesh.vertices[:] = 7.0
    np.testing.assert_array_equal(mesh.vertices, vertices)
    nothing = core().Mesh.of(np.empty((0, 3)), np.empty((0, 3), dtype=np.int32))
    assert nothing.vertices.shape == nothing.triangles.shape == (0, 3)


@pytest.mark.parametrize("folder", ["results/some", "."])
def test_mesh_of_a_case_is_found_from_another_folder(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("part.obj").write_text(TETRAHEDRON)
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "case.resolved.toml").write_text(f'{IN_CELLS}[output]\nfolder = "{folder}"\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    shown = Results(Path("..") / folder)
    assert shown.find("part.obj").samefile(tmp_path / "part.obj")
    assert shown.find("none.obj") == Path("none.obj")


ANOTHER = b"\xef\xbb\xbf# C:\\out\\\ng D:\\cad\\\n" + TETRAHEDRON.encode().replace(b"o tetrahedron", b"O K\xf6rper#2")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_mesh_written_on_another_system_is_the_same(end: bytes) -> None:
    Path("part.obj").write_text(TETRAHEDRON)
    Path("other.obj").write_bytes(ANOTHER.replace(b"\n", end))
    meshes = [core().Mesh.read(name) for name in ("part.obj", "other.obj")]
    np.testing.assert_array_equal(meshes[0].vertices, meshes[1].vertices)
    np.testing.assert_array_equal(meshes[0].triangles, meshes[1].triangles)


def test_part_that_is_missing_is_told_beside_names_of_any_encoding() -> None:
    Path("other.obj").write_bytes(ANOTHER)
    with raises(RuntimeError, "not_found", choices="'Körper#2'", part="roof"):
        core().Mesh.read("other.obj").part("roof")


@needs_pyvista
def test_surface_that_is_named_is_read_as_the_solver_reads_it() -> None:
    Path("other.obj").write_bytes(ANOTHER)
    surface = surfaces.read(Path("other.obj"), scene.load_pyvista())
    assert surface.volume == pytest.approx(0.2**3 / 6, rel=1e-5)


@needs_pyvista
@pytest.mark.parametrize(
    ("case", "keys", "scale", "move"),
    [
        (IN_CELLS, "scale = 20\ntranslate = [2, 1, 0]\n", 20 / 8, (0.25, 0.125, 0.0)),
        (IN_SI, 'units = "cm"\nscale = 50\ntranslate = [0.2, 0.1, 0]\n', 0.5, (0.2, 0.1, 0.0)),
    ],
)
def test_mesh_of_a_case_is_drawn_where_the_solver_has_it(
    case: str, keys: str, scale: float, move: tuple[float, float, float]
) -> None:
    Path("part.obj").write_text(TETRAHEDRON)
    shown = results(case, f'[bodies.part]\nmesh = "part.obj"\n{keys}')
    surface, said = found(shown)
    assert surface is not None and said == ""
    low, high = np.array(move) + 0.4 * scale, np.array(move) + 0.6 * scale
    np.testing.assert_allclose(surface.bounds, np.stack([low, high], axis=1).ravel(), rtol=1e-6)
    assert surface.volume == pytest.approx((0.2 * scale) ** 3 / 6, rel=1e-5)


@needs_pyvista
def test_sphere_of_a_case_is_drawn_round_its_centre() -> None:
    shown = results(IN_CELLS, '[bodies.ball]\nshape = "sphere"\ncentre = [9, 8, 7]\nradius = 4\n')
    surface, _ = found(shown)
    assert surface is not None
    distance = np.linalg.norm(surface.points - np.array([9, 8, 7]) / 8, axis=1)
    np.testing.assert_allclose(distance, 0.5, rtol=1e-3)


@needs_pyvista
def test_sphere_at_a_periodic_corner_is_drawn_in_all_corners() -> None:
    shown = results(IN_CELLS, '[bodies.ball]\nshape = "sphere"\ncentre = [23, 0, 15]\nradius = 4\n')
    surface, _ = found(shown)
    assert surface is not None
    assert surface.area == pytest.approx(4 * np.pi * 0.5**2, rel=1e-3)
    np.testing.assert_allclose(surface.bounds, (0, 3, 0, 2, 0, 2), atol=1e-6)


@needs_pyvista
def test_cylinder_of_a_case_ends_at_the_sides_of_the_box() -> None:
    shown = results(IN_CELLS, '[bodies.post]\nshape = "cylinder"\ncentre = [9, 8, 0]\nradius = 4\n')
    surface, _ = found(shown)
    assert surface is not None
    np.testing.assert_allclose(surface.bounds[4:], (0.0, 2.0), atol=1e-9)
    assert surface.area == pytest.approx(2 * np.pi * 0.5 * 2.0, rel=1e-4)


@needs_pyvista
def test_triangles_of_a_body_are_cut_to_the_size_of_the_cells() -> None:
    Path("part.obj").write_text(TETRAHEDRON)
    surface, _ = found(results(IN_CELLS, '[bodies.part]\nmesh = "part.obj"\nscale = 20\n'))
    assert surface is not None
    corners = surface.points[surface.regular_faces]
    assert np.ptp(corners, axis=1).max() <= 1.001 / 8
    assert surface.area == pytest.approx((1.5 + np.sqrt(0.75)) * 0.5**2, rel=1e-5)


@needs_pyvista
def test_bodies_of_a_case_are_drawn_together_after_files_and_names() -> None:
    one = '[bodies.{}]\nshape = "sphere"\ncentre = [{}, 8, 8]\nradius = 2\n'
    shown = results(IN_CELLS, one.format("front", 4) + one.format("back", 20))
    surface, _ = found(shown)
    assert surface is not None
    np.testing.assert_allclose(surface.bounds[:2], (2 / 8, 22 / 8), rtol=1e-6)
    for name in ("one.obj", "two.obj"):
        (shown.folder / name).write_text(TETRAHEDRON)
    area = (1.5 + np.sqrt(0.75)) * 0.2**2
    surface, _ = found(shown)
    assert surface is not None and surface.area == pytest.approx(2 * area, rel=1e-5)
    surface, _ = found(shown, "results/some/one.obj")
    assert surface is not None and surface.area == pytest.approx(area, rel=1e-5)


@needs_pyvista
def test_body_whose_mesh_is_gone_is_told_in_one_sentence() -> None:
    Path("gone.obj").write_text(TETRAHEDRON)
    shown = results(IN_CELLS, '[bodies.part]\nmesh = "gone.obj"\n')
    Path("gone.obj").unlink()
    surface, said = found(shown)
    assert surface is None
    assert "bodies.part: gone.obj: " in said and said.count("\n") == 1
    with raises(CaseError, None, key="bodies.part"):
        surfaces.of_case(shown, scene.load_pyvista())


@needs_pyvista
def test_run_whose_mesh_is_gone_is_drawn_by_its_solid_cells(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    body = '[bodies.part]\nmesh = "part.obj"\nscale = 40\ntranslate = [-12, -12, -12]\n'
    (tmp_path / "small.toml").write_text(f"{SMALL}{body}")
    assert cli("run", "small.toml", "output.pictures=false").returncode == 0
    words = ("render", "results/small", "--scene", "body", "--size", "240", "180")
    own = cli(*words, DISPLAY="")
    assert own.returncode == 0 and "warning" not in own.stdout
    drawn = (tmp_path / "results/small/pictures/render_body.png").read_bytes()
    (tmp_path / "part.obj").unlink()
    cells = cli(*words, DISPLAY="")
    assert cells.returncode == 0 and cells.stderr == ""
    assert cells.stdout.count("warning: bodies.part: ../../part.obj") == 1, "from the folder of the resolved case"
    assert (tmp_path / "results/small/pictures/render_body.png").read_bytes() != drawn
