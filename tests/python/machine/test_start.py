"""Starting ranks: the command line and environment of mpiexec."""

import sys

import pytest
from slipstream.machine import discovery, start


def test_open_mpi_may_have_more_ranks_than_cores() -> None:
    words = start.command("/bin/mpiexec", 4, ["run", "a.toml"], open_mpi=True)
    assert words[:3] == ["/bin/mpiexec", "-n", "4"]
    assert "--oversubscribe" in words
    assert words[-5:] == [sys.executable, "-m", "slipstream", "run", "a.toml"]


def test_other_mpis_get_no_flags_of_open_mpi() -> None:
    words = start.command("/bin/mpiexec", 2, ["run"], open_mpi=False)
    assert words == ["/bin/mpiexec", "-n", "2", sys.executable, "-m", "slipstream", "run"]


@pytest.mark.parametrize(("ranks", "backend", "warned"), [(1, "host", 0), (5000, "host", 1), (5000, "cuda", 0)])
def test_more_ranks_than_cores_are_warned_of(
    monkeypatch: pytest.MonkeyPatch, ranks: int, backend: str, warned: int
) -> None:
    class Found:
        def devices(self) -> list[dict[str, str]]:
            return [{"backend": backend}] * ranks

    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", str(ranks))
    said = discovery.crowding(Found())  # type: ignore[arg-type]
    assert len(said) == warned and all(f"{ranks} ranks share" in text for text in said)


def test_root_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert start.environment(open_mpi=True)["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
