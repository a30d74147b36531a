"""The expected ranges of a case file apply to its own keys only."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import CASES, Cli, words
from slipstream.case.case import Case
from slipstream.case.reader import load, with_lapses

NAME = "exact.distance"


def case(overrides: Sequence[str], variant: str | None = None, name: str = "couette.toml") -> Case:
    path = CASES / name
    return with_lapses(load(path, overrides, variant), path, overrides, variant)


@pytest.mark.parametrize(
    ("name", "override", "key"),
    [
        ("couette.toml", "physics.reynolds=20", "physics.reynolds"),
        ("couette.toml", "grid.cells=[4,8,1]", "grid.cells"),
        ("couette.toml", "lbm.collision=SRT", "lbm.collision"),
        ("couette.toml", "run.steps=3", "run.steps"),
        ("couette.toml", 'exact.velocity=["y/Ly",0,0.1]', "exact.velocity"),
        ("sphere.toml", "bodies.ball.area=1.0", "bodies.ball.area"),
        ("forced_turbulence.toml", "dns.time_step=0.001", "dns.time_step"),
        ("forced_turbulence.toml", "output.mean_from=0.1", "output.mean_from"),
        ("heat.toml", "stencil.diffusivity=0.5", "stencil.diffusivity"),
        ("heat_sem.toml", "sem.order=3", "sem.order"),
    ],
)
def test_expectation_lapses_where_a_key_that_it_depends_on_was_changed(name: str, override: str, key: str) -> None:
    found = case([override], name=name)
    assert found.expected == {} and found.lapsed_by == (key,)


@pytest.mark.parametrize(
    "override",
    [
        "output.folder=elsewhere", "machine.backend=host", "exchange.overlap=off", "lbm.layout=soa",
        "run.check_every=7", "checkpoint.every=10", "guard.every=5", "case.name=mine",
    ],
)  # fmt: skip
def test_expectation_stays_where_results_do(override: str) -> None:
    found = case([override])
    assert NAME in found.expected and found.lapsed_by == ()


def test_value_that_the_file_has_too_changes_nothing() -> None:
    reynolds = case([]).physics.reynolds
    assert NAME in case([f"physics.reynolds={reynolds}"]).expected


def test_range_of_an_override_stays() -> None:
    found = case(["physics.reynolds=20", f'expected."{NAME}"=[0,1]'])
    assert found.expected == {NAME: (0, 1)}


def test_variant_keeps_its_ranges() -> None:
    assert case([], "tau051").expected and not case(["grid.cells=[4,16,2]"], "tau051").expected


def test_run_says_what_is_not_compared(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", str(CASES / "couette.toml"), "run.steps=3", "grid.cells=[4,8,1]", "output.folder=out")
    assert result.returncode == 0, result.stderr
    assert "expected not compared, because of changed keys: grid.cells, run.steps" in words(result.stdout)
    assert "not found" not in result.stdout
    assert "not compared" in (tmp_path / "out" / "report.html").read_text()
