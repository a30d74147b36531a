"""Ends of runs: Ctrl-C, a killed or failed rank, no reader of the output, a full disk; locks on the result folder."""

import dataclasses
import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, TETRAHEDRON, Cli
from errors import is_error, raises
from slipstream.base import rows, terminal
from slipstream.base.errors import CaseError, Fault
from slipstream.run import locks
from small_runs import ENDLESS, family, start, wait_for_steps

FLAT = """\
[case]
name = "flat"
[grid]
cells = [16, 16, 1]
[lbm]
lattice = "D2Q9"
[physics]
reynolds = 20
reference_velocity = 0.1
[walls]
"y+" = { velocity = [1, 0, 0] }
[run]
steps = 40
[output]
reference = "none"
pictures = false
report = false
fields = false
[machine]
backend = "host"
"""


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    path = tmp_path / "flat.toml"
    path.write_text(FLAT)
    return path


def checkpoints(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("results/flat/checkpoints/*"))


def verdict(folder: Path) -> str:
    return json.loads((folder / "results/flat/run.json").read_text())["verdict"]


def ranks_of(run: subprocess.Popen[str]) -> list[int]:
    """Ids of the processes that run the case, without the launcher; rank 0 is the first."""
    found = []
    for process in family(run.pid)[1:]:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        if b"slipstream" in words and b"mpiexec" not in words[0]:
            found.append(process)
    return sorted(found)


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (["-n", "1"], signal.SIGHUP),
        (["-n", "2"], signal.SIGINT),
        (["output.report=true", "output.pictures=true"], signal.SIGINT),
    ],
)
def test_ctrl_c_ends_a_run_as_sigterm_does(
    tmp_path: Path, flat: Path, cli: Cli, words: list[str], number: signal.Signals
) -> None:
    run = start(tmp_path, "run", "flat.toml", ENDLESS, *words)
    wait_for_steps(run)
    # The signal goes to the whole foreground process group, as a terminal sends it.
    os.killpg(run.pid, number)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert f"{number.name}: ends with a checkpoint; a second one ends at once" in said
    (made,) = checkpoints(tmp_path)
    assert f"stopped by {number.name}; go on by --restart last, from results/flat/checkpoints/{made}" in said
    assert verdict(tmp_path).startswith(f"stopped by {number.name} at step ")
    assert (tmp_path / "results/flat/report.html").exists() == ("output.report=true" in words)
    if "2" not in words:
        step = int(made[-15:-3])
        again = cli("run", "flat.toml", f"run.steps={step + 1}", "--restart", "last")
        assert again.returncode == 0, again.stderr
        assert f"restarted at step {step} " in again.stdout


@pytest.mark.parametrize("ranks", [1, 2])
def test_signal_that_its_starter_blocks_ends_a_run(tmp_path: Path, flat: Path, ranks: int) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        run = start(tmp_path, "run", "flat.toml", ENDLESS, "-n", str(ranks))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    wait_for_steps(run)
    run.send_signal(signal.SIGTERM)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert "stopped by SIGTERM; go on by --restart last" in said


