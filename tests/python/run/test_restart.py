"""Runs that end early, by a signal, by the clock or by kill -9, and go on from a checkpoint to the same bits."""

import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import ROOT, SMALL, TETRAHEDRON, Cli, command
from slipstream.case.reader import load
from slipstream.run.checkpoint import Flow, differences

#: No pictures and fields, whose making takes longer than these runs.
PLAIN = ["lbm.precision=f64", "output.pictures=false", "output.fields=false", "machine.backend=host"]


MOMENTS = ["lbm.representation=moments", "lbm.collision=recursive"]


def checkpoints(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "results" / "small" / "checkpoints").iterdir())


def name(step: int) -> str:
    return f"checkpoint-{step:012d}.h5"


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """`slipstream WORDS` as the head of a process group of its own."""
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-m", "slipstream", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for_steps(run: subprocess.Popen[str]) -> None:
    assert run.stdout is not None
    for line in run.stdout:
        if line.startswith("step "):
            return
    raise AssertionError("the run ended before its first step")


def results(folder: Path) -> bytes:
    return (folder / "results" / "small" / "profiles.csv").read_bytes()


def figures(folder: Path) -> dict[str, object]:
    return json.loads((folder / "results" / "small" / "comparison.json").read_text())["run"]


def family(head: int) -> list[int]:
    """A process and all that descend from it: launchers give ranks process groups of their own."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            # The name may hold blanks; behind it stand the state and the parent.
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found = [head]
    for process in found:
        found += children.get(process, [])
    return found


def kill_at_once(run: subprocess.Popen[str]) -> None:
    """kill -9 of a run and its ranks; waits until they are gone."""
    processes = family(run.pid)
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    run.communicate()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{process}/exe").exists() for process in processes) and time.monotonic() < deadline:
        time.sleep(0.01)


def state_in(path: Path) -> dict[str, bytes]:
    """All fields of a checkpoint as whole arrays, its step and what it notes, however it is cut."""
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


#: Of the moments at which runs are killed.
SEED = 20261121


# More kills come upon more moments of the same run.
@pytest.mark.parametrize(("kills_wanted", "steps"), [(2, 2400), pytest.param(20, 6000, marks=pytest.mark.thorough)])
def test_run_killed_at_random_moments_on_one_or_two_ranks_ends_with_the_same_bits(
    tmp_path: Path, small: Path, cli: Cli, kills_wanted: int, steps: int
) -> None:
    body = 'bodies.ball={shape="sphere",centre=[8,7,8],radius=3,area=28}'
    plain = [*PLAIN, "output.report=false", f"run.steps={steps}", body, "output.energy=true"]
    plain.append(f"checkpoint.every={steps // 40}")
    # Two blocks in either case: sums are taken block by block.
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
            # Some die before their first step, some in the middle of a checkpoint, none knows when.
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


#: Far longer than any test waits.
ENDLESS = "run.steps=400000000"
#: Long enough to be killed on its way.
LONG = "run.steps=1500"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The profiles of that run where nothing stops it; they are the same on any number of ranks."""
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
    # That of the end was made after one more look at the residual.
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


def test_fields_after_a_restart_go_into_a_file_of_their_own(tmp_path: Path, small: Path, cli: Cli) -> None:
    words = ["run", "small.toml", "output.pictures=false", "checkpoint.every=20", "checkpoint.final=false"]
    assert cli(*words, "run.steps=30").returncode == 0
    folder = tmp_path / "results" / "small"
    before = (folder / "fields.vtkhdf").read_bytes()
    assert cli(*words, "--restart", "last").returncode == 0
    assert (folder / "fields.vtkhdf").read_bytes() == before
    assert (folder / "fields_from_20.vtkhdf").is_file()


