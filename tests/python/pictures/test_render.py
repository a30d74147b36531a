"""Three-dimensional pictures. Rendering tests need PyVista and are skipped with the reason without it."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import slipstream as slip
from conftest import SMALL, TETRAHEDRON, Cli, needs_pyvista
from errors import is_error, raises
from matplotlib.figure import Figure
from PIL import Image
from rich.console import Console
from slipstream.base.errors import CaseError
from slipstream.cli.parser import parse
from slipstream.lbm.solver import SOLVER as lbm
from slipstream.pictures import flow_scenes, scene
from slipstream.pictures import render as rendering
from slipstream.results.results import Frame, Results


@pytest.fixture(scope="module")
def ball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a force-driven flow past a ball of solid cells, two frames."""
    folder = tmp_path_factory.mktemp("render") / "ball"
    folder.mkdir()
    flow = slip.lbm.Simulation(
        cells=(24, 16, 16), viscosity=0.05, length=8.0, reference_velocity=0.05, walls={}, periodic=(True, True, True),
        force=(1e-4, 0, 0), backend="host",
    )  # fmt: skip
    z, y, x = np.meshgrid(*(np.arange(n) + 0.5 for n in (16, 16, 24)), indexing="ij")
    flow.set_solid((x - 8) ** 2 + (y - 8) ** 2 + (z - 8) ** 2 < 3.5**2)
    (folder / "case.resolved.toml").write_text(flow.case.resolved("host").to_toml())
    for _ in range(2):
        flow.run(steps=60, quiet=True)
        flow.write(folder / "fields.vtkhdf")
    return folder


@pytest.fixture
def results(ball: Path, tmp_path: Path) -> Path:
    """A copy of the results of the flow past a ball, in the folder where the command `slipstream` runs."""
    return Path(shutil.copytree(ball, tmp_path / "ball"))


def colours_in(path: Path) -> int:
    with Image.open(path) as image:
        return len(image.convert("RGB").getcolors(1 << 24) or [])


def render(cli: Cli, *words: str) -> subprocess.CompletedProcess[str]:
    """Renders in low resolution, without a display."""
    return cli("render", *words, "--size", "240", "180", DISPLAY="")


def test_render_without_pyvista_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene.importlib.util, "find_spec", lambda name: None)
    with raises(CaseError, "unavailable", needed="pyvista"):
        scene.load_pyvista()


def test_render_where_nothing_can_draw_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(scene.ctypes.util, "find_library", lambda name: None)
    monkeypatch.delenv("DISPLAY", raising=False)
    with raises(CaseError, "unavailable", needed="libEGL, libOSMesa"):
        scene.load_pyvista()


def test_solid_cells_next_to_the_fluid_take_the_mean_of_their_neighbours() -> None:
    values = np.broadcast_to(np.arange(6.0), (3, 3, 6)).copy()
    solid = np.zeros(values.shape, dtype=bool)
    solid[:, :, 2:] = True
    solid[:, :, 5] = False
    filled = flow_scenes.spread_into(values, solid, layers=1)
    assert (filled[:, :, 2] == 1.0).all() and (filled[:, :, 4] == 5.0).all() and (filled[:, :, 3] == 0.0).all()


def test_the_usual_surface_of_q_holds_its_share_of_the_fluid() -> None:
    q = np.arange(1000.0).reshape(10, 10, 10)
    solid = q >= 900
    held = (q[~solid] > flow_scenes.usual_q(q, solid)).mean()
    assert held == pytest.approx(flow_scenes.VORTEX_SHARE, abs=0.002)


@pytest.mark.parametrize(("up", "right"), [("x", "y"), ("y", "x"), ("z", "x")])
def test_from_the_front_the_first_other_axis_points_to_the_right(up: str, right: str) -> None:
    eye, above = scene.View(up, 0.0, 0.0, (100, 100)).direction()
    np.testing.assert_allclose(np.cross(above, eye), np.eye(3)["xyz".index(right)], atol=1e-12)


def test_flow_in_two_dimensions_is_left_to_plot(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "flat.toml").write_text(SMALL.replace("[16, 16, 16]", "[16, 16, 1]") + '\n[lbm]\nlattice = "D2Q9"\n')
    assert cli("run", "flat.toml", "output.pictures=false").returncode == 0
    result = cli("render", "results/small")
    is_error(result, "unsupported", file="results/small", dimensions=2)


