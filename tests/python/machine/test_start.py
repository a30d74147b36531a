"""Starting ranks: the command line and environment of mpiexec."""

import sys

import pytest
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
