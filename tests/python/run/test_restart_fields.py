"""A run and its restarts write one series of fields to one file."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import CASES, Cli
from errors import is_error
from slipstream.results.results import Results, field_files

#: Short cases, one per solver: the field; steps in total, of the first run, and between frames.
SOLVERS: dict[str, tuple[list[str], str, int, int, int]] = {
    "cavity": (["grid.cells=[12,12,12]"], "velocity", 12, 5, 4),
    "cavity_si": (["grid.cells=[12,12,12]", "units.cell=0.008333333333333333"], "velocity", 12, 5, 4),
    "decaying_turbulence": (["grid.cells=[12,12,12]"], "velocity", 6, 3, 2),
    "heat": (["grid.cells=[15,11,7]"], "u", 12, 5, 4),
    "heat_sem": (["grid.cells=[2,2,2]", "sem.order=3"], "u", 6, 3, 2),
}
USUAL = ["expected={}", "output.report=false", "output.fields=true", "run.check_every=1"]


def every(cli: Cli, case: str, words: list[str], steps: int) -> str:
    """Time between frames, from the times of a run with this many steps."""
    assert cli("run", case, *words, f"run.steps={steps}", "output.folder=results/clock").returncode == 0
    time = Results("results/clock").frames[-1].time
    return f"output.every={time!r}"


@pytest.mark.parametrize("name", SOLVERS)
def test_frames_of_a_restart_are_behind_those_of_before_in_the_same_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    words, field, steps, stop, between = SOLVERS[name]
    case = str(CASES / f"{name}.toml")
    words = [*words, *USUAL]
    words.append(every(cli, case, words, between))
    assert cli("run", case, *words, f"run.steps={steps}", "output.folder=results/whole").returncode == 0
    parts = [*words, "output.folder=results/parts"]
    assert cli("run", case, *parts, f"run.steps={stop}").returncode == 0
    again = cli("run", case, *parts, f"run.steps={steps}", "--restart", "last")
    assert again.returncode == 0, again.stderr
    assert [path.name for path in field_files(Path("results/parts"))] == ["fields.vtkhdf"]
    whole, found = Results("results/whole"), Results("results/parts")
    # One frame more, because the end of the first run adds one.
    assert len(found.frames) == len(whole.frames) + 1 and np.diff([frame.time for frame in found.frames]).min() > 0
    for frame in whole.frames:
        there = found.frame(frame.time)
        assert there.time == frame.time
        np.testing.assert_array_equal(found.read(there, field), whole.read(frame, field))


def test_frames_behind_the_step_of_a_restart_are_replaced(cli: Cli, tmp_path: Path, small: Path) -> None:
    words = ["run", "small.toml", *USUAL, "output.every=0.0625", "checkpoint.every=20", "checkpoint.keep=5"]
    assert cli(*words, "run.steps=50").returncode == 0
    folder = tmp_path / "results" / "small"
    before = [frame.time for frame in Results(folder).frames]
    for step in (20, 40):  # steps of restarts: back to a frame of the first run, then to the last frame
        checkpoint = f"results/small/checkpoints/checkpoint-{step:012d}.h5"
        assert cli(*words, "run.steps=45", "--restart", checkpoint).returncode == 0
        times = [frame.time for frame in Results(folder).frames]
        assert times == sorted(set(times)) and times[:-1] == before[: len(times) - 1]
        assert times[-1] == pytest.approx(45 * 0.1 / 16)
        with h5py.File(folder / "fields.vtkhdf") as file:
            assert len(file["VTKHDF/Steps/Values"]) == len(times)


def test_a_restart_without_a_step_adds_no_frame(cli: Cli, tmp_path: Path, small: Path) -> None:
    words = ["run", "small.toml", *USUAL, "run.steps=10"]
    assert cli(*words).returncode == 0
    folder = tmp_path / "results" / "small"
    before = Results(folder).frames
    assert cli(*words, "--restart", "last").returncode == 0
    assert Results(folder).frames == before


def test_a_file_that_cannot_be_gone_on_with_is_kept_under_another_name(cli: Cli, tmp_path: Path, small: Path) -> None:
    words = ["run", "small.toml", *USUAL]
    assert cli(*words, "run.steps=10").returncode == 0
    path = tmp_path / "results" / "small" / "fields.vtkhdf"
    damaged = path.read_bytes()[:1000]
    path.write_bytes(damaged)
    again = cli(*words, "run.steps=20", "--restart", "last")
    assert again.returncode == 0, again.stderr
    assert "cannot go on with" in again.stdout and "fields.vtkhdf.damaged" in again.stdout
    assert (path.parent / "fields.vtkhdf.damaged").read_bytes() == damaged
    assert len(Results(path.parent).frames) == 1


def test_a_restart_goes_on_with_the_newest_file_of_an_earlier_version(cli: Cli, tmp_path: Path, small: Path) -> None:
    words = ["run", "small.toml", *USUAL]
    assert cli(*words, "run.steps=10").returncode == 0
    folder = tmp_path / "results" / "small"
    first = Results(folder).frames
    (folder / "fields.vtkhdf").rename(folder / "of_before")
    assert cli(*words, "run.steps=20", "--restart", "last").returncode == 0
    (folder / "fields.vtkhdf").rename(folder / "fields_from_10.vtkhdf")
    (folder / "of_before").rename(folder / "fields.vtkhdf")
    assert cli(*words, "run.steps=30", "--restart", "last").returncode == 0
    found = Results(folder).frames
    assert found[:1] == first and [frame.path.name for frame in found[1:]] == 2 * ["fields_from_10.vtkhdf"]


@pytest.mark.parametrize("given", ["results/decaying_turbulence", "results/decaying_turbulence/fields.vtkhdf"])
def test_a_flow_begins_where_the_restart_of_another_ended(cli: Cli, tmp_path: Path, given: str) -> None:
    case = str(CASES / "decaying_turbulence.toml")
    words = [*SOLVERS["decaying_turbulence"][0], *USUAL]
    assert cli("run", case, *words, "run.steps=3").returncode == 0
    assert cli("run", case, *words, "run.steps=6", "--restart", "last").returncode == 0
    ended = energies(tmp_path / "results" / "decaying_turbulence")[-1]
    start = f'initial={{flow="file",file="{given}"}}'
    again = cli("run", case, *words, "run.steps=1", start, "output.folder=results/again")
    assert again.returncode == 0, again.stderr
    assert energies(tmp_path / "results" / "again")[0] == pytest.approx(ended, rel=1e-6)


def energies(folder: Path) -> Any:
    return np.genfromtxt(folder / "statistics.csv", delimiter=",", names=True)["energy"]


def test_a_folder_without_fields_is_no_velocity(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    start = 'initial={flow="file",file="empty"}'
    said = cli("run", str(CASES / "decaying_turbulence.toml"), *SOLVERS["decaying_turbulence"][0], start)
    is_error(said, "not_found", key="initial.file", file="empty", needed="fields.vtkhdf")
