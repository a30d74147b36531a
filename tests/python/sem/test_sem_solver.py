"""The solver on spectral elements: from a case file to results, restarts and pictures."""

import json
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import ROOT, Cli, backend_of, is_one_error, needs_pyvista
from errors import is_error
from PIL import Image
from slipstream.base import rows
from slipstream.case.reader import load
from slipstream.pictures import planes
from slipstream.results.results import Results
from slipstream.sem import sampling

#: Two blocks of elements, so that two devices have some.
DIFFUSION = """
[case]
name = "spread"
[grid]
cells = [5, 5, 3]
periodic = [true, false, true]
[sem]
equation = "diffusion"
order = 3
deformation = 0.04
diffusivity = 0.2
source = "exp(y)*(1 + t)"
time_step = 0.02
time_order = 3
[boundaries]
"y-" = { value = "t*sin(2*pi*x)" }
"y+" = { flux = "t + cos(2*pi*z)" }
[initial]
value = "y*cos(2*pi*x)*sin(2*pi*z)"
[run]
steps = 6
"""

POISSON = """
[case]
name = "still"
[grid]
cells = [2, 3, 2]
[sem]
equation = "poisson"
order = 4
lengths = [2.0, 3.0, 1.0]
stretch = [1.0, 2.0, 1.0]
deformation = 0.05
[boundaries]
"x-" = { flux = -1.0 }
"x+" = { flux = 1.0 }
"y-" = { flux = 0.0 }
"y+" = { flux = 0.0 }
"z-" = { flux = 0.0 }
"z+" = { flux = 0.0 }
[exact]
value = "x"
"""


#: 3 u - 2 Lap u = source, on elements that are bent a little.
HELMHOLTZ = """
[case]
name = "screened"
[grid]
cells = [2, 2, 3]
periodic = [false, false, true]
[sem]
equation = "helmholtz"
order = 6
deformation = 0.03
diffusivity = 2.0
reaction = 3.0
source = "(3 - 2*(4 + 1 - 4*pi^2))*exp(2*x - y)*cos(2*pi*z)"
preconditioner = "chebyshev"
degree = 3
[boundaries]
"x-" = { value = "exp(-y)*cos(2*pi*z)" }
"x+" = { flux = "4*exp(2 - y)*cos(2*pi*z)" }
"y-" = { flux = "2*exp(2*x)*cos(2*pi*z)" }
"y+" = { value = "exp(2*x - 1)*cos(2*pi*z)" }
[exact]
value = "exp(2*x - y)*cos(2*pi*z)"
"""

#: The sine map of POISSON and DIFFUSION, written out.
SINES = "sin(2*pi*x/Lx)*sin(2*pi*y/Ly)*sin(2*pi*z/Lz)"


def mapped_by_sines(amplitude: float) -> str:
    parts = [f"'{axis} + {amplitude}*L{axis}*{SINES}'" for axis in "xyz"]
    return f"sem.map=[{', '.join(parts)}]"


def case(folder: Path, text: str) -> str:
    (folder / "a.toml").write_text(text)
    return "a.toml"


def findings(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / "results" / name / "findings.json").read_text())


def last_u(path: Path) -> np.ndarray:
    with h5py.File(path) as file:
        begin = file["VTKHDF/Steps/PointDataOffsets/u"][-1]
        return file["VTKHDF/PointData/u"][begin:]


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("poisson_sem", "order5"),
        ("heat_sem", ""),
        pytest.param("heat_sem", "half", marks=pytest.mark.thorough),
        ("neumann_sem", ""),
        ("ring_sem", ""),
        ("rotation_sem", ""),
        ("moving_source_sem", ""),
    ],
)
def test_cases_find_what_they_expect(cli: Cli, tmp_path: Path, name: str, variant: str) -> None:
    words = ["--variant", variant] if variant else []
    result = cli("run", str(ROOT / "cases" / f"{name}.toml"), *words, "output.report=false")
    assert result.returncode == 0, result.stderr
    expected = findings(tmp_path, f"{name}_{variant}" if variant else name)["expected"]
    assert expected and all(entry["met"] for entry in expected), expected


def test_helmholtz_case_falls_by_its_order_to_the_exact_solution(here: Cli, tmp_path: Path) -> None:
    path, off = case(tmp_path, HELMHOLTZ), []
    said = " ".join(here("check", path).stdout.split())
    assert "Helmholtz's equation, spectral elements of order 6" in said and "Chebyshev-Jacobi of degree 3" in said
    for order in (4, 6):
        result = here("run", path, f"sem.order={order}", "output.report=false", "--overwrite")
        assert result.returncode == 0, result.stderr
        off.append(findings(tmp_path, "screened")["findings"]["exact.distance"])
    assert off[1] < 2.2e-5 and off[0] / off[1] > 25, off
    result = here("run", path, "sem.reaction=0", "--overwrite")
    is_error(result, "not_found", key="sem.reaction", other="sem.equation")


