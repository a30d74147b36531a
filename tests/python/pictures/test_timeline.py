"""`slipstream trace`: reading Chrome trace files, and the picture."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from errors import is_error, raises
from slipstream.base.errors import CaseError
from slipstream.pictures import timeline


def bar(pid: int, tid: int, start: float, duration: float, name: str = "pack", cat: str = "kernel") -> dict[str, Any]:
    return {"name": name, "ph": "X", "ts": start, "dur": duration, "pid": pid, "tid": tid, "cat": cat}


def named(pid: int, tid: int, kind: str, **arguments: Any) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": arguments}


def write(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def rank_file(folder: Path, rank: int) -> Path:
    """Trace file of a rank that packs, copies and waits. The host thread's bar `begin` covers packing and copy."""
    return write(
        folder / f"rank{rank}.json",
        [
            named(rank, 0, "process_name", name=f"rank {rank}"),
            named(rank, 1, "thread_name", name="cuda:0 exchange"),
            named(rank, 2, "thread_name", name="host"),
            bar(rank, 2, 1000 + rank, 40, "begin", "host"),
            bar(rank, 1, 1005 + rank, 10),
            bar(rank, 1, 1015 + rank, 20, "copy", "copy engine"),
            bar(rank, 2, 1010 + rank, 5, "post", "host"),
        ],
    )


def test_files_of_several_ranks_become_rows_grouped_by_rank(tmp_path: Path) -> None:
    rows = timeline.read([rank_file(tmp_path, 1), rank_file(tmp_path, 0)])
    assert [(row.rank, row.name) for row in rows] == [
        (rank, name) for rank in ("rank 0", "rank 1") for name in ("cuda:0 exchange", "host")
    ]


def test_time_begins_with_the_first_event_of_all_files(tmp_path: Path) -> None:
    rows = timeline.read([rank_file(tmp_path, 0), rank_file(tmp_path, 1)])
    starts = {(row.rank, bar.name): bar.start for row in rows for bar in row.bars}
    assert starts["rank 0", "begin"] == 0 and starts["rank 1", "begin"] == 1 and starts["rank 1", "copy"] == 16


def test_nested_bars_lie_in_lanes_and_following_ones_in_one(tmp_path: Path) -> None:
    device, host = timeline.read([rank_file(tmp_path, 0)])
    assert [[bar.name for bar in lane] for lane in device.lanes()] == [["pack", "copy"]]
    assert [[bar.name for bar in lane] for lane in host.lanes()] == [["begin"], ["post"]]


def test_rows_follow_the_sort_index_of_the_file(tmp_path: Path) -> None:
    index = [named(0, tid, "thread_sort_index", sort_index=9 - tid) for tid in (1, 2)]
    path = write(tmp_path / "a.json", [*index, bar(0, 1, 0, 1), bar(0, 2, 0, 1)])
    assert [row.name for row in timeline.read([path])] == ["2", "1"]


def test_a_list_without_names_is_a_trace_too(tmp_path: Path) -> None:
    path = tmp_path / "plain.json"
    path.write_text(json.dumps([bar(3, 10, 5, 1), bar(3, 9, 5, 1)]))
    assert [(row.rank, row.name) for row in timeline.read([path])] == [("rank 3", "9"), ("rank 3", "10")]


def test_trace_draws_a_picture_of_all_files(cli: Cli, tmp_path: Path) -> None:
    rank_file(tmp_path, 0), rank_file(tmp_path, 1)
    run = cli("trace", "rank0.json", "rank1.json", "-o", "x.png")
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG") and "written: x.png" in run.stdout


def test_trace_draws_the_middle_of_the_bars_of_a_name(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "a.json", [bar(0, 1, 10 * n, 8, name="send") for n in range(9)])
    assert cli("trace", "a.json", "-o", "x.svg", "--middle", "send").returncode == 0
    assert cli("trace", "a.json", "-o", "all.svg").returncode == 0
    drawn = [(tmp_path / name).read_text().count("<!-- send -->") for name in ("x.svg", "all.svg")]
    assert drawn == [2, 9]
    wrong = cli("trace", "a.json", "-o", "x.png", "--middle", "recieve")
    is_error(wrong, "not_found", key="--middle", given="recieve", allowed="send")


