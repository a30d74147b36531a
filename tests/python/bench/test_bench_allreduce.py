"""The benchmark of all-reduces, on the host emulator."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from errors import is_error


@pytest.mark.parametrize("where", [("--devices", "3"), ("-n", "2")])
def test_writes_every_method_and_clock(cli: Cli, tmp_path: Path, where: tuple[str, str]) -> None:
    result = cli("bench", "allreduce", "--quick", "--backend", "host", *where, "--folder", "out")
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / "allreduce").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    measured = {(row["method"], row["clock"], row["values"]) for row in rows}
    assert measured == {
        (*how, values) for how in (("peer", "events"), ("peer", "host"), ("mpi", "host")) for values in (1, 8, 1024)
    }
    assert all(row["time_us"] > 0 and row["devices"] == int(where[1]) for row in rows)
    assert len(list(path.parent.glob("*.png"))) == 1


def test_refuses_to_reduce_over_one_device(cli: Cli) -> None:
    result = cli("bench", "allreduce", "--quick", "--backend", "host", "--devices", "1")
    is_error(result, "unsupported", limit=2)
