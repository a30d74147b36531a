"""`slipstream bench coding` on the emulator, and its rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import command
from slipstream_bench import coding
from slipstream_bench.lbm import coding as lbm_coding


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("codings")
    run = command(folder, "bench", "coding", "--quick", "--backend", "host")
    assert run.returncode == 0, run.stderr
    (path,) = (folder / "bench" / "results" / "coding").glob("*.json")
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    return json.loads(path.read_text())["rows"]


def test_every_coding_is_timed_both_ways_of_every_pattern(rows: list[dict[str, Any]]) -> None:
    found = {(row["coding"], row["rate"], row["pattern"], row["direction"]) for row in rows}
    names = {(name.partition(",")[0], coding.rate_of(name)) for name in ("raw", *coding.CODINGS["f64"])}
    assert found == {
        (name, rate, pattern, way)
        for name, rate in names
        for pattern in coding.PATTERNS
        for way in ("encode", "decode")
    }
    for row in rows:
        assert row["gbs"] == pytest.approx(row["bytes"] / row["time_us"] * 1e-3, rel=1e-3)
        assert row["fused"] == (row["pattern"] != "alone")


def test_errors_lie_within_the_bounds_and_ratios_are_those_of_rates(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["coding"] == "raw":
            assert row["largest_error"] == 0 and row["ratio"] == 1 and row["break_even_gbs"] is None
            continue
        assert 0 < row["rms_error"] < row["largest_error"] <= row["bound"]
        if row["pattern"] == "alone":  # the benchmark's cube consists of whole coding blocks
            assert row["ratio"] == pytest.approx(64 / (row["rate"] or 32), rel=0.01)


def test_the_break_even_is_where_raw_and_coded_take_as_long() -> None:
    even = coding.break_even(800, 400, 10)
    assert even == pytest.approx(0.04)
    assert coding.gain(800, 400, 5, 15, even) == pytest.approx(1)
    assert coding.gain(800, 400, 5, 15, even / 2) > 1 > coding.gain(800, 400, 5, 15, 2 * even)
    assert coding.break_even(800, 400, -1) is None


def test_coded_flows_stand_beside_raw_ones(tmp_path: Path) -> None:
    run = command(tmp_path, "bench", "lbm_coding", "--backend", "host", "--cells", "16", "--quick", "--folder", "out")
    assert run.returncode == 0, run.stderr
    (path,) = (tmp_path / "out" / "lbm_coding").glob("*.json")
    found = json.loads(path.read_text())["rows"]
    assert len(found) == len(lbm_coding.FLOWS) * len(lbm_coding.CODINGS["f64"])
    for row in found:
        # Limits of errors: populations are at most 1, and the velocity sums several.
        most = {"raw": 0, "cast": 1e-5, "blockfloat, rate 32": 1e-6, "zfp, rate 32": 1e-4}.get(row["coding"], 0.5)
        assert (0 < row["largest_error"] <= most) if row["coding"] != "raw" else row["largest_error"] == 0
