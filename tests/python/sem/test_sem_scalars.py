"""Several unknowns in one run: results, output files, and restarts."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import Cli, backend_of
from errors import is_error
from sem_rig import DIFFUSION, HELMHOLTZ, case, findings
from slipstream.base import rows
from slipstream.base.core import part
from slipstream.sem import Simulation

#: Unknowns: u, a scalar with the same operator, and one with another diffusivity and other sides.
SCALARS = (
    DIFFUSION.replace("time_step = 0.02", 'time_step = 0.02\nvelocity = ["0.3*y", 0.0, 0.0]')
    + """
[sem.scalars.alike]
source = "x - y"
initial = "y"
boundaries = { "y-" = { value = 0.0 }, "y+" = { flux = "1 + t" } }
[sem.scalars.slow]
diffusivity = 0.02
tolerance = 1e-8
preconditioner = "multigrid"
boundaries = { "y-" = { flux = 0.0 }, "y+" = { value = "sin(2*pi*x)" } }
[receivers.here]
at = [0.3, 0.5, 0.2]
[receivers.line]
at = [0.0, 0.5, 0.5]
to = [1.0, 0.5, 0.5]
points = 3
"""
)
ALONE = {
    "alike": (
        "sem.source=x - y",
        "initial.value=y",
        "boundaries.y-.value=0.0",
        "boundaries.y+.flux=1 + t",
    )
}


def last(path: Path, name: str) -> np.ndarray:
    with h5py.File(path) as file:
        begin = file[f"VTKHDF/Steps/PointDataOffsets/{name}"][-1]
        found: np.ndarray = file[f"VTKHDF/PointData/{name}"][begin:]
        return found


def test_each_scalar_has_the_values_of_a_run_alone_and_columns_of_its_own(here: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "spread"
    result = here("run", case(tmp_path, SCALARS), "output.report=false", "output.nek=f64", "run.check_every=2")
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "sides of slow" in said and "solves for slow" in said and "p-multigrid" in said
    assert "multigrid for slow: asymmetry" in said and "linear systems of alike:" in said
    together = {name: last(folder / "fields.vtkhdf", name) for name in ("u", "alike", "slow")}
    found = findings(tmp_path, "spread")["findings"]
    assert {"u.mean", "alike.largest", "slow.iterations.mean", "iterations.mean"} <= set(found)
    header, table = rows.read(folder / "solutions.csv")
    assert header[2:] == [
        *("iterations", "residual", "true_residual"),
        *(f"{name} {what}" for name in ("alike", "slow") for what in ("iterations", "residual", "true_residual")),
    ]
    assert [int(row[0]) for row in table] == [2, 4, 6] and all(float(row[10]) < 2e-8 for row in table)
    header, table = rows.read(folder / "receivers.csv")
    assert header == ["step", "time", "here", "here alike", "here slow"] and len(set(table[-1][2:])) == 3
    header, table = rows.read(folder / "profiles.csv")
    assert header[-3:] == ["u", "alike", "slow"] and len(table) == 3
    assert {"T", "S01", "S02"} <= set(part("sem").NekFile(str(folder / "fields0.f00000")).fields)
    for name, words in {"u": (), **ALONE}.items():
        text = SCALARS[: SCALARS.index("[sem.scalars.alike]")]
        result = here("run", case(tmp_path, text), *words, "output.report=false", "--overwrite")
        assert result.returncode == 0, result.stderr
        np.testing.assert_array_equal(last(folder / "fields.vtkhdf", "u"), together[name])
        assert findings(tmp_path, "spread")["findings"]["u.mean"] == found[f"{name}.mean"]


def test_a_restart_has_the_same_bits_of_all_scalars_on_other_devices(here: Cli, cli: Cli, tmp_path: Path) -> None:
    folder, names = tmp_path / "results" / "spread", ("u", "alike", "slow")
    words = [case(tmp_path, SCALARS), "output.report=false", "run.steps=5", *backend_of(3)]
    assert here("run", *words, "machine.devices_per_rank=3").returncode == 0
    straight = [last(folder / "fields.vtkhdf", name) for name in names]
    effort = findings(tmp_path, "spread")["findings"]["slow.iterations.mean"]
    first = here("run", *words, "run.steps=3", "machine.devices_per_rank=3", "--overwrite")
    assert first.returncode == 0, first.stderr
    result = cli("run", *words, "machine.devices_per_rank=2", "--restart", "last", "-n", "2")
    assert result.returncode == 0, result.stderr
    for name, values in zip(names, straight, strict=True):
        np.testing.assert_array_equal(last(folder / "fields.vtkhdf", name), values)
    assert findings(tmp_path, "spread")["findings"]["slow.iterations.mean"] == effort
    result = here("run", *words, "sem.scalars.slow.diffusivity=0.03", "--restart", "last")
    is_error(result, "mismatch", key="sem.scalars.slow.diffusivity")


def test_scalars_that_do_not_fit_are_one_error_each(here: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, SCALARS)
    for words, code, key in (
        (["sem.scalars.slow.boundaries.x-.value=1"], "unsupported", "sem.scalars.slow.boundaries.x-"),
        (["sem.scalars.slow.boundaries.y-.value=1"], "invalid_argument", "sem.scalars.slow.boundaries.y-"),
        (["sem.scalars.slow.reaction=1"], "unsupported", "sem.scalars.slow.reaction"),
        (["sem.scalars.slow.restart=5"], "unsupported", "sem.scalars.slow.restart"),
        (["sem.scalars.alike.degree=5"], "unsupported", "sem.scalars.alike.degree"),
        (["sem.scalars.slow.initial=q"], "not_found", "sem.scalars.slow.initial"),
        (["sem.scalars.u1.diffusivity=1"], "invalid_argument", "sem.scalars.u1"),
        (["sem.scalars.more.diffusivity=1"], "not_found", "sem.scalars.more.boundaries.y-"),
    ):
        if "u1" in key:
            words += ["sem.scalars.u1.boundaries.y-.value=1", "sem.scalars.u1.boundaries.y+.value=1"]
        if "more" in key:
            words += ["sem.scalars.more.boundaries.y+.value=1"]
        is_error(here("check", path, *words), code, key=key)
    result = here("check", case(tmp_path, HELMHOLTZ), "sem.scalars.v.initial=1.0")
    assert result.returncode != 0 and "sem.scalars.v.initial" in result.stderr


def test_a_simulation_has_scalars_by_name() -> None:
    box = {side: {"value": 0.0} for side in ("x-", "x+", "y-", "y+", "z-", "z+")}
    wave = "sin(pi*x)*sin(pi*y)*sin(pi*z)"
    run = Simulation(
        "poisson",
        (2, 2, 2),
        order=7,
        source=f"3*pi^2*{wave}",
        boundaries=box,
        exact={"value": wave},
        scalars={"v": {"source": f"6*pi^2*{wave}", "boundaries": box, "exact": f"2*{wave}"}},
    )
    run.run()
    u, v = run.statistics(), run.statistics("v")
    assert u.distance is not None and u.distance < 1e-5 and v.distance is not None and v.distance < 1e-5
    np.testing.assert_allclose(run.values("v"), 2 * run.u, atol=1e-12)
    np.testing.assert_allclose(run.at([[0.5, 0.5, 0.5]], "v"), [2.0], rtol=1e-5)
    with pytest.raises(ValueError, match="unknown"):
        run.values("w")
