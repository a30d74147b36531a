"""Time series of fields from runs of every solver."""

from pathlib import Path

import h5py
import pytest
from conftest import CASES, Cli

SHORT = {
    "cavity_2d.toml": ["grid.cells=[12,12,1]", "run.time_units=0.3", "output.every=0.1"],
    "forced_turbulence.toml": ["grid.cells=[8,8,8]", "dns.viscosity=0.2", "run.time=0.03", "output.every=0.01"],
    "standing_wave.toml": ["grid.cells=[16,16,1]", "run.time=0.003", "output.every=0.001"],
    "heat_sem.toml": ["grid.cells=[2,2,2]", "sem.order=3", "run.time=0.15", "output.every=0.05"],
}


@pytest.mark.parametrize("name", SHORT)
def test_time_between_fields_means_fields_in_every_solver(cli: Cli, tmp_path: Path, name: str) -> None:
    result = cli("run", str(CASES / name), *SHORT[name], "output.folder=out", "output.report=false")
    assert result.returncode == 0, result.stderr
    with h5py.File(tmp_path / "out" / "fields.vtkhdf") as file:
        assert file["VTKHDF/Steps/Values"].shape == (4,)


DIVERGING = {
    "cavity_2d.toml": ["grid.cells=[12,12,1]", "guard.every=5", "guard.density=[0.9999,1.0001]", "run.steps=40"],
    "forced_turbulence.toml": [
        "grid.cells=[16,16,16]", "dns.viscosity=1e-4", "dns.time_step=5.0", "dns.largest_courant=0", "run.time=500",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", DIVERGING)
def test_run_that_is_given_up_keeps_the_frame_in_which_it_was(cli: Cli, tmp_path: Path, name: str) -> None:
    words = [*DIVERGING[name], "output.fields=true", "output.folder=out", "output.report=false"]
    result = cli("run", str(CASES / name), *words)
    assert result.returncode == 3, result.stderr
    with h5py.File(tmp_path / "out" / "fields.vtkhdf") as file:
        (time,) = file["VTKHDF/Steps/Values"][:]
    assert time > 0
    drawn = cli("plot", "out")
    assert drawn.returncode == 0, drawn.stderr