def test_render_draws_by_the_artist_that_the_solver_gives(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Artist:
        scenes = ("slices", "body")

        def __init__(self, shown: Results, wish: scene.Wish) -> None:
            asked.append((shown.folder, wish.view.up, [cut.name for cut in wish.cuts]))

        def there(self, frame: Frame) -> list[str]:
            return ["body"]

        def name(self, scene_name: str) -> str:
            return f"my_{scene_name}"

        def figure(self, frame: Frame, scene_name: str) -> Figure:
            asked.append((frame.time, scene_name))
            return Figure()

    monkeypatch.setattr(lbm, "artist", lambda case: Artist)
    words = ["render", str(results), "--plane", "y=1"]
    rendering.command(parse(words), Console(quiet=True))
    last = Results(results).frame().time
    assert asked == [(results, "z", ["y1"]), (last, "body")]
    assert [path.name for path in (results / "pictures").iterdir()] == ["render_my_body.png"]
    with raises(CaseError, "unsupported", key="--scene", given="q", solver="lbm", allowed="slices, body"):
        rendering.command(parse([*words, "--scene", "q"]), Console(quiet=True))


@needs_pyvista
def test_render_draws_all_scenes_of_a_flow_with_a_body(cli: Cli, results: Path) -> None:
    result = render(cli, "ball")
    assert result.returncode == 0, result.stderr
    drawn = {path.name: colours_in(path) for path in (results / "pictures").iterdir()}
    assert set(drawn) == {f"render_{name}.png" for name in ("slices", "streamlines", "q", "body")}
    assert min(drawn.values()) > 500, drawn


@needs_pyvista
def test_render_is_quiet_where_there_is_no_display(cli: Cli, results: Path) -> None:
    result = render(cli, "ball", "--scene", "slices")
    assert result.returncode == 0 and result.stderr == ""


@needs_pyvista
def test_body_from_a_file_is_drawn_where_its_file_says(cli: Cli, results: Path) -> None:
    (results.parent / "part.obj").write_text(TETRAHEDRON)
    words = ["ball", "--scene", "body", "--body", "part.obj"]
    inside = render(cli, *words, "--body-scale", "0.5", "--body-move", "1", "1", "1")
    assert inside.returncode == 0 and inside.stderr == ""
    outside = render(cli, *words, "--body-move", "9", "0", "0")
    fault = is_error(outside, "mismatch", key="--body", file="part.obj")
    assert fault.facts["given"].startswith("x 9.4 to 9.6, ")


@needs_pyvista
@pytest.mark.parametrize(
    ("name", "text", "code", "facts"),
    [
        ("part.step", "", "unsupported", {}),
        ("part.obj", "# nothing", "bad_file", {"triangles": 0}),
        ("lines.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nl 1 2 3\n", "bad_file", {"triangles": 0}),
        ("none.stl", None, "not_found", {}),
    ],
)
def test_body_that_cannot_be_read_is_an_error(
    cli: Cli, results: Path, name: str, text: str | None, code: str, facts: dict[str, object]
) -> None:
    if text is not None:
        (results.parent / name).write_text(text)
    is_error(render(cli, "ball", "--body", name), code, key="--body", file=name, **facts)


@needs_pyvista
def test_body_shows_the_higher_pressure_on_the_side_of_the_flow(ball: Path) -> None:
    shown = Results(ball)
    flow = flow_scenes.Flow(shown, shown.frame(), scene.load_pyvista())
    flow.add_pressure()
    body = flow.body()
    assert body is not None
    found = body.sample(flow.grid)
    along = np.asarray(found.points)[:, 0]
    value: Any = np.asarray(found["pressure"])
    middle = along.mean()
    assert value[along < middle].mean() > value[along > middle].mean()


@needs_pyvista
def test_body_that_touches_the_sides_of_the_box_has_a_pressure_there(ball: Path) -> None:
    shown, pyvista = Results(ball), scene.load_pyvista()
    flow = flow_scenes.Flow(shown, shown.frame(), pyvista)
    box = pyvista.Box([edge for n in shown.size for edge in (0.0, n)])
    found = flow_scenes._inside_of_sides(flow, box).sample(flow.grid)
    assert (found["vtkValidPointMask"] == 1).all()
    np.testing.assert_allclose(found.points, box.points, atol=1e-5)


@needs_pyvista
def test_scene_of_a_flow_that_is_not_finite_is_an_error(cli: Cli, results: Path) -> None:
    with h5py.File(results / "fields.vtkhdf", "r+") as file:
        file["Series/velocity"][-1, 0, 0, 0] = np.nan
    result = render(cli, "ball", "--scene", "slices")
    is_error(result, "overflow", file="ball/fields.vtkhdf", key="--time")


@needs_pyvista
def test_film_of_a_scene_has_every_frame(cli: Cli, results: Path) -> None:
    result = render(cli, "ball", "--film", "wake.gif", "--scene", "q")
    assert result.returncode == 0, result.stderr
    with Image.open(results.parent / "wake.gif") as moving:
        assert moving.n_frames == 2


@needs_pyvista
def test_film_of_lines_may_begin_with_a_fluid_at_rest(cli: Cli, results: Path) -> None:
    with h5py.File(results / "fields.vtkhdf", "r+") as file:
        file["Series/velocity"][0] = 0.0
    result = render(cli, "ball", "--film", "start.gif", "--scene", "streamlines")
    assert result.returncode == 0, result.stderr


@needs_pyvista
def test_scene_of_a_body_that_is_not_there_is_an_error(cli: Cli, small: Path) -> None:
    assert cli("run", "small.toml", "output.pictures=false").returncode == 0
    result = render(cli, "results/small", "--scene", "body")
    is_error(result, "not_found", key="--body", file="results/small")
