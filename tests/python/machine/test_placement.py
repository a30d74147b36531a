"""Placement: the model of an exchange, the benchmark, the key of a case."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from errors import is_error
from slipstream.machine.machine_file import MachineFile, load
from slipstream_bench.exchange_model import exchange_time

SUMMIT = str(ROOT / "machines" / "summit.toml")


class Described:
    """The part of a machine that the model of an exchange uses."""

    def __init__(self, file: MachineFile) -> None:
        self.file = file

    def devices(self) -> list[dict[str, Any]]:
        return self.file.devices()

    def link(self, source: int, target: int) -> dict[str, Any]:
        return self.file.link(source, target)


@pytest.fixture
def summit() -> MachineFile:
    return load(SUMMIT)


GB = 1e9


@pytest.mark.parametrize(
    ("traffic", "seconds", "busiest"),
    [
        ([(0, 1, 50 * GB)], 1.0, "device 0 to device 1"),
        # two transfers from one device over separate NVLinks take the time of one
        ([(0, 1, 50 * GB), (0, 2, 50 * GB)], 1.0, "device 0 to device 1"),
        ([(0, 3, 50 * GB)], 1.0, "device 0 to device 3"),  # time of a transfer that has the bus for itself
        ([(0, 3, 32 * GB), (1, 4, 32 * GB), (2, 5, 32 * GB)], 1.5, "between, out of group 0 of node 0"),
        # time of two transfers in opposite directions, each with its own rate
        ([(0, 3, 32 * GB), (3, 0, 32 * GB)], 0.64, "device 0 to device 3"),
        ([(0, 6, 23 * GB), (5, 12, 23 * GB)], 2.0, "network, out of node 0"),
        ([(0, 6, 23 * GB), (12, 7, 23 * GB)], 2.0, "network, into node 1"),
        ([(0, 3, 50 * GB), (0, 4, 10 * GB), (0, 6, 5 * GB)], 1.3, "host, out of device 0"),
        ([(2, 2, 9 * GB)], 0.0, "none"),
    ],
)
def test_the_busiest_link_sets_the_time(
    summit: MachineFile, traffic: list[tuple[int, int, float]], seconds: float, busiest: str
) -> None:
    time = exchange_time(Described(summit), traffic, summit)
    assert (time.links, time.busiest) == (pytest.approx(seconds), busiest)


def test_bytes_are_read_and_written_where_they_are_packed_and_unpacked(summit: MachineFile) -> None:
    traffic = [(0, 1, 9 * GB), (1, 0, 9 * GB), (1, 1, 18 * GB)]
    time = exchange_time(Described(summit), traffic, summit)
    assert time.memory == pytest.approx((2 * 9 + 2 * 9 + 2 * 18) / 900)
    assert time.total == time.memory + time.links


def test_without_a_file_measured_rates_of_pairs_count(summit: MachineFile) -> None:
    rates = [10.0] * 24**2
    rates[3 * 24 + 4] = 20.0
    time = exchange_time(Described(summit), [(3, 4, 10 * GB), (4, 3, 10 * GB)], measured=rates)
    assert (time.links, time.busiest) == (pytest.approx(1.0), "device 4 to device 3")


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    (path,) = (folder / "placement").glob("*.json")
    return {row["placement"]: row for row in json.loads(path.read_text())["rows"]}


def test_bench_keeps_the_papers_large_faces_within_the_triads(cli: Cli, tmp_path: Path) -> None:
    result = cli("bench", "placement", "--machine", SUMMIT, "--nodes", "1", "--folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    found = rows(tmp_path)
    assert list(found) == ["trivial", "random", "theoretical"]
    devices = found["theoretical"]["devices_of_blocks"]
    assert {devices[0] // 3, devices[2] // 3, devices[4] // 3} != {devices[1] // 3, devices[3] // 3, devices[5] // 3}
    assert len({devices[i] // 3 for i in (0, 2, 4)}) == 1
    assert found["theoretical"]["time_us"] < found["trivial"]["time_us"] < found["random"]["time_us"]
    # Time by hand: three blocks per socket send two x faces each, with adjacent edges and corners, over the bus.
    crossing = 3 * 2 * 3 * (484 + 6) * (700 + 6) * 16
    assert found["theoretical"]["links_us"] == pytest.approx(1e6 * crossing / 64e9, rel=0.01)
    assert (tmp_path / "placement" / "summit-1-node.png").stat().st_size > 1000


def test_bench_measures_the_machine_that_is_there(cli: Cli, tmp_path: Path) -> None:
    words = ("--backend", "host", "--devices", "3", "--cells", "24", "18", "12", "--quantities", "1")
    result = cli("bench", "placement", *words, "--folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert list(rows(tmp_path)) == ["trivial", "random", "theoretical", "measured"]


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        (("--cells", "64"), "invalid_argument", {"option": "cells", "limit": 3}),
        (("--radius", "0"), "invalid_argument", {"option": "radius", "limit": 1}),
        (("--nodes", "2"), "unsupported", {"option": "nodes", "other": "machine"}),
        (("--machine", "nowhere.toml"), "not_found", {"file": "nowhere.toml"}),
        (
            ("--machine", str(ROOT / "machines" / "h200x4.toml"), "--nodes", "2"),
            "bad_file",
            {"option": "machine", "limit": 2},
        ),
        (("--machine", SUMMIT, "--cells", "2", "2", "2"), "unsupported", {"cells": "2 x 1 x 1", "blocks": 6}),
    ],
)
def test_bench_refuses_what_cannot_be(cli: Cli, words: tuple[str, ...], code: str, facts: dict[str, object]) -> None:
    is_error(cli("bench", "placement", "--backend", "host", *words, "--no-write"), code, **facts)


def test_a_case_may_be_placed_by_measured_rates(cli: Cli, small: Path) -> None:
    words = ("exchange.placement=measured", "machine.backend=host", "machine.devices_per_rank=2", "run.steps=2")
    result = cli("run", str(small), *words)
    assert result.returncode == 0, result.stderr


def test_rates_of_a_described_machine_are_not_measured(cli: Cli, small: Path) -> None:
    result = cli("plan", str(small), "exchange.placement=measured", "--machine", SUMMIT)
    is_error(result, None, key="exchange.placement")