def test_a_side_divided_by_place_has_either_condition(here: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, HELMHOLTZ)
    flux = "-2*exp(2*x - 1)*cos(2*pi*z)"
    words = ["boundaries.y+.where=0.5 - x", f"boundaries.y+.otherwise.flux={flux}", "output.report=false"]
    said = " ".join(here("check", path, *words).stdout.split())
    assert "value, flux y+" in said
    assert here("run", path, *words).returncode == 0
    assert findings(tmp_path, "screened")["findings"]["exact.distance"] < 2.2e-5
    # The flux of the wrong sign, on half of the side.
    words[1] = f"boundaries.y+.otherwise.flux=-({flux})"
    assert here("run", path, *words, "--overwrite").returncode == 0
    assert findings(tmp_path, "screened")["findings"]["exact.distance"] > 1e-2
    result = here("check", path, "boundaries.y+.where=x")
    is_error(result, "not_found", key="boundaries.y+.otherwise", other="where")
    result = here("check", path, "boundaries.y+.otherwise.flux=0")
    is_error(result, "not_found", key="boundaries.y+.where", other="otherwise")
    result = here("check", path, "boundaries.y+.where=q", "boundaries.y+.otherwise.flux=0")
    is_error(result, "not_found", key="boundaries.y+.where", name="q")


def test_robin_sides_and_coefficients_by_expressions_fall_to_the_exact_solution(here: Cli, tmp_path: Path) -> None:
    words = ["sem.diffusivity=2 + x*y", "sem.reaction=1 + z"]
    # -div(kappa grad u) + c u of u = exp(2 x - y) cos(2 pi z): grad kappa . grad u = (2 y - x) u.
    words += ["sem.source=((1 + z) - (2 + x*y)*(5 - 4*pi^2) - (2*y - x))*exp(2*x - y)*cos(2*pi*z)"]
    words += ["boundaries.x+.flux=(2*(2 + x*y) + 3 + y)*exp(2 - y)*cos(2*pi*z)", "boundaries.x+.transfer=3 + y"]
    words += ["boundaries.y-.flux=2*exp(2*x)*cos(2*pi*z)", "output.report=false"]
    result = here("run", case(tmp_path, HELMHOLTZ), *words)
    assert result.returncode == 0, result.stderr
    assert findings(tmp_path, "screened")["findings"]["exact.distance"] < 2.2e-5
    result = here("run", "a.toml", *words, "boundaries.x+.transfer=0.5 - y", "--overwrite")
    is_error(result, "invalid_argument", option="transfer")
    result = here("check", "a.toml", "boundaries.y+.transfer=1")
    is_error(result, "unsupported", key="boundaries.y+.transfer", needed="flux")


#: Robin sides, a side divided by place, and coefficients that differ from place to place.
MIXED = """
[case]
name = "mixed"
[grid]
cells = [3, 3, 2]
[sem]
equation = "helmholtz"
order = 5
deformation = 0.05
diffusivity = "1 + 0.5*x*y"
reaction = "0.1 + z"
source = "1 + x"
[boundaries]
"x-" = { flux = 1.0, transfer = 0.5 }
"x+" = { value = 1.0, where = "y - 0.5", otherwise = { flux = 0.0 } }
"y-" = { flux = 0.0 }
"y+" = { flux = 0.0 }
"z-" = { flux = 0.0 }
"z+" = { flux = 0.0 }
"""


def test_all_pairs_of_method_and_preconditioner_find_one_solution(here: Cli, tmp_path: Path) -> None:
    path, means, iterations = case(tmp_path, MIXED), [], {}
    pairs = [("cg", by) for by in ("jacobi", "chebyshev", "multigrid", "schwarz")]
    pairs += [("fgmres", by) for by in ("jacobi", "chebyshev", "schwarz")]
    for method, by in pairs:
        words = (f"sem.method={method}", f"sem.preconditioner={by}", "output.report=false", "--overwrite")
        result = here("run", path, *words, *(["sem.restart=63"] if method == "fgmres" else []))
        assert result.returncode == 0, result.stderr
        found = findings(tmp_path, "mixed")["findings"]
        means.append(found["u.mean"])
        iterations[method, by] = found["iterations.mean"]
        assert ("asymmetry" in result.stdout) == (by != "jacobi")
    assert means == pytest.approx([means[0]] * len(means), rel=1e-9)
    assert iterations["cg", "schwarz"] <= iterations["cg", "multigrid"] < iterations["cg", "chebyshev"]
    assert iterations["cg", "schwarz"] <= 20 and abs(iterations["fgmres", "schwarz"] - iterations["cg", "schwarz"]) <= 2
    for words, key in (
        (("sem.restart=5",), "sem.restart"),
        (("sem.degree=3",), "sem.degree"),
        (("sem.projection=3",), "sem.projection"),
    ):
        is_error(here("run", path, *words, "--overwrite"), "unsupported", key=key)