def fill_the_disk(run: subprocess.Popen[str]) -> None:
    """From now on files of this process may have so many bytes: a full disk, as far as a program can tell."""
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
    assert "error: stopped by SIGTERM at step" in said and "without a checkpoint: " in said
    assert "there is no other one" in said
    assert checkpoints(tmp_path) == []


@pytest.fixture(scope="module")
def one_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Of the small case at step 40."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.toml").write_text(SMALL)
    run = start(folder, "run", "small.toml", *PLAIN, "checkpoint.every=40")
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    return (folder / "results" / "small" / "checkpoints" / name(40)).read_bytes()


@pytest.fixture
def made(tmp_path: Path, small: Path, one_checkpoint: bytes) -> Path:
    """That checkpoint where the small case's own would be."""
    path = tmp_path / "results" / "small" / "checkpoints" / name(40)
    path.parent.mkdir(parents=True)
    path.write_bytes(one_checkpoint)
    return path


def refusal(cli: Cli, *words: str) -> str:
    result = cli("run", "small.toml", *PLAIN, *words)
    assert result.returncode == 2, result.stderr
    assert result.stderr.count("error:") == 1 and "Traceback" not in result.stderr
    return result.stderr


def test_flipped_byte_is_refused_naming_file_and_dataset(made: Path, cli: Cli) -> None:
    content = bytearray(made.read_bytes())
    content[len(content) // 2] ^= 1  # most of the file is populations
    made.write_bytes(content)
    said = refusal(cli, "--restart", "last", "-n", "2")
    assert f"{name(40)}' is damaged in the dataset /fields/populations: piece" in said


def test_truncated_checkpoint_is_refused(made: Path, cli: Cli) -> None:
    made.write_bytes(made.read_bytes()[:-5000])
    said = refusal(cli, "--restart", "last")
    assert f"{name(40)}' cannot be used" in said and "it is truncated" in said


def test_checkpoint_of_another_version_is_refused(made: Path, cli: Cli) -> None:
    made.write_bytes(made.read_bytes().replace(b"version 1\n", b"version 2\n", 1))
    assert "it is of version 2, written by slipstream" in refusal(cli, "--restart", "last")


def test_checkpoint_of_another_case_is_refused_with_the_difference(made: Path, cli: Cli) -> None:
    said = refusal(cli, "--restart", "last", "lbm.collision=SRT", "physics.reynolds=50", "-n", "2")
    assert "is of another case:" in said
    assert '  lbm.collision: "TRT" in the checkpoint, "SRT" in the case' in said
    assert "  physics.reynolds: 100.0 in the checkpoint, 50.0 in the case" in said


@pytest.mark.parametrize(
    ("first", "then", "lost"),
    [
        (["lbm.collision=TRT"], MOMENTS, "lost: of the 19 populations of a cell all but density, momentum and"),
        (MOMENTS, ["lbm.collision=TRT"], "lost: terms of third order"),
    ],
)
def test_restart_by_the_other_representation_says_what_is_lost(
    tmp_path: Path, small: Path, cli: Cli, first: list[str], then: list[str], lost: str
) -> None:
    cli("run", "small.toml", *first)
    more = ["run.steps=80", "--restart", "last"]
    refused = cli("run", "small.toml", *then, *more)
    assert refused.returncode == 2
    assert "lbm.representation" in refused.stderr
    assert "checkpoint.convert = true, and lose" in " ".join(refused.stderr.split())
    went_on = cli("run", "small.toml", *then, *more, "checkpoint.convert=true")
    assert lost in went_on.stdout
    cli("run", "small.toml", *first, "run.steps=80", "output.folder=results/straight")
    converted, straight = (
        np.genfromtxt(tmp_path / "results" / folder / "profiles.csv", delimiter=",", names=True)
        for folder in ("small", "straight")
    )
    for column in straight.dtype.names:
        np.testing.assert_allclose(converted[column], straight[column], atol=0.02, err_msg=column)


@pytest.mark.parametrize(
    ("word", "difference"),
    [
        ("lbm.precision=f32", '  lbm.precision: "f64" in the checkpoint, "f32" in the case'),
        ("physics.reynolds=50", "  physics.reynolds: 100.0 in the checkpoint, 50.0 in the case"),
    ],
)
@pytest.mark.usefixtures("made")
def test_conversion_allows_no_other_difference(cli: Cli, word: str, difference: str) -> None:
    said = refusal(cli, "--restart", "last", *MOMENTS, "checkpoint.convert=true", "run.steps=80", word)
    assert difference in said and "lbm.representation" not in said


def test_restart_by_the_other_representation_in_16_bits_on_two_ranks(tmp_path: Path, small: Path, cli: Cli) -> None:
    words = [*PLAIN[1:], "lbm.precision=f16"]
    for more in (
        ["lbm.collision=TRT", "checkpoint.every=40"],
        [*MOMENTS, "run.steps=80", "--restart", "last", "checkpoint.convert=true", "-n", "2"],
        ["lbm.collision=TRT", "run.steps=80", "output.folder=results/straight"],
    ):
        result = cli("run", "small.toml", *words, *more)
        assert result.returncode == 0, result.stderr
    converted, straight = (
        np.genfromtxt(tmp_path / "results" / folder / "profiles.csv", delimiter=",", names=True)
        for folder in ("small", "straight")
    )
    for column in straight.dtype.names:
        np.testing.assert_allclose(converted[column], straight[column], atol=0.02, err_msg=column)


def test_file_that_is_no_checkpoint_is_refused(made: Path, cli: Cli) -> None:
    assert "it is no checkpoint" in refusal(cli, "--restart", "small.toml")
    assert "there is no checkpoint 'none.h5'" in refusal(cli, "--restart", "none.h5")


def test_last_needs_a_checkpoint(small: Path, cli: Cli) -> None:
    assert "there is no checkpoint in results/small/checkpoints" in refusal(cli, "--restart", "last")


def test_new_run_does_not_replace_checkpoints_unasked(made: Path, cli: Cli) -> None:
    said = refusal(cli)
    assert name(40) in said and "--restart last to go on" in said
    assert cli("run", "small.toml", *PLAIN, "--overwrite", "run.steps=20", "checkpoint.every=20").returncode == 0
    assert [path.name for path in made.parent.iterdir()] == [name(20)]


def test_cases_differ_in_what_changes_the_flow_alone(small: Path) -> None:
    before = Flow.of(load(small), "host")
    free = ["run.steps=9", "lbm.layout=aos", "output.folder=x", "checkpoint.every=3", "guard.every=7", "case.name=y"]
    assert differences(before, Flow.of(load(small, free), "host")) == []
    changed = Flow.of(load(small, ["lbm.precision=f64", "grid.cells=[16,16,20]"]), "host")
    assert [line.split(":")[0] for line in differences(before, changed)] == ["grid.cells", "lbm.precision"]


@pytest.mark.parametrize(("collision", "differ"), [("TRT", True), ("MRT", True), ("SRT", False), ("recursive", False)])
def test_magic_number_may_change_where_no_collision_reads_it(small: Path, collision: str, differ: bool) -> None:
    method = MOMENTS if collision == "recursive" else [f"lbm.collision={collision}"]
    one, other = (Flow.of(load(small, [*method, f"lbm.magic={magic}"]), "host") for magic in (0.1875, 0.25))
    assert [line.split(":")[0] for line in differences(one, other)] == (["lbm.magic"] if differ else [])


def test_key_that_a_checkpoint_does_not_know_yet_has_its_default(small: Path) -> None:
    now = Flow.of(load(small), "host")
    lines = now.text.splitlines()
    # As a version would have written it that had no lbm.streaming yet.
    older = "\n".join(line for line in lines if not line.startswith("streaming"))
    assert older != now.text
    before = Flow(older, {})
    assert differences(before, now) == []
    changed = Flow.of(load(small, ["lbm.collision=SRT"]), "host")
    without = "\n".join(line for line in lines if not line.startswith(("streaming", "collision")))
    (difference,) = differences(Flow(without, {}), changed)
    assert difference.startswith("lbm.collision: ") and '"SRT" in the case' in difference


def with_mesh(folder: Path, area: str = "") -> Path:
    """The small case round a tetrahedron, whose file lies beside it."""
    folder.mkdir()
    (folder / "part.obj").write_text(TETRAHEDRON)
    body = f'[bodies.part]\nmesh = "part.obj"\nscale = 40\ntranslate = [-12, -12, -12]\n{area}'
    (folder / "small.toml").write_text(f"{SMALL}{body}")
    return folder / "small.toml"


def nudge_a_vertex(folder: Path) -> None:
    """By 0.04 cells."""
    (folder / "part.obj").write_text(TETRAHEDRON.replace("v 0.6 0.4 0.4", "v 0.601 0.4 0.4"))


def test_case_with_a_mesh_goes_on_from_another_path(tmp_path: Path, cli: Cli) -> None:
    with_mesh(tmp_path / "here")
    words = ["here/small.toml", *PLAIN, "checkpoint.every=20"]
    assert cli("run", *words).returncode == 0
    right = (tmp_path / "results/small/loads.csv").read_bytes()
    moved = with_mesh(tmp_path / "moved").absolute()
    elsewhere = [str(moved), *PLAIN, "output.folder=other", "--restart", f"results/small/checkpoints/{name(20)}"]
    again = cli("run", *elsewhere)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "other/loads.csv").read_bytes().splitlines()[-1] == right.splitlines()[-1]


