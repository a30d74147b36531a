"""`slipstream bench dns` on emulated devices."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from errors import is_error
from slipstream_bench import dns


def test_rows_stand_beside_the_least_time(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(dns.REPEATS, "host", 1)
    words = ["--sizes", "8", "--types", "f32", "f64", "--schemes", "rk2", "rk4", "--decompositions", "slab", "pencil"]
    result = cli("bench", "dns", "--backend", "host", "--devices", "4", *words, "--folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "dns").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert {(row["dtype"], row["scheme"], tuple(row["process_grid"])) for row in rows} == {
        (dtype, scheme, grid) for dtype in ("f32", "f64") for scheme in ("rk2", "rk4") for grid in ((1, 4), (2, 2))
    }
    fields = 3 * 8**3 // 4  # bytes of one field of cells on a device
    for row in rows:
        assert row["ms_per_step"] > 0 and row["share"] > 0
        assert row["device_bytes"] > 6 * fields * dns.BYTES[row["dtype"]]
        assert row["transforms_ms"] > 0
        assert row["pointwise_ms"] == pytest.approx(row["ms_per_step"] - row["transforms_ms"], abs=0.01)
        assert row["message_ms"] > 0 and row["link_gbs"] > 0


def test_rows_tell_how_results_travel(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(dns.REPEATS, "host", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["--sizes", "8", "--decompositions", "measured", "--store", "yes", "no"]
    result = cli("bench", "dns", "--backend", "host", "--devices", "2", *words, "--folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "dns").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert [row["store"] for row in rows] == ["yes", "no"]
    assert rows[0]["pack_ms"] == 0 < rows[1]["pack_ms"]
    assert all(row["process_grid"] in ([1, 2], [2, 1]) for row in rows)


def test_boxes_grow_with_the_devices(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(dns.REPEATS, "host", 1)
    for devices in ("1", "2"):
        words = ("--devices", devices, "--sizes", "8", "--weak", "--folder", str(tmp_path))
        assert cli("bench", "dns", "--backend", "host", *words).returncode == 0
    rows = [row for path in (tmp_path / "dns").glob("*.json") for row in json.loads(path.read_text())["rows"]]
    assert sorted(row["devices"] for row in rows) == [1, 2]
    for row in rows:
        assert row["weak"]
        assert row["mcells_per_s"] * row["ms_per_step"] * 1e3 == pytest.approx(row["devices"] * 8**3, rel=1e-3)


def test_least_time_counts_kept_modes_alone() -> None:
    # A box of 6^3 cells keeps two complex modes along x and three along y and z: fractions 2/3, 1/2 and 1/2 of the
    # values.
    x, y, z = 4 / 6, 3 / 6, 3 / 6
    passes = (x * y * z + x * y) + (x * y + x) + (x + 1)
    of_stage = 9 * passes + 6 * x * y * z + 9
    words = {"rk2": 2 * of_stage + 21 * x * y * z, "rk4": 4 * of_stage + 51 * x * y * z}
    for scheme, count in words.items():
        assert dns.moved_bytes((6, 6, 6), "f64", scheme) == pytest.approx(8 * 6**3 * count)


def test_sizes_are_checked(cli: Cli) -> None:
    result = cli("bench", "dns", "--backend", "host", "--no-write", "--sizes", "2")
    is_error(result, "invalid_argument", option="sizes", limit=4)
