"""The command line: its arguments, and its behaviour when the reader of its output exits."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, Cli
from slipstream.case.reader import schema
from slipstream.cli import main
from slipstream.cli.main import _without_ranks
from slipstream.cli.parser import parse


@pytest.mark.parametrize("words", [["-n", "4"], ["-n4"], ["-n=4"]])
def test_ranks_are_taken_out_of_the_command_line(words: list[str]) -> None:
    assert _without_ranks(["run", *words, "a.toml", "run.steps=4"]) == ["run", "a.toml", "run.steps=4"]


def test_overrides_may_stand_after_an_option() -> None:
    arguments = parse(["run", "a.toml", "a.b=1", "-n", "2", "c.d=2", "--overwrite", "e.f=3"])
    assert (arguments.overrides, arguments.ranks) == (["a.b=1", "c.d=2", "e.f=3"], 2)


def test_unknown_option_is_refused() -> None:
    with pytest.raises(SystemExit) as caught:
        parse(["run", "a.toml", "--overwrit-all"])
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rum", "a.toml"], "did you mean 'run'?"),
        (["run", "a.toml", "--overwite"], "unknown: --overwite; did you mean '--overwrite'?"),
        (["run", "a.toml", "--restat=last"], "did you mean '--restart'?"),
        (["render", "out", "--scene", "slises"], "did you mean 'slices'?"),
    ],
)
def test_misspelt_command_or_option_is_refused_with_the_nearest(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main.main(words)
    assert left.value.code == 2 and said in capsys.readouterr().err


def test_schema_is_printed_as_json(cli: Cli) -> None:
    result = cli("check", "--schema")
    assert result.returncode == 0
    assert json.loads(result.stdout) == schema()


def test_schema_into_a_pipe_that_closes_ends_quietly() -> None:
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m slipstream check --schema | head -1; exit ${{PIPESTATUS[0]}}"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
