"""The solver of heat and waves: from a case file to results, restarts and pictures."""

import json
import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import ROOT, Cli, backend_of, is_one_error
from errors import is_error
from slipstream.case.reader import load
from slipstream.results.results import Results

HEAT = """
[case]
name = "warm"
[grid]
cells = [24, 20, 16]
periodic = [true, false, true]
[stencil]
equation = "heat"
precision = "f64"
sides = "insulated"
[initial]
value = "sin(2*pi*x/Lx) + y/Ly"
[run]
steps = 60
"""

WAVE = """
[case]
name = "shot"
[grid]
cells = [60, 50, 1]
[stencil]
equation = "wave"
order = 4
precision = "f64"
absorbing = 10
time_step = 0.4
speed = "0.8 + 0.2*x/Lx"
[sources.bang]
at = [30.5, 25.5, 0.5]
frequency = 0.06
[receivers.near]
at = [36.5, 25.5, 0.5]
[receivers.far]
at = [45.5, 25.5, 0.5]
[run]
steps = 120
"""


def case(folder: Path, text: str) -> str:
    (folder / "a.toml").write_text(text)
    return "a.toml"


def findings(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / "results" / name / "findings.json").read_text())


def last_u(folder: Path, name: str) -> np.ndarray:
    shown = Results(folder / "results" / name)
    return shown.read(shown.frame(), "u")


IMPLICIT = HEAT.replace("[initial]", 'time = "backward_euler"\ntime_step = 0.7\n[initial]').replace("warm", "slow")


@pytest.mark.parametrize("name", ["heat", "heat_implicit", "standing_wave", "point_source"])
def test_cases_find_what_they_expect(cli: Cli, tmp_path: Path, name: str) -> None:
    result = cli("run", str(ROOT / "cases" / f"{name}.toml"))
    assert result.returncode == 0, result.stderr
    expected = findings(tmp_path, name)["expected"]
    assert expected and all(entry["met"] for entry in expected), expected


def test_run_leaves_a_folder_that_plot_and_report_read(here: Cli, tmp_path: Path) -> None:
    assert here("run", case(tmp_path, WAVE), "output.every=12").returncode == 0
    folder = tmp_path / "results" / "shot"
    names = {path.name for path in folder.iterdir()}
    assert {
        "case.resolved.toml",
        "run.json",
        "fields.vtkhdf",
        "seismograms.csv",
        "seismograms.png",
        "report.html",
    } <= names
    page = (folder / "report.html").read_text()
    assert "Mcell/s" in page and "waves of order 4 in space" in page
    assert here("plot", "results/shot").returncode == 0
    assert (folder / "pictures" / "u.png").stat().st_size > 5000
    is_error(here("plot", "results/shot", "--field", "speed"), "not_found", key="--field", given="speed", allowed="u")
    is_error(here("render", "results/shot"), "unsupported", file="results/shot", dimensions=2)
    with h5py.File(folder / "fields.vtkhdf") as file:
        np.testing.assert_allclose(file["VTKHDF/Steps/Values"], 12 * np.arange(5), rtol=1e-12)


def test_check_and_plan_tell_of_the_case(here: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, HEAT)
    said = " ".join(here("check", path).stdout.split())
    assert "heat, 7 points, explicit Euler, f64" in said and "90 % of the largest that is stable" in said
    said = " ".join(here("plan", path, "machine.devices_per_rank=2").stdout.split())
    assert "u, two arrays" in said and "largest grid that fits" in said and "were timed" in said


@pytest.mark.parametrize("variant", ["half", "euler", "euler_half"])
def test_implicit_steps_have_the_errors_of_their_orders(cli: Cli, tmp_path: Path, variant: str) -> None:
    assert cli("run", str(ROOT / "cases" / "heat_implicit.toml"), "--variant", variant).returncode == 0
    expected = findings(tmp_path, f"heat_implicit_{variant}")["expected"]
    assert expected and all(entry["met"] for entry in expected), expected


