"""Pictures of results: derived fields, planes, films. test_render.py tests three-dimensional ones."""

import io
import os
import shutil
from pathlib import Path
from typing import Any

import h5py
import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import SMALL, Cli
from errors import is_error, raises
from PIL import Image
from rich.console import Console
from slipstream.base.errors import CaseError
from slipstream.case.reader import Source, load, parse
from slipstream.flow import derived, energy, profiles
from slipstream.lbm.case import LbmCase
from slipstream.pictures import film, overview, palette, planes, style
from slipstream.pictures.flow_quantities import pressure
from slipstream.results.results import Frame, Results
from slipstream.run import run
from slipstream.run.troubles import Troubles


def box(cells: list[int], **tables: Any) -> LbmCase:
    """A lattice Boltzmann case with walls at rest, for pictures. `tables` add to or replace tables of the case. Its
    reference length is the number of cells along x."""
    data = {"grid": {"cells": cells}, "physics": {"reynolds": 10, "reference_velocity": 0.1, "length": float(cells[0])}}
    data |= {"lbm": {"lattice": "D2Q9" if cells[2] == 1 else "D3Q19"}, "run": {"steps": 1}}
    return parse(data | tables, Source("test"))


def centres(case: LbmCase) -> list[np.ndarray]:
    """Coordinates x, y and z of all cells, each [z][y][x]."""
    along = [(np.arange(n) + 0.5) * case.spacing for n in case.grid.cells]
    z, y, x = np.meshgrid(*reversed(along), indexing="ij")
    return [x, y, z]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the small cavity: the initial frame and four more."""
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "small.toml").write_text(SMALL)
    options = [f"output.folder={folder / 'small'}", "output.every=0.0625", "machine.backend=host"]
    run.run(load(folder / "small.toml", [*options, "output.pictures=false"]), Console(quiet=True))
    return folder / "small"


@pytest.fixture
def small_results(ran: Path, tmp_path: Path) -> Path:
    """A copy of the results that a test may modify."""
    return Path(shutil.copytree(ran, tmp_path / "small"))


def write_fields(path: Path, times: list[float]) -> None:
    """Writes a file of one cell whose density is the time."""
    with h5py.File(path, "w") as file:
        steps = file.create_group("VTKHDF/Steps")
        steps.attrs["NSteps"] = np.array([len(times)])
        steps["Values"] = times
        steps["CellDataOffsets/density"] = np.arange(len(times))
        file["Series/density"] = np.reshape(times, (-1, 1, 1, 1))


def test_vorticity_of_a_shear_is_exact_up_to_the_walls() -> None:
    case = box(
        [8, 8, 1], walls={"y+": {"velocity": [1, 0, 0]}}, grid={"cells": [8, 8, 1], "periodic": [True, False, False]}
    )
    _, y, _ = centres(case)
    velocity = np.stack([y, 0 * y, 0 * y], axis=-1)[0]
    fluid = np.zeros((8, 8), dtype=bool)
    np.testing.assert_allclose(derived.plane_vorticity(case, velocity, fluid, "xy"), -1.0, atol=1e-12)


def test_vorticity_of_a_shear_is_exact_up_to_solid_cells() -> None:
    case = box([8, 8, 1], grid={"cells": [8, 8, 1], "periodic": [True, True, False]})
    _, y, _ = centres(case)
    solid = (y < 0.25)[0]
    velocity = np.where(solid[..., None], 0.0, np.stack([y - 0.25, 0 * y, 0 * y], axis=-1)[0])
    found = derived.plane_vorticity(case, velocity, solid, "xy")
    np.testing.assert_allclose(found[2:-1], -1.0, atol=1e-12)


def test_vorticity_of_a_uniform_flow_vanishes_at_openings_and_mirrors() -> None:
    slip, inlet = {"kind": "slip"}, {"kind": "velocity", "velocity": [1, 0, 0]}
    case = box([8, 8, 1], boundaries={"x-": inlet, "x+": {"kind": "pressure"}, "y-": slip, "y+": slip})
    velocity = np.broadcast_to([1.0, 0.0, 0.0], (8, 8, 3))
    fluid = np.zeros((8, 8), dtype=bool)
    np.testing.assert_allclose(derived.plane_vorticity(case, velocity, fluid, "xy"), 0.0, atol=1e-12)


def test_derivative_of_a_periodic_parabola_is_exact_across_the_end() -> None:
    case = box([8, 8, 1], grid={"cells": [8, 8, 1], "periodic": [True, True, False]})
    x = centres(case)[0][0]
    # Values of a parabola centred on the periodic boundary between the last and the first cell.
    distance = np.where(x < 0.5, x, x - 1.0)
    slope = derived.derivative(case, distance**2, 0, 0, 1, np.zeros((8, 8), dtype=bool))
    np.testing.assert_allclose(slope[:, [0, 1, -1]], 2 * distance[:, [0, 1, -1]], atol=1e-12)


@pytest.mark.parametrize(("axes", "axis"), [("xy", 2), ("xz", 1), ("yz", 0)])
def test_vorticity_follows_the_right_hand_about_every_axis(axes: str, axis: int) -> None:
    case = box([9, 9, 9])
    spin = np.eye(3)[axis]
    velocity = np.cross(spin, np.stack(centres(case), axis=-1) - 0.5)
    plane = np.take(velocity, 4, 2 - axis)
    found = derived.plane_vorticity(case, plane, np.zeros((9, 9), dtype=bool), axes)
    # Cells next to walls use the wall's velocity, which is zero.
    np.testing.assert_allclose(found[1:-1, 1:-1], 2.0, atol=1e-12)


@pytest.mark.parametrize(
    ("gradient", "q"),
    [
        ([[0, -3, 0], [3, 0, 0], [0, 0, 0]], 9.0),  # rotation: Q is the square of its rate
        ([[2, 0, 0], [0, -2, 0], [0, 0, 0]], -4.0),  # strain: Q is minus the square of its rate
        ([[0, 5, 0], [0, 0, 0], [0, 0, 0]], 0.0),  # shear: Q is 0, because rotation and strain cancel
    ],
)
def test_q_criterion_weighs_rotation_against_strain(gradient: list[list[float]], q: float) -> None:
    case = box([7, 8, 9])
    velocity = np.stack(centres(case), axis=-1) @ np.array(gradient).T
    found = derived.q_criterion(case, velocity, np.zeros((9, 8, 7), dtype=bool))
    assert found.shape == (9, 8, 7)
    np.testing.assert_allclose(found[1:-1, 1:-1, 1:-1], q, atol=1e-9)


def test_sides_move_as_the_walls_and_edges_with_a_resting_wall_rest() -> None:
    case = box([4, 4, 4], walls={"y+": {"velocity": [1, 0, 0]}})
    sides = derived.velocity_with_sides(case, np.full((4, 4, 4, 3), 0.5))
    assert sides.shape == (6, 6, 6, 3)
    assert (sides[1:-1, -1, 1:-1] == [1, 0, 0]).all() and (sides[:, 0] == 0).all()
    assert (sides[:, -1, [0, -1]] == 0).all() and (sides[[0, -1], -1] == 0).all()


def test_sides_of_a_periodic_axis_are_the_mean_across_it() -> None:
    case = box([4, 4, 4], grid={"cells": [4, 4, 4], "periodic": [True, True, True]})
    x = centres(case)[0]
    sides = derived.velocity_with_sides(case, np.stack([x] * 3, axis=-1))
    np.testing.assert_allclose(sides[:, :, [0, -1]], x.mean())


def test_pressure_is_a_third_of_the_density_above_rest() -> None:
    case = box([8, 8, 8])
    np.testing.assert_allclose(pressure(case, np.array([1.0, 1.03])), [0.0, 0.01 / 0.1**2], rtol=1e-12)


def test_pressure_of_a_case_in_si_is_in_pascal() -> None:
    si = {"units": {"system": "SI", "cell": 0.001, "density": 1000.0, "step": 0.01}}
    case = box([8, 8, 8], **si, physics={"reference_velocity": 0.01, "reynolds": 10, "length": 0.008})
    # Pressure with c_s^2 = (0.001 / 0.01)^2 / 3 m^2/s^2.
    np.testing.assert_allclose(pressure(case, np.array([1003.0])), [0.01], rtol=1e-9)


def test_colours_of_signed_fields_step_evenly_and_alike_to_both_sides() -> None:
    lab = palette.oklab(np.asarray(palette.diverging().colors))
    steps = np.linalg.norm(np.diff(lab, axis=0), axis=1)
    low, high = steps[: len(steps) // 2], steps[len(steps) // 2 :]
    assert low.std() < 0.01 * low.mean() and high.std() < 0.01 * high.mean()
    np.testing.assert_allclose(lab[:, 0], lab[::-1, 0], atol=1e-6)


def test_results_know_their_frames(ran: Path) -> None:
    shown = Results(ran)
    np.testing.assert_allclose([frame.time for frame in shown.frames], [0.0, 0.0625, 0.125, 0.1875, 0.25])
    assert shown.frame(0.12).time == pytest.approx(0.125) and shown.frame().time == pytest.approx(0.25)
    assert shown.read(shown.frame(), "velocity", (slice(2, 5), slice(None), slice(0, 1))).shape == (1, 16, 3, 3)


def test_frames_of_a_restart_replace_those_that_it_computed_again(small_results: Path) -> None:
    write_fields(small_results / "fields.vtkhdf", [1.0, 2.0, 3.0])
    write_fields(small_results / "fields_from_15.vtkhdf", [2.0, 2.5])
    names = {"fields.vtkhdf": 1, "fields_from_15.vtkhdf": 2}
    for name, second in names.items():
        os.utime(small_results / name, (second, second))
    found = [(frame.path.name, frame.time) for frame in Results(small_results).frames]
    assert found == [("fields.vtkhdf", 1.0), ("fields_from_15.vtkhdf", 2.0), ("fields_from_15.vtkhdf", 2.5)]


def test_plane_between_two_layers_of_cells_is_their_mean(ran: Path) -> None:
    shown = Results(ran)
    density = shown.read(shown.frame(), "density")
    plane = planes.cut_plane(shown, shown.frame(), planes.Cut("x", 0.25))
    np.testing.assert_allclose(
        plane.field("density")[..., 0], density[:, :, 3:5].astype(float).mean(axis=2), rtol=1e-12
    )


class Layers:
    """Imitates results: fluid with pressure `at(z)` behind some solid layers, whose cells hold zeros as in a run."""

    def __init__(self, solid: int) -> None:
        self.case = box([4, 4, 8], bodies={"b": {"shape": "sphere", "centre": [2, 2, 2], "radius": 1}})
        self.extent = self.case.grid.cells
        self.solid = (np.arange(8) < solid)[:, None, None] & np.ones((8, 4, 4), dtype=bool)
        z = np.arange(8.0)[:, None, None] * np.ones((8, 4, 4))
        density = 1.0 + 3.0 * self.case.scales.reference_velocity**2 * z
        self.fields = {"flags": np.where(self.solid, 7, 0), "density": np.where(self.solid, 0.0, density)}
        self.fields["velocity"] = np.where(self.solid[..., None], 0.0, z[..., None] * np.ones(3))

    def names(self, frame: Frame) -> frozenset[str]:
        return frozenset(self.fields)

    def read(self, frame: Frame, name: str, cut: tuple[slice, slice, slice]) -> np.ndarray:
        return np.asarray(self.fields[name][tuple(reversed(cut))])


@pytest.mark.parametrize(
    ("layer", "pressure"),
    [(5.0, 5.0), (4.25, 4.25), (3.0, 3.0), (2.75, 3.0), (2.5, None), (2.25, None), (1.0, None)],
)
def test_plane_between_solid_and_fluid_cells_is_that_of_the_fluid_alone(layer: float, pressure: float | None) -> None:
    shown: Any = Layers(solid=3)
    cut = planes.Cut("z", (layer + 0.5) * shown.case.spacing)
    plane = planes.cut_plane(shown, Frame(Path("-"), 0, 0.0), cut)
    found = plane.values("pressure")
    if pressure is None:
        assert np.ma.getmaskarray(found).all()
    else:
        np.testing.assert_allclose(np.ma.filled(found, np.nan), pressure, rtol=1e-9)
        np.testing.assert_allclose(plane.vectors("velocity"), pressure, rtol=1e-9)


@pytest.mark.parametrize(
    "words",
    [
        "price $a_$ b",
        pytest.param("a $x^{2$ b", marks=pytest.mark.thorough),
        pytest.param("100$ \\foo 200$", marks=pytest.mark.thorough),
        "5$ here, 10$ there, [/s]",
    ],
)
def test_words_of_a_case_are_drawn_as_they_stand(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: Any = Layers(solid=2)
    shown.case = box([4, 4, 8], case={"description": words})
    plane = planes.cut_plane(shown, Frame(Path("-"), 0, 0.0), planes.Cut("z", 1.0))
    lines = [profiles.Profile(axis, np.linspace(0, 1, 5), np.ones((5, 3))) for axis in "yx"]
    drawn = []
    monkeypatch.setattr(style, "save", lambda figure, path: drawn.append(figure))
    overview.profiles(tmp_path / "p.png", lines, None, shown.case)
    overview.streamlines(tmp_path / "s.png", np.ma.ones((4, 4, 3)), shown.case)
    drawn += [planes.streamlines(plane), planes.sheet([(plane, "speed")])]
    decay = energy.Decay(*(np.linspace(0.0, 1.0, 4) for _ in range(4)))
    overview.energy(tmp_path / "e.png", shown.case, decay, None)
    for figure in drawn:
        figure.savefig(io.BytesIO())
        titles = [figure.get_suptitle(), *(axes.get_title(at) for axes in figure.axes for at in ("left", "center"))]
        assert words in " ".join(titles).replace("\n", " ")
        plt.close(figure)
    assert len(drawn) == 5


@pytest.mark.parametrize("cells", [[4, 16, 1], [16, 4, 1], [66, 12, 1], [40, 30, 20]])
def test_no_title_or_label_is_cut_off(cells: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"description": "A sphere, a cylinder and a cube in the wake of a rather long building"}
    case = box(cells, case=words, physics={"reynolds": 100, "reference_velocity": 0.1, "length": 20.0})
    drawn = []
    monkeypatch.setattr(style, "save", lambda figure, path: drawn.append(figure))
    lines = [profiles.Profile(axis, np.linspace(0, 1, 5), np.ones((5, 3))) for axis in "yx"]
    overview.profiles(tmp_path / "p.png", lines, None, case)
    overview.streamlines(tmp_path / "s.png", np.ma.ones((cells[1], cells[0], 3)), case)
    if cells[2] > 1:
        overview.streamlines(tmp_path / "y.png", np.ma.ones((cells[2], cells[0], 3)), case, "y")
    overview.energy(tmp_path / "e.png", case, energy.Decay(*(np.linspace(0.0, 1.0, 4) for _ in range(4))), None)
    for figure in drawn:
        figure.savefig(io.BytesIO())
        whole = figure.bbox
        shown = [text for axes in figure.axes for text in (axes.title, axes.xaxis.label, axes.yaxis.label)]
        over = [text for text in figure.texts if text.get_text()]
        assert over or any(text.get_text() for text in shown)
        for text in [*shown, *over]:
            extent = text.get_window_extent()
            inside = extent.x0 >= -1 and extent.y0 >= -1 and extent.x1 <= whole.x1 + 1 and extent.y1 <= whole.y1 + 1
            assert inside, f"{text.get_text()!r} reaches {extent} beyond {whole}"
        plt.close(figure)


def test_picture_that_fails_is_a_warning() -> None:
    said = io.StringIO()
    with Troubles(Console(file=said, width=200)).with_picture("profiles.png", 1):
        raise ValueError("")
    assert said.getvalue() == "warning: no profiles.png: ValueError\n"


@pytest.mark.parametrize("cells", [[1, 6, 1], [6, 1, 1], [1, 1, 1]])
def test_flow_one_cell_wide_is_drawn_without_lines(cells: list[int], tmp_path: Path) -> None:
    plane = np.ma.ones((cells[1], cells[0], 2))
    overview.streamlines(tmp_path / "s.png", plane, box(cells, grid={"cells": cells, "periodic": [True, True, False]}))
    with Image.open(tmp_path / "s.png") as image:
        assert max(image.size) < 1300


def test_plane_on_a_side_shows_the_outermost_cells(ran: Path) -> None:
    shown = Results(ran)
    plane = planes.cut_plane(shown, shown.frame(), planes.Cut("y", 1.0))
    np.testing.assert_array_equal(plane.vectors("velocity"), shown.read(shown.frame(), "velocity")[:, -1])


def test_profiles_that_were_written_are_read_back(ran: Path) -> None:
    case = Results(ran).case
    lines = profiles.read_profiles(ran / "profiles.csv", case)
    assert [line.axis for line in lines] == ["y", "x"]
    assert lines[0].place[-1] == 1.0 and (lines[0].velocity[-1] == [1, 0, 0]).all()


def test_labels_name_the_units_of_the_case() -> None:
    assert box([8, 8, 8]).field_units.speed() == "speed / U"
    si = {"units": {"system": "SI", "cell": 0.001, "density": 998.0}}
    metres = box([8, 8, 8], **si, physics={"reference_velocity": 0.01, "reynolds": 10}).field_units
    assert metres.speed() == "speed in m/s" and metres.place("x") == "x in m" and metres.time(2.0) == "t = 2 s"


def test_plot_draws_the_middle_plane_and_the_profiles(cli: Cli, small_results: Path) -> None:
    result = cli("plot", "small")
    assert result.returncode == 0, result.stderr
    drawn = {path.name for path in (small_results / "pictures").iterdir()}
    assert drawn == {f"{name}_z0.5.png" for name in ("speed", "vorticity", "density", "streamlines")} | {"profiles.png"}
    assert all(f"small/pictures/{name}" in result.stdout for name in drawn)


@pytest.mark.parametrize(
    ("centre", "normal", "at"),
    [((8, 8, 8), "z", 0.5), ((8, 8, 4), "y", 0.5), ((8, 4, 4), "x", 0.5), ((4, 4, 4), "z", 3.5 / 16)],
)
def test_plane_that_is_drawn_unasked_cuts_a_body(
    cli: Cli, small: Path, tmp_path: Path, centre: tuple[int, int, int], normal: str, at: float
) -> None:
    ball = f"bodies.ball={{shape='sphere', centre={list(centre)}, radius=2}}"
    assert cli("run", str(small), ball, "run.steps=1", "output.folder=out").returncode == 0
    shown = Results(tmp_path / "out")
    assert planes.usual(shown, shown.frame()) == planes.Cut(normal, at)


def test_plot_draws_what_is_named_where_it_is_named(cli: Cli, small_results: Path) -> None:
    words = ["--plane", "x=0.3", "--plane", "y", "--field", "pressure", "--field", "w", "-o", "here"]
    result = cli("plot", "small", *words)
    assert result.returncode == 0, result.stderr
    drawn = {path.name for path in (small_results.parent / "here").iterdir()}
    assert drawn == {"pressure_x0.3.png", "pressure_y0.5.png", "w_x0.3.png", "w_y0.5.png"}
    assert not (small_results / "pictures").exists()


def test_film_of_a_plane_has_every_frame(cli: Cli, small_results: Path) -> None:
    result = cli("plot", "small", "--film", "lid.gif", "--fps", "5")
    assert result.returncode == 0, result.stderr
    with Image.open(small_results.parent / "lid.gif") as moving:
        assert moving.n_frames == 5 and moving.info["duration"] == 200


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        (["nowhere"], "not_found", {"file": "nowhere"}),
        (["."], "not_found", {"file": ".", "needed": "case.resolved.toml"}),
        (["small", "--plane", "q=1"], "invalid_argument", {"key": "--plane", "given": "q=1"}),
        (
            ["small", "--plane", "z=1.5"],
            "invalid_argument",
            {"key": "--plane", "given": "z=1.5", "allowed": "0 to 1 L"},
        ),
        (["small", "--plane", "z=high"], "invalid_argument", {"key": "--plane", "value": "high"}),
        (
            ["small", "--field", "presure"],
            "not_found",
            {"key": "--field", "given": "presure", "nearest": "pressure"},
        ),
        (["small", "--film", "a.avi"], "unsupported", {"key": "--film", "given": "a.avi", "allowed": ".mp4, .gif"}),
        (["small", "--film", "a.gif", "--time", "1"], "invalid_argument", {"key": "--time", "other": "--film"}),
        (
            ["small", "--film", "a.gif", "--plane", "x", "--plane", "y"],
            "not_found",
            {"key": "--plane, --field"},
        ),
        (["small", "--fps", "0"], "invalid_argument", {"key": "--fps", "given": 0, "allowed": "0.1 to 120"}),
    ],
)
def test_plot_refuses_what_it_cannot_draw(
    cli: Cli, small_results: Path, words: list[str], code: str, facts: dict[str, object]
) -> None:
    is_error(cli("plot", *words), code, **facts)


def test_plot_of_a_damaged_file_of_fields_is_an_error(cli: Cli, small_results: Path) -> None:
    (small_results / "fields.vtkhdf").write_bytes(b"not HDF5")
    result = cli("plot", "small")
    is_error(result, "bad_file", file="small/fields.vtkhdf")


def test_plot_of_a_run_without_fields_says_how_to_have_them(cli: Cli, small_results: Path) -> None:
    (small_results / "fields.vtkhdf").unlink()
    result = cli("plot", "small")
    is_error(result, "not_found", file="small", needed="fields.vtkhdf", key="output.fields")


def test_values_that_are_not_finite_are_left_out_of_a_plane(small_results: Path) -> None:
    with h5py.File(small_results / "fields.vtkhdf", "r+") as file:
        file["Series/velocity"][-1, :, 3] = np.nan
    shown = Results(small_results)
    plane = planes.cut_plane(shown, shown.frame(), planes.usual(shown, shown.frame()))
    speed = plane.values("speed")
    assert speed.mask[3].all() and not speed.mask[:3].any()
    assert np.isfinite(planes.look(shown.case, plane.cut, "vorticity", [plane.values("vorticity")]).norm.vmax)


def frames(count: int) -> list[np.ndarray]:
    return [np.full((33, 47, 3), 20 * n, np.uint8) for n in range(count)]


def test_film_without_ffmpeg_is_a_folder_of_pictures_and_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(film, "_has_ffmpeg", lambda: False)
    written, note = film.write(tmp_path / "flow.mp4", frames(3), 12.0)
    assert sorted(path.name for path in written.iterdir()) == [f"frame_{n:05d}.png" for n in range(3)]
    assert "imageio-ffmpeg is not installed" in note and str(written) in note


def test_film_as_mp4_takes_odd_sizes(tmp_path: Path) -> None:
    reader = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed (tools/setup.sh render)")
    written, note = film.write(tmp_path / "flow.mp4", frames(5), 10.0)
    count, seconds = reader.count_frames_and_secs(str(written))
    assert note == "" and count == 5 and seconds == pytest.approx(0.5, abs=0.11)


def test_plane_of_two_dimensions_is_z_alone() -> None:
    flat = box([16, 16, 1])
    with raises(CaseError, "unsupported", key="--plane", given="x", allowed="z"):
        planes.parse_cut("x", flat)
    assert planes.parse_cut("z", flat).normal == "z"
