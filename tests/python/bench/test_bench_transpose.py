"""`slipstream bench transpose` on emulated devices."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from errors import is_error
from slipstream_bench import transpose


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
        sent_and_received = 2 * 12**3 * transpose.BYTES[row["dtype"]]
        assert row["effective_gbs"] == pytest.approx(sent_and_received / row["time_us"] * 1e6 / 1024**3, rel=1e-2)


def test_every_way_of_mpi_has_a_row(tmp_path: Path, cli: Cli) -> None:
    words = ["-n", "4", "--backend", "host", "--sizes", "8", "--turns", "zyx", "--folder", str(tmp_path)]
    result = cli("bench", "transpose", *words)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "transpose").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    # Some MPI libraries do not support windows on existing memory.
    said = " ".join(result.stdout.split())
    windows = {way for way in ("put_fence", "put_lock") if f"{way}: left out: mpi = {way} needs windows" in said}
    assert {row.get("mpi") for row in rows} == {None, *transpose.WAYS} - windows
    assert all(row["ranks"] == 4 and row["time_us"] > 0 for row in rows)


def test_decompositions_have_rows_of_their_own(tmp_path: Path, cli: Cli) -> None:
    words = ["--backend", "host", "--devices", "4", "--sizes", "8", "--turns", "yzx", "--folder", str(tmp_path)]
    result = cli("bench", "transpose", *words, "--decompositions", "slabs", "pencils", "bricks")
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "transpose").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    # A message is the intersection of a source block and a target block.
    assert {row.get("decomposition"): row["bytes"] for row in rows} == {
        None: 8**3 // 16 * 8, "pencils": 8**3 // 8 * 8, "bricks": 8**3 // 8 * 8
    }  # fmt: skip


def test_slabs_and_pencils_have_rows_unasked(tmp_path: Path, cli: Cli) -> None:
    words = ["--backend", "host", "--devices", "4", "--sizes", "8", "--turns", "xyz", "--folder", str(tmp_path)]
    result = cli("bench", "transpose", *words)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "transpose").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    # A pencil along y receives half in x of each of its planes z from a slab of two planes.
    assert {row.get("decomposition"): row["bytes"] for row in rows} == {
        None: 8**3 // 16 * 8, "slabs_to_pencils": 8**3 // 8 * 8, "pencils": 8**3 // 8 * 8
    }  # fmt: skip


def test_device_grids_follow_the_order_of_axes() -> None:
    assert transpose.device_grids("slabs_to_pencils", "xyz", 4) == ((1, 1, 4), (2, 1, 2))
    assert transpose.device_grids("slabs_to_pencils", "yzx", 8) == ((1, 1, 8), (1, 2, 4))
    assert transpose.device_grids("slabs", "zyx", 2) == ((1, 1, 2), (1, 1, 2))
    assert transpose.device_grids("pencils", "xyz", 2) == ((1, 2, 1), (2, 1, 1))
    assert transpose.device_grids("pencils", "yzx", 8) == ((1, 4, 2), (1, 2, 4))
    assert transpose.device_grids("bricks", "xyz", 4) == ((2, 2, 1), (1, 4, 1))


def test_messages_of_nodes_are_those_of_staged(cli: Cli) -> None:
    words = ["--ways", "nodes", "--routes", "kernel,gpu_mpi"]
    result = cli("bench", "transpose", "-n", "2", "--backend", "host", "--no-write", *words)
    is_error(result, "unsupported", option="ways", other="routes")


def test_sizes_and_orders_are_checked(cli: Cli) -> None:
    for words, facts in ((["--sizes", "0"], {"option": "sizes", "limit": 1}), (["--turns", "xxy"], {})):
        result = cli("bench", "transpose", "--backend", "host", "--no-write", *words)
        is_error(result, "invalid_argument", **facts)
