"""Reports, tuning and traces of exchanges, from Python and the command line."""

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from conftest import Cli
from errors import raises
from rich.console import Console
from slipstream.base.errors import CaseError
from slipstream.case.reader import load
from slipstream.exchange.report import Report, split_lines
from slipstream.pictures import timeline
from slipstream.pictures.exchange import places
from slipstream.pictures.timeline import Bar, Row


def halo_of(**options: Any) -> slip.Exchange:
    grid = slip.Grid((16, 8, 8), periodic=(True,) * 3, backend="host", devices_per_rank=2)
    arrays = [np.zeros(grid.array_shape(1, block=index), np.float32) for index in range(len(grid.local))]
    return slip.Exchange(grid, {"u": arrays}, **options)


def test_report_has_times_and_rates_of_messages_between_devices() -> None:
    halo = halo_of(routes="staged")
    halo.run()
    rows = [row for row in halo.report().rows if row.source != row.target]
    assert {(row.source, row.target) for row in rows} == {(0, 1), (1, 0)}
    for row in rows:
        assert row.route == "staged"
        assert row.gbs == pytest.approx(row.bytes / row.time_us / 1e3)


def test_report_is_written_as_json_and_as_a_picture(tmp_path: Path) -> None:
    halo = halo_of()
    halo.run()
    report = halo.report()
    for name in ("halo.json", "halo.png"):
        report.write(tmp_path / name)
    content = json.loads((tmp_path / "halo.json").read_text())
    assert (
        content["rows"] == [asdict(row) for row in report.rows]
        and len(content["devices"]) == 2
        and len(content["blocks"]) == 2
    )
    assert (tmp_path / "halo.png").read_bytes().startswith(b"\x89PNG")


def test_report_tells_the_memory_that_exchanges_share() -> None:
    halo = halo_of(routes="staged")
    halo.run()
    one = halo.report()
    assert [arena.device for arena in one.arenas] == [0, 1]
    assert all(0 < arena.used <= arena.bytes for arena in one.arenas)
    assert all(0 < arena.host_used <= arena.host_bytes for arena in one.arenas)
    another = halo_of(routes="staged")
    two = another.report()
    for before, after in zip(one.arenas, two.arenas, strict=True):
        assert after.used > before.used and after.host_used > before.host_used
    lines = Console(width=200, file=io.StringIO())
    lines.print(one)
    assert "memory that exchanges share: at most" in lines.file.getvalue()


def test_report_of_another_ending_is_refused(tmp_path: Path) -> None:
    with raises(CaseError, "unsupported", key="--report", file=tmp_path / "report.txt"):
        Report((), "m", [], ()).write(tmp_path / "report.txt")