def test_edited_mesh_is_refused_by_the_name_of_its_body(tmp_path: Path, cli: Cli) -> None:
    with_mesh(tmp_path / "here")
    words = ["run", "here/small.toml", *PLAIN, "checkpoint.every=20"]
    assert cli(*words).returncode == 0
    nudge_a_vertex(tmp_path / "here")
    again = cli(*words, "--restart", "last", "-n", "2")
    assert again.returncode == 2, again.stdout
    before, now = (
        f'"here/part.obj" with SHA-256 {hashlib.sha256(text).hexdigest()[:16]}...'
        for text in (TETRAHEDRON.encode(), (tmp_path / "here/part.obj").read_bytes())
    )
    assert f"  bodies.part.mesh: {before} in the checkpoint, {now} in the case\n" in again.stderr


def test_mesh_is_known_by_its_path_where_a_checkpoint_has_no_checksum(tmp_path: Path) -> None:
    now = Flow.of(load(with_mesh(tmp_path / "here")), "host")
    elsewhere = Flow.of(load(with_mesh(tmp_path / "there")), "host")
    assert now.meshes.keys() == {"part"} and differences(now, elsewhere) == []
    assert differences(Flow(now.text, {}), now) == []
    (said,) = differences(Flow(now.text, {}), elsewhere)
    assert said.startswith("bodies.part.mesh: ") and "SHA-256" not in said