def test_an_implicit_run_tells_of_its_solutions(here: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, IMPLICIT)
    said = " ".join(here("check", path).stdout.split())
    assert "backward Euler" in said and "4.2 times the largest of explicit steps" in said
    assert "conjugate gradients" in " ".join(here("plan", path).stdout.split())
    result = here("run", path, "run.steps=6", "run.check_every=2", "stencil.precision=f32")
    assert result.returncode == 0 and "iterations a solution" in result.stdout, result.stderr
    rows = (tmp_path / "results" / "slow" / "solutions.csv").read_text().splitlines()
    assert rows[0] == "step,time,iterations,residual,true_residual" and [r.split(",")[0] for r in rows[1:]] == list(
        "246"
    )
    found = findings(tmp_path, "slow")["findings"]
    assert found["iterations.mean"] > 1 and 0 < found["residual.true"] < 1e-6


def test_solutions_that_do_not_converge_end_the_run_or_are_told(cli: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, IMPLICIT)
    result = cli("run", path, "stencil.most_iterations=2")
    is_error(result, "not_converged", 3, field="u at step 1", iterations=2)
    again = ["stencil.most_iterations=2", "stencil.not_converged=go on", "run.steps=3", "--overwrite"]
    result = cli("run", path, *again)
    assert result.returncode == 0
    assert "3 of 3" in result.stdout + result.stderr and "1e-10" in result.stdout + result.stderr


def test_an_absolute_tolerance_ends_solutions(here: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, IMPLICIT)
    result = here("run", path, "run.steps=2", "stencil.absolute_tolerance=1e6")
    assert result.returncode == 0 and "linear systems: 0 iterations a solution" in result.stdout, result.stderr


def test_restart_of_implicit_steps_goes_on_with_the_same_bits_on_other_devices(cli: Cli, tmp_path: Path) -> None:
    words = [case(tmp_path, IMPLICIT), *backend_of(3)]
    assert cli("run", *words, "run.steps=9").returncode == 0
    straight = last_u(tmp_path, "slow")
    assert cli("run", *words, "run.steps=4", "--overwrite", "machine.devices_per_rank=3").returncode == 0
    result = cli("run", *words, "--restart", "last", "run.steps=9", "machine.devices_per_rank=2", "-n", "2")
    assert result.returncode == 0, result.stderr
    assert "restarted at step 4" in result.stdout
    np.testing.assert_array_equal(last_u(tmp_path, "slow"), straight)
    assert np.ptp(straight) > 0


@pytest.mark.parametrize(("text", "name"), [(HEAT, "warm"), (WAVE, "shot")])
def test_restart_goes_on_with_the_same_bits_on_other_devices(cli: Cli, tmp_path: Path, text: str, name: str) -> None:
    path = case(tmp_path, text)
    assert cli("run", path, "run.steps=75").returncode == 0
    straight, table = last_u(tmp_path, name), tmp_path / "results" / name / "seismograms.csv"
    heard = table.read_text() if name == "shot" else ""
    assert cli("run", path, "run.steps=31", "--overwrite", "stencil.steps_per_exchange=2").returncode == 0
    again = ["run.steps=75", "stencil.steps_per_exchange=3", "machine.devices_per_rank=2"]
    result = cli("run", path, "--restart", "last", *again, "-n", "2")
    assert result.returncode == 0, result.stderr
    assert "restarted at step 31" in result.stdout
    np.testing.assert_array_equal(last_u(tmp_path, name), straight)
    assert np.ptp(straight) > 0
    if name == "shot":
        rows = heard.splitlines()
        assert rows[0] == "step,time,near,far" and len(rows) == 1 + 75 and rows[32].startswith("32,12.8,")
        assert table.read_text() == heard


def test_a_run_that_was_stopped_has_its_seismograms_and_goes_on_with_them(cli: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, WAVE)
    table = tmp_path / "results" / "shot" / "seismograms.csv"
    assert cli("run", path, "run.steps=40").returncode == 0
    heard, found = table.read_text(), findings(tmp_path, "shot")["findings"]
    assert "stopped by" in cli("run", path, "--overwrite", "checkpoint.wall_clock_limit=1e-3").stdout
    some = table.read_text().splitlines()
    assert 1 < len(some) < 41 and heard.startswith("\n".join(some))
    words = ["--restart", "last", "run.steps=40"]
    assert cli("run", path, *words).returncode == 0
    assert table.read_text() == heard and findings(tmp_path, "shot")["findings"] == found
    # A restart from the last step computes no steps, so a receiver that it adds has no samples in the seismograms.
    assert cli("run", path, *words, "receivers.new.at=[1.5,1.5,0.5]", "output.pictures=true").returncode == 0
    assert table.read_text().splitlines()[40] == heard.splitlines()[40] + ",nan"
    assert "new.largest" not in findings(tmp_path, "shot")["findings"]