def test_a_kind_of_work_has_one_colour_in_all_pictures(tmp_path: Path) -> None:
    found = {}
    for name, kinds in {"few": ["host", "kernel"], "more": ["copy", "host", "kernel", "mine", "message"]}.items():
        rows = timeline.read([write(tmp_path / "a.json", [bar(0, 1, n, 1, cat=kind) for n, kind in enumerate(kinds)])])
        timeline.draw(rows, tmp_path / f"{name}.svg")
        text = (tmp_path / f"{name}.svg").read_text()
        found[name] = {kind: _colour_of(text, kind) for kind in kinds}
        assert len(set(found[name].values())) == len(kinds)
    assert found["few"].items() <= found["more"].items()


def _colour_of(svg: str, kind: str) -> str:
    """The colour of the legend's patch before the label."""
    return re.findall(r"fill: (#\w{6})", svg[: svg.index(f"<!-- {kind} -->")])[-1]


def test_steps_are_shown_where_devices_make_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of a run in which the host queues eight steps within 8 us; the device makes them afterwards, each in two
    kernels of 100 us.
    """
    queued = [bar(0, 1, n, 1, "step", "step") for n in range(8)]
    made = [bar(0, 2, 50 + 100 * n, 100, "collide" if n % 2 else "stream", "compute") for n in range(16)]
    path = write(tmp_path / "rank0.json", queued + made)
    shown: list[timeline.Row] = []
    monkeypatch.setattr(timeline, "draw", lambda rows, *_: shown.extend(rows))
    timeline.trace_steps([path], tmp_path / "x.png")
    (row,) = shown
    assert [(bar.name, bar.start, bar.duration) for bar in row.bars] == [
        ("stream", 0, 100), ("collide", 100, 100), ("stream", 200, 100), ("collide", 300, 100)
    ]  # fmt: skip


@pytest.mark.parametrize("categories", [1, 12])
def test_legend_names_every_category(tmp_path: Path, categories: int) -> None:
    names = [f"category {n}" for n in range(categories)]
    rows = timeline.read([write(tmp_path / "a.json", [bar(0, 1, n, 1, cat=cat) for n, cat in enumerate(names)])])
    timeline.draw(rows, tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text().count("<!-- category ") == categories


@pytest.mark.parametrize(
    ("text", "code", "facts"),
    [
        ("{", "bad_file", {"needed": None}),
        ('{"events": []}', "bad_file", {"needed": "traceEvents"}),
        ('{"traceEvents": []}', "not_found", {}),
        (
            '{"traceEvents": [{"ph": "X", "name": "pack", "ts": 1}]}',
            "bad_file",
            {"event": "pack", "needed": "ts, dur"},
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_name(
    tmp_path: Path, text: str, code: str, facts: dict[str, str | None]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with raises(CaseError, code, file=path, **facts):
        timeline.read([path])


def test_trace_names_the_file_that_is_missing_or_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    missing = cli("trace", "none.json", "-o", "x.png")
    is_error(missing, "not_found", file="none.json")
    rank_file(tmp_path, 0)
    unknown = cli("trace", "rank0.json", "-o", "x.nosuch")
    is_error(unknown, "io", file="x.nosuch")


def test_tool_records_exchanges_by_one_route_after_another(tmp_path: Path) -> None:
    search = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    words = ["--backend", "host", "--cells", "8", "--folder", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "trace_exchange.py"), *words],
        env=os.environ | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for route in ("direct", "staged"):
        files = [tmp_path / "trace" / f"{route}-rank{rank}.json" for rank in (0, 1)]
        for path in files:
            told = json.loads(path.read_text())["otherData"]
            assert told["route"] == route and told["commit"] and told["cells_per_device"] == [8, 8, 8]
            assert path.stat().st_size < 100_000
        rows = timeline.read(files)
        assert {row.rank for row in rows} == {"rank 0", "rank 1"}
        assert sum(bar.name == "send" for row in rows for bar in row.bars) == 18
        assert (tmp_path / "trace" / f"{route}.png").exists()