def test_simulation_keeps_the_checksum_of_the_mesh_that_it_was_made_from(tmp_path: Path) -> None:
    import slipstream as slip

    with_mesh(tmp_path / "here")
    part = {"mesh": str(tmp_path / "here/part.obj"), "scale": 40.0, "translate": (-12.0, -12.0, -12.0)}

    def flow() -> slip.lbm.Simulation:
        return slip.lbm.Simulation((16, 16, 16), 20, 0.1, bodies={"part": part}, backend="host")

    first = flow()
    nudge_a_vertex(tmp_path / "here")
    path = first.save(tmp_path / "kept")
    with pytest.raises(slip.CaseError, match="bodies.part.mesh: .* with SHA-256 "):
        flow().restore(path)
    first.restore(path)


def test_area_of_a_body_may_change_and_counts_for_the_rows_before(tmp_path: Path, cli: Cli) -> None:
    with_mesh(tmp_path / "here", "area = 32\n")
    words = ["here/small.toml", *PLAIN, "run.check_every=10"]
    assert cli("run", *words, "bodies.part.area=8").returncode == 0
    loads = tmp_path / "results/small/loads.csv"
    right = loads.read_bytes()
    assert cli("run", *words, "--overwrite", "checkpoint.every=20").returncode == 0
    assert loads.read_bytes() != right
    last = f"results/small/checkpoints/{name(20)}"
    again = cli("run", *words, "bodies.part.area=8", "--restart", last)
    assert again.returncode == 0, again.stderr
    assert loads.read_bytes() == right


