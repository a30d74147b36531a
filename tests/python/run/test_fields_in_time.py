"""Fields over time, as every solver's runs leave them."""

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
