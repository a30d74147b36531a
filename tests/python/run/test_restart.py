"""Runs that end early (signal, wall-clock limit, kill -9) and restart from a checkpoint give the same bits."""

import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import SMALL, Cli, command
from errors import is_error
from small_runs import ENDLESS, PLAIN, checkpoints, figures, kill_at_once, name, refusal, results, start, wait_for_steps


def state_in(path: Path) -> dict[str, bytes]:
    """All fields of a checkpoint as whole arrays, with its step and notes, independent of its decomposition."""
    with h5py.File(path) as file:
        found = {
            "step": bytes(file.attrs["step"]),
            "time": bytes(file.attrs["time"]),
            "notes": bytes(file["notes"][()]),
        }
        nx, ny, nz = file.attrs["extent"]
        for name, values in file["fields"].items():
            components = int(values.attrs["components"][0])
            whole = np.zeros((components, nz, ny, nx), values.dtype)
            for x0, y0, z0, x1, y1, z1, first in file["pieces"][name][()]:
                shape = (components, z1 - z0, y1 - y0, x1 - x0)
                part = values[first : first + int(np.prod(shape))].reshape(shape)
                whole[:, z0:z1, y0:y1, x0:x1] = part
            found[name] = whole.tobytes()
    return found


#: Seed of the random times of kills.
SEED = 20261121


# In the thorough set, more kills cover more stages of the same run.
@pytest.mark.parametrize(("kills_wanted", "steps"), [(2, 2400), pytest.param(20, 6000, marks=pytest.mark.thorough)])
def test_run_killed_at_random_moments_on_one_or_two_ranks_ends_with_the_same_bits(
    tmp_path: Path, small: Path, cli: Cli, kills_wanted: int, steps: int
) -> None:
    body = 'bodies.ball={shape="sphere",centre=[8,7,8],radius=3,area=28}'
    plain = [*PLAIN, "output.report=false", f"run.steps={steps}", body, "output.energy=true"]
    plain.append(f"checkpoint.every={steps // 40}")
    # Two blocks are used in both cases, because sums are taken by block.
    on = {"1": ["machine.devices_per_rank=2"], "2": ["-n", "2"]}
    folder, usual = tmp_path / "results" / "small", {}
    for ranks in ("2", "1"):
        began = time.monotonic()
        whole = cli("run", "small.toml", *plain, *on[ranks], "output.folder=whole", "--overwrite")
        usual[ranks] = time.monotonic() - began
        assert whole.returncode == 0, whole.stderr
    right = state_in(tmp_path / "whole" / "checkpoints" / name(steps))
    tables = ("profiles.csv", "loads.csv", "energy.csv")
    right_tables = [(tmp_path / "whole" / table).read_bytes() for table in tables]
    choose, went_on, ends = random.Random(SEED), 0, 0
    kills, restart = 0, ["--overwrite"]

    def compare_end() -> None:
        assert state_in(folder / "checkpoints" / name(steps)) == right
        assert [(folder / table).read_bytes() for table in tables] == right_tables

    while kills < kills_wanted:
        ranks, moment = choose.choice(["1", "2"]), choose.uniform(0.3, 0.95)
        waiting = f"checkpoint.snapshot={choose.choice(['pinned', 'device', 'mpi'])}"
        run = start(tmp_path, "run", "small.toml", *plain, waiting, *restart, *on[ranks])
        went_on += restart[0] == "--restart"
        try:
            # Kills come at random times: some before the first step, some during a checkpoint.
            said, _ = run.communicate(timeout=moment * usual[ranks])
        except subprocess.TimeoutExpired:
            kill_at_once(run)
            kills += 1
            there = sorted(path.stem for path in folder.glob("checkpoints/checkpoint-*"))
            print(f"seed {SEED}: {ranks} ranks, {waiting}, killed after {moment * usual[ranks]:.3f} s, left {there}")
            restart = ["--restart", "last"] if there else ["--overwrite"]
            continue
        assert run.returncode == 0, said
        compare_end()
        ends += 1
        shutil.rmtree(folder)
        restart = ["--overwrite"]
    final = cli("run", "small.toml", *plain, *restart, *on["1"])
    assert final.returncode == 0, final.stderr
    print(f"seed {SEED}: {kills} killed, {went_on} went on from a checkpoint, {ends} came to their end before the last")
    assert went_on >= kills_wanted // 4
    compare_end()


