"""Restarting a completed run reports that no steps are left, and writes no second frame."""

from pathlib import Path

import pytest
from conftest import CASES, Cli

ENDED = {
    "steps": ("cavity_2d.toml", ["grid.cells=[12,12,1]", "run.steps=20", "run.time_units=100"], "run.steps"),
    "time": ("standing_wave.toml", ["grid.cells=[16,16,1]", "run.time=0.003"], "a larger run.time lets"),
    "time units": ("cavity_2d.toml", ["grid.cells=[12,12,1]", "run.time_units=0.2"], "a larger run.time_units lets"),
    "steady": (
        "cavity_2d.toml",
        ["grid.cells=[12,12,1]", "run.steps=2000", "run.check_every=20", "run.residual=0.5"],
        "a smaller run.residual lets",
    ),
}


@pytest.mark.parametrize("end", ENDED)
def test_restart_at_the_end_says_so_and_what_lets_it_go_on(cli: Cli, tmp_path: Path, end: str) -> None:
    name, keys, remedy = ENDED[end]
    words = ["run", str(CASES / name), *keys, "output.folder=out", "machine.backend=host"]
    first = cli(*words)
    assert first.returncode == 0, first.stderr
    assert "already at its end" not in first.stdout
    fields = {path.name for path in (tmp_path / "out").glob("fields*")}
    again = cli(*words, "--restart", "last")
    assert again.returncode == 0, again.stderr
    assert "already at its end: no step is left to make; " in again.stdout and remedy in again.stdout
    assert {path.name for path in (tmp_path / "out").glob("fields*")} == fields == {"fields.vtkhdf"}
    report = (tmp_path / "out" / "report.html").read_text()
    assert "already at its end, step" in report and "0 million cells a second" not in report


def test_restart_at_the_end_writes_fields_that_are_not_there(cli: Cli, tmp_path: Path) -> None:
    name, keys, _ = ENDED["steps"]
    words = ["run", str(CASES / name), *keys, "output.folder=out", "machine.backend=host"]
    assert cli(*words, "output.fields=false").returncode == 0
    assert cli(*words, "--restart", "last").returncode == 0
    assert [path.name for path in (tmp_path / "out").glob("fields*")] == ["fields.vtkhdf"]