def test_picture_keeps_devices_apart_and_inside_their_nodes() -> None:
    centres, frames = places([{"node": n // 4, "rank": n} for n in range(10)])
    assert len(set(centres.values())) == 10 and len(frames) == 3
    for device, (x, y) in centres.items():
        left, low, width, height = frames[device // 4]
        assert left < x < left + width and low < y < low + height


def test_measured_routes_are_cached(tmp_path: Path) -> None:
    first = halo_of(tune="measure", tuner_cache=str(tmp_path))
    again = halo_of(tune="measure", tuner_cache=str(tmp_path))
    other = halo_of(tune="measure", tuner_cache=str(tmp_path), routes="-direct")
    assert [halo.tuning.source for halo in (first, again, other)] == ["measured", "cache", "measured"]
    assert first.messages() == again.messages()
    assert halo_of(retune=True, tuner_cache=str(tmp_path)).tuning.source == "measured"


@pytest.mark.parametrize("pack", ["per_direction", "memcpy3d", "zero_copy"])
def test_pinned_packing_changes_no_bit(cli: Cli, small: Path, pack: str) -> None:
    words = ["run", "small.toml", "machine.devices_per_rank=2", "machine.backend=host", "--routes=staged,kernel",
             "output.pictures=false", "output.report=false"]  # fmt: skip
    pins = [f'exchange.pack="{pack}"', "exchange.sync=true", 'exchange.streams="one"']
    found = []
    for folder, more in (("usual", []), (pack, pins)):
        result = cli(*words, *more, f"output.folder={folder}")
        assert result.returncode == 0, result.stderr
        found.append((small.parent / folder / "profiles.csv").read_bytes())
    assert found[0] == found[1]


def test_damaged_cache_is_warned_of(tmp_path: Path) -> None:
    file = Path(halo_of(tune="measure", tuner_cache=str(tmp_path)).tuning.file)
    file.write_text(file.read_text()[:-9])
    with pytest.warns(RuntimeWarning) as told:
        halo_of(tune="measure", tuner_cache=str(tmp_path))
    assert [str(file) in str(each.message) for each in told] == [True]


@pytest.mark.parametrize(("routes", "expected"), [("-direct,-peer,-gpu_mpi", "staged"), ("staged,+peer", "peer")])
def test_routes_are_added_and_taken_away(routes: str, expected: str) -> None:
    found = {m.route for m in halo_of(routes=routes).messages() if m.source != m.target}
    assert found == {expected}


@pytest.mark.parametrize("calls", [["run"], ["begin", "end"]])
def test_trace_of_an_exchange_is_read_as_a_timeline(tmp_path: Path, calls: list[str]) -> None:
    halo = halo_of(trace=True, routes="kernel,staged")
    for call in 3 * calls:
        getattr(halo, call)()
    halo.write_trace(tmp_path)
    rows = timeline.read([tmp_path / "rank0.json"])
    assert {"host", "host:0 exchange", "host:1 exchange"} <= {row.name for row in rows}
    names = {bar.name for row in rows for bar in row.bars}
    assert {*calls, "send", "receive"} <= names


def test_untraced_exchange_has_no_trace_to_write(tmp_path: Path) -> None:
    with raises(RuntimeError, "wrong_state", problem="not_traced"):
        halo_of().write_trace(tmp_path)


def test_window_shows_steps_from_the_middle() -> None:
    steps = Row("rank 0", "host", [Bar("step", "step", 10.0 * n, 9.0) for n in range(11)])
    work = Row("rank 0", "stream", [Bar("send", "kernel", 10.0 * n + 2, 12.0) for n in range(11)])
    host, stream = timeline.window([steps, work], "step", 2)
    assert [bar.start for bar in host.bars] == [0, 10]
    # Bars of spans that begin before or end after the window are clipped.
    assert [(bar.start, bar.duration) for bar in stream.bars] == [(0, 4), (2, 12), (12, 8)]


def test_run_writes_report_and_trace(cli: Cli, small: Path) -> None:
    result = cli(
        "run", "small.toml", "machine.devices_per_rank=2", "machine.backend=host", "exchange.overlap=on",
        "--routes=-direct", "--retune", "--trace", "traced", "--report", "out/halo.json", "--report", "out/halo.svg",
        XDG_CACHE_HOME=str(small.parent / "cache"),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "% of link" in result.stdout and "routes: measured in" in result.stdout
    assert "traced/timeline.png" in result.stdout
    content = json.loads((small.parent / "out" / "halo.json").read_text())
    assert "direct" not in {row["route"] for row in content["rows"]}
    assert content["tuning"]["source"] == "measured"
    assert (small.parent / "out" / "halo.svg").exists()
    assert (small.parent / "results" / "small" / "exchange.json").exists()
    rows = timeline.read([small.parent / "traced" / "rank0.json"])
    names = {bar.name for row in rows for bar in row.bars}
    assert {"step", "begin", "end", "prepare", "interior", "boundary"} <= names
    # Spans in a host row are nested: begin and end lie within their step.
    (host,) = (row for row in rows if row.name == "host")
    steps = [bar for bar in host.bars if bar.name == "step"]
    assert len(steps) == 40
    for bar in host.bars:
        inside = [
            s for s in steps if s.start - 1e-2 <= bar.start <= bar.start + bar.duration <= s.start + s.duration + 1e-2
        ]
        assert len(inside) == 1, bar


def test_resolved_case_does_not_measure_again(small: Path) -> None:
    case = load(small, ["exchange.retune=true"]).resolved()
    assert case.exchange.tune == "measure" and not case.exchange.retune


def test_multiprocessors_of_the_rim_are_told_where_there_is_one() -> None:
    split = {"overlap": True, "rim": [4, 4, 4], "rim_processors": 16, "source": "cache", "file": "kept", "notes": []}
    assert split_lines(split) == ["rim: 4 x 4 x 4 cells on 16 multiprocessors, from kept"]
    assert split_lines(split | {"overlap": False}) == ["rim: none, no overlap, from kept"]


def test_unknown_route_is_refused_in_a_case(small: Path) -> None:
    with raises(CaseError, "invalid_argument", key="exchange.routes[0]", given='"-pigeon"'):
        load(small, ['exchange.routes=["-pigeon"]'])
