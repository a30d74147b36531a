"""The pseudo-spectral solver: from a case file to spectra, restarts and pictures."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Cli
from slipstream.base import rows

DECAY = """
[case]
name = "decay"
[grid]
cells = [24, 20, 16]
[dns]
viscosity = 0.02
time_step = 0.01
[initial]
flow = "random"
peak = 2.0
energy = 0.3
[run]
steps = 30
check_every = 5
"""


def case(folder: Path, text: str = DECAY) -> str:
    (folder / "a.toml").write_text(text)
    return "a.toml"


def findings(folder: Path, name: str = "decay") -> dict[str, Any]:
    return json.loads((folder / "results" / name / "findings.json").read_text())


def test_run_leaves_statistics_spectrum_and_pictures(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path), "output.fields=true")
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "results" / "decay"
    names = {path.name for path in folder.iterdir()}
    assert {
        "statistics.csv",
        "spectrum.csv",
        "spectrum.png",
        "dissipation.png",
        "fields.vtkhdf",
        "report.html",
    } <= names
    header, table = rows.read(folder / "statistics.csv")
    column = dict(zip(header, np.array(table, dtype=float).T, strict=True))
    np.testing.assert_array_equal(column["step"], np.arange(0, 31, 5))
    assert column["energy"][0] == pytest.approx(0.3) and (np.diff(column["energy"]) < 0).all()
    spectrum = np.array(rows.read(folder / "spectrum.csv")[1], dtype=float)
    assert spectrum[:, 1].sum() == pytest.approx(column["energy"][-1], rel=1e-7)
    assert here("plot", "results/decay", "--plane", "z").returncode == 0
    assert any(path.name.startswith("speed") for path in (folder / "pictures").iterdir())


def test_cuts_and_restarts_change_no_digit_that_counts(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path)).returncode == 0
    straight = findings(tmp_path)["findings"]
    assert cli("run", "a.toml", "run.steps=13", "--overwrite").returncode == 0
    result = cli("run", "a.toml", "--restart", "last", "machine.devices_per_rank=2", "-n", "2")
    assert result.returncode == 0, result.stderr
    assert "restarted at step 13" in result.stdout and "process grid" in result.stdout
    restarted = findings(tmp_path)["findings"]
    assert restarted["energy"] == pytest.approx(straight["energy"], rel=1e-12)
    assert restarted["dissipation"] == pytest.approx(straight["dissipation"], rel=1e-11)
    _, table = rows.read(tmp_path / "results" / "decay" / "statistics.csv")
    assert [int(row[0]) for row in table][:3] == [0, 5, 10] and int(table[-1][0]) == 30


def test_forcing_holds_what_it_puts_in(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path), "dns.forcing_power=0.2").returncode == 0
    assert findings(tmp_path)["findings"]["power"] == pytest.approx(0.2)


def test_taylor_green_begins_as_published(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", str(ROOT / "cases" / "dns_taylor_green.toml"), "--variant", "short", "grid.cells=[32,32,32]")
    assert result.returncode == 0, result.stderr
    expected = findings(tmp_path, "dns_taylor_green_short")["expected"]
    assert len(expected) == 2 and all(entry["met"] for entry in expected), expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dns.time_step=1"], "Courant number (CFL)"),
        (["grid.periodic=[true,true,false]"], "grid.periodic: a pseudo-spectral flow is periodic along all axes"),
        (["grid.cells=[24,2,16]"], "grid.cells: each axis needs 4 cells or more"),
        (["dns.process_grid=[3,1]"], "3"),
        (["exchange.blocks_per_device=[2,1,1]"], "exchange.blocks_per_device: transforms cut the box themselves"),
        (["output.reference=taylor_green1600"], "output.reference: belongs to"),
        (["stencil.order=2"], "[stencil] and [dns] are tables of two solvers"),
        (["dns.viscosty=1"], "did you mean 'viscosity'?"),
    ],
)
def test_bad_input_is_one_error(cli: Cli, tmp_path: Path, words: list[str], said: str) -> None:
    result = cli("run", case(tmp_path), *words)
    assert result.returncode in (2, 1) and said in result.stderr, result.stderr
    assert result.stderr.count("error:") == 1


def test_plan_and_check_tell_of_the_case(here: Cli, tmp_path: Path) -> None:
    said = " ".join(here("check", case(tmp_path)).stdout.split())
    assert "pseudo-spectral, rotational form, 2/3 rule, rk4, f64" in said
    said = " ".join(here("plan", "a.toml", "machine.devices_per_rank=2").stdout.split())
    assert "modes, four fields" in said and "largest grid that fits" in said
