"""`slipstream bench copy` and `bench pingpong` on the emulator, with the few small sizes of --quick."""

import json
from pathlib import Path
from typing import Any

import pytest
import slipstream._core as core
from conftest import Cli, command
from errors import is_error
from slipstream_bench import copy, pingpong
from slipstream_bench.timed import timed


def result(folder: Path, name: str) -> dict[str, Any]:
    """The only result file of a benchmark; checks that its picture exists."""
    (path,) = (folder / "bench" / "results" / name).glob("*.json")
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def copy_rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("copies")
    run = command(folder, "bench", "copy", "--quick", "--backend", "host")
    assert run.returncode == 0, run.stderr
    return result(folder, "copy")["rows"]


def test_copy_times_every_way_at_every_size(copy_rows: list[dict[str, Any]]) -> None:
    plain = [row for row in copy_rows if "clock" in row and not {"method", "way"} & row.keys()]
    ways = {*copy.ENGINE, *copy.PAGEABLE, *copy.PEER, *copy.KERNEL, "stores_to_peer"}
    found = {(row["what"], row["bytes"], row["clock"]) for row in plain}
    assert found == {(way, n, clock) for way in ways for n in copy.sizes(True) for clock in ("host", "events")}
    assert all(row["time_us"] > 0 and row["gbs"] > 0 and row["ranks"] == 1 for row in plain)
    assert {row["what"] for row in plain if row["devices"] == 2} == {*copy.PEER, "stores_to_peer"}


def test_copy_counts_both_directions_in_the_rate(copy_rows: list[dict[str, Any]]) -> None:
    for row in copy_rows:
        if "clock" in row and not {"method", "way"} & row.keys():
            moved = row["bytes"] * (2 if row["what"].endswith("both_ways") else 1)
            assert row["gbs"] == pytest.approx(moved / row["time_us"] * 1e-3, rel=1e-3)


def test_copy_times_faces_by_every_method(copy_rows: list[dict[str, Any]]) -> None:
    strided = [row for row in copy_rows if "extent" in row]
    assert {(row["what"], row["method"]) for row in strided} == {
        (what, method)
        for what in ("x face", "y face", "z face", "rows")
        for method in ("copy_box", "pack_and_copy", "zero_copy")
    }
    thin = next(row for row in strided if row["what"] == "x face")
    assert thin["extent"] == [12, 32, 32] and thin["row_pitch"] >= 4 * 38 and thin["row_pitch"] % 32 == 0


def test_copy_times_many_small_pieces_and_copies_beside_work(copy_rows: list[dict[str, Any]]) -> None:
    pieces = [row for row in copy_rows if row["what"] == "pieces"]
    assert {(row["direction"], row["method"]) for row in pieces} == {
        (direction, method)
        for direction in ("device_to_device", "device_to_host", "device_to_peer")
        for method in ("one_by_one", "one_launch")
    }
    assert all(row["bytes"] == row["pieces"] * row["piece_bytes"] and row["time_us"] > 0 for row in pieces)
    beside = [row for row in copy_rows if row["what"] == "beside work"]
    ways = {"host_to_device", "device_to_host", "device_to_device", "device_to_peer", "stores_to_host"}
    assert {(row["way"], row["work"]) for row in beside} == {(a, b) for a in ways for b in ("arithmetic", "memory")}
    for row in beside:
        shorter = min(row["copy_us"], row["work_us"])
        hidden = (row["copy_us"] + row["work_us"] - row["time_us"]) / shorter
        assert row["hidden"] == pytest.approx(hidden, rel=1e-2, abs=1e-2)


def test_copy_states_published_figures_beside_its_own(copy_rows: list[dict[str, Any]]) -> None:
    found = [row for row in copy_rows if row["what"] == "finding"]
    assert {row["source"] for row in found} == {copy.RAVIKUMAR, copy.WAHLGREN}
    assert all(row["here"] and row["published"] for row in found)


def test_copy_refuses_several_ranks(cli: Cli) -> None:
    run = cli("bench", "copy", "-n", "2", "--quick", "--backend", "host")
    is_error(run, "unsupported", ranks=2, limit=1)


@pytest.mark.parametrize("method", ["copy_box", "pack_and_copy", "zero_copy"])
def test_strided_copies_refuse_regions_beyond_their_buffers(method: str) -> None:
    bench = timed().CopyBench("host", 0, -1, 4096, 0.0)
    with pytest.raises(RuntimeError, match="of buffers of 4096"):
        bench.strided(method, "device_to_host", (64, 65, 1), 128, 128 * 65, 0, 1)


def strided_row(method: str, teams: int, width: int, us: float) -> dict[str, Any]:
    return {"what": "rows", "direction": "device_to_host", "method": method, "teams": teams, "clock": "events",
            "extent": [width, 1, 1], "time_us": us}  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "width"),
    [([9, 9, 9], None), ([1, 1, 1], 16), ([9, 9, 1], 4096), ([1, 9, 1], 4096), ([9, 1, 1], 256)],
)
def test_crossover_is_where_the_copy_engine_wins_for_good(engine: list[float], width: int | None) -> None:
    few = copy.FEW_TEAMS
    rows = [strided_row("copy_box", 0, 16 ** (n + 1), us) for n, us in enumerate(engine)]
    rows += [strided_row("zero_copy", few, 16 ** (n + 1), 5) for n in range(3)]
    assert copy.crossover(rows, "device_to_host") == width


