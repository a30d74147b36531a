"""`slipstream bench alltoall` on two ranks of the host."""

import json
from pathlib import Path

from conftest import Cli
from errors import is_error


def test_each_way_stands_beside_mpi_alltoall(tmp_path: Path, cli: Cli) -> None:
    result = cli("bench", "alltoall", "-n", "2", "--backend", "host", "--sizes", "8", "--folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "alltoall").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    mpi = rows[0]
    assert mpi["way"] == "MPI_Alltoall" and mpi["over_mpi"] == 1 and mpi["bytes"] == 8**3 * 4 // 4
    assert {"sends", "alltoallv"} <= {row["way"] for row in rows}
    for row in rows[1:]:
        assert abs(row["over_mpi"] * mpi["time_us"] / row["time_us"] - 1) < 0.01


def test_one_rank_has_nobody_to_send_to(tmp_path: Path, cli: Cli) -> None:
    result = cli("bench", "alltoall", "--backend", "host", "--no-write")
    is_error(result, "unsupported", ranks=1)
