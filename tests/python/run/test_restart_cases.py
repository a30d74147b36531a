"""Short runs of every case in cases/: a stopped and restarted run has the digits of an uninterrupted one."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CASES, Cli
from slipstream.base import rows
from slipstream.run import checkpoint

#: Runs: arguments that shorten them, number of steps, and the step at which they are stopped.
SHORT: dict[str, tuple[list[str], int, int]] = {
    "bead_array": (["grid.cells=[12,12,12]", "bodies.bead.centre=[6,6,6]", "bodies.bead.radius=3.7"], 20, 9),
    "bead_pack": (["grid.cells=[16,16,16]", "bodies.beads.radius=4"], 20, 9),
    "car": (["units.cell=0.4", "domain.block=[4,4,4]"], 12, 5),
    "cavity": (["grid.cells=[12,12,12]"], 20, 9),
    "cavity_2d": (["grid.cells=[16,16,1]"], 20, 9),
    "cavity_sem": (["grid.cells=[2,2,2]", "sem.order=4"], 6, 4),
    "cavity_si": (["grid.cells=[12,12,12]", "units.cell=0.008333333333333333"], 20, 9),
    "couette": ([], 20, 9),
    "cylinder": ([], 20, 9),
    "cylinder_2d2": ([], 20, 9),
    "decaying_turbulence": (["--variant", "short", "grid.cells=[12,12,12]"], 10, 5),
    "dns_taylor_green": (["--variant", "short", "grid.cells=[12,12,12]"], 10, 5),
    "forced_turbulence": (["--variant", "short", "grid.cells=[12,12,12]"], 10, 5),
    "heat": (["grid.cells=[15,11,7]"], 20, 9),
    "heat_implicit": (["grid.cells=[15,11,7]"], 10, 5),
    "heat_sem": (["grid.cells=[2,2,2]", "sem.order=3"], 10, 5),
    "kovasznay_sem": (["grid.cells=[2,2,2]", "sem.order=4"], 6, 4),
    "moving_source_sem": (["grid.cells=[4,2,2]", "sem.order=3"], 10, 5),
    "neumann_sem": ([], 1, 1),
    "past_cylinder_sem": (["sem.order=3"], 6, 4),
    "point_source": (["grid.cells=[200,160,1]"], 20, 9),
    "poiseuille": ([], 20, 9),
    "poisson_sem": ([], 1, 1),
    "ring_sem": ([], 1, 1),
    "rotation_sem": (["grid.cells=[3,3,1]", "sem.order=3"], 10, 5),
    "scalar_turbulence": (
        ["grid.cells=[12,12,12]", "output.transfer=true", "run.steps=10", "run.check_every=2"],
        10,
        5,
    ),
    "sphere": (["grid.cells=[20,16,16]", "bodies.ball.centre=[8,8,8]"], 20, 9),
    "standing_wave": ([], 20, 9),
    "taylor_green": (["grid.cells=[12,12,12]", "physics.reynolds=100"], 20, 9),
    "taylor_green_sem": (["grid.cells=[2,2,2]", "sem.order=4"], 6, 4),
    "walls_sem": (["grid.cells=[2,2,1]", "sem.order=4"], 6, 4),
}
#: Variants of shipped cases in which more state is carried between steps.
MORE: dict[str, tuple[str, list[str]]] = {
    "held energy": ("forced_turbulence", ['dns.forcing="energy"', "dns.forcing_power=0", "dns.budget=true"]),
    "held energy in f64": (
        "forced_turbulence",
        ['dns.forcing="energy"', "dns.forcing_power=0", "dns.budget=true", 'dns.precision="f64"'],
    ),
    "budget": ("decaying_turbulence", ["dns.budget=true", "dns.viscosity=0.3"]),
}
#: Parts of names of results that depend on the run and not on its flow.
CLOCKS = re.compile("seconds|mlups|date|commit")


def flat(data: Any, prefix: str = "") -> dict[str, Any]:
    """Flattens nested data to numbers and strings by their path."""
    if not isinstance(data, dict | list):
        return {prefix: data}
    entries = data.items() if isinstance(data, dict) else enumerate(data)
    return {path: found for key, value in entries for path, found in flat(value, f"{prefix}.{key}").items()}


def left_by(folder: Path) -> dict[str, dict[str, Any]]:
    """Tables and results of a run by file, without timings."""
    found = {path.name: flat(list(csv.reader(path.open()))) for path in folder.glob("*.csv")}
    for path in (folder / name for name in ("findings.json", "comparison.json")):
        if path.exists():
            found[path.name] = {k: v for k, v in flat(json.loads(path.read_text())).items() if not CLOCKS.search(k)}
    return found


#: Makes the run measure its residual every three steps. Each half of an interrupted run then contains one measurement,
#: and the run stops between two of them.
EVERY = "run.check_every=3"
PLAIN = [EVERY, "expected={}", "output.fields=false", "output.report=false", "--overwrite"]


def both(cli: Cli, tmp_path: Path, case: str, words: Sequence[str], steps: int, stop: int) -> None:
    """Runs a case as a whole and in parts, and writes results/whole and results/parts."""
    usual = [str(CASES / f"{case}.toml"), *words, *PLAIN]
    for name, more in (
        ("whole", [f"run.steps={steps}"]),
        ("parts", [f"run.steps={stop}"]),
        ("parts", [f"run.steps={steps}", "--restart", "last"]),
    ):
        result = cli("run", *usual, f"output.folder=results/{name}", *more)
        assert result.returncode == 0, result.stderr


def differences(tmp_path: Path) -> dict[str, Any]:
    whole, parts = (left_by(tmp_path / "results" / name) for name in ("whole", "parts"))
    assert whole, "the run left nothing to compare"
    keys = {(name, key) for found in (whole, parts) for name, values in found.items() for key in values}
    values = {key: tuple(found.get(key[0], {}).get(key[1]) for found in (whole, parts)) for key in keys}
    return {f"{name}{key}": pair for (name, key), pair in values.items() if repr(pair[0]) != repr(pair[1])}


@pytest.mark.parametrize("case", SHORT)
def test_a_case_that_was_stopped_leaves_what_one_leaves_that_was_not(cli: Cli, tmp_path: Path, case: str) -> None:
    both(cli, tmp_path, case, *SHORT[case])
    assert not differences(tmp_path)


@pytest.mark.parametrize("what", MORE)
def test_what_is_carried_from_step_to_step_is_in_the_checkpoint(cli: Cli, tmp_path: Path, what: str) -> None:
    case, words = MORE[what]
    usual, steps, stop = SHORT[case]
    both(cli, tmp_path, case, [*usual, *words], steps, stop)
    assert not differences(tmp_path)


@pytest.mark.parametrize("what", ["held energy", "implicit heat", "waves", "lattice"])
def test_a_checkpoint_of_an_earlier_version_carries_nothing_and_is_read(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    cases = {"held energy": MORE["held energy"][0], "implicit heat": "heat_implicit", "waves": "point_source"}
    case = cases.get(what, "cavity")
    words, steps, stop = SHORT[case]
    words = [*words, *MORE.get(what, ("", []))[1]]
    notes = checkpoint._notes

    def of_before(*given: Any) -> str:
        return json.dumps({key: value for key, value in json.loads(notes(*given)).items() if key != "carried"})

    monkeypatch.setattr(checkpoint, "_notes", of_before)
    both(cli, tmp_path, case, words, steps, stop)
    found = left_by(tmp_path / "results" / "parts")
    assert found.keys() == left_by(tmp_path / "results" / "whole").keys()


#: Positions of a receiver of cases/point_source.toml after a restart, and whether earlier rows belong to it.
MOVED = {"at its place": ("middle", None, True), "moved": ("middle", [1300.0, 600.0, 5.0], False)}


@pytest.mark.parametrize("what", MOVED)
def test_rows_of_before_are_of_the_cell_that_a_receiver_has_now(cli: Cli, tmp_path: Path, what: str) -> None:
    name, place, kept = MOVED[what]
    usual = [str(CASES / "point_source.toml"), *PLAIN, "output.folder=results/a"]
    assert cli("run", *usual, "run.steps=9").returncode == 0
    moved = [f"receivers.{name}.at={place}"] if place else []
    again = cli("run", *usual, "run.steps=20", "--restart", "last", *moved)
    assert again.returncode == 0, again.stderr
    header, table = rows.read(tmp_path / "results" / "a" / "seismograms.csv")
    heard = np.array([row[header.index(name)] for row in table], dtype=float)
    assert len(heard) == 20 and np.isfinite(heard[9:]).all()
    assert (np.isfinite(heard[:9]) == kept).all()


@pytest.mark.thorough
@pytest.mark.parametrize("case", SHORT)
def test_a_case_of_its_own_size_that_was_stopped_leaves_the_same(cli: Cli, tmp_path: Path, case: str) -> None:
    _, steps, stop = SHORT[case]
    both(cli, tmp_path, case, [], steps, stop)
    assert not differences(tmp_path)


def test_the_table_has_every_case() -> None:
    assert {path.stem for path in CASES.glob("*.toml")} == set(SHORT)