UNSTABLE = ["physics.lid_speed=0.17", "physics.reynolds=3500", "run.steps=4000", "lbm.collision=SRT"]


# One rank finds it as one of two does; two must agree as well.
@pytest.mark.parametrize("ranks", [pytest.param("1", marks=pytest.mark.thorough), "2"])
def test_guard_names_cell_and_last_good_checkpoint_and_exits_with_3(
    tmp_path: Path, small: Path, cli: Cli, ranks: str
) -> None:
    words = ["run", "small.toml", *PLAIN, *UNSTABLE, "checkpoint.every=20", "guard.every=10", "-n", ranks]
    result = cli(*words, "run.check_every=4000")
    assert result.returncode == 3, result.stderr
    assert result.stderr.count("error:") == 1
    assert "the flow is no longer sound: density is" in result.stderr
    assert all(part in result.stderr for part in ("at step", "on rank", "in cell (", "position (", "tau"))
    good = f"results/small/checkpoints/{checkpoints(tmp_path)[-1]}"
    assert f"last good checkpoint: {good}" in result.stderr
    step = int(result.stderr.split("at step ")[1].split()[0])
    assert int(good[-15:-3]) < step <= int(good[-15:-3]) + 20
    assert cli(*words, f"run.steps={int(good[-15:-3])}", "--restart", good).returncode == 0


def test_guard_may_be_left_out(tmp_path: Path, small: Path, cli: Cli) -> None:
    result = cli("run", "small.toml", *PLAIN, *UNSTABLE, "guard.every=0")
    assert result.returncode == 3
    assert "the flow became infinite before step" in result.stderr and "there is no checkpoint" in result.stderr


def test_range_of_the_guard_must_hold_a_fluid_at_rest(small: Path, cli: Cli) -> None:
    assert "guard.density: the range must hold 1" in refusal(cli, "guard.density=[1.5,2]")


@pytest.mark.parametrize(
    ("representation", "other"),
    [("populations", {"blocks_per_device": (2, 1, 1), "layout": "aos"}), ("moments", {"blocks_per_device": (2, 1, 2)})],
)
def test_simulation_in_python_goes_on_from_its_checkpoint(
    tmp_path: Path, representation: str, other: dict[str, object]
) -> None:
    import slipstream as slip

    def flow(representation: str = representation, **options: object) -> slip.lbm.Simulation:
        method = {"representation": representation, "precision": "f64", "backend": "host"}
        return slip.lbm.Simulation((12, 9, 10), 20, 0.1, **method, **options)

    def state(simulation: slip.lbm.Simulation) -> np.ndarray:
        return np.asarray(getattr(simulation.solver, representation)())

    first = flow()
    first.run(steps=7, quiet=True)
    path = first.save(tmp_path / "kept")
    first.run(steps=5, quiet=True)
    second = flow(**other)
    second.restore(path)
    assert second.step == 7
    second.run(steps=5, quiet=True)
    assert np.array_equal(state(first), state(second))
    assert np.abs(state(first)).max() > 1e-3
    changed = "moments" if representation == "populations" else "populations"
    with pytest.raises(
        slip.CaseError, match=f'lbm.representation: "{representation}" in the checkpoint, "{changed}" in'
    ):
        flow(changed).restore(path)
    with pytest.raises(slip.CaseError, match="physics.reynolds: 20.0 in the checkpoint, 30.0 in the case"):
        slip.lbm.Simulation(
            (12, 9, 10), 30, 0.1, representation=representation, precision="f64", backend="host"
        ).restore(path)