def test_projection_onto_earlier_solutions_saves_iterations(here: Cli, tmp_path: Path) -> None:
    iterations = []
    for vectors in (0, 20):
        words = (f"sem.projection={vectors}", "sem.order=4", "run.steps=30", "output.report=false", "--overwrite")
        result = here("run", str(ROOT / "cases" / "moving_source_sem.toml"), *words)
        assert result.returncode == 0, result.stderr
        iterations.append(findings(tmp_path, "moving_source_sem")["findings"]["iterations.mean"])
    assert iterations[1] < 0.8 * iterations[0], iterations


def test_run_leaves_a_folder_that_plot_and_report_read(cli: Cli, here: Cli, tmp_path: Path) -> None:
    result = cli("run", case(tmp_path, DIFFUSION), "output.every=0.06", "run.check_every=2")
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "5 x 5 x 3 elements of 64 points = 4 800 points" in said and "value y-; flux y+" in said
    assert "backward differences of order 3" in said and "leave an error of order 2" in said
    folder = tmp_path / "results" / "spread"
    names = {path.name for path in folder.iterdir()}
    assert {"case.resolved.toml", "run.json", "fields.vtkhdf", "findings.json", "solutions.csv", "report.html"} <= names
    header, table = rows.read(folder / "solutions.csv")
    assert header == ["step", "time", "iterations", "residual", "true_residual"]
    assert [int(row[0]) for row in table] == [2, 4, 6] and all(float(row[4]) < 2e-10 for row in table)
    assert "Mpoint/s" in (folder / "report.html").read_text()
    assert here("plot", "results/spread", "--plane", "z=0.3").returncode == 0
    assert (folder / "pictures" / "u_z0.3.png").stat().st_size > 5000
    with h5py.File(folder / "fields.vtkhdf") as file:
        root = file["VTKHDF"]
        assert root.attrs["Type"] == b"UnstructuredGrid" and root["Steps"].attrs["NSteps"] == 3
        np.testing.assert_allclose(root["Steps/Values"], [0, 0.06, 0.12], rtol=1e-12)
        assert (root["Types"][:] == 72).all() and root["NumberOfCells"][:] == [75]
        np.testing.assert_array_equal(root["Offsets"], np.arange(76) * 64)
        np.testing.assert_array_equal(np.sort(root["Connectivity"]), np.arange(4800))
        np.testing.assert_array_equal(root["Steps/PointDataOffsets/u"], [0, 4800, 9600])


@pytest.mark.parametrize("start", ["lower", "exact"])
def test_restart_goes_on_with_the_same_bits_on_other_devices_and_ranks(
    here: Cli, cli: Cli, tmp_path: Path, start: str
) -> None:
    path, folder = case(tmp_path, DIFFUSION), tmp_path / "results" / "spread"
    words = [path, "output.report=false", "run.steps=5", *backend_of(3)]
    if start == "exact":
        text = DIFFUSION.replace("[initial]", "[exact]").replace("y*cos(2*pi*x)", "(1 + t + t^2)*y*cos(2*pi*x)")
        words = [case(tmp_path, text), *words[1:], "sem.start=exact"]
    assert here("run", *words, "machine.devices_per_rank=3").returncode == 0
    straight = last_u(folder / "fields.vtkhdf")
    # From step 3 on the history is read whole.
    first = here("run", *words, "run.steps=3", "machine.devices_per_rank=3", "--overwrite")
    assert first.returncode == 0, first.stderr
    result = cli("run", *words, "machine.devices_per_rank=2", "--restart", "last", "-n", "2")
    assert result.returncode == 0, result.stderr
    assert "restarted at step 3" in result.stdout
    np.testing.assert_array_equal(last_u(folder / "fields.vtkhdf"), straight)
    assert np.ptp(straight) > 0.5