def test_a_run_that_is_given_up_has_its_seismograms(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path, WAVE), "sources.bang.amplitude=1.7e308", "guard.every=5").returncode == 3
    assert len((tmp_path / "results" / "shot" / "seismograms.csv").read_text().splitlines()) > 5


def test_the_time_step_is_found_once_and_anew_for_other_speeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shot = load(tmp_path / case(tmp_path, WAVE.replace("time_step = 0.4\n", "")))
    steps = [shot.time_step, shot.changed(stencil={"speed": "0.4 + 0.1*x/Lx"}).time_step]
    assert steps[1] == pytest.approx(2 * steps[0])
    looked: list[Any] = []
    monkeypatch.setattr("slipstream.stencil.case.evaluate", lambda *given: looked.append(given))
    assert shot.show_time(10) and shot.time_step == steps[0] and not looked


def test_a_restart_of_another_equation_is_refused(cli: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, HEAT)
    assert cli("run", path, "run.steps=10").returncode == 0
    result = cli("run", path, "--restart", "last", "stencil.diffusivity=2.0")
    is_error(result, "mismatch", key="stencil.diffusivity", needed=1.0, given=2.0)


def test_insulated_sides_keep_the_heat(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path, HEAT)).returncode == 0
    assert findings(tmp_path, "warm")["findings"]["u.mean"] == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("sides", "value", "frequency"),
    [
        ("fixed", "sin(2*pi*(x + Lx/31/2)/(Lx + Lx/31))", "2*pi"),
        ("free", "cos(2*pi*x/Lx)", "2*pi"),
        ('fixed"\n[boundaries]\n"x-".kind = "free', "cos(2.5*pi*x/(Lx + Lx/64))", "2.5*pi/(Lx + Lx/64)"),
    ],
    ids=["fixed", "free", "one of each"],
)
def test_a_wave_from_rest_between_sides_is_as_exact_as_its_order(
    cli: Cli, tmp_path: Path, sides: str, value: str, frequency: str
) -> None:
    cells = 31 if frequency == "2*pi" and sides == "fixed" else 32
    text = f"""
[case]
name = "standing"
[grid]
cells = [{cells}, 1, 1]
[stencil]
equation = "wave"
order = 8
precision = "f64"
spacing = 0.03125
time_step = 2.5e-4
sides = "{sides}"
[initial]
value = "{value}"
[exact]
value = "{value} * cos({frequency}*t)"
[run]
time = 0.3
[output]
fields = false
"""
    assert cli("run", case(tmp_path, text)).returncode == 0
    assert findings(tmp_path, "standing")["findings"]["exact.distance"] < 1e-6