def test_simulation_replaces_no_checkpoints_of_another_flow_or_of_later_steps(tmp_path: Path) -> None:
    import slipstream as slip

    def flow(reynolds: float, **more: object) -> slip.lbm.Simulation:
        return slip.lbm.Simulation((8, 8), reynolds, 0.1, backend="host", **more)

    kept = {"checkpoint": {"every": 4, "folder": str(tmp_path)}}
    first, folder = flow(20, **kept), tmp_path / "case"
    first.run(steps=8, quiet=True)
    there = {path: path.read_bytes() for path in folder.iterdir()}
    assert [path.name for path in sorted(there)] == [name(4), name(8)]
    other, again = flow(30, **kept), flow(20, **kept)
    another_flow = rf"holds checkpoints of another flow \({name(4)}, {name(8)}\), which new ones would replace"
    later = rf"holds checkpoints of later steps \({name(4)}, {name(8)}\), which new ones from step 0 on would replace"
    for simulation, said in ((other, another_flow), (again, later)):
        with pytest.raises(slip.CaseError, match="^checkpoint.folder: .* " + said):
            simulation.run(steps=4, quiet=True)
        with pytest.raises(slip.CaseError, match="^folder: .* " + said):
            simulation.save(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == there, "no lock is left either"
    again.restore(folder / name(4))
    again.save(folder)
    assert [path.name for path in folder.iterdir()] == [name(4)], "what was restored from there goes on there"


def test_simulation_saves_nothing_where_a_run_writes(tmp_path: Path, small: Path) -> None:
    import slipstream as slip

    run = start(tmp_path, "run", "small.toml", *PLAIN, ENDLESS)
    wait_for_steps(run)
    flow = slip.lbm.Simulation.from_case(small, ["machine.backend='host'", "lbm.precision='f64'"])
    with pytest.raises(slip.CaseError, match="^folder: .*/results/small is in use by a run"):
        flow.save(tmp_path / "results/small/checkpoints")
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=60)
    assert run.returncode == 0


def test_shared_folder_of_checkpoints_keeps_those_of_another_flow(tmp_path: Path, small: Path, cli: Cli) -> None:
    words = ["run", "small.toml", *PLAIN, "output.report=false", "run.steps=4", "checkpoint.folder=kept"]
    first = tmp_path / "kept/small" / name(4)
    assert cli(*words).returncode == 0
    made = first.read_bytes()
    said = cli(*words, "output.folder=other").stderr
    assert f"error: checkpoint.folder: kept/small already holds checkpoints ({name(4)}); " in said
    assert "choose another checkpoint.folder" in said and "output.folder" not in said
    for more in (
        ["output.folder=other", "physics.reynolds=50"],
        ["output.folder=other", "physics.reynolds=50", "-n", "2"],
    ):
        refused = cli(*words, *more, "--overwrite")
        assert refused.returncode == 2 and refused.stderr.count("error:") == 1
        assert f"checkpoint.folder: kept/small holds checkpoints of another flow ({name(4)})" in refused.stderr
    assert first.read_bytes() == made and not (tmp_path / "other").exists()
    # Of this flow, or of the run whose results are replaced.
    assert cli(*words, "output.folder=other", "--overwrite", "run.steps=3").returncode == 0
    assert [path.name for path in first.parent.iterdir()] == [name(3)]
    assert cli(*words, "output.folder=other", "--overwrite", "physics.reynolds=50").returncode == 0
    assert [path.name for path in first.parent.iterdir()] == [name(4)]
