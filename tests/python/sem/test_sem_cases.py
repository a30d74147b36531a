"""Results of spectral element cases, by equation, sides, coefficients and solver."""

import itertools
from pathlib import Path

import pytest
from conftest import ROOT, Cli
from errors import is_error
from sem_rig import HELMHOLTZ, MIXED, case, findings


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
        ("past_cylinder_sem", ""),
        pytest.param("past_cylinder_sem", "from_zero", marks=pytest.mark.thorough),
        ("walls_sem", ""),
        pytest.param("walls_sem", "half", marks=pytest.mark.thorough),
        pytest.param("kovasznay_sem", "", marks=pytest.mark.thorough),
        pytest.param("taylor_green_sem", "", marks=pytest.mark.thorough),
        pytest.param("cavity_sem", "coarse", marks=pytest.mark.thorough),
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
    # Now the given flux has the wrong sign on half of the side, so the error must grow.
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
    # Source -div(kappa grad u) + c u of u = exp(2 x - y) cos(2 pi z), where grad kappa . grad u = (2 y - x) u.
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


def test_all_pairs_of_method_and_preconditioner_find_one_solution(here: Cli, tmp_path: Path) -> None:
    path, means, iterations = case(tmp_path, MIXED), [], {}
    kinds = ("jacobi", "chebyshev", "multigrid", "schwarz")
    for method, by in itertools.product(("cg", "fgmres"), kinds):
        words = (f"sem.method={method}", f"sem.preconditioner={by}", "output.report=false", "--overwrite")
        result = here("run", path, *words, *(["sem.restart=63"] if method == "fgmres" else []))
        assert result.returncode == 0, result.stderr
        found = findings(tmp_path, "mixed")["findings"]
        means.append(found["u.mean"])
        iterations[method, by] = found["iterations.mean"]
        named = {"cg": "conjugate gradients", "fgmres": "flexible GMRES"}[method]
        assert f"{named} with {by}: asymmetry" in " ".join(result.stdout.split())
    assert means == pytest.approx([means[0]] * len(means), rel=1e-9)
    assert iterations["cg", "schwarz"] <= iterations["cg", "multigrid"] < iterations["cg", "chebyshev"]
    assert iterations["cg", "schwarz"] <= 20
    for by in ("multigrid", "schwarz"):
        assert abs(iterations["fgmres", by] - iterations["cg", by]) <= 2
    for words, key in (
        (("sem.restart=5",), "sem.restart"),
        (("sem.degree=3",), "sem.degree"),
        (("sem.projection=3",), "sem.projection"),
    ):
        is_error(here("run", path, *words, "--overwrite"), "unsupported", key=key)


def test_projection_onto_earlier_solutions_saves_iterations(here: Cli, tmp_path: Path) -> None:
    iterations = []
    for vectors in (0, 10):
        words = (f"sem.projection={vectors}", "sem.order=4", "run.steps=30", "output.report=false", "--overwrite")
        result = here("run", str(ROOT / "cases" / "moving_source_sem.toml"), *words)
        assert result.returncode == 0, result.stderr
        iterations.append(findings(tmp_path, "moving_source_sem")["findings"]["iterations.mean"])
    assert iterations[1] < 0.72 * iterations[0], iterations


def test_fluxes_that_balance_but_for_the_quadrature_are_solved_with_a_warning(here: Cli, tmp_path: Path) -> None:
    for order, distance in ((3, 3e-2), (4, 1e-2)):
        words = (f"sem.order={order}", "output.report=false", "--overwrite")
        result = here("run", str(ROOT / "cases" / "neumann_sem.toml"), *words)
        assert f"but at the points of order {order} a part of" in " ".join(result.stdout.split()), result.stderr
        assert findings(tmp_path, "neumann_sem")["findings"]["exact.distance"] < distance
