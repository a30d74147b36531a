"""`exchange.coding = "auto, max error E"`: measured in the run's own steps, then kept."""

import tomllib
from pathlib import Path

import pytest
from conftest import Cli
from errors import is_error
from slipstream.case.reader import load
from slipstream.results.results import CASE
from slipstream.run import coding
from small_runs import PLAIN

STAGED = ["machine.devices_per_rank=2", 'exchange.routes=["kernel","staged"]']


def resolved(folder: Path) -> str:
    text = (folder / "results" / "small" / CASE).read_text()
    return tomllib.loads(text)["exchange"]["coding"]


def test_a_run_measures_what_it_may_lose_and_keeps_it(tmp_path: Path, small: Path, cli: Cli) -> None:
    auto = [*PLAIN, *STAGED, "exchange.coding=auto, max error 1e-6", "checkpoint.every=20"]
    first = cli("run", "small.toml", *auto)
    assert first.returncode == 0, first.stderr
    taken = resolved(tmp_path)
    allowed = ["raw", "cast", "blockfloat, rate 24", "zfp, max error 1e-06"]
    assert taken in allowed
    assert f"coding: {taken}: the fastest of raw " in first.stdout.replace("\n", " ")
    # A restart uses the checkpoint's coding, whatever a new measurement would give, and refuses others.
    other = next(name for name in allowed if name != taken)
    again = cli("run", "small.toml", *auto, "run.steps=60", "--restart", "last")
    assert again.returncode == 0 and f"coding: {taken}, as the checkpoint has it" in again.stdout, again.stderr
    assert resolved(tmp_path) == taken
    words = [*PLAIN, *STAGED, f"exchange.coding={other}", "run.steps=80", "--restart", "last"]
    is_error(cli("run", "small.toml", *words), "mismatch", key="exchange.coding", given=f'"{other}"')


def test_the_fastest_is_taken_and_raw_where_gains_are_small(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = load(small, [*PLAIN, "exchange.coding=auto, max error 1e-6"])
    times = {"raw": 100.0, "cast": 99.0, "blockfloat, rate 24": 98.0, "zfp, max error 1e-06": float("inf")}
    monkeypatch.setattr(coding, "_seconds_of_a_step", lambda case, _: times[case.exchange.coding] * 1e-6)
    found, said = coding.settled(case, None)
    assert found.exchange.coding == "raw" and "zfp, max error 1e-06 (cannot be taken)" in said
    times["blockfloat, rate 24"] = 50.0
    found, said = coding.settled(case, None)
    assert found.exchange.coding == "blockfloat, rate 24" and "raw 100 us" in said


def test_nothing_is_lost_unasked_and_no_error_that_is_none_is_taken(tmp_path: Path, small: Path, cli: Cli) -> None:
    run = cli("run", "small.toml", *PLAIN, *STAGED, "exchange.coding=auto")
    assert run.returncode == 0 and resolved(tmp_path) == "raw", run.stderr
    is_error(
        cli("run", "small.toml", *PLAIN, *STAGED, "exchange.coding=auto, max error 0", "output.folder=other"),
        "invalid_argument",
        key="exchange.coding",
    )
    assert not (tmp_path / "other").exists()
    planned = cli("plan", "small.toml", *PLAIN, *STAGED, "exchange.coding=auto, max error 1e-6")
    assert planned.returncode == 0, planned.stderr
