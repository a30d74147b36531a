"""Pictures of high-order elements: planes, samples, renderings, and files for ParaView."""

from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, Cli, needs_pyvista
from errors import is_error
from PIL import Image
from sem_rig import POISSON, case
from slipstream.case.reader import load
from slipstream.pictures import planes
from slipstream.results.results import Results
from slipstream.sem import sampling


def test_a_ring_by_formula_is_shown_where_it_lies(here: Cli, tmp_path: Path) -> None:
    path, folder = str(ROOT / "cases" / "ring_sem.toml"), tmp_path / "results" / "ring_sem"
    said = " ".join(here("check", path).stdout.split())
    assert "mapped to (3 + (1 + x)*cos(2*pi*y), 3 + (1 + x)*sin(2*pi*y), z), stored factors" in said
    result = here("run", path, "output.report=false")
    assert result.returncode == 0, result.stderr
    shown = Results(folder)
    assert shown.case.corner == pytest.approx((1, 1, 0), abs=0.003)
    cut = planes.Cut("z", 0.5)
    u = planes.cut_plane(shown, shown.frame(), cut).values("u")
    h, (left, low, _) = shown.case.spacing, shown.case.corner
    x, y = np.meshgrid(left + (np.arange(u.shape[1]) + 0.5) * h, low + (np.arange(u.shape[0]) + 0.5) * h)
    r = np.hypot(x - 3, y - 3)
    within, outside = (r > 1.03) & (r < 1.97), (r < 0.97) | (r > 2.03)
    assert not np.ma.getmaskarray(u)[within].any() and np.ma.getmaskarray(u)[outside].all()
    np.testing.assert_allclose(u[within], np.log(r[within]), atol=1e-5)
    assert here("plot", "results/ring_sem", "--plane", "x=2.5").returncode == 0
    result = here("plot", "results/ring_sem", "--plane", "x=0.5")
    fault = is_error(result, "invalid_argument", key="--plane", given="x=0.5")
    assert fault.facts["allowed"].startswith("1 to 5")


def test_render_of_what_is_no_flow_refuses_what_it_cannot_show(cli: Cli, here: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path, POISSON), "output.report=false").returncode == 0
    for option, given, code, allowed in (
        ("--scene", "q", "unsupported", "slices"),
        ("--field", "v", "not_found", "u"),
        ("--plane", "y=4", "invalid_argument", "0 to 3"),
    ):
        result = here("render", "results/still", option, given)
        is_error(result, code, key=option, given=given, allowed=allowed)


@needs_pyvista
def test_render_shows_planes_of_elements_in_three_dimensions(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path, POISSON), "output.report=false").returncode == 0
    words = ("results/still", "--size", "240", "180", "--plane", "z=0.5", "--plane", "x=1.5")
    result = cli("render", *words, DISPLAY="")
    assert result.returncode == 0 and result.stderr == "", result.stderr
    with Image.open(tmp_path / "results" / "still" / "pictures" / "render_u.png") as image:
        pixels = np.asarray(image.convert("RGB"), dtype=float)
    # The field is u = x - 1: the plane z is blue on the left and red on the right; the plane x = 1.5 is red.
    red, blue = pixels[..., 0] - pixels[..., 2] > 60, pixels[..., 2] - pixels[..., 0] > 60
    scene = slice(0, int(0.8 * pixels.shape[1]))  # columns of the picture without the colour bar
    left, right = np.argwhere(blue[:, scene])[:, 1], np.argwhere(red[:, scene])[:, 1]
    assert left.size > 200 and right.size > 200 and left.mean() < right.mean()
    assert cli("render", *words, "--film", "u.gif", DISPLAY="").returncode == 0
    with Image.open(tmp_path / "u.gif") as film:
        assert film.n_frames == len(Results(tmp_path / "results" / "still").frames)


def test_pictures_of_a_state_without_time_tell_none(here: Cli, tmp_path: Path) -> None:
    assert here("run", case(tmp_path, POISSON), "sem.deformation=0", "output.report=false").returncode == 0
    said = " ".join(here("check", "a.toml").stdout.split())
    assert "ends step 1" in said and "time 1" not in said
    shown = Results(tmp_path / "results" / "still")
    cut = planes.Cut("z", 0.5)
    plane = planes.cut_plane(shown, shown.frame(), cut)
    assert planes.where(plane) == "z = 0.5"
    # The colour scale of u = x - 1 is symmetric, because u has both signs. That of u + 1.01 begins at zero.
    u = plane.values("u")
    ends = [planes.look(shown.case, cut, "u", [values]).norm for values in (u, u + 1.01)]
    assert ends[0].vmin == -ends[0].vmax and ends[1].vmin == 0 and ends[1].vmax == pytest.approx(2, rel=0.1)


def test_samples_of_a_picture_lie_in_the_elements_where_they_belong(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path, POISSON)).returncode == 0
    shown = Results(tmp_path / "results" / "still")
    u = shown.read(shown.frame(), "u", (slice(None), slice(3, 5), slice(7, 8)))
    nx, ny, nz = shown.extent
    assert u.shape == (1, 2, nx) and shown.size == pytest.approx((2, 3, 1))
    # The field equals x up to the constant of the mean, within the error of deformed elements of order 4.
    np.testing.assert_allclose(u[0, 0], (np.arange(nx) + 0.5) * 2 / nx - 1, atol=2e-3)
    places = np.random.default_rng(1).uniform(0, 1, (200, 3)) * [2, 3, 1]
    element, local = sampling.find(load(tmp_path / "a.toml"), places)
    assert element.min() >= 0 and element.max() < 12 and local.min() >= 0 and local.max() <= 1


@needs_pyvista
@pytest.mark.parametrize("order", [10, 11])
def test_elements_of_the_highest_orders_open_in_vtk(here: Cli, tmp_path: Path, order: int) -> None:
    import pyvista

    words = ("grid.cells=[1,1,1]", f"sem.order={order}", "sem.tolerance=1e-8", "output.report=false")
    result = here("run", case(tmp_path, POISSON), *words)
    assert result.returncode == 0, result.stderr
    grid = pyvista.read(tmp_path / "results" / "still" / "fields.vtkhdf")
    assert grid.n_cells == 1 and grid.n_points == (order + 1) ** 3
    # The volume is exact, because VTK splits the element into tetrahedra between all its nodes.
    assert grid.volume == pytest.approx(6, rel=1e-9)
    np.testing.assert_allclose(grid["u"], grid.points[:, 0] - 1, atol=2e-2)
