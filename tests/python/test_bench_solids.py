"""The experiments on solid cells."""

import json
from pathlib import Path

import pytest
from rich.console import Console
from slipstream import bench_lbm_solids as solids
from slipstream.errors import CaseError


def choice(experiment: str, cells: list[int]) -> solids.Choice:
    return solids.Choice(experiment, "host", 1, cells, "D3Q19", "TRT", "f32", "in_place")


def rows_of(folder: Path, experiment: str) -> list[solids.Row]:
    (path,) = (folder / f"lbm_{experiment}").glob("*.json")
    return json.loads(path.read_text())["rows"]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solids, "STEPS", 2)
    monkeypatch.setattr(solids, "REPEATS", 1)
    monkeypatch.setattr(solids, "TOY", {"host": (1024, 10)})


@pytest.mark.usefixtures("short")
def test_flagfield_measures_each_way_at_each_share_of_solid_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solids, "SHARES", (solids.PAPER_SHARE, 0.3))
    solids.run(choice("flagfield", [32]), Console(quiet=True), tmp_path)
    rows = rows_of(tmp_path, "flagfield")
    assert [row["solids"] for row in rows] == ["dense", "flags", "sparse"] * 4
    assert [row["cells_per_device"] for row in rows[::6]] == [[64, 32, 32], [32, 32, 32]]
    for row in rows:
        assert row["mflups"] == pytest.approx(row["mlups"] * (1 - row["solid_share"]), rel=1e-3)
    assert rows[0]["solid_share"] == pytest.approx(solids.PAPER_SHARE, abs=5e-4)
    assert rows[3]["solid_share"] == pytest.approx(0.3, abs=0.02)
    # What the paper measured stands beside the one row that is its own.
    assert [row["paper_ratio"] for row in rows if row["paper_ratio"]] == [pytest.approx(1.2042, abs=1e-3)]


@pytest.mark.usefixtures("short")
def test_simd_compares_both_tests_in_each_kernel(tmp_path: Path) -> None:
    solids.run(choice("simd", [16]), Console(quiet=True), tmp_path)
    rows = rows_of(tmp_path, "simd")
    assert [(row["kernel"], row["test"]) for row in rows] == [
        (kernel, test) for kernel in ("outside", "inside", "step") for test in ("plain", "four flags a word")
    ]
    assert [row["paper_ratio"] for row in rows[1::2]] == pytest.approx([1.0, 1.70, 1.0], abs=0.01)


def test_simd_measures_single_cells_on_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solids.engine, "choose_backend", lambda wanted: "cuda")
    with pytest.raises(CaseError, match="take --precision f64"):
        solids.run(choice("simd", [16]), Console(quiet=True), tmp_path)


def test_simd_takes_one_size(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="one --cells"):
        solids.run(choice("simd", [16, 32]), Console(quiet=True), tmp_path)