@pytest.mark.parametrize("start", ["lower", "exact"])
def test_restart_of_a_carried_solution_has_the_same_bits_amid_parts_that_change(
    here: Cli, cli: Cli, tmp_path: Path, start: str
) -> None:
    folder = tmp_path / "results" / "spread"
    text = DIFFUSION.replace("[initial]", "[exact]") if start == "exact" else DIFFUSION
    # From two parts a step to many: those before the restart count, too.
    velocity = "sem.velocity=['(1 + 300*t^2)*y', '0.3*(1 + 300*t^2)*sin(2*pi*x)', 0.0]"
    words = [case(tmp_path, text), velocity, "sem.target_courant=0.12", f"sem.start={start}", *backend_of(3)]
    words += ["output.report=false", "run.steps=4"]
    assert here("run", *words, "machine.devices_per_rank=3").returncode == 0
    straight = last_u(folder / "fields.vtkhdf")
    assert findings(tmp_path, "spread")["findings"]["courant"] < 0.12
    for steps in (1, 2):
        first = here("run", *words[:-1], f"run.steps={steps}", "machine.devices_per_rank=3", "--overwrite")
        assert first.returncode == 0, first.stderr
        result = cli("run", *words, "machine.devices_per_rank=2", "--restart", "last", "-n", "2")
        assert result.returncode == 0, result.stderr
        np.testing.assert_array_equal(last_u(folder / "fields.vtkhdf"), straight)
    whole = here("run", *words, "sem.target_courant=0.4", "--overwrite")
    assert whole.returncode == 0, whole.stderr
    assert findings(tmp_path, "spread")["findings"]["courant"] > 0.12
    assert np.abs(last_u(folder / "fields.vtkhdf") - straight).max() > 1e-7


def test_a_courant_number_above_that_of_the_scheme_is_one_error(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path, DIFFUSION), "sem.velocity=[9.0, 0.0, 0.0]")
    fault = is_error(result, "not_converged", problem="courant")
    assert float(fault.facts["limit"]) == pytest.approx(0.6338 / 1.514, rel=1e-3)
    result = here("check", "a.toml", "sem.target_courant=0.2")
    is_error(result, "not_found", key="sem.velocity", other="sem.target_courant")
    result = here("check", case(tmp_path, HELMHOLTZ), "sem.velocity=[1.0, 0.0, 0.0]")
    is_error(result, "unsupported", key="sem.velocity", other="sem.equation")


def test_the_sine_map_as_a_formula_is_the_built_in_one_to_rounding(here: Cli, tmp_path: Path) -> None:
    path, folder = case(tmp_path, DIFFUSION), tmp_path / "results" / "spread"
    words = ["run.steps=2", "sem.tolerance=1e-13", "output.report=false"]
    assert here("run", path, *words).returncode == 0
    built_in = last_u(folder / "fields.vtkhdf")
    formula = ["sem.deformation=0", mapped_by_sines(0.04)]
    result = here("run", path, *words, *formula, "--overwrite")
    assert result.returncode == 0, result.stderr
    assert "mapped to (x + 0.04*Lx*sin(2*pi*x/Lx)" in " ".join(result.stdout.split())
    np.testing.assert_allclose(last_u(folder / "fields.vtkhdf"), built_in, rtol=0, atol=1e-11)
    assert here("run", path, *words, "sem.deformation=0", "--overwrite").returncode == 0
    assert np.abs(last_u(folder / "fields.vtkhdf") - built_in).max() > 1e-4


def test_restart_of_a_mapped_box_has_the_same_bits_and_takes_no_other_map(cli: Cli, tmp_path: Path) -> None:
    path, folder = case(tmp_path, DIFFUSION), tmp_path / "results" / "spread"
    words = [path, "sem.map=['x + 0.1*y^2', 'y*(1 + 0.2*y)', 'z + 0.1*sin(3*y)']"]
    assert cli("run", *words).returncode == 0
    straight = last_u(folder / "fields.vtkhdf")
    assert cli("run", *words, "run.steps=1", "--overwrite").returncode == 0
    for other in ("sem.map=['x', 'y', 'z']", None):
        result = cli("run", path, *filter(None, [other]), "--restart", "last")
        is_error(result, "mismatch", key="sem.map")
    result = cli("run", *words, "--restart", "last", "-n", "2")
    assert result.returncode == 0, result.stderr
    np.testing.assert_array_equal(last_u(folder / "fields.vtkhdf"), straight)


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
    # u = x - 1: blue on the left of the plane z, red on the right, and red on the plane x = 1.5.
    red, blue = pixels[..., 0] - pixels[..., 2] > 60, pixels[..., 2] - pixels[..., 0] > 60
    scene = slice(0, int(0.8 * pixels.shape[1]))  # without the colour bar
    left, right = np.argwhere(blue[:, scene])[:, 1], np.argwhere(red[:, scene])[:, 1]
    assert left.size > 200 and right.size > 200 and left.mean() < right.mean()
    assert cli("render", *words, "--film", "u.gif", DISPLAY="").returncode == 0
    with Image.open(tmp_path / "u.gif") as film:
        assert film.n_frames == len(Results(tmp_path / "results" / "still").frames)


