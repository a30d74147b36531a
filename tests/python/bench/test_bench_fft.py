"""`slipstream bench fft` on emulated devices."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from errors import is_error
from slipstream_bench import fft


def test_rows_stand_beside_the_library_and_the_least_time(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fft.REPEATS, "host", 2)
    words = ["--sizes", "12", "--types", "c64", "f64", "--decompositions", "slab", "pencil", "--components", "2"]
    result = cli("bench", "fft", "--backend", "host", "--devices", "4", *words, "--overlap", "--folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "fft").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert {(row["kind"], row["dtype"], tuple(row["process_grid"]), row["clock"]) for row in rows} == {
        (kind, dtype, grid, clock)
        for kind, dtype in (("c2c", "c64"), ("r2c", "f64"))
        for grid in ((1, 4), (2, 2))
        for clock in ("events", "host")
    }
    for row in rows:
        # Fractions of a device's values that a transform sends: 3/4 in the transpose of slabs, 1/2 in each transpose of
        # pencils.
        moves = {"slab": 3 / 4, "pencil": 2 / 2}[row["decomposition"]]
        part = 12**3 * 8 // 4 if row["kind"] == "c2c" else 7 * 12**2 * 16 // 4
        assert row["sent_bytes"] == pytest.approx(2 * moves * part, rel=0.03)
        assert row["time_ms"] > 0 and row["backward_ms"] > 0 and row["local_ms"] > 0 and row["share"] > 0


def test_results_are_stored_or_packed_and_process_grids_measured(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fft.REPEATS, "host", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["--sizes", "8", "--decompositions", "pencil", "measured", "--store", "yes", "no"]
    result = cli("bench", "fft", "--backend", "host", "--devices", "4", *words, "--folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "fft").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert {(row["store"], row["stored_moves"]) for row in rows if row["decomposition"] == "pencil"} == {
        ("yes", 2),
        ("no", 0),
    }
    assert {row["process_grid"][0] * row["process_grid"][1] for row in rows} == {4}
    assert {row["decomposition"] for row in rows} == {"pencil", "measured"}


def test_cufftxt_is_refused_with_the_reason_or_has_a_row(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fft.REPEATS, "host", 1)
    words = ["--sizes", "8", "--cufftxt", "--backend", "host", "--no-write"]
    for devices, why in (("1", "two GPUs or more, and there is one device"), ("2", "these are emulated devices")):
        result = cli("bench", "fft", "--devices", devices, *words)
        assert result.returncode == 0, result.stderr
        said = " ".join(result.stdout.split())
        assert "no row of cufftXt at 8^3 c64: it " in said and why in said
    row = fft._cufftxt_row({"forward_us": 1500.0, "backward_us": 1600.0}, 8, "c64", 2, 3.0)
    assert row["time_ms"] == 1.5 and row["of_local"] == 0.5
    assert [show(row) for show in fft.COLUMNS.values()][:2] == ["8^3", "c64"]


def test_pencils_are_as_square_as_they_can_be() -> None:
    assert [fft.process_grid("pencil", n) for n in (1, 2, 4, 6, 8, 7)] == [
        (1, 1),
        (2, 1),
        (2, 2),
        (2, 3),
        (2, 4),
        (7, 1),
    ]


def test_sizes_and_types_are_checked(cli: Cli) -> None:
    for words, facts in ((["--sizes", "0"], {"option": "sizes", "limit": 1}), (["--types", "i32"], {})):
        result = cli("bench", "fft", "--backend", "host", "--no-write", *words)
        is_error(result, "invalid_argument", **facts)
