"""`slipstream bench out_of_core` on an emulated device."""

import json
from pathlib import Path

from conftest import Cli


def test_rows_have_the_bytes_of_their_sweeps(tmp_path: Path, cli: Cli) -> None:
    words = ["--sizes", "16", "--budgets", "64 KiB", "4 MiB", "--synchronous", "--kinds", "fft"]
    result = cli("bench", "out_of_core", "--backend", "host", *words, "--folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    result = cli("bench", "out_of_core", "--backend", "host", "--sizes", "16", "--budgets", "4 MiB", "--kinds", "dns",
                 "--folder", str(tmp_path))  # fmt: skip
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out_of_core").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert len(rows) == 5
    for row in rows:
        assert row["time_ms"] > 0 and row["share"] > 0 and row["device_bytes"] <= 4 << 20
        if row["kind"] == "fft":
            assert row["host_bytes"] == 2 * 2 * 16**3 * 8  # two sweeps, each in and out
        else:
            assert row["host_bytes"] == 2 * 2 * 11 * 8 * 6 * 11 * 16  # kept along x and y, all along z