def test_run_on_two_devices_tells_of_the_messages_of_its_sums(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", case(tmp_path, DIFFUSION), "machine.devices_per_rank=2", "-n", "2", "output.report=false")
    assert result.returncode == 0, result.stderr
    table = result.stdout.split("last exchange")[1].split("written:")[0]
    messages = [line.split() for line in table.splitlines() if line.split()[:2] in (["0", "1"], ["1", "2"], ["3", "2"])]
    assert len(messages) == 3, table
    for words in messages:
        # From, to, route, why, and bytes, us, GB/s: whole values of 8 bytes.
        assert any(word.isdigit() and int(word) > 0 and int(word) % 8 == 0 for word in words[3:]), words


@pytest.mark.parametrize(
    ("word", "routes", "why"),
    [
        ("exchange.routes=['staged']", {"staged"}, ""),
        ("exchange.throttle=1 GB/s, 5 us", {"gpu_mpi"}, "the throttle slows messages that the host sends"),
    ],
)
def test_sums_travel_as_the_table_exchange_says(
    here: Cli, tmp_path: Path, word: str, routes: set[str], why: str
) -> None:
    words = ["machine.devices_per_rank=2", "machine.backend=host", "run.steps=1", "output.report=false"]
    result = here("run", case(tmp_path, DIFFUSION), *words, word)
    assert result.returncode == 0, result.stderr
    table = json.loads((tmp_path / "results" / "spread" / "exchange.json").read_text())["rows"]
    between = [row for row in table if row["source"] != row["target"]]
    assert between and {row["route"] for row in between} == routes
    assert all(why in row["reason"] for row in between), between


def test_sums_are_measured_where_the_case_asks(cli: Cli, tmp_path: Path) -> None:
    words = ["machine.devices_per_rank=2", "machine.backend=host", "run.steps=1", "output.report=false"]
    result = cli("run", case(tmp_path, DIFFUSION), *words, "--retune", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert result.returncode == 0, result.stderr
    assert "routes: measured in" in result.stdout


def test_pictures_of_a_state_without_time_tell_none(here: Cli, tmp_path: Path) -> None:
    assert here("run", case(tmp_path, POISSON), "sem.deformation=0", "output.report=false").returncode == 0
    said = " ".join(here("check", "a.toml").stdout.split())
    assert "ends step 1" in said and "time 1" not in said
    shown = Results(tmp_path / "results" / "still")
    cut = planes.Cut("z", 0.5)
    plane = planes.cut_plane(shown, shown.frame(), cut)
    assert planes.where(plane) == "z = 0.5"
    # u = x - 1 is below zero on the left: alike to both sides. u + 1 is not: from zero on.
    u = plane.values("u")
    ends = [planes.look(shown.case, cut, "u", [values]).norm for values in (u, u + 1.01)]
    assert ends[0].vmin == -ends[0].vmax and ends[1].vmin == 0 and ends[1].vmax == pytest.approx(2, rel=0.1)


def test_samples_of_a_picture_lie_in_the_elements_where_they_belong(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path, POISSON)).returncode == 0
    shown = Results(tmp_path / "results" / "still")
    u = shown.read(shown.frame(), "u", (slice(None), slice(3, 5), slice(7, 8)))
    nx, ny, nz = shown.extent
    assert u.shape == (1, 2, nx) and shown.size == pytest.approx((2, 3, 1))
    # x, but for the constant: that of the mean, as elements have it, and what bent ones of order 4 make of it.
    np.testing.assert_allclose(u[0, 0], (np.arange(nx) + 0.5) * 2 / nx - 1, atol=2e-3)
    places = np.random.default_rng(1).uniform(0, 1, (200, 3)) * [2, 3, 1]
    element, local = sampling.find(load(tmp_path / "a.toml"), places)
    assert element.min() >= 0 and element.max() < 12 and local.min() >= 0 and local.max() <= 1


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        (["sem.order=0"], "invalid_argument", {"key": "sem.order", "given": 0, "allowed": ">= 1"}),
        (["sem.order=16"], "invalid_argument", {"key": "sem.order", "given": 16, "allowed": "<= 15"}),
        (["sem.map=['x', 'y']"], "not_found", {"key": "sem.map[2]"}),
        (["sem.map=['x', 'y', 'q']"], "not_found", {"key": "sem.map.2", "name": "q"}),
        (["sem.map=['x', 'log(y)', 'z']"], "overflow", {"key": "sem.map.1", "given": "log(y)"}),
        (
            ["sem.absolute_tolerance=-1"],
            "invalid_argument",
            {"key": "sem.absolute_tolerance", "given": -1, "allowed": ">= 0.0"},
        ),
        (["grid.periodic=[true,true,true]"], "unsupported", {"key": "boundaries.y-", "other": "grid.periodic"}),
        (["grid.periodic=[false,false,true]"], "not_found", {"key": "boundaries.x-", "needed": "value or flux"}),
        (["boundaries.y-.flux=1"], "invalid_argument", {"key": "boundaries.y-", "needed": "value or flux"}),
        (["boundaries.y-.value=log(-1-x)"], "overflow", {"key": "boundaries.y-.value", "given": "log(-1-x)"}),
        (["sem.time_order=4"], "invalid_argument", {"key": "sem.time_order", "allowed": "1, 2 or 3"}),
        (["sem.start=exact"], "not_found", {"key": "sem.start", "other": "exact"}),
        (["sem.reaction=1.0"], "unsupported", {"key": "sem.reaction", "needed": "helmholtz"}),
        *(
            ([f"exchange.{key}={value}"], "unsupported", {"key": f"exchange.{key}", "other": "sem"})
            for key, value in (("rim", "auto"), ("block", "[8,8,8]"), ("overlap", "on"), ("coding", "cast"))
        ),
        (["sem.oder=3"], "not_found", {"key": "sem.oder", "nearest": "order"}),
    ],
)
def test_bad_input_is_one_error_and_leaves_nothing(
    here: Cli, tmp_path: Path, words: list[str], code: str, facts: dict[str, object]
) -> None:
    is_one_error(here("run", case(tmp_path, DIFFUSION), *words), tmp_path, code, **facts)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sem.deformation=0.3"], "is turned inside out at ("),
        (["sem.factors=affine"], "is no parallelepiped"),
        (["sem.map=['x', '-y', 'z']"], "is turned inside out at ("),
        (["sem.map=['x', 'y*y', 'z']"], "element 0 has no volume at (0, 0, 0)"),
        (["sem.map=['x*(1 + y)', 'y', 'z']"], "the axis x is periodic, and the map does not keep it so: it takes (0, "),
    ],
)
def test_elements_that_cannot_be_are_one_error_and_leave_nothing(
    here: Cli, tmp_path: Path, words: list[str], said: str
) -> None:
    result = here("run", case(tmp_path, DIFFUSION), *words)
    is_one_error(result, tmp_path, None)
    assert said in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sem.deformation=0.3"], "is turned inside out at ("),
        (["sem.map=['x', '-y', 'z']"], "is turned inside out at ("),
        (["sem.map=['x', 'y*y', 'z']", "sem.order=1"], "element 0 has no volume at (0, 0, 0)"),
        (["sem.deformation=0.01", "sem.factors=affine"], "is no parallelepiped"),
    ],
)
def test_check_computes_elements(here: Cli, tmp_path: Path, words: list[str], said: str) -> None:
    result = here("check", case(tmp_path, DIFFUSION), *words)
    is_error(result, None)
    assert said in result.stderr
    assert here("check", "a.toml", "sem.deformation=0.01").returncode == 0


