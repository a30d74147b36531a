"""`slipstream bench axhelm`, `nekbone` and `poisson` on emulated devices."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from errors import is_error
from slipstream_bench import axhelm, nekbone, sem_thesis, vortex


@pytest.mark.parametrize(("name", "clock", "stored"), [("axhelm", "events", 64), ("nekbone", "host", 162)])
def test_rows_hold_inputs_and_times(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, clock: str, stored: int
) -> None:
    monkeypatch.setitem(axhelm.REPEATS, "host", 2)
    monkeypatch.setitem(nekbone.ITERATIONS, "host", 3)
    words = ("--backend", "host", "--devices", "2", "--orders", "1", "3", "--elements", "4", "--folder", "out")
    result = cli("bench", name, *words)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / name).glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert [(row["order"], row["factors"]) for row in rows] == [
        (order, factors) for order in (1, 3) for factors in ("stored", "trilinear", "affine")
    ]  # fmt: skip
    for row in rows:
        assert row["elements"] == 128 and row["devices"] == 2 and row["clock"] == clock
        assert row["bytes_per_point"] == stored - (0 if row["factors"] == "stored" else 48)
        points = 128 * (row["order"] + 1) ** 3
        assert row["gpoints_per_s"] == pytest.approx(points / row["time_us"] / 1e3, rel=1e-2)


def test_preconditioners_are_rows_with_their_iterations(cli: Cli, tmp_path: Path) -> None:
    words = ("--backend", "host", "--devices", "2", "--order", "5", "--elements", "2", "--aspects", "1", "10")
    result = cli("bench", "poisson", *words, "--methods", "cg", "fgmres", "--folder", "out")
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / "poisson").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    kinds = ("jacobi", "chebyshev", "multigrid", "schwarz")
    ways = [*itertools.product((1, 10), ("cg", "fgmres"), kinds)]
    assert [(row["aspect"], row["method"], row["preconditioner"]) for row in rows] == ways
    for row in rows:
        assert row["elements"] == 16 and row["bend"] == 0.1 and row["true_residual"] <= 1.1e-8
        assert row["time_ms"] > 0 and row["operator_us"] > 0 and row["preconditioner_us"] > 0
        assert (row["coarse_us"] is not None) == (row["preconditioner"] in ("multigrid", "schwarz"))
    for first in range(0, 16, 4):
        jacobi, chebyshev, multigrid, schwarz = (row["iterations"] for row in rows[first : first + 4])
        assert jacobi > chebyshev > multigrid >= schwarz > 2


def test_iterations_are_timed_with_sums_on_device_and_host(cli: Cli, tmp_path: Path) -> None:
    words = ("--backend", "host", "--devices", "2", "--orders", "1", "--elements", "2", "--factors", "affine")
    more = ("--sums", "device", "host", "--overlap", "off", "--components", "1", "3", "--folder", "out")
    result = cli("bench", "nekbone", *words, *more)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / "nekbone").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert [(row["sums"], row["components"]) for row in rows] == [(a, b) for a in ("device", "host") for b in (1, 3)]
    assert {row["overlap"] for row in rows} == {"off"}
    # The time per iteration is a difference of two measured times, which may be negative on a busy machine.
    assert all(math.isfinite(row["time_us"]) for row in rows)


@pytest.mark.parametrize(("sums", "waits"), [("device", 3 + nekbone.TRACED), ("host", 6 + 3 * nekbone.TRACED)])
def test_a_trace_shows_what_sums_expose_and_when_the_host_waits(
    cli: Cli, tmp_path: Path, sums: str, waits: int
) -> None:
    words = ("--backend", "host", "--orders", "3", "--elements", "4", "--factors", "stored", "--trace", "t", "-n", "2")
    result = cli("bench", "nekbone", *words, "--sums", sums)
    assert result.returncode == 0, result.stderr
    assert "20 iterations of conjugate gradients" in result.stdout
    assert result.stdout.count("gather-scatter exposed for") == 2, "a line a device"
    for rank in (0, 1):
        events = json.loads((tmp_path / "t" / f"rank{rank}.json").read_text())["traceEvents"]
        (operators,) = nekbone.exposed(events).values()
        assert len(operators) == nekbone.TRACED + 2, "each iteration's, the first residual's and the last one's"
        assert all(sums.late <= sums.idle and sums.local > 0 for sums in operators), "sums wait for messages"
        assert nekbone.waits(events) == waits
        # While an operator waits for its gather-scatter, it computes the elements' terms of the dot product (p, A p).
        assert sum(event["name"] == "sums of elements" for event in events) == nekbone.TRACED
    assert f"the host waited {waits} times" in result.stdout


def test_what_elements_do_not_hide_is_idle_time() -> None:
    names = [(0, "cuda:0 exchange"), (1, "cuda:0 solver"), (2, "host")]
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "tid": row, "args": {"name": name}} for row, name in names
    ]
    spans = [
        (1, "start of sums", 0, 2), (1, "elements", 2, 10), (0, "receive", 5, 4), (1, "end of sums of 3", 15, 6),
        (1, "start of sums", 30, 2), (1, "elements", 32, 10), (0, "receive", 36, 8), (1, "end of sums of 3", 43, 9),
        (1, "start of sums", 60, 2), (1, "elements", 62, 10), (1, "sums of elements", 73, 2), (0, "receive", 66, 2),
        (1, "end of sums of 3", 78, 6),
    ]  # fmt: skip
    events += [{"ph": "X", "tid": row, "name": name, "ts": ts, "dur": dur} for row, name, ts, dur in spans]
    assert nekbone.exposed(events) == {"cuda:0": [(3, 0, 6), (2, 2, 8), (3, 0, 6)]}


@pytest.mark.parametrize("name", ["axhelm", "nekbone"])
@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--orders", "16"], {"code": "invalid_argument", "option": "orders", "limit": "1 to 15"}),
        (["--orders", "0"], {"code": "invalid_argument", "option": "orders", "limit": "1 to 15"}),
        (["--elements", "0"], {"code": "invalid_argument", "option": "elements", "limit": 1}),
        (["--factors", "none"], {"code": "invalid_argument"}),
    ],
)
def test_what_cannot_be_measured_is_refused(cli: Cli, name: str, words: list[str], fault: dict[str, Any]) -> None:
    result = cli("bench", name, "--backend", "host", "--no-write", *words)
    is_error(result, **fault)


def test_steps_of_a_flow_are_rows_by_case_with_their_iterations(cli: Cli, tmp_path: Path) -> None:
    words = (
        "--backend",
        "host",
        "--devices",
        "2",
        "--orders",
        "3",
        "--elements",
        "2",
        "--warm-up",
        "1",
        "--steps",
        "2",
    )
    result = cli("bench", "sem", *words, "--folder", "out")
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / "sem").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert [row["case"] for row in rows] == ["taylor_green", "vortices"]
    for row in rows:
        assert (row["devices"], row["elements"], row["order"]) == (2, 16, 3)
        assert row["mpoint_steps_per_s"] == pytest.approx(16 * 27 / row["ms_per_step"] / 1e3, rel=1e-3)
        assert row["pressure_iterations"] > 0 and row["efficiency"] > 0


def test_a_march_holds_iterations_and_enstrophy_beside_the_published_one(cli: Cli, tmp_path: Path) -> None:
    found = []
    for devices in ("1", "2"):
        words = ("--backend", "host", "--devices", devices, "--order", "5", "--elements", "4", "--time", "1")
        result = cli("bench", "sem_thesis", *words, "--time-step", "0.05", "--folder", devices)
        assert result.returncode == 0, result.stderr
        (path,) = (tmp_path / devices / "sem_thesis").glob("*.json")
        found.append(json.loads(path.read_text())["rows"])
        assert path.with_suffix(".png").stat().st_size > 5000
    (one, *others), (two, *_) = found
    assert "published" not in one
    assert one["time"] == 1 and abs(one["enstrophy_error"]) < 0.02 and one["pressure_iterations"] > 1
    assert one["enstrophy"] == two["enstrophy"]
    assert [(row["experiment"], row["sums"]) for row in others] == [
        ("sums", "devices"), ("sums", "host"),
        ("orders", "order 5"), ("orders", "order 2"), ("orders", "faces of order 5"), ("orders", "faces of order 2"),
        ("orders", "corners"),
    ]  # fmt: skip
    calls = {row["sums"]: row["calls_per_step"] for row in others[2:]}
    # A multigrid cycle has equally many local solves on orders 5 and 2, and each solve sums values on faces twice.
    assert calls["faces of order 5"] == calls["faces of order 2"] == 8 * calls["corners"]
    assert calls["order 5"] > calls["order 2"] > calls["corners"] > 0
    assert all(0 < row["share"] < 1 and row["us_per_call"] > 0 for row in others[2:])


def test_a_march_has_the_row_of_the_published_figure_and_one_curve_by_devices(tmp_path: Path) -> None:
    assert sem_thesis._times(0.5) == [0.5]
    assert sem_thesis._times(2.2) == [1, 2]
    assert sem_thesis._times(20)[12:17] == [13, 14, 14.4, 15, 16] and len(sem_thesis._times(20)) == 21
    same = {"experiment": "march", "order": 7, "elements": 8, "pressure_iterations": 2.0}
    for name, devices, error in (("one", 1, 0.01), ("two", 2, 0.02)):
        rows = [same | {"devices": devices, "card": "C", "time": t, "enstrophy_error": t * error} for t in (2, 1)]
        # Rows that the curve must ignore: an older one of the same time, one of another mesh and one of another
        # experiment.
        rows = [rows[0] | {"enstrophy_error": 9.0}, rows[0] | {"elements": 27}, *rows, {"experiment": "sums"}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"rows": rows}))
    found = sem_thesis.marches(tmp_path, 7, 8)
    assert {name: [row["enstrophy_error"] for row in rows] for name, rows in found.items()} == {
        "C": [0.01, 0.02],
        "2 x C": [0.02, 0.04],
    }


def test_a_vortex_by_several_methods_is_a_row_a_size_and_a_curve_a_method(cli: Cli, tmp_path: Path) -> None:
    words = ("--sizes", "16", "24", "--time", "0.3", "--solvers", "dns", "lbm", "sem", "--backend", "host")
    result = cli("bench", "vortex", *words, "--folder", "out")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("left out, lbm on") == 2
    (path,) = (tmp_path / "out" / "vortex").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert [(row["points"], row["method"]) for row in rows] == [
        (n, method) for n in (16, 24) for method in ("Fourier modes, f64", "Spectral elements, f64")
    ]
    for row in rows:
        assert row["devices"] == 1 and row["time"] == 0.3 and row["seconds"] > 0
        assert 0 < row["dissipation_error"] < 0.3 and row["steps"] > 0
    assert path.with_suffix(".png").stat().st_size > 5000
    drawn = vortex.series([*reversed(rows), rows[0] | {"time": 9.0}], 1, 0.3)
    for method, (seconds, errors) in drawn.items():
        own = [row for row in rows if row["method"] == method]
        assert seconds == [row["seconds"] for row in own] and errors == [row["dissipation_error"] for row in own]
    assert len(drawn) == 2