def test_a_run_that_becomes_steady_ends(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", case(tmp_path, HEAT), "run.steps=100000", "run.residual=1e-5", "run.check_every=50")
    assert result.returncode == 0 and "steady at step" in result.stdout


def test_steps_an_exchange_are_measured_once(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = [
        "run",
        case(tmp_path, HEAT),
        "--overwrite",
        "stencil.steps_per_exchange=auto",
        "machine.devices_per_rank=2",
    ]
    words += ["grid.cells=[8,6,4]"]

    def said(*more: str) -> str:
        result = cli(*words, *more)
        assert result.returncode == 0, result.stderr
        return " ".join(result.stdout.split())

    first = said()
    assert "steps an exchange: " in first and ", measured (1: " in first
    files = list((tmp_path / "cache" / "slipstream").iterdir())
    assert len(files) == 1
    assert f"from {files[0]} (1: " in said()
    assert ", measured (1: " in said("stencil.points=27"), "another stencil has another answer"
    assert ", measured (1: " in said("exchange.retune=true")
    files[0].write_text(files[0].read_text()[:-5])
    again = said()
    assert ", measured (1: " in again and "is damaged; measured again" in again


def test_two_ranks_measure_steps_an_exchange_together(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["-n", "2", "grid.cells=[4,4,4]", "run.steps=10", "stencil.steps_per_exchange=auto"]
    result = cli("run", case(tmp_path, HEAT), *words)
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert (
        said.count("steps an exchange: ") == 1
        and ", measured (1: " in said
        and "one in so many steps as are fastest" in said
    )


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        (
            ["stencil.time_step=0.2"],
            "invalid_argument",
            {"key": "stencil.time_step", "given": 0.2, "allowed": "<= 0.166667", "remedy": "implicit"},
        ),
        (["stencil.time=crank_nicolson"], "not_found", {"key": "stencil.time_step", "other": "stencil.time"}),
        (
            ["stencil.time=backward_euler", "stencil.time_step=1", "stencil.steps_per_exchange=2"],
            "unsupported",
            {"key": "stencil.steps_per_exchange", "other": "stencil.time"},
        ),
        (
            ["stencil.time=backward_euler", "stencil.time_step=1", "exchange.blocks_per_device=[2,1,1]"],
            "unsupported",
            {"key": "exchange.blocks_per_device", "other": "stencil.time"},
        ),
        *(
            (
                ["stencil.time=backward_euler", "stencil.time_step=1", f"exchange.coding={coding}"],
                "unsupported",
                {"key": "exchange.coding", "other": "stencil.time"},
            )
            for coding in ("cast", "zfp, rate 32", "auto, max error 1e-6")
        ),
        (
            ["stencil.steps_per_exchange=auto", "exchange.coding=cast"],
            "unsupported",
            {"key": "stencil.steps_per_exchange", "other": "exchange.coding", "needed": "raw"},
        ),
        *(
            (
                [f"stencil.{key}={value}"],
                "unsupported",
                {"key": f"stencil.{key}", "other": "stencil.time", "needed": "backward_euler, crank_nicolson"},
            )
            for key, value in (("absolute_tolerance", 1), ("tolerance", 1e-8))
        ),
        (["stencil.order=4"], "unsupported", {"key": "stencil.order", "needed": "wave"}),
        (["stencil.equation=wave"], "unsupported", {"key": "stencil.sides", "needed": "free"}),
        (["stencil.sides=free"], "unsupported", {"key": "stencil.sides", "needed": "insulated"}),
        (["boundaries.z+.kind=free"], "unsupported", {"key": "boundaries.z+.kind", "needed": "insulated"}),
        (
            ["grid.periodic=[true,false,false]", "boundaries.x-.kind=fixed"],
            "unsupported",
            {"key": "boundaries.x-", "other": "grid.periodic"},
        ),
        (["initial.value=1/0*x"], "overflow", {"key": "initial.value", "given": "1/0*x"}),
        (["initial.value=1/(x-1.5)"], None, {"key": "initial"}),
        (["exchange.rim=auto"], "unsupported", {"key": "exchange.rim", "other": "stencil"}),
        (["lbm.precision=f32"], "invalid_argument", {"given": "lbm, stencil"}),
        (["physics.viscosity=0.1"], "not_found", {"key": "physics", "owners": "lbm", "solver": "stencil"}),
        (["stencil.collision=TRT"], "not_found", {"key": "stencil.collision", "table": "[lbm] of cases of [lbm]"}),
        (["stencil.pints=27"], "not_found", {"key": "stencil.pints", "nearest": "points"}),
        (["grid.cells=[1,4,4]"], "invalid_argument", {"key": "grid.cells", "needed": "nx > 1"}),
    ],
)
def test_bad_input_is_one_error_and_leaves_nothing(
    cli: Cli, tmp_path: Path, words: list[str], code: str | None, facts: dict[str, object]
) -> None:
    is_one_error(cli("run", case(tmp_path, HEAT), *words), tmp_path, code, **facts)


def test_ghosts_wider_than_a_block_are_one_error_and_leave_nothing(cli: Cli, tmp_path: Path) -> None:
    words = ["stencil.steps_per_exchange=9", "machine.devices_per_rank=3", "machine.backend=host"]
    result = cli("run", case(tmp_path, HEAT), *words)
    is_one_error(result, tmp_path, "unsupported", needed=9)


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        (
            ["sources.bang.at=[61,25,0.5]"],
            "invalid_argument",
            {"key": "sources.bang.at", "given": "[61, 25, 0.5]", "allowed": "60 x 50 x 1"},
        ),
        (["receivers.far.at=[1,-1,0]"], "invalid_argument", {"key": "receivers.far.at", "given": "[1, -1, 0]"}),
        (
            ["stencil.absorbing=26"],
            "invalid_argument",
            {"key": "stencil.absorbing", "given": 26, "axis": "y", "needed": 52, "available": 50},
        ),
        (
            ["stencil.absorbing=51", "boundaries.y+.kind=free"],
            "invalid_argument",
            {"key": "stencil.absorbing", "given": 51, "axis": "y", "needed": 51, "available": 50},
        ),
        (
            ["stencil.sides=free", "stencil.absorbing=5"],
            "unsupported",
            {"key": "stencil.absorbing", "other": "stencil.sides"},
        ),
        (["boundaries.z+.kind=free"], "unsupported", {"key": "boundaries.z+", "other": "grid.cells"}),
        (["boundaries.x+.kind=insulated"], "unsupported", {"key": "boundaries.x+.kind", "needed": "free"}),
        (["stencil.speed=x-10"], "invalid_argument", {"key": "stencil.speed", "given": '"x-10"', "allowed": "> 0"}),
        (
            ["stencil.speed=1.5+0.1/(x-2.5)", "stencil.time_step=0.1"],
            "overflow",
            {"key": "stencil.speed", "given": "1.5+0.1/(x-2.5)"},
        ),
        (["stencil.points=27"], "unsupported", {"key": "stencil.points", "needed": "heat"}),
    ],
)
def test_bad_waves_are_refused(cli: Cli, tmp_path: Path, words: list[str], code: str, facts: dict[str, object]) -> None:
    is_one_error(cli("check", case(tmp_path, WAVE), *words), tmp_path, code, **facts)


