"""Mean values of a turbulent flow, its energy budget on 64^3 cells, and columns that earlier versions lack."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from slipstream.base import rows
from slipstream.base.core import core, part
from slipstream.dns import means
from slipstream.dns.running import COLUMNS

FORCED = """
[case]
name = "forced"
[grid]
cells = [16, 16, 16]
[dns]
viscosity = 0.08
time_step = 0.05
forcing_power = 0.5
[initial]
flow = "random"
peak = 2.0
energy = 1.0
[run]
steps = 40
check_every = 4
[output]
mean_from = 1.0
pictures = false
"""
NEW = ("mean_u", "mean_v", "mean_w", "integral_scale", "c_epsilon", "time_step")


def table_of(folder: Path) -> dict[str, np.ndarray]:
    header, lines = rows.read(folder / "statistics.csv")
    return dict(zip(header, np.array(lines, dtype=float).T, strict=True))


def findings_of(folder: Path) -> dict[str, float]:
    return json.loads((folder / "findings.json").read_text())["findings"]


def test_means_are_those_of_the_rows_of_a_window(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(FORCED)
    result = here("run", "a.toml", 'expected={"skewness.mean"=[-1,0], "turnovers"=[0.1,1]}')
    assert result.returncode == 0 and "not found" not in result.stdout, result.stderr
    column, found = table_of(tmp_path / "results" / "forced"), findings_of(tmp_path / "results" / "forced")
    late = column["time"] >= 1.0
    assert 3 < late.sum() < len(late)
    for name in ("energy", "skewness", "c_epsilon", "integral_scale", "mean_u"):
        assert found[f"{name}.mean"] == pytest.approx(column[name][late].mean(), rel=1e-12)
    first = {name: column[name][late][0] for name in ("velocity", "integral_scale")}
    assert found["turnovers"] == pytest.approx(1.0 / (first["integral_scale"] / first["velocity"]), rel=1e-12)
    fit = 0.2 * (1 + np.sqrt(1 + (92 / column["taylor_reynolds"][late]) ** 2))
    assert found["c_epsilon.ratio"] == pytest.approx((column["c_epsilon"][late] / fit).mean(), rel=1e-12)


def test_window_is_the_second_half_of_the_run_where_none_is_given() -> None:
    times = np.arange(9) / 2
    np.testing.assert_array_equal(means.window(times, None), times >= 2)
    np.testing.assert_array_equal(means.window(times, 3.0), times >= 3)
    np.testing.assert_array_equal(means.window(times, 9.0), times == 4)


def test_relation_of_steady_turbulence_has_its_published_limits() -> None:
    assert means.c_epsilon_when_steady(np.array(1e6)) == pytest.approx(0.4, rel=1e-6)
    assert means.c_epsilon_when_steady(np.array(0.1)) == pytest.approx(0.2 * 92 / 0.1, rel=2e-3)


def test_new_columns_stand_behind_those_of_earlier_versions() -> None:
    assert COLUMNS[-len(NEW) :] == NEW and COLUMNS[:2] == ("energy", "dissipation")


def test_restart_goes_on_with_rows_that_lack_new_columns(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(FORCED)
    assert here("run", "a.toml", "run.steps=24").returncode == 0
    folder = tmp_path / "results" / "forced"
    header, lines = rows.read(folder / "statistics.csv")
    rows.replace(folder / "statistics.csv", header[: -len(NEW)], [line[: -len(NEW)] for line in lines])
    result = here("run", "a.toml", "--restart", "last")
    assert result.returncode == 0, result.stderr
    column, found = table_of(folder), findings_of(folder)
    before = column["step"] <= 24
    assert np.isnan(column["c_epsilon"][before]).all() and np.isfinite(column["c_epsilon"][~before]).all()
    assert "energy.mean" in found and np.isfinite(column["energy"]).all()
    assert not {"c_epsilon.mean", "c_epsilon.ratio", "turnovers"} & found.keys(), "rows without a number have no mean"
    assert {"c_epsilon", "integral_scale"} <= found.keys()


@pytest.mark.parametrize(
    ("scheme", "order", "within"),
    [("rk4", 4, 1e-6), ("rk2", 2, 2e-3)],
)
@pytest.mark.parametrize(
    "forcing", [{}, {"forcing_power": 0.5}, {"forcing": "energy"}], ids=["none", "power", "energy"]
)
def test_budget_on_64_cells_closes_to_the_order_of_the_scheme(
    scheme: str, order: int, within: float, forcing: dict[str, Any]
) -> None:
    errors = []
    for time_step in (0.02, 0.01):
        given = {"cells": (64,) * 3, "viscosity": 0.016, "time_step": time_step, "scheme": scheme, "budget": True}
        dns = part("dns").Dns(core().Machine.discover("host", devices_per_rank=1), given | forcing)
        dns.random(part("dns").peaked_spectrum(21, 4.0, 1.0), 1)
        dns.advance(3)
        errors.append(dns.statistics()["budget_error"])
    assert errors[1] < within
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.5)
