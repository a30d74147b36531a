"""Runs of spectral elements: result folder, restarts, and messages of sums."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import Cli, backend_of
from errors import is_error
from sem_rig import DIFFUSION, case, findings, last_u, mapped_by_sines
from slipstream.base import rows


def test_run_leaves_a_folder_that_plot_and_report_read(cli: Cli, here: Cli, tmp_path: Path) -> None:
    result = cli("run", case(tmp_path, DIFFUSION), "output.every=0.06", "run.check_every=2")
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "5 x 5 x 3 elements of 64 points = 4 800 points" in said and "value y-; flux y+" in said
    assert "backward differences of order 3" in said and "leave an error of order 2" in said
    folder = tmp_path / "results" / "spread"
    names = {path.name for path in folder.iterdir()}
    assert {"case.resolved.toml", "run.json", "fields.vtkhdf", "findings.json", "solutions.csv", "report.html"} <= names
    header, table = rows.read(folder / "solutions.csv")
    assert header == ["step", "time", "iterations", "residual", "true_residual"]
    assert [int(row[0]) for row in table] == [2, 4, 6] and all(float(row[4]) < 2e-10 for row in table)
    assert "Mpoint/s" in (folder / "report.html").read_text()
    assert here("plot", "results/spread", "--plane", "z=0.3").returncode == 0
    assert (folder / "pictures" / "u_z0.3.png").stat().st_size > 5000
    with h5py.File(folder / "fields.vtkhdf") as file:
        root = file["VTKHDF"]
        assert root.attrs["Type"] == b"UnstructuredGrid" and root["Steps"].attrs["NSteps"] == 3
        np.testing.assert_allclose(root["Steps/Values"], [0, 0.06, 0.12], rtol=1e-12)
        assert (root["Types"][:] == 72).all() and root["NumberOfCells"][:] == [75]
        np.testing.assert_array_equal(root["Offsets"], np.arange(76) * 64)
        np.testing.assert_array_equal(np.sort(root["Connectivity"]), np.arange(4800))
        np.testing.assert_array_equal(root["Steps/PointDataOffsets/u"], [0, 4800, 9600])


@pytest.mark.parametrize("start", ["lower", "exact"])
def test_restart_goes_on_with_the_same_bits_on_other_devices_and_ranks(
    here: Cli, cli: Cli, tmp_path: Path, start: str
) -> None:
    path, folder = case(tmp_path, DIFFUSION), tmp_path / "results" / "spread"
    words = [path, "output.report=false", "run.steps=5", *backend_of(3)]
    if start == "exact":
        text = DIFFUSION.replace("[initial]", "[exact]").replace("y*cos(2*pi*x)", "(1 + t + t^2)*y*cos(2*pi*x)")
        words = [case(tmp_path, text), *words[1:], "sem.start=exact"]
    assert here("run", *words, "machine.devices_per_rank=3").returncode == 0
    straight = last_u(folder / "fields.vtkhdf")
    # The restart at step 3 needs all earlier solutions of the backward difference scheme from the checkpoint.
    first = here("run", *words, "run.steps=3", "machine.devices_per_rank=3", "--overwrite")
    assert first.returncode == 0, first.stderr
    result = cli("run", *words, "machine.devices_per_rank=2", "--restart", "last", "-n", "2")
    assert result.returncode == 0, result.stderr
    assert "restarted at step 3" in result.stdout
    np.testing.assert_array_equal(last_u(folder / "fields.vtkhdf"), straight)
    assert np.ptp(straight) > 0.5


@pytest.mark.parametrize("start", ["lower", "exact"])
def test_restart_of_a_carried_solution_has_the_same_bits_amid_parts_that_change(
    here: Cli, cli: Cli, tmp_path: Path, start: str
) -> None:
    folder = tmp_path / "results" / "spread"
    text = DIFFUSION.replace("[initial]", "[exact]") if start == "exact" else DIFFUSION
    # Advection takes from two to many substeps per step; the reported number includes those before the restart.
    velocity = "sem.velocity=['(1 + 300*t^2)*y', '0.3*(1 + 300*t^2)*sin(2*pi*x)', 0.0]"
    words = [case(tmp_path, text), velocity, "sem.target_courant=0.12", f"sem.start={start}", *backend_of(3)]
    words += ["output.report=false", "run.steps=4"]
    assert here("run", *words, "machine.devices_per_rank=3").returncode == 0
    straight = last_u(folder / "fields.vtkhdf")
    assert findings(tmp_path, "spread")["findings"]["courant"] < 0.12
    for steps in (1, 2):
        first = here("run", *words[:-1], f"run.steps={steps}", "machine.devices_per_rank=3", "--overwrite")
        assert first.returncode == 0, first.stderr
        result = cli("run", *words, "machine.devices_per_rank=2", "--restart", "last", "-n", "2")
        assert result.returncode == 0, result.stderr
        np.testing.assert_array_equal(last_u(folder / "fields.vtkhdf"), straight)
    whole = here("run", *words, "sem.target_courant=0.4", "--overwrite")
    assert whole.returncode == 0, whole.stderr
    assert findings(tmp_path, "spread")["findings"]["courant"] > 0.12
    assert np.abs(last_u(folder / "fields.vtkhdf") - straight).max() > 1e-7


def test_the_sine_map_as_a_formula_is_the_built_in_one_to_rounding(here: Cli, tmp_path: Path) -> None:
    path, folder = case(tmp_path, DIFFUSION), tmp_path / "results" / "spread"
    words = ["run.steps=2", "sem.tolerance=1e-13", "output.report=false"]
    assert here("run", path, *words).returncode == 0
    built_in = last_u(folder / "fields.vtkhdf")
    formula = ["sem.deformation=0", mapped_by_sines(0.04)]
    result = here("run", path, *words, *formula, "--overwrite")
    assert result.returncode == 0, result.stderr
    assert "mapped to (x + 0.04*Lx*sin(2*pi*x/Lx)" in " ".join(result.stdout.split())
    np.testing.assert_allclose(last_u(folder / "fields.vtkhdf"), built_in, rtol=0, atol=1e-11)
    assert here("run", path, *words, "sem.deformation=0", "--overwrite").returncode == 0
    assert np.abs(last_u(folder / "fields.vtkhdf") - built_in).max() > 1e-4


def test_restart_of_a_mapped_box_has_the_same_bits_and_takes_no_other_map(cli: Cli, tmp_path: Path) -> None:
    path, folder = case(tmp_path, DIFFUSION), tmp_path / "results" / "spread"
    words = [path, "sem.map=['x + 0.1*y^2', 'y*(1 + 0.2*y)', 'z + 0.1*sin(3*y)']"]
    assert cli("run", *words).returncode == 0
    straight = last_u(folder / "fields.vtkhdf")
    assert cli("run", *words, "run.steps=1", "--overwrite").returncode == 0
    for other in ("sem.map=['x', 'y', 'z']", None):
        result = cli("run", path, *filter(None, [other]), "--restart", "last")
        is_error(result, "mismatch", key="sem.map")
    result = cli("run", *words, "--restart", "last", "-n", "2")
    assert result.returncode == 0, result.stderr
    np.testing.assert_array_equal(last_u(folder / "fields.vtkhdf"), straight)


def test_run_on_two_devices_tells_of_the_messages_of_its_sums(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", case(tmp_path, DIFFUSION), "machine.devices_per_rank=2", "-n", "2", "output.report=false")
    assert result.returncode == 0, result.stderr
    table = result.stdout.split("last exchange")[1].split("written:")[0]
    messages = [line.split() for line in table.splitlines() if line.split()[:2] in (["0", "1"], ["1", "2"], ["3", "2"])]
    assert len(messages) == 3, table
    for words in messages:
        # Columns: source, target, route, reason, then bytes, us, GB/s; bytes are whole values of 8 bytes.
        assert any(word.isdigit() and int(word) > 0 and int(word) % 8 == 0 for word in words[3:]), words


@pytest.mark.parametrize(
    ("word", "routes", "why"),
    [
        ("exchange.routes=['staged']", {"staged"}, ""),
        ("exchange.throttle=1 GB/s, 5 us", {"gpu_mpi"}, "the throttle slows messages that the host sends"),
    ],
)
def test_sums_travel_as_the_table_exchange_says(
    here: Cli, tmp_path: Path, word: str, routes: set[str], why: str
) -> None:
    words = ["machine.devices_per_rank=2", "machine.backend=host", "run.steps=1", "output.report=false"]
    result = here("run", case(tmp_path, DIFFUSION), *words, word)
    assert result.returncode == 0, result.stderr
    table = json.loads((tmp_path / "results" / "spread" / "exchange.json").read_text())["rows"]
    between = [row for row in table if row["source"] != row["target"]]
    assert between and {row["route"] for row in between} == routes
    assert all(why in row["reason"] for row in between), between


def test_sums_are_measured_where_the_case_asks(cli: Cli, tmp_path: Path) -> None:
    words = ["machine.devices_per_rank=2", "machine.backend=host", "run.steps=1", "output.report=false"]
    result = cli("run", case(tmp_path, DIFFUSION), *words, "--retune", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert result.returncode == 0, result.stderr
    assert "routes: measured in" in result.stdout


def test_results_before_a_step_that_was_not_solved_are_kept(cli: Cli, tmp_path: Path) -> None:
    # In this case the solution is zero until the fifth step.
    still = ["initial.value=0", "boundaries.y-.value=0", "boundaries.y+.flux=0", "sem.most_iterations=9"]
    words = [*still, "sem.source=exp(x*y)*(t - 0.09 + abs(t - 0.09))", "output.every=0.02", "run.check_every=1"]
    path = case(tmp_path, DIFFUSION)
    result = cli("run", path, *words, "checkpoint.every=2")
    assert is_error(result, "not_converged", 3).facts["checkpoint"]
    assert "for u at step 5 did not converge in 9 iterations" in result.stderr
    folder = tmp_path / "results" / "spread"
    assert "given up by the linear solver" in (folder / "run.json").read_text()
    assert (folder / "report.html").exists()
    assert [int(row[0]) for row in rows.read(folder / "solutions.csv")[1]] == [1, 2, 3, 4]
    with h5py.File(folder / "fields.vtkhdf") as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == 5
    # With "go on" a restart continues from a step that did not converge.
    result = cli("run", path, *words, "sem.not_converged=go on", "--restart", "last")
    assert result.returncode == 0 and "linear solutions did not reach" in " ".join(result.stdout.split()), result.stderr
