"""`slipstream bench lbm_layout`, imbalance, weak and strong: rows and their references."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from errors import is_error
from slipstream_bench import registry
from slipstream_bench.lbm import layout, splits, strong, updates, weak
from slipstream_bench.lbm.splits import Setup


def row(decomposition: str, blocks: int, mlups: float, side: int = 256) -> dict[str, Any]:
    split = list(splits.SPLITS[decomposition][blocks])
    cut = {"decomposition": decomposition, "devices": blocks, "split": split}
    return cut | {"cells_per_device": [side] * 3, "mlups": mlups}


def measured(cli: Cli, folder: Path, name: str, *words: str) -> list[dict[str, Any]]:
    """Rows of an experiment on small cubes; checks that its picture exists."""
    result = cli("bench", f"lbm_{name}", "--backend", "host", *words, "--folder", "out")
    assert result.returncode == 0, result.stderr
    (path,) = (folder / "out" / f"lbm_{name}").glob("*.json")
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    return json.loads(path.read_text())["rows"]


def test_blocks_of_weak_scaling_are_cubes_and_those_of_strong_scaling_parts_of_one() -> None:
    setup = Setup("xz", "4", 8, (2, 1, 2))
    assert splits.grid(setup) == [16, 8, 16] and splits.grid(setup, whole=True) == [8, 8, 8]
    assert strong.EXPERIMENT.whole and not weak.EXPERIMENT.whole


@pytest.mark.parametrize(("least", "most", "blocks"), [(1, 4, [1, 2, 4]), (1, 3, [1, 2]), (2, 4, [2, 4]), (4, 4, [4])])
def test_scaling_goes_through_all_numbers_of_devices_that_ranks_can_share(
    least: int, most: int, blocks: list[int]
) -> None:
    found = list(weak.EXPERIMENT.setups([8], most, least))
    assert [setup.blocks for setup in found if setup.label == "yz"] == blocks


def test_scaling_is_measured_by_one_block_and_shown_beside_the_thesis() -> None:
    rows = [row("yz", 1, 100.0), row("yz", 2, 190.0), row("yz", 4, 360.0), row("xz", 1, 80.0), row("xz", 2, 120.0)]
    splits.compare(weak.EXPERIMENT, rows)
    assert [entry["percent"] for entry in rows] == [100.0, 95.0, 90.0, 100.0, 75.0]
    # Risso (2017) reports 1149 million updates per second on four devices and 854 on two; one alone would do 550.
    assert [entry["paper_percent"] for entry in rows] == [None, None, 52.227, None, 77.636]


def test_thesis_says_nothing_of_other_cubes_or_strong_scaling() -> None:
    small, large = [row("yz", 4, 360.0, side=64)], [row("yz", 4, 360.0)]
    splits.compare(weak.EXPERIMENT, small)
    splits.compare(strong.EXPERIMENT, large)
    assert small[0]["paper_percent"] is None and large[0]["paper_percent"] is None
    assert large[0]["percent"] is None


@pytest.mark.parametrize("experiment", ["weak", "strong"])
def test_scaling_unasked_is_the_protocol_of_the_thesis(experiment: str) -> None:
    chosen = registry.parse([f"lbm_{experiment}"])
    cubes = registry.module(f"lbm_{experiment}").EXPERIMENT.cells["cuda"]
    assert chosen.precision == "f64" and not chosen.cells and cubes == [256]


def test_weak_scaling_leaves_rows_of_both_decompositions(cli: Cli, tmp_path: Path) -> None:
    rows = measured(cli, tmp_path, "weak", "--cells", "8", "--devices", "2")
    assert [entry["split"] for entry in rows] == [[1, 1, 1], [2, 1, 1], [1, 1, 1], [1, 2, 1]]
    assert all(entry["mlups"] > 0 and entry["steps"] == 200 and entry["repeats"] == 10 for entry in rows)


def test_imbalance_splits_along_each_axis(cli: Cli, tmp_path: Path) -> None:
    rows = measured(cli, tmp_path, "imbalance", "--cells", "8", "-n", "2")
    assert [entry["split"] for entry in rows] == [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
    assert max(entry["percent"] for entry in rows) == 100.0 and not any(entry["periodic"] for entry in rows)


def test_layouts_are_measured_at_every_alignment(cli: Cli, tmp_path: Path) -> None:
    rows = measured(cli, tmp_path, "layout", "--cells", "8", "--precision", "f32")
    found = [(entry["layout"], entry["alignment"]) for entry in rows]
    assert found == [(name, bytes_) for name in ("soa", "aos") for bytes_ in layout.ALIGNMENTS]
    # Each alignment changes the memory of the populations, because rows of cells with ghosts are padded to it.
    assert len({entry["populations_mb"] for entry in rows[:6]}) == 6


@pytest.mark.parametrize("cells", layout.EXPERIMENT.cells["cuda"])
def test_rows_of_the_measured_cubes_have_another_length_at_each_alignment(cells: int) -> None:
    lengths = {-(-8 * (cells + 2) // (unit or 8)) * (unit or 8) for unit in layout.ALIGNMENTS}
    assert len(lengths) == len(layout.ALIGNMENTS)


def test_layouts_of_several_devices_are_cut_across_rows() -> None:
    assert {setup.split for setup in layout.EXPERIMENT.setups([8], 2, 1)} == {(2, 1, 1)}


def test_rates_can_be_measured_with_the_devices_in_a_grid(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updates, "PAIRS", 2)
    monkeypatch.setattr(updates, "DURATION", 0.1)
    words = ("--cells", "8", "--devices", "2", "--precision", "f32", "--grid", "2x1x1", "--folder", "out")
    result = cli("bench", "lbm", "--backend", "host", *words)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / "lbm").glob("*.json")
    (entry,) = json.loads(path.read_text())["rows"]
    assert entry["split"] == [2, 1, 1] and entry["cells_per_device"] == [8, 8, 8] and entry["mlups"] > 0


@pytest.mark.thorough
def test_file_names_all_commands_that_filled_it(cli: Cli, tmp_path: Path) -> None:
    words = ("bench", "lbm", "--backend", "host", "--precision", "f32", "--folder", "out", "--cells")
    for more in (("8",), ("8", "-n", "2")):
        result = cli(*words, *more)
        assert result.returncode == 0, result.stderr
    # The names of machines differ, because they contain the number of threads, which ranks share.
    files = [json.loads(path.read_text()) for path in sorted((tmp_path / "out" / "lbm").glob("*.json"))]
    commands = [command for file in files for command in file["command"].split("; ")]
    plain = "slipstream bench lbm --backend host --precision f32 --cells 8"
    assert sorted(commands) == [plain, f"{plain} -n 2"]
    assert sorted(row["ranks"] for file in files for row in file["rows"]) == [1, 2]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--grid", "2x2x1"], {"code": "mismatch", "option": "grid", "devices": 2}),
        (["--grid", "2x1"], {"code": "invalid_argument", "option": "grid", "limit": 1}),
    ],
)
def test_rates_are_refused_on_grids_that_the_devices_do_not_fill(
    cli: Cli, words: list[str], fault: dict[str, Any]
) -> None:
    result = cli("bench", "lbm", "--backend", "host", "--no-write", "--cells", "8", "--devices", "2", *words)
    is_error(result, **fault)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["imbalance", "--devices", "1"], {"code": "unsupported", "devices": 1, "ranks": 1}),
        (
            ["strong", "--cells", "9", "--devices", "2"],
            {"code": "invalid_argument", "option": "cells", "blocks": "2 x 1 x 1"},
        ),
        (
            ["weak", "--cells", "3", "--devices", "2"],
            {"code": "invalid_argument", "option": "cells", "blocks": "1 x 1 x 1"},
        ),
        (["weak", "--layout", "aos"], {"code": "invalid_argument", "benchmark": "lbm_weak", "unknown": "--layout aos"}),
        (["weak", "--precision", "f32", "--precision", "f64"], {"code": "invalid_argument", "option": "precision"}),
    ],
)
def test_experiments_refuse_what_they_cannot_measure(cli: Cli, words: list[str], fault: dict[str, Any]) -> None:
    result = cli("bench", "lbm", "--backend", "host", "--no-write", "--experiment", *words)
    is_error(result, **fault)
