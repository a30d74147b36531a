"""`slipstream bench stencil` and `bench wave`: rows and errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from errors import is_error
from ranks import run_on
from slipstream_bench import stencil, wave


def rows(folder: Path, name: str) -> list[dict[str, object]]:
    (path,) = (folder / name).glob("*.json")
    return json.loads(path.read_text())["rows"]


def test_rows_say_what_was_computed_and_how_fast(here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stencil, "PAIRS", 1)
    monkeypatch.setattr(stencil, "DURATION", 0.02)
    words = [
        "--cells",
        "16",
        "--together",
        "1",
        "2",
        "--devices",
        "2",
        "--methods",
        "heat7",
        "wave4",
        "--folder",
        "out",
    ]
    result = here("bench", "stencil", "--backend", "host", "--methods", "heat7", "wave4", *words)
    assert result.returncode == 0, result.stderr
    found = rows(tmp_path / "out", "stencil")
    assert [(r["equation"], r["steps_per_exchange"]) for r in found] == [
        ("heat", 1), ("heat", 2), ("wave", 1), ("wave", 2),
    ]  # fmt: skip
    for row in found:
        assert row["devices"] == 2 and row["cells_per_device"] == [16, 16, 16] and 0 < row["share"] < 2
    # Bytes by hand: a wave of radius 2 with an exchange every two steps sends two layers of two arrays. There are no
    # edges, because boxes are cut along z only, and are their own neighbours along other axes.
    assert found[3]["message_bytes"] == 4 * found[2]["message_bytes"]


def test_waves_of_floats_doubles_and_zfp_stand_beside_the_published_ones(cli: Cli, tmp_path: Path) -> None:
    words = ["-n", "2", "--cells", "1000", "--lengths", "100000", "--threads", "1", "3", "--folder", "out"]
    result = cli("bench", "wave", *words)
    assert result.returncode == 0, result.stderr
    assert "0.02996" in result.stdout and "published" in result.stdout
    found = rows(tmp_path / "out", "wave")
    kinds = ("steps", "waits", "sizes", "packs")
    counts = {kind: sum(r["experiment"] == kind for r in found) for kind in kinds}
    assert counts == {"steps": 2 * 3 * 4, "waits": 3, "sizes": 2 * len(wave.SMALL), "packs": 4 * len(wave.PACKED)}
    assert {r["message"] for r in found} == {"float", "double", "zfp"}
    sizes = {(r["values"], r["message"]): r["wire_bytes"] for r in found if r["experiment"] == "sizes"}
    # A single double travels uncoded here, while in Zheng (2023) its coding took 16 bytes. Many doubles take half of
    # their size.
    assert sizes[1, "zfp"] == sizes[1, "double"] and sizes[4096, "zfp"] == sizes[4096, "double"] / 2
    steps = [r for r in found if r["experiment"] == "steps"]
    assert [r["threads"] for r in steps] == 12 * [1] + 12 * [3] and all(r["steps"] == 1000 for r in steps)
    # Zheng (2023) has no times for three threads or zfp.
    published = [r["published_s"] for r in steps if r["message"] != "zfp"]
    assert [time is None for time in published] == 8 * [False] + 8 * [True]
    assert all(r["published_s"] is None for r in steps if r["message"] == "zfp")


STRICTER = """
import sys
from slipstream.base.registry import benchmarks
from slipstream.cli import main
wave = benchmarks("wave")
wave.ALLOWED["float"] = wave.ALLOWED["double"]
sys.exit(main.main(["bench", "wave", "--cells", "1000", "--lengths", "--threads", "1", "--no-write"]))
"""


def test_a_wave_whose_messages_were_wrong_at_its_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "stricter.py").write_text(STRICTER)
    result = run_on(2, tmp_path / "stricter.py")
    assert result.returncode == 1
    assert result.stderr.count("bench wave: with float messages the wave is off by") == 1, result.stderr


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["stencil", "--cells", "0"], {"code": "invalid_argument", "option": "cells", "limit": 1}),
        (["wave"], {"code": "unsupported", "ranks": 1, "limit": 2}),
        (["wave", "-n", "2", "--threads", "-1"], {"code": "invalid_argument", "option": "threads", "limit": 0}),
    ],
)
def test_bad_input_is_said(here: Cli, words: list[str], fault: dict[str, Any]) -> None:
    result = here("bench", *words)
    is_error(result, **fault)