def test_bad_input_on_two_ranks_is_one_error_and_leaves_nothing(cli: Cli, tmp_path: Path) -> None:
    # The last layer of elements, which rank 1 has, hangs down.
    fold = "sem.map=['x', 'y', '0.5*(1.3 - abs(1.3 - 2*z))']"
    words = ("grid.periodic=[true,false,false]", "boundaries.z-.flux=0", "boundaries.z+.flux=0", fold)
    result = cli("run", case(tmp_path, DIFFUSION), *words, "-n", "2")
    is_one_error(result, tmp_path, None)
    assert "inside out at (" in result.stderr
    result = cli("run", case(tmp_path, DIFFUSION), "sem.order=16", "-n", "2")
    is_one_error(result, tmp_path, "invalid_argument", key="sem.order", given=16, allowed="<= 15")


def test_fluxes_that_do_not_sum_to_zero_are_refused(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path, POISSON), "boundaries.x+.flux=1.1")
    is_one_error(result, tmp_path, None)
    assert "for u: the right side does not sum to zero" in result.stderr
    assert "the fluxes 0.3" in result.stderr and "change one of them by -0.3" in result.stderr
    result = here("check", "a.toml", "run.steps=3")
    is_error(result, "unsupported", key="run.steps", other="sem.equation", needed="diffusion")


