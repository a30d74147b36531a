"""`slipstream bench lbm_communication`, blocks, frame, validation and io: rows and their references."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from errors import is_error, raises
from rich.console import Console
from slipstream.base.core import core, part
from slipstream.base.errors import CaseError
from slipstream_bench import exchange_setups, options, registry
from slipstream_bench.lbm import blocks, common, communication, frame, splits, validation
from slipstream_bench.lbm.splits import Choice, Setup
from slipstream_bench.timed import timed

Row = dict[str, Any]
#: Route by which devices exchange messages in each of Risso's packing schemes, by the scheme's name.
ROUTE = {"GPUPackInfo": "staged", "asynchronous GPUPackInfo": "staged", "GPUBufferedScheme": "gpu_mpi"}


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs an experiment of few steps in this process and returns its rows."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(common, "STEPS", 4)
    monkeypatch.setattr(common, "REPEATS", 2)
    monkeypatch.setattr(blocks, "EXCHANGES", 3)

    def run(name: str, cells: list[int], *words: str, devices: int = 2, quiet: bool = True) -> list[Row]:
        sizes = ["--cells", *map(str, cells), "--devices", str(devices), *words]
        arguments = registry.parse([name, "--backend", "host", *sizes, "--folder", str(tmp_path)])
        arguments.action(arguments, Console(quiet=quiet))
        (path,) = tmp_path.glob("lbm_*/*.json")
        return json.loads(path.read_text())["rows"]

    return run


def test_communication_measures_each_scheme_and_the_tuned_one_over_one_block(measured: Any) -> None:
    rows = measured("lbm_communication", [8, 12], devices=4)
    names = ["GPUPackInfo", "asynchronous GPUPackInfo", "GPUBufferedScheme", "tuned"]
    assert [(row["cells_per_device"][0], row["split"], row["scheme"]) for row in rows] == [
        (n, list(split), name) for split in ((1, 2, 2), (1, 1, 2)) for n in (8, 12) for name in names
    ]
    for row in rows:
        part = 100 * row["mlups"] / (row["devices"] * row["one_block_mlups"])
        assert row["percent"] == pytest.approx(part, rel=1e-3)
        assert row["travels_by"] == ROUTE.get(row["scheme"], row["travels_by"])


@pytest.mark.parametrize("name", ["lbm_communication", "lbm_validation"])
def test_schemes_whose_route_cannot_run_are_left_out_with_the_reason(
    measured: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # The scheme gpu_buffered gets the route NCCL, which the host backend lacks, so that it cannot run.
    known = core().scheme
    usual = {scheme: known(scheme) for scheme in exchange_setups.SCHEMES.values()}
    usual["gpu_buffered"] = usual["gpu_buffered"] | {"routes": ["nccl"]}
    monkeypatch.setattr(core(), "scheme", usual.get)
    monkeypatch.setattr(validation, "MOMENTS", (200, 400))
    monkeypatch.setattr(validation, "STEADY", 800)
    rows = measured(name, [16], quiet=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "GPUBufferedScheme: left out: " in said and "nccl: it joins GPUs" in said
    ran = {row["scheme"]: row["travels_by"] for row in rows}
    assert "GPUBufferedScheme" not in ran and ran["asynchronous GPUPackInfo"] == "staged"


def test_rows_name_a_rim_where_the_step_was_overlapped_only(measured: Any) -> None:
    rows = measured("lbm_communication", [8], "--overlap", "on")
    assert [row["overlapped"] for row in rows] == [False, True, True, True]
    assert all((row["rim"] is not None) == row["overlapped"] for row in rows)


def test_step_without_exchange_stands_beside_the_tuned_one_only(measured: Any) -> None:
    for row in measured("lbm_communication", [8]):
        if row["scheme"] != "tuned":
            assert row["over_without"] is None
            continue
        assert row["over_without"] == pytest.approx(row["time_ms"] / row["without_exchange_ms"], rel=1e-3)


def test_thesis_figures_stand_beside_its_own_cubes_and_decomposition() -> None:
    def beside(scheme: str, cells: int, split: tuple[int, int, int] = (1, 2, 2)) -> tuple[Any, Any]:
        found = communication.published(scheme, Setup("", "", cells, split))
        return found["paper_mlups"], found["paper_percent"]

    assert beside("asynchronous GPUPackInfo", 256) == (1149.0, 52.227)
    assert beside("asynchronous GPUPackInfo", 320) == (None, 52.0)
    assert beside("GPUBufferedScheme", 256) == (748.0, 34.0)
    assert beside("tuned", 256) == beside("GPUPackInfo", 128) == beside("GPUPackInfo", 256, (1, 1, 2)) == (None, None)


def test_communication_runs_on_two_ranks(cli: Cli, tmp_path: Path) -> None:
    words = ["--experiment", "communication", "--backend", "host", "--cells", "4", "-n", "2", "--devices", "1"]
    result = cli("bench", "lbm", *words, "--folder", "out", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / "lbm_communication").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert [row["split"] for row in rows] == [[1, 1, 2]] * 4 and all(row["ranks"] == 2 for row in rows)


def whirls(low: tuple[int, ...], high: tuple[int, ...]) -> np.ndarray:
    """Density less 1 and velocity of cells [z][y][x], which differ in each cell and are continuous across cuts."""
    z, y, x = np.meshgrid(*[np.arange(a, b) for a, b in zip(low[::-1], high[::-1], strict=True)], indexing="ij")
    parts = [np.sin(0.7 * x + 1.1 * y + 1.7 * z + phase) for phase in range(4)]
    return np.ascontiguousarray(0.02 * np.stack(parts, axis=-1))


@pytest.mark.parametrize("overlap", ["off", "on"])
def test_a_step_without_the_exchange_changes_cells_at_the_sides_of_blocks_alone(overlap: str) -> None:
    choice = Choice("host", 2, 0, [8], "D3Q19", "TRT", "f64", overlap)
    options = splits.case_of(choice, Setup("", "", 8, (1, 1, 2)), 1).options()
    machine = core().Machine.discover("host", devices_per_rank=2)

    def after_a_step(loop: Callable[[Any], Any]) -> np.ndarray:
        lbm = part("lbm").Lbm(machine, options)
        lbm.start_from(whirls)
        loop(lbm).advance(1)
        return np.asarray(lbm.populations())

    whole, without = after_a_step(lambda lbm: lbm), after_a_step(timed().WithoutExchange)
    # In two blocks of 8^3 cells, z = 0, 7, 8 and 15 are next to the other block.
    differs = np.any(whole != without, axis=-1)
    assert differs[[0, 7, 8, 15]].all()
    assert not differs[1:7, 1:7, 1:7].any() and not differs[9:15, 1:7, 1:7].any()


def test_blocks_of_an_open_box_have_as_many_neighbours_as_the_thesis_counts() -> None:
    grid = (3, 3, 3)
    found = {blocks.kind_of(place, grid): blocks.neighbours(place, grid, "D3Q19") for place in blocks.in_order(grid)}
    assert found == {"middle": 18, "face": 13, "edge": 9, "corner": 6}
    assert blocks.neighbours((1, 1, 1), grid, "D3Q27") == 26


def test_a_block_alone_has_its_device_to_itself_and_the_others_share_theirs() -> None:
    dealt = blocks.alone((3, 3, 3), (1, 1, 1), 4)
    assert [place for place, device in zip(dealt.places, dealt.devices, strict=True) if device == 0] == [(1, 1, 1)]
    assert sorted(dealt.devices.count(device) for device in (1, 2, 3)) == [8, 9, 9]
    assert dealt.boxes(4)[13] == [4, 4, 4, 8, 8, 8, 0]


def test_open_blocks_receive_less_the_more_sides_of_the_box_they_lie_at(measured: Any) -> None:
    rows = measured("lbm_blocks", [6], devices=3)
    assert [row["block"] for row in rows] == ["periodic", "middle", "face", "edge", "corner", "all"]
    received = [row["received_kb"] for row in rows[1:5]]
    assert received == sorted(received, reverse=True)
    # Bytes by hand: five of 19 populations cross each of 6 faces of 6 x 6 cells, and one crosses each of 12 edges of 6
    # cells.
    assert received[0] == pytest.approx((6 * 5 * 36 + 12 * 6) * 8 / 1e3)
    assert all(row["exchange_us"] > 0 for row in rows[:5]) and rows[5]["mlups"] > 0


@pytest.mark.parametrize("grid", ["2x3x3", "3x3", "3 x 3 x 3", "0x0x0"])
def test_grids_without_a_block_in_the_middle_are_refused(grid: str) -> None:
    with raises(CaseError, "invalid_argument", option="grid", limit=3):
        options.parse_grid(grid, 3)


def test_frame_goes_through_the_fourteen_scenarios_of_the_report(measured: Any) -> None:
    rows = measured("lbm_frame", [8])
    assert [row["scenario"] for row in rows] == list(range(1, 15))
    assert [tuple(row["rim"] or ()) for row in rows] == [rim or () for rim, _ in frame.SCENARIOS]
    assert [row["overlap"] for row in rows] == ["off"] + ["on"] * 13
    assert rows[8]["paper_speedup_128_nodes"] == 1.40 and rows[4]["paper_speedup_8_nodes"] == 1.37
    assert all(row["speedup"] == pytest.approx(rows[0]["time_ms"] / row["time_ms"], rel=1e-3) for row in rows)


@pytest.mark.parametrize(("grid", "cut"), [((2, 1, 1), (1, 2, 2)), ((2, 2, 1), (1, 1, 2)), ((2, 2, 2), (1, 1, 1))])
def test_frame_cuts_every_axis(grid: tuple[int, int, int], cut: tuple[int, int, int]) -> None:
    assert frame.blocks_of(grid) == cut


def test_validation_finds_the_same_bits_split_and_unsplit(measured: Any) -> None:
    rows = measured("lbm_validation", [16])
    assert {row["setup"] for row in rows} == {"one device", "one node"}
    assert {(row["overlap"], row["rim"]) for row in rows} == {("off", None), ("on", 1), ("on", 2)}
    assert all(row["same_bits"] for row in rows)
    errors = {row["steps"]: row["error_percent"] for row in rows}
    first, second = sorted(errors)
    assert second == 2 * first and errors[first] > errors[second] > 0


def test_validation_deals_odd_and_even_ranks_to_two_nodes(cli: Cli, tmp_path: Path) -> None:
    words = ["--experiment", "validation", "--backend", "host", "-n", "2", "--folder", "out", "--collision", "SRT"]
    result = cli("bench", "lbm", *words)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / "lbm_validation").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert {(row["setup"], row["nodes"], row["ranks"]) for row in rows} == {
        ("one device", 1, 1), ("one node", 1, 2), ("two nodes", 2, 2)
    }  # fmt: skip
    assert all(row["same_bits"] for row in rows)
    assert "the same bits after 156 and 312 steps" in " ".join(result.stdout.split())


def test_io_writes_checkpoints_that_wait_in_each_memory_and_leaves_none(
    measured: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = measured("lbm_io", [8], devices=1)
    assert [row["way"] for row in rows] == ["pinned", "two pieces", "device", "device, by MPI"]
    assert len({row["state_gb"] for row in rows}) == 1 and rows[0]["state_gb"] > 8**3 * 19 * 8 / 1e9
    for row in rows:
        assert row["gbs"] == pytest.approx(row["state_gb"] / row["written_s"], rel=1e-3)
        # The solver advances by some steps while the state is written to disk.
        assert row["steps_meanwhile"] > 0
    assert not list(tmp_path.glob(".slipstream-io-*"))


@pytest.mark.parametrize(
    ("name", "cells"),
    [("weak", 8), ("layout", 8), ("communication", 8), ("blocks", 6), ("frame", 8), ("validation", 16), ("io", 8)],
)
def test_experiments_take_collisions_of_moments(
    measured: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, cells: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(validation, "MOMENTS", (200, 400))
    monkeypatch.setattr(validation, "STEADY", 800)
    rows = measured(f"lbm_{name}", [cells], "--collision", "recursive")
    assert {(row["representation"], row["collision"]) for row in rows} == {("moments", "recursive")}
    assert all(row.get("layout", "soa") == "soa" and row.get("populations_mb", 1) > 0 for row in rows)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["communication", "--devices", "1"], {"code": "unsupported", "limit": "2 or 4"}),
        (
            ["communication", "--cells", "3", "--devices", "2"],
            {"code": "invalid_argument", "option": "cells", "limit": 4},
        ),
        (["communication", "--grid", "3x3x3", "--devices", "1"], {"code": "unsupported", "limit": 2}),
        (["frame", "--devices", "1"], {"code": "unsupported", "limit": 2}),
        (
            ["frame", "--overlap", "on"],
            {"code": "invalid_argument", "benchmark": "lbm_frame", "unknown": "--overlap on"},
        ),
        (["validation", "--cells", "18"], {"code": "invalid_argument", "option": "cells", "limit": 4}),
        (["io", "--cells", "3"], {"code": "invalid_argument", "option": "cells", "limit": 4}),
        (["weak", "--grid", "3x3x3"], {"code": "invalid_argument", "benchmark": "lbm_weak", "unknown": "--grid 3x3x3"}),
    ],
)
def test_experiments_refuse_what_they_cannot_measure(cli: Cli, words: list[str], fault: dict[str, Any]) -> None:
    result = cli("bench", "lbm", "--backend", "host", "--no-write", "--experiment", *words)
    is_error(result, **fault)
