"""`slipstream bench out_of_core` on emulated devices."""

import importlib.util
import json
from pathlib import Path

import pytest
from conftest import ROOT, Cli
from slipstream.machine import machine_file


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
            assert row["host_bytes"] == 2 * 2 * 16**3 * 8  # an FFT reads and writes the host's values twice
        else:
            # bytes of a DNS step: two stages, 11 fields each way, of the modes kept along x and y and all along z
            assert row["host_bytes"] == 2 * 2 * 11 * 8 * 6 * 11 * 16


@pytest.mark.parametrize("words", [("--devices", "2"), ("-n", "2")])
def test_moves_between_devices_take_no_more_of_the_link(tmp_path: Path, cli: Cli, words: tuple[str, ...]) -> None:
    result = cli("bench", "out_of_core", "--backend", "host", *words, "--sizes", "16", "--budgets", "8 MiB", "resident",
                 "--folder", str(tmp_path))  # fmt: skip
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out_of_core").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    found = {(row["kind"], row["budget"]): row for row in rows}
    assert found["fft", "8 MiB"]["host_bytes"] == 2 * 2 * 16**3 * 8
    assert found["dns", "8 MiB"]["host_bytes"] == 2 * 2 * 11 * 8 * 6 * 11 * 16
    for kind in ("fft", "dns"):
        resident = found[kind, "resident"]
        assert resident["host_bytes"] == 0 and resident["share"] is None and resident["time_ms"] > 0


def test_work_with_rows_has_a_time_by_itself_and_with_them(tmp_path: Path, cli: Cli) -> None:
    result = cli("bench", "out_of_core", "--backend", "host", "--kinds", "beside", "--rows", "1024",
                 "--folder", str(tmp_path))  # fmt: skip
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out_of_core").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert [row["copies"] for row in rows] == ["pitched", "kernel", "mixed"]
    for row in rows:
        assert min(row["time_ms"], row["alone_ms"], row["rows_gbs"], row["rows_alone_gbs"]) > 0


def test_the_least_bytes_of_many_nodes_are_those_that_a_flow_moves() -> None:
    spec = importlib.util.spec_from_file_location("dns_scaling", ROOT / "tools" / "dns_scaling.py")
    assert spec is not None and spec.loader is not None
    scaling = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scaling)
    assert scaling.kept(16) == 8 * 6 * 11 * 16
    machine = machine_file.load(ROOT / "machines" / "summit.toml")
    plan = scaling.planned(96, 2, machine, "1 GiB")
    assert (plan["batches"]["sweeps"], plan["batches"]["fields"]) == (2, 11)
    two = scaling.least(96, 2, machine, plan)
    assert two["host_s"] == pytest.approx(2 * 11 * scaling.kept(96) / 2 / 300e9)
    assert two["network_s"] == pytest.approx(2 * 8 * scaling.kept(96) / 2 / 2 / 23e9)
    assert scaling.least(96, 1, machine, plan)["network_s"] == 0


def test_the_talks_target_is_planned_within_16_gb_of_each_device() -> None:
    """Plans a DNS on 18 432 devices, with one list entry per class of equivalent device pairs. A list of all pairs
    would take minutes and tens of GB.
    """
    spec = importlib.util.spec_from_file_location("dns_scaling", ROOT / "tools" / "dns_scaling.py")
    assert spec is not None and spec.loader is not None
    scaling = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scaling)
    machine = machine_file.load(ROOT / "machines" / "summit.toml")
    plan = scaling.planned(18432, 3072, machine)
    assert sum(array["bytes"] for array in plan["arrays"] if array["device"] == 0) <= 14 * 2**30
    assert plan["host_bytes"] < 512e9
    assert plan["batches"]["sweeps"] == 4
    # Each device sends to all devices, itself included, in both transposes of a Runge-Kutta stage.
    sent = sum(m["sources"] * m["targets"] * m["raw_bytes"] for m in plan["messages"])
    assert sent == pytest.approx(8 * scaling.kept(18432))