#: Arguments of a run that is long enough to be killed before its end.
LONG = "run.steps=1500"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """File of velocity profiles, which a run without interruption has written. Its bytes do not depend on the number of
    ranks."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    (folder / "small.toml").write_text(SMALL)
    assert command(folder, "run", "small.toml", *PLAIN, LONG).returncode == 0
    return results(folder)


def test_run_killed_on_two_ranks_goes_on_with_one(tmp_path: Path, small: Path, cli: Cli, uninterrupted: bytes) -> None:
    words = ["run", "small.toml", *PLAIN, LONG, "checkpoint.every=100"]
    run = start(tmp_path, *words, "-n", "2")
    wait_for_steps(run)
    while not any(entry.startswith("checkpoint-") for entry in checkpoints(tmp_path)):
        time.sleep(0.01)
    kill_at_once(run)
    again = cli(*words, "--restart", "last")
    assert again.returncode == 0, again.stderr
    assert "restarted at step" in again.stdout
    assert results(tmp_path) == uninterrupted


@pytest.mark.parametrize(("number", "ranks"), [(signal.SIGUSR1, 1), (signal.SIGTERM, 2)])
def test_signal_ends_a_run_with_a_checkpoint(
    tmp_path: Path, small: Path, cli: Cli, number: signal.Signals, ranks: int
) -> None:
    words = ["run", "small.toml", *PLAIN, "output.report=false"]
    on = ["-n", str(ranks)] if ranks > 1 else []
    run = start(tmp_path, *words, ENDLESS, *on)
    wait_for_steps(run)
    run.send_signal(number)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert "stopped by SIG" in said and "go on by --restart last" in said
    (made,) = checkpoints(tmp_path)
    assert not (tmp_path / "results" / "small" / "profiles.csv").exists(), "it has not come to its results"
    last = f"run.steps={int(made[-15:-3]) + 20}"
    assert cli(*words, last, "--restart", "last", *on).returncode == 0
    assert cli(*words, last, "output.folder=whole").returncode == 0
    assert results(tmp_path) == (tmp_path / "whole" / "profiles.csv").read_bytes()


def test_wall_clock_limit_ends_a_run_with_a_checkpoint(tmp_path: Path, small: Path, cli: Cli) -> None:
    result = cli("run", "small.toml", *PLAIN, "checkpoint.wall_clock_limit=0.001")
    assert result.returncode == 0, result.stderr
    assert "stopped by the wall-clock limit" in result.stdout
    assert checkpoints(tmp_path) == [name(1)]


def test_restart_between_two_residuals_becomes_steady_at_the_same_step(tmp_path: Path, small: Path, cli: Cli) -> None:
    words = ["run", "small.toml", *PLAIN, "run.check_every=40", "run.residual=0.2"]
    assert cli(*words, "run.steps=5000").returncode == 0
    right, right_figures = results(tmp_path), figures(tmp_path)
    assert right_figures["steady"] and int(str(right_figures["steps"])) > 60
    assert cli(*words, "run.steps=58", "checkpoint.every=50", "--overwrite").returncode == 0
    assert checkpoints(tmp_path) == [name(50), name(58)]
    # A run evaluates the residual at its last step, too, before it writes a checkpoint. The restart therefore uses
    # the checkpoint of step 50, which lies between two evaluations.
    again = cli(*words, "run.steps=5000", "--restart", f"results/small/checkpoints/{name(50)}")
    assert again.returncode == 0, again.stderr
    assert results(tmp_path) == right
    now = figures(tmp_path)
    assert all(now[key] == right_figures[key] for key in ("steps", "residual", "steady", "mass_drift"))


def test_restart_on_other_ranks_blocks_and_layout_gives_the_same_profiles(
    tmp_path: Path, small: Path, cli: Cli
) -> None:
    assert cli("run", "small.toml", *PLAIN, "run.steps=60", "checkpoint.every=20", "-n", "2").returncode == 0
    right = results(tmp_path)
    path = f"results/small/checkpoints/{name(40)}"
    other = ["exchange.blocks_per_device=[2,1,2]", "lbm.layout=aos", "output.folder=other"]
    again = cli("run", "small.toml", *PLAIN, "run.steps=60", *other, "--restart", path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "other" / "profiles.csv").read_bytes() == right


def fill_the_disk(run: subprocess.Popen[str]) -> None:
    """A file size limit for this process simulates a full disk."""
    resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (300_000, 300_000))


def test_full_disk_is_told_and_leaves_the_old_checkpoint(tmp_path: Path, small: Path, cli: Cli) -> None:
    words = ["run", "small.toml", *PLAIN]
    assert cli(*words, "run.steps=20", "checkpoint.every=20").returncode == 0
    run = start(tmp_path, *words, "run.steps=3000", "checkpoint.every=1500", "--restart", "last")
    assert run.stdout is not None
    next(line for line in run.stdout if line.startswith("restarted at step"))
    fill_the_disk(run)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    for step in (1500, 3000):
        assert f"warning: the checkpoint at step {step} was not written: the checkpoint '" in said
    assert "File too large" in said
    assert f"the newest complete one is results/small/checkpoints/{name(20)}" in said
    assert checkpoints(tmp_path) == [name(20)]
    assert cli(*words, "run.steps=40", "--restart", "last").returncode == 0


def test_end_without_room_for_its_checkpoint_is_a_failure(tmp_path: Path, small: Path) -> None:
    run = start(tmp_path, "run", "small.toml", *PLAIN, ENDLESS)
    wait_for_steps(run)
    fill_the_disk(run)
    run.send_signal(signal.SIGTERM)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert said.count("slipstream: error: ") == 1 and "SIGTERM" in said.partition("slipstream: error: ")[2]
    assert checkpoints(tmp_path) == []


UNSTABLE = ["physics.reference_velocity=0.17", "physics.reynolds=3500", "run.steps=4000", "lbm.collision=SRT"]


# On two ranks, both must agree that the run diverged and on its last good checkpoint. The outcome is that of one rank.
@pytest.mark.parametrize("ranks", [pytest.param("1", marks=pytest.mark.thorough), "2"])
def test_guard_names_cell_and_last_good_checkpoint_and_exits_with_3(
    tmp_path: Path, small: Path, cli: Cli, ranks: str
) -> None:
    words = ["run", "small.toml", *PLAIN, *UNSTABLE, "checkpoint.every=20", "guard.every=10", "-n", ranks]
    result = cli(*words, "run.check_every=4000")
    good = f"results/small/checkpoints/{checkpoints(tmp_path)[-1]}"
    facts = is_error(result, "diverged", 3, checkpoint=good).facts
    assert {"cell", "position", "rank"} <= facts.keys()
    step = int(facts["step"])
    assert int(good[-15:-3]) < step <= int(good[-15:-3]) + 20
    assert cli(*words, f"run.steps={int(good[-15:-3])}", "--restart", good).returncode == 0


def test_guard_may_be_left_out(tmp_path: Path, small: Path, cli: Cli) -> None:
    result = cli("run", "small.toml", *PLAIN, *UNSTABLE, "guard.every=0")
    fault = is_error(result, "diverged", 3, checkpoint=None)
    assert 0 < int(fault.facts["step"]) <= 4000


def test_range_of_the_guard_must_hold_a_fluid_at_rest(small: Path, cli: Cli) -> None:
    refusal(cli, "invalid_argument", "guard.density=[1.5,2]", key="guard.density", given="[1.5, 2]", needed=1)
