"""Predictions of a run: their words, the steps that they come from, and how they compare with the run."""

import json
from pathlib import Path

import pytest
from conftest import CASES, Cli, words
from slipstream.base.terminal import about, size
from slipstream.results import taken
from slipstream.run import meter
from slipstream.run.meter import Meter
from slipstream.run.prediction import Prediction


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0204, "about 20 ms"), (1.5, "about 1.5 s"), (119, "about 119 s"), (245, "about 4.1 min"),
     (10_000, "about 2.8 h"), (400_000, "about 4.6 days")],
)  # fmt: skip
def test_time_is_said_in_two_digits(seconds: float, said: str) -> None:
    assert about(seconds) == said


@pytest.mark.parametrize(("amount", "said"), [(0, "0.0 kB"), (1.24e9, "1.2 GB"), (52e6, "52 MB"), (3e13, "30 TB")])
def test_size_is_said_in_two_digits(amount: float, said: str) -> None:
    assert size(amount) == said


def test_step_is_that_of_the_steps_after_the_warm_up() -> None:
    clock = Meter()
    clock.advanced(1, 0.3)  # a slow step, in which kernels are loaded
    for _ in range(19):
        assert not clock.enough
        clock.advanced(1, 0.07)
    assert clock.enough and clock.step() == pytest.approx(0.07)
    assert clock.of_steps(100) == pytest.approx(0.3 + 119 * 0.07)
    clock.advanced(1000, 300.0)  # the time of these later steps does not change the prediction of a step's time
    assert clock.step() == pytest.approx(0.07) and clock.steps == 1020


def test_a_single_stall_is_no_prediction() -> None:
    clock = Meter()
    clock.advanced(10, 0.3)
    for seconds in (0.1, 0.1, 0.6, 0.1):
        clock.advanced(10, seconds)
    assert clock.enough and clock.step() == pytest.approx(0.01)


def test_each_third_step_may_take_twice_as_long() -> None:
    clock = Meter()
    while not clock.enough:
        for seconds in (0.02, 0.02, 0.04):
            clock.advanced(1, seconds)
    assert clock.step() == pytest.approx(0.08 / 3, rel=0.05)


def test_steps_that_make_graphs_are_no_prediction() -> None:
    clock = Meter()
    for steps, seconds in (
        (1, 0.01),
        (2, 0.06),
        (4, 0.1),
        (8, 0.2),
        (5, 0.08),
        (8, 0.03),
        (12, 0.05),
        (16, 0.4),
        (20, 0.5),
    ):
        clock.advanced(steps, seconds)
        assert not clock.enough
    while not clock.enough:
        clock.advanced(20, 0.08)
    assert clock.step() == pytest.approx(0.004, rel=0.02) and clock.seconds < 3


def test_steps_that_are_slow_are_few() -> None:
    clock = Meter()
    clock.advanced(1, 15.0)  # a slow step, whose initial guess is empty
    clock.advanced(1, 8.0)
    assert not clock.enough
    clock.advanced(1, 8.0)
    assert clock.enough and clock.step() == pytest.approx(8.0)


def test_step_of_a_run_that_ends_early_is_the_mean_of_all() -> None:
    clock = Meter()
    for seconds in (0.004, 0.001, 0.001):
        clock.advanced(1, seconds)
    assert not clock.enough and clock.step() == pytest.approx(0.002)


def test_the_first_execution_of_a_part_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, times = Meter(), iter([0.0, 5.0, 5.0, 6.0, 6.0, 9.0])
    monkeypatch.setattr(meter.time, "perf_counter", lambda: next(times))
    with clock.timed("rows"):
        pass
    assert clock.of("rows", 3) == pytest.approx(15.0)
    for _ in range(2):
        with clock.timed("rows"):
            pass
    assert clock.of("rows", 101) == pytest.approx(5.0 + 100 * 2.0)
    assert clock.of("rows", 0) == clock.of("frames", 2) == 0.0


