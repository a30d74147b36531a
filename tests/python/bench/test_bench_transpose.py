"""`slipstream bench transpose` on emulated devices."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from slipstream.bench import transpose


def test_rows_say_what_moved_beside_its_least_time(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(transpose.REPEATS, "host", 2)
    words = ["--backend", "host", "--devices", "2", "--sizes", "12", "--types", "c64", "f32", "--folder", str(tmp_path)]
    result = cli("bench", "transpose", *words)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "transpose").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert {(row["axes"], row["dtype"], row["clock"]) for row in rows} == {
        (axes, dtype, clock) for axes in ("xyz", "zyx") for dtype in ("c64", "f32") for clock in ("events", "host")
    }
    for row in rows:
        assert row["bytes"] == 12**3 // 4 * transpose.BYTES[row["dtype"]], "a quarter goes each way"
        assert row["time_us"] > 0 and row["share"] > 0 and row["link_gbs"] > 0


def test_every_way_of_mpi_has_a_row(tmp_path: Path, cli: Cli) -> None:
    words = ["-n", "4", "--backend", "host", "--sizes", "8", "--turns", "zyx", "--folder", str(tmp_path)]
    result = cli("bench", "transpose", *words)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "transpose").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert {row.get("mpi") for row in rows} == {None, *transpose.WAYS}
    assert all(row["ranks"] == 4 and row["time_us"] > 0 for row in rows)


def test_sizes_and_orders_are_checked(cli: Cli) -> None:
    for words, said in ((["--sizes", "0"], "--sizes are 1 or more"), (["--turns", "xxy"], "invalid choice: 'xxy'")):
        result = cli("bench", "transpose", "--backend", "host", "--no-write", *words)
        assert result.returncode == 2 and said in result.stderr
