"""Invalid spectral element cases, solves that do not converge, overflow: one clear error each."""

from pathlib import Path

import numpy as np
import pytest
from conftest import Cli, is_one_error
from errors import is_error
from sem_rig import DIFFUSION, HELMHOLTZ, POISSON, case, findings, last_u
from slipstream.base import rows
from slipstream.case.reader import load


def test_a_courant_number_above_that_of_the_scheme_is_one_error(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path, DIFFUSION), "sem.velocity=[9.0, 0.0, 0.0]")
    fault = is_error(result, "not_converged", problem="courant")
    assert float(fault.facts["limit"]) == pytest.approx(0.6338 / 1.514, rel=1e-3)
    result = here("check", "a.toml", "sem.target_courant=0.2")
    is_error(result, "not_found", key="sem.velocity", other="sem.target_courant")
    result = here("check", case(tmp_path, HELMHOLTZ), "sem.velocity=[1.0, 0.0, 0.0]")
    is_error(result, "unsupported", key="sem.velocity", other="sem.equation")


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
        (["sem.reaction=-1"], "invalid_argument", {"key": "sem.reaction", "given": -1, "allowed": ">= 0.0"}),
        (["sem.diffusivity=0"], "invalid_argument", {"key": "sem.diffusivity", "given": 0, "allowed": "> 0.0"}),
        (["sem.diffusivity=-0.2"], "invalid_argument", {"key": "sem.diffusivity", "given": -0.2}),
        (["sem.diffusivity=true"], "invalid_argument", {"key": "sem.diffusivity", "given": "true"}),
        (["sem.diffusivity=x+q"], "not_found", {"key": "sem.diffusivity", "name": "q"}),
        *(
            ([f"exchange.{key}={value}"], "unsupported", {"key": f"exchange.{key}", "other": "sem"})
            for key, value in (
                ("rim", "auto"),
                ("block", "[8,8,8]"),
                ("overlap", "on"),
                ("coding", "cast"),
                ("coding", "zfp, rate 32"),
            )
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
    # The last layer of elements, on rank 1, is inverted.
    fold = "sem.map=['x', 'y', '0.5*(1.3 - abs(1.3 - 2*z))']"
    words = ("grid.periodic=[true,false,false]", "boundaries.z-.flux=0", "boundaries.z+.flux=0", fold)
    result = cli("run", case(tmp_path, DIFFUSION), *words, "-n", "2")
    is_one_error(result, tmp_path, None)
    assert "inside out at (" in result.stderr
    result = cli("run", case(tmp_path, DIFFUSION), "sem.order=16", "-n", "2")
    is_one_error(result, tmp_path, "invalid_argument", key="sem.order", given=16, allowed="<= 15")


@pytest.mark.parametrize(
    ("key", "given", "element"), [("diffusivity", "1 - 1.02*y", 2), ("reaction", "1 - x*y*1.02", 3)]
)
def test_coefficients_that_are_not_positive_somewhere_are_one_error_with_the_place(
    here: Cli, tmp_path: Path, key: str, given: str, element: int
) -> None:
    result = here("run", case(tmp_path, HELMHOLTZ), f"sem.{key}={given}")
    is_one_error(result, tmp_path, "invalid_argument", option=key, element=element)
    (fault,) = result.errors
    _, y, _ = (float(part) for part in fault.facts["place"].strip("()").split(", "))
    assert y > 0.98 and float(fault.facts["given"]) < 0


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