def test_what_does_not_converge_ends_the_run_or_goes_on_as_told(cli: Cli, tmp_path: Path) -> None:
    few = [case(tmp_path, DIFFUSION), "sem.most_iterations=12"]
    result = cli("run", *few, "-n", "2")
    is_error(result, "not_converged", 3)
    assert "for u at step 1 did not converge in 12 iterations: the last residuals are" in result.stderr
    result = cli("run", *few, "--overwrite", "sem.not_converged=go on")
    assert result.returncode == 0, result.stderr
    assert "6 of 6 linear solutions did not reach 1e-10" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1e300*exp(y)", "numbers up to 6.67e+240 are computed with: choose other units"),
        ("1e-300*exp(y)", "is nowhere above 2.72e-300, and numbers that small lose their digits"),
    ],
)
def test_values_beyond_what_numbers_hold_are_one_error(here: Cli, tmp_path: Path, source: str, said: str) -> None:
    words = ["initial.value=0", "boundaries.y-.value=0", "boundaries.y+.flux=0"]
    result = here("run", case(tmp_path, DIFFUSION), *words, f"sem.source={source}")
    is_error(result, None)
    assert said in result.stderr


def test_an_absolute_tolerance_ends_a_solve_sooner(here: Cli, tmp_path: Path) -> None:
    iterations = []
    for tolerance in (0, 1e-4, 1e3):
        word = f"sem.absolute_tolerance={tolerance}"
        result = here("run", case(tmp_path, HELMHOLTZ), word, "output.report=false", "--overwrite")
        assert result.returncode == 0, result.stderr
        iterations.append(findings(tmp_path, "screened")["findings"]["iterations.mean"])
    assert iterations[0] > iterations[1] > iterations[2] == 0, iterations


@pytest.mark.parametrize("exponent", [-700, 700])
def test_results_of_data_times_a_power_of_two_are_those_of_the_data(here: Cli, tmp_path: Path, exponent: int) -> None:
    fields, found = [], []
    for factor in ("1", f"2.0**{exponent}"):
        words = [f"boundaries.y+.flux={factor}*(t + 0.3)", f"initial.value={factor}*y*cos(2*pi*x)"]
        words += [f"boundaries.y-.value={factor}*t*sin(2*pi*x)", f"sem.source={factor}*exp(y)*(1 + t)"]
        words += [f"exact.value={factor}*(1 + y)", "output.report=false", "--overwrite"]
        result = here("run", case(tmp_path, DIFFUSION), *words)
        assert result.returncode == 0, result.stderr
        fields.append(last_u(tmp_path / "results" / "spread" / "fields.vtkhdf"))
        found.append(findings(tmp_path, "spread")["findings"])
    np.testing.assert_array_equal(np.ldexp(fields[1], -exponent), fields[0])
    assert found[0]["exact.distance"] == found[1]["exact.distance"] > 0
    assert found[0]["iterations.mean"] == found[1]["iterations.mean"]
    assert here("plot", "results/spread", "--plane", "z=0.3").returncode == 0


def test_what_becomes_infinite_later_ends_the_run_there(cli: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, DIFFUSION)
    result = cli("run", path, "boundaries.y-.value=x/(t-0.04)", "run.check_every=1", "-n", "2")
    is_error(result, None, 3)
    assert "what is given for u at time 0.04: 'x/(t-0.04)' is not finite everywhere" in result.stderr
    assert [row[0] for row in rows.read(tmp_path / "results" / "spread" / "solutions.csv")[1]] == ["1"]
    result = cli("run", path, "exact.value=1/(t-0.12)", "--overwrite", "-n", "2")
    is_error(result, None, key="exact.value")
    assert "what is given for u at time 0.12: '1/(t-0.12)' is not finite everywhere" in result.stderr


