"""Benchmark files and the tables generated from them."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from conftest import ROOT
from errors import raises
from rich.console import Console
from slipstream.base.errors import CaseError
from slipstream_bench import record

MACHINE = {"name": "A box, 2 cores"}


def row(cells: int, mlups: float) -> dict[str, object]:
    return {"devices": 1, "cells_per_device": [cells] * 3, "storage": "f32", "mlups": mlups}


def tables(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "tables.py"), "--root", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def document(root: Path, marker: str = "lbm") -> Path:
    path = root / "README.md"
    path.write_text(f"before\n<!-- table: {marker} -->\nold\n<!-- end -->\nafter\n")
    return path


def write(folder: Path, rows: list[dict[str, object]], commit: str = "abc", machine: record.Row = MACHINE) -> Path:
    return record.write(folder, "lbm", machine, commit, rows, frozenset({"mlups"}))


def test_result_file_is_named_for_the_machine(tmp_path: Path) -> None:
    path = write(tmp_path, [row(64, 10.0)])
    assert path == tmp_path / "lbm" / "a-box-2-cores.json" and [*path.parent.iterdir()] == [path]
    assert {"benchmark", "machine", "commit", "date", "command", "rows"} == set(json.loads(path.read_text()))


@pytest.mark.parametrize(
    ("gpus", "name"),
    [("a", "card"), ("ab", "2 x card"), ("aa", "card as 2 devices"), ("aabb", "2 x card as 4 devices")],
)
def test_gpus_that_ranks_share_count_once(gpus: str, name: str) -> None:
    assert record.name_of_gpus("card", [{"node": 0, "uuid": uuid} for uuid in gpus]) == name


def test_stored_shares_are_above_1_in_a_cache_only() -> None:
    shares = 0
    for path in sorted((ROOT / "bench" / "results").glob("*/*.json")):
        for one in json.loads(path.read_text()).get("rows", ()):
            shares += "share" in one
            assert not record.impossible(one), f"{path.name}: {one}"
    assert shares > 1000


@pytest.mark.parametrize(
    ("share", "moved", "device", "found"),
    [
        (0.9, 1 << 20, {"backend": "cuda", "name": "NVIDIA H100 80GB HBM3"}, {"share": 0.9}),
        (1.1, 16 << 20, {"backend": "cuda", "name": "NVIDIA H100 80GB HBM3"}, {"share": 1.1, "in_cache": True}),
        (1.1, 1 << 30, {"backend": "cuda", "name": "NVIDIA H100 80GB HBM3"}, {"share": 1.1}),
        (1.1, 1, {"backend": "cuda", "name": "a card of unknown cache"}, {"share": 1.1}),
    ],
)
def test_shares_above_1_say_whether_a_cache_holds_the_bytes(
    share: float, moved: float, device: record.Row, found: record.Row
) -> None:
    assert record.share_of(share, 1.0, moved, [device]) == found


def test_rows_below_their_least_time_are_left_out_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(64, 10.0) | {"share": share} for share in (0.9, 1.1)] + [row(8, 1.0) | {"share": 2.0, "in_cache": True}]
    kept = record.possible(rows, frozenset({"mlups"}), Console(width=500))
    assert kept == [rows[0], rows[2]]
    said = capsys.readouterr().out
    assert said.startswith("left out: share 1.1") and "cells_per_device [64, 64, 64]" in said


def test_later_rows_replace_like_ones_and_join_others(tmp_path: Path) -> None:
    write(tmp_path, [row(64, 10.0), row(128, 20.0)])
    path = write(tmp_path, [row(64, 11.0)])
    assert [r["mlups"] for r in json.loads(path.read_text())["rows"]] == [11.0, 20.0]


def test_rows_keep_the_commit_and_date_that_they_were_measured_at(tmp_path: Path) -> None:
    path = write(tmp_path, [row(64, 10.0), row(128, 20.0)])
    path.write_text(path.read_text().replace(date.today().isoformat(), "2001-02-03"))
    path = write(tmp_path, [row(64, 11.0)], "def")
    result = json.loads(path.read_text())
    assert [(r["mlups"], r["commit"]) for r in result["rows"]] == [(11.0, "def"), (20.0, "abc")]
    assert [r["date"] for r in result["rows"]] == [date.today().isoformat(), "2001-02-03"]
    assert result["commit"] == "def" and result["date"] == date.today().isoformat()


def test_rows_name_the_card_that_older_ones_may_lack(tmp_path: Path) -> None:
    path = write(tmp_path, [row(64, 10.0), row(128, 20.0)])
    old = json.loads(path.read_text())
    for entry in old["rows"]:
        del entry["card"]
    path.write_text(json.dumps(old))
    write(tmp_path, [row(64, 11.0)], machine=MACHINE | {"card": "a card"})
    assert [(r["mlups"], r.get("card")) for r in json.loads(path.read_text())["rows"]] == [
        (11.0, "a card"),
        (20.0, None),
    ]


@pytest.mark.parametrize("text", ["", '{"rows": [', "[]", '{"rows": 1, "command": ""}'])
def test_file_that_holds_no_results_is_refused_and_left(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, [row(64, 10.0)])
    path.write_text(text)
    with raises(CaseError, "bad_file", file=path):
        write(tmp_path, [row(64, 11.0)])
    assert path.read_text() == text


def test_no_row_is_lost_by_writing_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        paths = list(pool.map(lambda n: write(tmp_path, [row(n, 1.0)]), range(64)))
    assert sorted(r["cells_per_device"][0] for r in json.loads(paths[0].read_text())["rows"]) == [*range(64)]


def test_files_of_other_machines_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, [row(64, 10.0)])
    path = write(tmp_path, [row(128, 20.0)], machine={"name": "A box, 2"})
    assert [r["mlups"] for r in json.loads(path.read_text())["rows"]] == [20.0]


def test_commands_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (["bench", "lbm"], ["bench", "lbm", "--cells", "64"], ["bench", "lbm"]):
        monkeypatch.setattr(sys, "argv", ["slipstream", *words])
        path = write(tmp_path, [row(64, 10.0)])
    assert json.loads(path.read_text())["command"] == "slipstream bench lbm; slipstream bench lbm --cells 64"


def test_caption_names_the_commits_and_dates_of_the_rows_shown(tmp_path: Path) -> None:
    folder = tmp_path / "bench" / "results"
    write(folder, [row(64, 10.0), row(128, 20.0)], "0123456789ab")
    write(folder, [row(64, 11.0)], "ba9876543210+changes")
    path, today = document(tmp_path), date.today().isoformat()
    tables(tmp_path)
    assert f"A box, 2 cores, {today}, commits 0123456, ba98765+changes:" in path.read_text()
    document(tmp_path, "lbm where=cells_per_device:128^3")
    tables(tmp_path)
    assert f"A box, 2 cores, {today}, commit 0123456:" in path.read_text()


def test_table_is_written_between_its_marks(tmp_path: Path) -> None:
    write(tmp_path / "bench" / "results", [row(64, 10.0), row(128, 23456.7)])
    path = document(tmp_path)
    assert tables(tmp_path).returncode == 0
    text = path.read_text()
    assert "| cells per device | mlups |" in text and "| 128^3 | 23457 |" in text
    assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n") and "old" not in text


def test_two_files_of_a_machine_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "bench" / "results", [row(64, 10.0)])
    path.with_name("a-box-2001-02-03.json").write_text(path.read_text())
    document(tmp_path)
    result = tables(tmp_path)
    assert result.returncode == 1 and "are of one machine, A box, 2 cores" in result.stderr


def test_columns_can_be_chosen(tmp_path: Path) -> None:
    write(tmp_path / "bench" / "results", [row(64, 10.0)])
    path = document(tmp_path, "lbm columns=storage,mlups")
    tables(tmp_path)
    assert "| storage | mlups |" in path.read_text()


@pytest.mark.parametrize(
    ("columns", "heads"),
    [("storage,seconds?,mlups", "| storage | mlups |"), ("storage?,mlups", "| storage | mlups |")],
)
def test_a_column_may_be_in_no_row_on_demand(tmp_path: Path, columns: str, heads: str) -> None:
    write(tmp_path / "bench" / "results", [row(64, 10.0)])
    path = document(tmp_path, f"lbm columns={columns}")
    assert tables(tmp_path).returncode == 0
    assert heads in path.read_text()


def test_a_column_that_no_row_has_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "bench" / "results", [row(64, 10.0)])
    document(tmp_path, "lbm columns=storage,seconds")
    result = tables(tmp_path)
    assert result.returncode != 0 and "no column seconds" in result.stderr


def test_check_finds_an_old_table_and_leaves_it(tmp_path: Path) -> None:
    write(tmp_path / "bench" / "results", [row(64, 10.0)])
    path = document(tmp_path)
    assert tables(tmp_path, "--check").returncode == 1
    assert "old" in path.read_text()
    tables(tmp_path)
    assert tables(tmp_path, "--check").returncode == 0


def test_table_without_results_is_an_error(tmp_path: Path) -> None:
    document(tmp_path)
    result = tables(tmp_path)
    assert result.returncode == 1 and "no results" in result.stderr


def test_tables_of_this_repository_are_up_to_date() -> None:
    result = tables(ROOT, "--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_rows_can_be_chosen(tmp_path: Path) -> None:
    write(tmp_path / "bench" / "results", [row(64, 10.0), row(128, 20.0)])
    path = document(tmp_path, "lbm columns=mlups where=cells_per_device:128^3,storage:f32")
    assert tables(tmp_path).returncode == 0
    assert "| 20 |" in path.read_text() and "| 10 |" not in path.read_text()


def test_an_optional_table_may_lack_results(tmp_path: Path) -> None:
    path = document(tmp_path, "lbm columns=mlups where=storage:f64 optional")
    assert tables(tmp_path).returncode == 0
    assert "Not measured yet." in path.read_text()
    write(tmp_path / "bench" / "results", [row(64, 10.0)])
    assert tables(tmp_path, "--check").returncode == 0


def test_a_table_without_matching_rows_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "bench" / "results", [row(64, 10.0)])
    document(tmp_path, "lbm columns=mlups where=storage:f64")
    result = tables(tmp_path)
    assert result.returncode == 1 and "where storage: f64" in result.stderr


def test_figures_are_those_of_the_newest_row(tmp_path: Path) -> None:
    path = write(tmp_path / "bench" / "results", [row(64, 10.04), row(128, 20.0) | {"share": 0.937}])
    readme = tmp_path / "README.md"
    figure = f"<!-- figure: lbm/{path.stem} mlups where=cells_per_device:64^3 -->old<!-- end -->"
    readme.write_text(f"| {figure} | <!-- figure: lbm/{path.stem} share --><!-- end --> |\n")
    assert tables(tmp_path, "--check").returncode == 1
    assert tables(tmp_path).returncode == 0
    assert ">10<" in readme.read_text() and ">94 %<" in readme.read_text()
    assert tables(tmp_path, "--check").returncode == 0


def test_figures_of_no_row_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "bench" / "results", [row(64, 10.0)])
    (tmp_path / "README.md").write_text(f"<!-- figure: lbm/{path.stem} mlups where=devices:2 --><!-- end -->\n")
    result = tables(tmp_path)
    assert result.returncode == 1 and "no mlups" in result.stderr


def test_directions_stand_beside_each_other_and_the_library(tmp_path: Path) -> None:
    usual = {"devices": 2, "kind": "c2c", "dtype": "c64", "n": [64] * 3, "clock": "host", "decomposition": "slab"}
    usual |= {"components": 1, "overlap": False, "transposed": True, "stored_moves": None}
    rows: list[dict[str, object]] = [
        usual | {"stored_moves": 1, "time_ms": 4.0, "backward_ms": 5.0, "routes": "rules"},
        usual | {"library": "cufftXt", "time_ms": 8.0, "backward_ms": 10.0},
        usual | {"stored_moves": 1, "time_ms": 1.0, "backward_ms": 1.0, "routes": "kernel,peer"},
    ]
    record.write(tmp_path / "bench" / "results", "fft", MACHINE, "abc", rows, frozenset({"time_ms", "backward_ms"}))
    readme = tmp_path / "README.md"
    readme.write_text("<!-- directions: fft -->\n<!-- end -->\n")
    assert tables(tmp_path).returncode == 0
    lines = [line for line in readme.read_text().splitlines() if line.startswith("| 2 ")]
    assert lines == ["| 2 | 64^3 | c64 | stored | 4 | 5 | 1.25 | 8 | 10 | 0.5 | 0.5 |"]