def test_pingpong_of_one_rank_measures_every_route_of_its_pairs(cli: Cli, tmp_path: Path) -> None:
    run = cli("bench", "pingpong", "--quick", "--backend", "host")
    assert run.returncode == 0, run.stderr
    rows = result(tmp_path, "pingpong")["rows"]
    ways = {(row["pair"], row["name"]) for row in rows}
    assert ways >= {("one device", "kernel"), ("one node", "direct"), ("one node", "peer"), ("one node", "staged")}
    assert {row["name"] for row in rows} <= {route["name"] for route in core.routes("host")}
    for pair, name in ways:
        timed = {(row["bytes"], row["clock"]) for row in rows if (row["pair"], row["name"]) == (pair, name)}
        assert timed == {(n, clock) for n in pingpong.sizes(True) for clock in ("host", "events")}
    assert "one node: no kernel: the blocks lie on different devices" in " ".join(run.stdout.split())


def test_pingpong_of_two_ranks_adds_mpi_under_its_label(cli: Cli, tmp_path: Path) -> None:
    for label in ("first", "second"):
        run = cli("bench", "pingpong", "-n", "2", "--quick", "--backend", "host", "--label", label)
        assert run.returncode == 0, run.stderr
    rows = result(tmp_path, "pingpong")["rows"]
    mpi = [row for row in rows if row["path"] == "mpi"]
    assert {(row["bytes"], row["pml"]) for row in mpi} == {
        (n, label) for n in pingpong.sizes(True) for label in ("first", "second")
    }
    assert all(row["mpi"] == core.build_info()["mpi"] and row["memory"] == "host" and row["time_us"] > 0 for row in mpi)
    assert ("one node", "colocated") in {(row["pair"], row["name"]) for row in rows}


def test_a_throttled_pingpong_has_a_row_of_its_rate_and_latency(cli: Cli, tmp_path: Path) -> None:
    run = cli("bench", "pingpong", "--quick", "--backend", "host", "--throttle", "0.5 GB/s, 300 us")
    assert run.returncode == 0, run.stderr
    rows = result(tmp_path, "pingpong")["rows"]
    kept = [row for row in rows if row["path"] == "throttle"]
    slowed = [(pair, name) for pair in ("one device", "one node") for name in ("gpu_mpi", "staged")]
    assert sorted((row["pair"], row["name"]) for row in kept) == slowed
    assert {(row["pair"], row["name"]) for row in rows} == set(slowed), "routes that no throttle slows are left out"
    times = {(row["pair"], row["name"], row["bytes"]): row["time_us"] for row in rows if row.get("clock") == "host"}
    for row in kept:
        assert (row["given_gbs"], row["given_us"], row["throttle"]) == (0.5, 300, "0.5 GB/s, 300 us")
        # Throttled messages must not arrive early.
        assert row["latency_us"] > 299
        assert times[row["pair"], row["name"], 1 << 18] > 300 + (1 << 18) / 500
    assert "what messages show of the throttle" in run.stdout


def test_pingpong_refuses_device_buffers_on_the_emulator(cli: Cli) -> None:
    run = cli("bench", "pingpong", "-n", "2", "--quick", "--backend", "host", "--device-buffers")
    is_error(run, "unsupported", option="device_buffers", other="backend")


def test_pingpong_refuses_device_buffers_of_one_rank(cli: Cli) -> None:
    run = cli("bench", "pingpong", "--quick", "--backend", "host", "--device-buffers")
    is_error(run, "unsupported", option="device_buffers", limit=2)


def test_bands_hold_the_sizes_at_which_device_buffers_lose() -> None:
    device = {8: 1.0, 16: 3.0, 32: 3.0, 64: 1.0, 128: 3.0}
    host = dict.fromkeys(device, 2.0)
    assert pingpong.losing_bands(device, host) == [(16, 32), (128, 128)]
    assert pingpong.bands_text([(16, 32), (2048, 4096)]) == "16 B to 32 B, 2 KiB to 4 KiB"
    assert pingpong.bands_text([]) == "at no size"


def test_findings_name_the_band_of_each_pair() -> None:
    def row(memory: str, count: int, us: float) -> dict[str, Any]:
        return {"path": "mpi", "memory": memory, "pair": "one node", "bytes": count, "time_us": us, "ranks": 2,
                "backend": "cuda", "mpi": "an MPI", "pml": "ob1"}  # fmt: skip

    times = {"device": (40.0, 20.0), "host": (5.0, 50.0), "staged": (60.0, 70.0)}
    rows = [row(memory, n, us) for memory, pair in times.items() for n, us in zip((8192, 1 << 18), pair, strict=True)]
    assert [found["here"] for found in pingpong.findings(rows)] == ["8 KiB to 8 KiB", "at no size", "2"]


def test_a_benchmark_refuses_options_of_another(cli: Cli) -> None:
    run = cli("bench", "cavity", "--device-buffers")
    is_error(run, "invalid_argument", benchmark="cavity", unknown="--device-buffers")