def test_results_before_a_step_that_was_not_solved_are_kept(cli: Cli, tmp_path: Path) -> None:
    # All is zero until the fifth step.
    still = ["initial.value=0", "boundaries.y-.value=0", "boundaries.y+.flux=0", "sem.most_iterations=9"]
    words = [*still, "sem.source=exp(x*y)*(t - 0.09 + abs(t - 0.09))", "output.every=0.02", "run.check_every=1"]
    path = case(tmp_path, DIFFUSION)
    result = cli("run", path, *words, "checkpoint.every=2")
    assert is_error(result, "not_converged", 3).facts["checkpoint"]
    assert "for u at step 5 did not converge in 9 iterations" in result.stderr
    folder = tmp_path / "results" / "spread"
    assert "given up by the linear solver" in (folder / "run.json").read_text()
    assert (folder / "report.html").exists()
    assert [int(row[0]) for row in rows.read(folder / "solutions.csv")[1]] == [1, 2, 3, 4]
    with h5py.File(folder / "fields.vtkhdf") as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == 5
    # As told, a restart goes on from there.
    result = cli("run", path, *words, "sem.not_converged=go on", "--restart", "last")
    assert result.returncode == 0 and "linear solutions did not reach" in " ".join(result.stdout.split()), result.stderr


def test_fluxes_that_balance_but_for_the_quadrature_are_solved_with_a_warning(here: Cli, tmp_path: Path) -> None:
    for order, distance in ((3, 3e-2), (4, 1e-2)):
        words = (f"sem.order={order}", "output.report=false", "--overwrite")
        result = here("run", str(ROOT / "cases" / "neumann_sem.toml"), *words)
        assert f"but at the points of order {order} a part of" in " ".join(result.stdout.split()), result.stderr
        assert findings(tmp_path, "neumann_sem")["findings"]["exact.distance"] < distance


def test_a_residual_that_rounding_keeps_up_brings_a_warning(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path, DIFFUSION), "run.steps=2", "sem.tolerance=1e-19", "output.report=false")
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "2 of 2 linear solutions converged by the recurrence alone: rounding keeps" in said


def test_a_guard_names_element_and_place(tmp_path: Path) -> None:
    from slipstream.base.core import core, part

    read = load(tmp_path / case(tmp_path, DIFFUSION))

    def broken(places: np.ndarray, time: float) -> np.ndarray:
        return np.where(np.linalg.norm(places - [0.4, 0.2, 1 / 3], axis=1) < 1e-6, np.nan, 1.0)

    options = read.options() | {"initial": broken, "deformation": 0.0}
    machine = core().Machine.discover("host")
    engine = part("sem").Sem(machine, options)
    engine.guard(1)
    with pytest.raises(
        core().Diverged, match=r"u is not finite \(nan\) at step 0 on rank 0 in element 1, at \(0.4, 0.2, 0.3333\)"
    ):
        engine.inspect()


@needs_pyvista
@pytest.mark.parametrize("order", [10, 11])
def test_elements_of_the_highest_orders_open_in_vtk(here: Cli, tmp_path: Path, order: int) -> None:
    import pyvista

    words = ("grid.cells=[1,1,1]", f"sem.order={order}", "sem.tolerance=1e-8", "output.report=false")
    result = here("run", case(tmp_path, POISSON), *words)
    assert result.returncode == 0, result.stderr
    grid = pyvista.read(tmp_path / "results" / "still" / "fields.vtkhdf")
    assert grid.n_cells == 1 and grid.n_points == (order + 1) ** 3
    # VTK cuts the element into tetrahedra, between all its nodes.
    assert grid.volume == pytest.approx(6, rel=1e-9)
    np.testing.assert_allclose(grid["u"], grid.points[:, 0] - 1, atol=2e-2)


def test_check_and_plan_tell_of_the_case(here: Cli, tmp_path: Path) -> None:
    said = " ".join(here("check", case(tmp_path, POISSON)).stdout.split())
    assert (
        "Poisson's equation, spectral elements of order 4, f64" in said and "deformed by 0.05, stored factors" in said
    )
    said = " ".join(here("plan", "a.toml", "machine.devices_per_rank=2").stdout.split())
    assert "conjugate" in said and "gather-scatter" in said
    assert "largest grid that fits" in said and "Mpoint/s" in said


def test_plan_counts_the_vectors_of_chebyshevs_polynomial(here: Cli, tmp_path: Path) -> None:
    case(tmp_path, POISSON)

    def vectors(preconditioner: str) -> float:
        words = ("machine.devices_per_rank=2", "grid.cells=[12, 12, 8]", f"sem.preconditioner={preconditioner}")
        memory = here("plan", "a.toml", *words).stdout.split("memory of each device, MB")[1]
        (row,) = re.findall(r"^0 +(.*)$", memory, re.MULTILINE)
        return float(row.split()[4])

    assert vectors("chebyshev") == pytest.approx(1.25 * vectors("jacobi"), rel=0.1), "five where there are four"