def test_signal_that_the_launcher_does_not_hand_on_ends_a_run(
    tmp_path: Path, flat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_ess_base_forward_signals", "none")
    run = start(tmp_path, "run", "flat.toml", ENDLESS, "-n", "2")
    wait_for_steps(run)
    os.killpg(run.pid, signal.SIGINT)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert "stopped by SIGINT; go on by --restart last" in said


@pytest.mark.parametrize("ranks", [1, 2])
def test_second_ctrl_c_ends_at_once(tmp_path: Path, flat: Path, ranks: int) -> None:
    run = start(tmp_path, "run", "flat.toml", ENDLESS, "-n", str(ranks))
    wait_for_steps(run)
    processes = family(run.pid)
    # The ranks are stopped, which simulates steps that take much longer than the user waits.
    for process in ranks_of(run):
        os.kill(process, signal.SIGSTOP)
    os.killpg(run.pid, signal.SIGINT)
    time.sleep(0.2)
    os.killpg(run.pid, signal.SIGINT)
    run.communicate(timeout=30)
    assert run.returncode in (130, -signal.SIGINT)
    limit = time.monotonic() + 20
    while any(Path(f"/proc/{process}/exe").exists() for process in processes):
        assert time.monotonic() < limit, "no rank is left alone"
        time.sleep(0.05)


def test_killed_rank_is_named(tmp_path: Path, flat: Path) -> None:
    run = start(tmp_path, "run", "flat.toml", ENDLESS, "-n", "2")
    wait_for_steps(run)
    os.kill(ranks_of(run)[1], signal.SIGKILL)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 137
    assert said.count("slipstream: error: ") == 1
    assert "error: rank 1 on " in said and "was ended by SIGKILL: " in said and "--restart last" in said
    # The lock is free, because its owner has ended.
    assert (tmp_path / "results/flat" / locks.FILE).exists()
    assert locks.problem(tmp_path / "results/flat", "output.folder") == ""


def run_on_two(folder: Path, script: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a Python program on two ranks by a launcher that the library does not recognise."""
    (folder / "script.py").write_text(script)
    search = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    launcher = ["mpiexec", "--quiet", "-n", "2", "--oversubscribe", "--bind-to", "none"]
    return subprocess.run(
        [*launcher, sys.executable, "script.py", *words],
        cwd=folder,
        env=os.environ | root | {"PYTHONPATH": search} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


ONE_RANK_FAILS = """
import os, sys
from slipstream.base.errors import CaseError
from slipstream.cli import commands, main
from slipstream.geometry import bodies
from slipstream.machine import discovery
def fails(*words):
    raise CaseError("gone.obj: lost")
if os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    {what} = fails
sys.exit(main.main(["run", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("where", ["commands.load", "bodies.checksums", "bodies.make"])
def test_mesh_that_one_rank_cannot_read_is_one_message_and_ends_all(tmp_path: Path, flat: Path, where: str) -> None:
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    flat.write_text(FLAT.replace("cells = [16, 16, 1]", "cells = [16, 16, 16]").replace("D2Q9", "D3Q19"))
    with flat.open("a") as file:
        file.write('[bodies.part]\nmesh = "part.obj"\nscale = 40\ntranslate = [-12, -12, -12]\n')
    found = run_on_two(tmp_path, ONE_RANK_FAILS.format(what=where), str(flat))
    assert found.returncode == 2, found.stdout
    assert found.stderr == "slipstream: error: rank 1: gone.obj: lost\n"
    assert not (tmp_path / "results").exists()


def test_initial_flow_without_a_value_on_one_rank_is_one_message_and_ends_all(
    tmp_path: Path, flat: Path, cli: Cli
) -> None:
    # The expression is singular between the cells that a check samples, in the half of rank 1.
    singular = 'initial={velocity=["1e-3/(y-36.5)",0,0]}'
    found = cli("run", "flat.toml", "grid.cells=[8,40,1]", "physics.length=16", singular, "-n", "2")
    is_error(found, "overflow", rank=1, key="initial", given="1e-3/(y-36.5)")
    assert not (tmp_path / "results").exists()


def test_error_that_ranks_have_not_agreed_on_ends_all(tmp_path: Path, flat: Path) -> None:
    found = run_on_two(tmp_path, ONE_RANK_FAILS.format(what="discovery.choose_backend"), str(flat))
    assert found.returncode == 2, found.stdout
    assert found.stderr == "slipstream: error on rank 1: gone.obj: lost\n"


ENDS_ALONE = """
import sys, slipstream._core as core
if core.rank() == 1:
    sys.exit(5)
core.barrier()
"""


def test_exit_of_one_rank_ends_those_that_wait_for_it(tmp_path: Path) -> None:
    found = run_on_two(tmp_path, ENDS_ALONE, SLIPSTREAM_END_WAIT="0.5")
    assert found.returncode == 5
    assert "slipstream: rank 1 " in found.stderr


ENDS_ALIKE = """
import sys, time, slipstream._core as core
if core.rank() == 0:
    time.sleep(0.5)
    print("has had its time", flush=True)
sys.exit(5)
"""


def test_ranks_that_exit_alike_wait_for_each_other(tmp_path: Path) -> None:
    found = run_on_two(tmp_path, ENDS_ALIKE)
    assert found.returncode == 5
    assert found.stdout == "has had its time\n" and "slipstream:" not in found.stderr


def test_final_checkpoint_lets_a_run_be_extended_to_the_same_bits(tmp_path: Path, flat: Path, cli: Cli) -> None:
    words = ["run", "flat.toml", "lbm.precision=f64", "run.check_every=20"]
    assert cli(*words, "run.steps=80", "output.folder=whole").returncode == 0
    assert cli(*words).returncode == 0
    assert checkpoints(tmp_path) == ["checkpoint-000000000040.h5"]
    again = cli(*words, "run.steps=80", "--restart", "last")
    assert again.returncode == 0, again.stderr
    whole, extended = tmp_path / "whole/profiles.csv", tmp_path / "results/flat/profiles.csv"
    assert extended.read_bytes() == whole.read_bytes()


def test_steady_run_goes_on_to_a_smaller_residual(tmp_path: Path, flat: Path, cli: Cli) -> None:
    words = ["run", "flat.toml", "run.check_every=20", "run.steps=2000"]
    first = cli(*words, "run.residual=0.5")
    assert "steady at step" in first.stdout
    again = cli(*words, "run.residual=0.1", "--restart", "last")
    assert again.returncode == 0, again.stderr
    assert "steady at step" in again.stdout and verdict(tmp_path) not in first.stdout


def test_final_checkpoint_may_be_left_out(tmp_path: Path, flat: Path, cli: Cli) -> None:
    assert cli("run", "flat.toml", "checkpoint.final=false").returncode == 0
    assert checkpoints(tmp_path) == []


def test_killed_process_that_still_gives_back_its_memory_holds_no_folder(tmp_path: Path) -> None:
    program = "x = bytearray(300 << 20); print(flush=True); import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        owner = dataclasses.replace(locks.Owner.this("flat"), pid=run.pid, born=born(run.pid))
        (tmp_path / locks.FILE).write_text(json.dumps(dataclasses.asdict(owner)))
        assert "is in use by a run" in locks.problem(tmp_path, "output.folder")
        run.kill()
        while Path(f"/proc/{run.pid}/exe").exists():  # waits until the killed run is a zombie, without memory
            pass
        assert locks.problem(tmp_path, "output.folder") == ""


def born(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().split()[21]


def test_folder_of_a_run_that_is_alive_is_refused(tmp_path: Path, flat: Path, cli: Cli) -> None:
    run = start(tmp_path, "run", "flat.toml", ENDLESS, "checkpoint.folder=kept")
    wait_for_steps(run)
    for words in (["--overwrite"], ["--restart", "last"], ["output.folder=other", "checkpoint.folder=kept"]):
        refused = cli("run", "flat.toml", *words)
        is_error(refused, "locked", process=run.pid, case="flat")
    other = cli("run", "flat.toml", "case.name=other", "checkpoint.folder=kept", "checkpoint.every=20")
    assert other.returncode == 0, other.stderr
    run.send_signal(signal.SIGTERM)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert len(list(tmp_path.glob("kept/flat/checkpoint-*.h5"))) == 1
    assert sorted(path.name[-5:-3] for path in tmp_path.glob("kept/other/checkpoint-*.h5")) == ["20", "40"]
    assert not list(tmp_path.rglob(locks.FILE)), "who has ended holds nothing"


def test_lock_of_a_dead_process_is_none_and_one_of_another_host_is_named(tmp_path: Path) -> None:
    path = tmp_path / locks.FILE
    held = locks.Locks("flat")
    held.take(tmp_path, "output.folder")
    owner = json.loads(path.read_text())
    assert locks.problem(tmp_path, "output.folder") == "", "it is this process's own"
    path.write_text(json.dumps(owner | {"pid": 1, "born": "0"}))  # the lock's process id now names another process
    assert locks.problem(tmp_path, "output.folder") == ""
    path.write_text(json.dumps(owner | {"host": "elsewhere"}))
    said = locks.problem(tmp_path, "output.folder")
    assert isinstance(said, Fault) and (said.facts["host"], said.facts["lock"]) == ("elsewhere", str(path))
    held.release()
    assert path.exists(), "another run's lock is not this one's to remove"


def test_folder_is_locked_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuses)
    path, held = tmp_path / locks.FILE, locks.Locks("flat")
    held.take(tmp_path, "output.folder")
    owner = json.loads(path.read_text())
    assert owner["pid"] == os.getpid() and [*tmp_path.iterdir()] == [path]
    parent = owner | {"pid": os.getppid(), "born": born(os.getppid())}
    path.write_text(json.dumps(parent))
    with raises(CaseError, "locked", key="output.folder", process=os.getppid()):
        locks.Locks("flat").take(tmp_path, "output.folder")
    path.write_text(json.dumps(parent | {"born": "0"}))
    locks.Locks("flat").take(tmp_path, "output.folder")
    assert json.loads(path.read_text())["pid"] == os.getpid() and [*tmp_path.iterdir()] == [path]


def test_lock_that_another_run_has_taken_over_from_a_dead_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / locks.FILE
    owner = dataclasses.asdict(locks.Owner.this("flat"))
    path.write_text(json.dumps(owner | {"born": "0", "pid": 1}))
    other = json.dumps(owner | {"pid": os.getppid(), "born": born(os.getppid())})
    rename = Path.rename

    def rename_too_late(dead: Path, aside: Path) -> Path:
        dead.write_text(other)
        return rename(dead, aside)

    monkeypatch.setattr(Path, "rename", rename_too_late)
    with raises(CaseError, "locked", key="output.folder", file=tmp_path):
        locks.Locks("flat").take(tmp_path, "output.folder")
    assert path.read_text() == other and [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("on", [[], ["-n", "2"]])
def test_run_goes_on_without_its_reader(
    tmp_path: Path, flat: Path, monkeypatch: pytest.MonkeyPatch, on: list[str]
) -> None:
    # The live line is redrawn at each check, as on a terminal.
    monkeypatch.setenv(terminal.TERMINAL_WIDTH, "80")
    run = start(tmp_path, "run", "flat.toml", "run.steps=60", "run.check_every=1", *on)
    assert run.stdout is not None
    run.stdout.readline()
    run.stdout.close()
    assert run.wait(timeout=60) == 0
    assert (tmp_path / "results/flat/profiles.csv").exists()


def test_ctrl_c_that_ends_the_reader_of_two_ranks_too_leaves_a_checkpoint(tmp_path: Path, flat: Path) -> None:
    run = start(tmp_path, "run", "flat.toml", ENDLESS, "-n", "2")
    wait_for_steps(run)
    assert run.stdout is not None
    run.stdout.close()
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(timeout=60) == 0
    assert len(checkpoints(tmp_path)) == 1 and verdict(tmp_path).startswith("stopped by SIGINT at step ")


CYLINDER = 'bodies.c={shape="cylinder",centre=[8,7,0],radius=2}'


@pytest.mark.parametrize("on", [[], pytest.param(["-n", "2"], marks=pytest.mark.thorough)])
def test_full_disk_of_results_is_told_by_file_and_the_run_goes_on(tmp_path: Path, flat: Path, on: list[str]) -> None:
    words = ["run.steps=600", "run.check_every=1", "output.energy=true", "output.fields=true", "output.every=0.5"]
    run = start(tmp_path, "run", "flat.toml", *words, CYLINDER, "checkpoint.final=false", *on)
    wait_for_steps(run)
    # A file size limit for these processes simulates a full disk.
    for process in ranks_of(run) if on else [run.pid]:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (20_000, 20_000))
    said, _ = run.communicate(timeout=120)
    for name in ("energy.csv", "loads.csv", "fields.vtkhdf"):
        assert said.count(f"warning: results/flat/{name}: ") == 1, said
    assert run.returncode == 1
    assert said.count("error: ") == 1 and verdict(tmp_path).startswith("stopped at step 600")
    assert (tmp_path / "results/flat/profiles.csv").exists()
    assert not list(tmp_path.rglob("*.new"))
    written = said.partition("\nwritten:\n")[2]
    assert "profiles.csv" in written
    assert not any(name in written for name in ("energy.csv\n", "loads.csv\n", "fields.vtkhdf\n"))
    for name in ("energy.csv", "loads.csv"):
        header, table = rows.read(tmp_path / "results/flat" / name)
        text = (tmp_path / "results/flat" / name).read_text()
        assert len(table) > 10 and text.endswith("\n") and text.count("\n") == len(table) + 1 and header


NO_ROOM_FOR_THE_RECORD = """
import errno, sys
from pathlib import Path
from slipstream.cli import main
write = Path.write_text
def full(path, text, **more):
    if path.name.startswith("run.json"):
        raise OSError(errno.ENOSPC, "No space left on device")
    return write(path, text, **more)
Path.write_text = full
sys.exit(main.main(["run", "flat.toml", "--overwrite"]))
"""


def test_full_disk_at_the_beginning_is_one_error_and_leaves_the_results_before(
    tmp_path: Path, flat: Path, cli: Cli
) -> None:
    assert cli("run", "flat.toml").returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.glob("results/**/*") if path.is_file()}
    found = run_on_two(tmp_path, NO_ROOM_FOR_THE_RECORD)
    assert found.returncode == 2, found.stdout
    assert found.stderr.count("error:") == 1 and "output.folder: " in found.stderr
    assert "results/flat/run.json" in found.stderr and os.strerror(errno.ENOSPC) in found.stderr
    assert {path: path.read_bytes() for path in tmp_path.glob("results/**/*") if path.is_file()} == before


BROKEN_PICTURES = """
import sys
from slipstream.cli import main
from slipstream.pictures import html_report, overview
def broken(*words, **more):
    raise KeyError("a library's mistake")
overview.profiles = html_report.write = broken
sys.exit(main.main(["run", "flat.toml", "output.pictures=true", "output.report=true"]))
"""


def test_picture_or_report_that_fails_costs_no_results(tmp_path: Path, flat: Path) -> None:
    search = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        [sys.executable, "-c", BROKEN_PICTURES],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert "warning: no profiles.png: " in found.stdout and "warning: no report.html: " in found.stdout
    written = found.stdout.partition("\nwritten:\n")[2]
    assert "streamlines.png" in written and "profiles.png" not in written and "report.html" not in written
    left = {path.name for path in (tmp_path / "results/flat").iterdir()}
    assert left >= {"streamlines.png", "profiles.csv", "comparison.json"}
    assert verdict(tmp_path).startswith("stopped at step 40")


def test_run_that_ended_badly_leaves_signals_alone(tmp_path: Path) -> None:
    import slipstream as slip
    from slipstream.run.march import Diverged

    wanted = {"backend": "host", "checkpoint": {"every": 4, "folder": str(tmp_path)}}
    flow = slip.lbm.Simulation((16, 16), 20, 0.1, guard={"every": 1, "density": (0.9999, 1.0001)}, **wanted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Diverged):
        flow.run(steps=100000, quiet=True)
    assert signal.getsignal(signal.SIGINT) is before
    calm = slip.lbm.Simulation((16, 16), 20, 0.1, **wanted)
    assert calm.run(steps=8, quiet=True).steps == 8
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_semaphore_of_another_users_file_is_not_asked_for(tmp_path: Path, flat: Path, cli: Cli) -> None:
    words = ["run", "flat.toml", "output.fields=true", "-n", "2"]
    # A folder with the name of the file that MPI-IO would create blocks it even for root.
    in_the_way = [Path(f"/dev/shm/sem.OMPIO_{name}") for name in ("fields.vtkhdf",)]
    made = [path for path in in_the_way if not path.exists()]
    for path in made:
        path.mkdir()
    try:
        found = cli(*words)
    finally:
        for path in made:
            path.rmdir()
    assert found.returncode == 0, found.stderr
