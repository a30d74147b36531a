"""Starting ranks: the command line and the environment that mpiexec gets."""

import sys

import pytest
from slipstream.cli.main import _without_ranks
from slipstream.cli.parser import parse
from slipstream.machine import start


def test_open_mpi_may_have_more_ranks_than_cores() -> None:
    words = start.command("/bin/mpiexec", 4, ["run", "a.toml"], open_mpi=True)
    assert words[:3] == ["/bin/mpiexec", "-n", "4"]
    assert "--oversubscribe" in words
    assert words[-5:] == [sys.executable, "-m", "slipstream", "run", "a.toml"]


def test_other_mpis_get_no_flags_of_open_mpi() -> None:
    words = start.command("/bin/mpiexec", 2, ["run"], open_mpi=False)
    assert words == ["/bin/mpiexec", "-n", "2", sys.executable, "-m", "slipstream", "run"]


def test_root_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert start.environment(open_mpi=True)["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"


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