def test_what_a_run_took_stands_beside_what_was_predicted() -> None:
    before = {"step": 0.0118, "steps": 20000, "seconds": 236.0, "bytes": 1.2e9, "at_most": True, "timed": 85}
    came = {"step": 0.0121, "steps": 9000, "seconds": 110.0, "bytes": 1.21e9}
    assert taken.compared(came, before) == [
        ("ms a step", "11.8", "12.1"),
        ("steps", "at most 20000", "9000"),
        ("time", "at most about 3.9 min", "110 s"),
        ("on disk", "1.2 GB", "1.2 GB"),
    ]
    said = taken.comparison(came, before)
    assert said.startswith("took: ms a step 12.1 (predicted 11.8), ")
    assert "predicted" not in taken.comparison(came, {})
    assert Prediction(**before).words() == (
        "at most about 3.9 min for 20000 steps of 11.8 ms (85 were timed), 1.2 GB on disk"
    )


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the measurement of a prediction to 20 ms."""
    monkeypatch.setattr(meter, "SECONDS", 0.02)


#: Short runs, one per solver.
CASES_IN_SHORT = {
    "cavity": ["grid.cells=[24,24,24]", "run.steps=300"],
    "car": ["units.cell=0.2", "run.time_units=1"],
    "heat": ["run.time=0.01"],
    "point_source": ["run.time=0.1"],
    "decaying_turbulence": ["grid.cells=[24,24,24]", "output.every=1", "run.time=3"],
    "heat_sem": ["sem.order=5"],
    "walls_sem": ["sem.order=5", "output.nek=f32"],
}


@pytest.mark.parametrize("name", CASES_IN_SHORT)
def test_check_says_how_much_a_run_leaves_on_the_disk(brief: None, cli: Cli, tmp_path: Path, name: str) -> None:
    arguments = [str(CASES / f"{name}.toml"), *CASES_IN_SHORT[name], "machine.backend=host", "checkpoint.every=100"]
    said = words(cli("check", *arguments).stdout)
    assert " were timed), " in said and "not known" not in said, said
    assert list(tmp_path.iterdir()) == []
    result = cli("run", *arguments)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "results").glob("*/run.json")
    run = json.loads(path.read_text())
    took, predicted = run["took"], run["predicted"]
    assert took["steps"] == run["figures"]["steps"]
    if predicted:
        assert predicted["steps"] >= took["steps"]
        there = sum(file.stat().st_size for file in [*path.parent.glob("fields*"), *path.parent.glob("checkpoints/*")])
        # Tolerance for HDF5, whose files have a few kilobytes beside the values.
        assert predicted["bytes"] == pytest.approx(there, rel=0.1, abs=60_000)
        assert took["bytes"] == pytest.approx(there, rel=0.01, abs=1000)


def test_a_restart_tells_the_bytes_that_it_adds(brief: None, cli: Cli, small: Path) -> None:
    arguments = ["small.toml", "machine.backend=host"]
    assert cli("run", *arguments, "run.steps=20").returncode == 0
    folder = small.parent / "results" / "small"

    def there() -> int:
        return sum(file.stat().st_size for file in [*folder.glob("fields*"), *folder.glob("checkpoints/*")])

    before = there()
    assert cli("run", *arguments, "run.steps=1000", "--restart", "last").returncode == 0
    run = json.loads((folder / "run.json").read_text())
    assert run["took"]["bytes"] == there() - before > 0
    assert run["predicted"]["bytes"] == pytest.approx(run["took"]["bytes"], rel=0.1, abs=60_000)


def test_page_has_the_prediction_beside_what_it_took(brief: None, cli: Cli, small: Path) -> None:
    assert cli("run", "small.toml", "machine.backend=host", "run.steps=2000").returncode == 0
    page = (small.parent / "results" / "small" / "report.html").read_text(encoding="utf-8")
    assert "<th class=number>predicted</th><th class=number>took</th>" in page
    assert "were timed" in page


def test_check_of_a_case_that_does_not_fit_says_so_and_is_good(cli: Cli, small: Path) -> None:
    result = cli("check", "small.toml", "grid.cells=[9000,9000,9000]", "physics.length=64", "machine.backend=host")
    assert result.returncode == 0 and "takes not known: " in words(result.stdout)