#: Invalid runs with the code and facts of their error.
REFUSED: list[tuple[list[str], str, dict[str, object]]] = [
    (["stencil.time_step=2.0"], "invalid_argument", {"key": "stencil.time_step", "given": 2.0}),
    (
        ["grid.cells=[60,3,1]", "stencil.order=8"],
        "invalid_argument",
        {"key": "grid.cells", "axis": "y", "needed": 4, "available": 3},
    ),
    (["sources.bang.at=[61,1,0]"], "invalid_argument", {"key": "sources.bang.at", "given": "[61, 1, 0]"}),
    (["lbm.precision=f32"], "invalid_argument", {"given": "lbm, stencil"}),
    (["stencil.collision=TRT"], "not_found", {"key": "stencil.collision"}),
]


@pytest.mark.parametrize(("words", "code", "facts"), REFUSED)
def test_runs_that_cannot_be_are_refused(
    here: Cli, tmp_path: Path, words: list[str], code: str, facts: dict[str, object]
) -> None:
    is_one_error(here("run", case(tmp_path, WAVE), *words), tmp_path, code, **facts)


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        (
            ["stencil.order=8", "machine.devices_per_rank=8", "machine.backend=host", "exchange.device_grid=[1,16,1]"],
            "unsupported",
            {"needed": 4},
        ),
        # The initial value 1/(x - 1.5) is infinite in the half of rank 0 only.
        (["initial.value=1/(x-1.5)"], None, {"key": "initial"}),
        *(pytest.param(*run, marks=pytest.mark.thorough) for run in REFUSED),
    ],
)
def test_two_ranks_refuse_alike(
    cli: Cli, tmp_path: Path, words: list[str], code: str | None, facts: dict[str, object]
) -> None:
    result = cli("run", case(tmp_path, WAVE), *words, "-n", "2")
    is_one_error(result, tmp_path, code, **facts)


def test_a_solvers_table_that_is_misspelt_is_taken_for_no_other(cli: Cli, tmp_path: Path) -> None:
    result = cli("check", case(tmp_path, HEAT.replace("[stencil]", "[stencl]")))
    is_one_error(result, tmp_path, "not_found", file="a.toml", line=7, key="stencl", nearest="stencil")


def test_an_unsound_state_is_given_up(cli: Cli, tmp_path: Path) -> None:
    text = HEAT.replace('"f64"', '"f32"').replace('value = "sin', 'value = "3e38*sin')
    result = cli("run", case(tmp_path, text), "guard.every=5", "stencil.spacing=0.5", "stencil.diffusivity=4")
    facts = is_error(result, "diverged", 3, quantity="u", rank=0).facts
    assert not math.isfinite(float(facts["value"]))
    cell, place = (np.array(facts[name].strip("()").split(", "), float) for name in ("cell", "position"))
    np.testing.assert_allclose(place, 0.5 * (cell + 0.5))
