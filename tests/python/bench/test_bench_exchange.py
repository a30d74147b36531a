"""`slipstream bench exchange` on the emulator, and its references."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from errors import is_error, raises
from rich.console import Console
from slipstream.base.errors import CaseError
from slipstream_bench import exchange_setups, exchange_tables, record, registry
from slipstream_bench.exchange import FIGURES, Choice
from slipstream_bench.exchange_setups import QUICK, SCALES, Setup

Row = dict[str, Any]
QUICK_WORDS = ("bench", "exchange", "--quick", "--backend", "host", "--folder", "out")


def rows_of(folder: Path) -> list[Row]:
    (path,) = (folder / "out" / "exchange").glob("*.json")
    return json.loads(path.read_text())["rows"]


def configurations(rows: list[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["base"], row["rung"]) for row in rows if row["part"] == "ladder"))


def test_one_rank_measures_every_part(here: Cli, tmp_path: Path) -> None:
    result = here(*QUICK_WORDS, "--devices", "4")
    assert result.returncode == 0, result.stderr
    rows = rows_of(tmp_path)
    timed = [row for row in rows if "clock" in row]
    assert {row["part"] for row in rows} == {*exchange_setups.PARTS, "finding"}
    assert all(row["time_us"] > 0 and row["ranks"] == 1 and row["share"] > 0 for row in timed)
    assert all((row["copy_gbs"] is not None) == (row["devices"] == 1) for row in timed)
    assert {(row["devices"], row["scaling"]) for row in timed if row["part"] == "scaling"} == {
        (devices, scaling) for devices in (1, 2, 4) for scaling in ("weak", "strong")
    }
    for rung in ("alone", "+ peer", "+ kernel", "+ direct"):
        assert ("staged", rung) in configurations(rows)
    schemes = {row["scheme"]: (row["base"], row["pack"], row["sync"]) for row in timed if row["part"] == "schemes"}
    assert schemes["GPUPackInfo"] == ("staged", "memcpy3d", True)
    assert schemes["asynchronous GPUPackInfo"] == ("staged", "per_direction", False)
    assert len(list((tmp_path / "out" / "exchange").glob("*.png"))) == 3


def test_rungs_whose_own_route_moves_nothing_are_left_out_with_the_reason(here: Cli, tmp_path: Path) -> None:
    result = here(*QUICK_WORDS, "--devices", "2", "--part", "ladder")
    assert result.returncode == 0, result.stderr
    # The route colocated needs two processes, but there is one.
    said = " ".join(result.stdout.split())
    assert "refused: staged + colocated: no message travels by colocated here" in said
    assert ("staged", "+ colocated") not in configurations(rows_of(tmp_path))


def test_bytes_over_links_are_those_of_the_halo(here: Cli, tmp_path: Path) -> None:
    assert here(*QUICK_WORDS, "--devices", "4", "--part", "must").returncode == 0
    (row,) = [r for r in rows_of(tmp_path) if r["routes"] == "all" and r["clock"] == "events" and r["cells"][0] == 16
              and r["cells"][2] == 8]  # fmt: skip
    # Bytes of all ghosts of 8^3 cells, except those that a block fills from itself: above and below its own cells.
    around = 4 * 4 * ((8 + 6) ** 3 - 8 * 8 * (8 + 6))
    # Tolerance, because the exchange plan rounds each copied piece of a message up to whole words of 4 to 16 bytes.
    assert row["link_mb"] == pytest.approx(around / 1e6, rel=0.01)
    assert row["travels_by"] == "kernel+direct" and row["replayed"]
    assert row["warm_setup_s"] > 0 and row["begin_us"] > 0
    assert row["share"] == pytest.approx(row["least_us"] / row["time_us"], rel=1e-3)


def test_rows_replace_like_ones_that_hold_other_figures(tmp_path: Path) -> None:
    for figure in ("setup_s", "warm_setup_s"):
        path = record.write(tmp_path, "exchange", {"name": "M"}, "abc", [{"part": "must", figure: 0.1}], FIGURES)
    (row,) = json.loads(path.read_text())["rows"]
    assert row["warm_setup_s"] == 0.1


def test_layouts_stand_beside_one_another_and_the_fastest_is_drawn(here: Cli, tmp_path: Path) -> None:
    for layout in ("soa", "soa_z", "aos", "auto"):
        assert here(*QUICK_WORDS, "--devices", "4", "--part", "must", "--layout", layout).returncode == 0
    rows = [row for row in rows_of(tmp_path) if row["routes"] == "all" and row["clock"] == "events"]
    # On emulated devices the layout `auto` is soa (one array per component), so it adds no result of its own.
    traffic = {(tuple(row["cells"]), row["layout"]): row["link_mb"] for row in rows}
    sizes = {cells for cells, _ in traffic}
    assert len(traffic) == len(rows) == 3 * len(sizes)
    # Links carry equal bytes, whether each quantity has a field of its own or is a component of one common field.
    for cells in sizes:
        assert traffic[cells, "soa_z"] == traffic[cells, "soa"] > 0
        # Tolerance for pieces that are rounded up to whole words of a copy; a corner of four fields is rounded four
        # times.
        assert traffic[cells, "aos"] == pytest.approx(traffic[cells, "soa"], rel=0.01)
    drawn = exchange_tables._bars(rows, exchange_tables._whos(rows)[0])
    least = min((row for row in rows if row["cells"] == rows[0]["cells"]), key=lambda row: row["time_us"])
    name = f"{exchange_tables._size(least)} {least['layout']}"
    assert drawn[name]["events"]["time_us"] == least["time_us"] and len(drawn) == len(sizes)


def test_sizes_are_drawn_by_their_number_of_cells() -> None:
    sizes = {"512^3": ([1024, 512, 512], [512] * 3), "945^3 in all": ([945] * 3, [473, 945, 945])}
    rows = [
        {"ranks": 2, "devices": 2, "cells": cells, "cells_per_device": share, "layout": "soa", "clock": "events"}
        | {"time_us": 1.0}
        for cells, share in reversed(sizes.values())
    ]
    assert list(exchange_tables._bars(rows, exchange_tables._whos(rows)[0])) == [f"{size} soa" for size in sizes]


def test_ranks_say_when_one_device_is_missing_beside_them(cli: Cli, tmp_path: Path) -> None:
    result = cli(*QUICK_WORDS, "-n", "2", "--part", "scaling")
    assert result.returncode == 0, result.stderr
    assert "scaling is relative to one device: measure it first" in result.stdout
    assert {(row["ranks"], row["devices"]) for row in rows_of(tmp_path)} == {(2, 2)}


def test_labels_are_the_papers(cli: Cli, tmp_path: Path) -> None:
    result = cli(*QUICK_WORDS, "-n", "2", "--devices", "2", "--part", "ladder")
    assert result.returncode == 0, result.stderr
    labels = {row["label"] for row in rows_of(tmp_path) if row["part"] == "ladder"}
    assert labels >= {"1n/2r/4g/13", "1n/2r/4g/16"}
    assert exchange_setups.label(256, 1536, 1536, 8653, True) == "256n/6r/6g/8653/ca"


def test_a_route_that_serves_no_pair_is_refused_with_its_reason(here: Cli) -> None:
    result = here(*QUICK_WORDS, "--part", "must", "--routes=kernel", "--no-write")
    assert result.returncode == 0, result.stderr
    assert "refused: kernel: kernel: the blocks lie on different devices" in result.stdout


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--routes=+smoke",), {"code": "not_found", "option": "routes", "unknown": "smoke"}),
        (("--routes=+direct,staged",), {"code": "invalid_argument", "option": "routes"}),
        (("--sizes", "2"), {"code": "invalid_argument", "option": "sizes", "limit": 3}),
        (("--radius", "0"), {"code": "invalid_argument", "option": "radius", "limit": 1}),
        (("--cells", "8"), {"code": "invalid_argument", "benchmark": "exchange", "unknown": "--cells 8"}),
    ],
)
def test_what_cannot_be_measured_is_said(here: Cli, words: tuple[str, ...], fault: dict[str, Any]) -> None:
    result = here(*QUICK_WORDS, *words)
    is_error(result, **fault)


def test_routes_that_cannot_be_used_are_refused_before_their_rows(here: Cli) -> None:
    result = here(*QUICK_WORDS, "--part", "schemes", "--backend", "host")
    assert result.returncode == 0, result.stderr
    for name in ("nccl", "nvshmem"):
        assert f"refused: {name}: it joins GPUs, and these are devices of the host backend" in result.stdout
    result = here(*QUICK_WORDS, "--routes", "+nccl", "--backend", "host")
    is_error(result, "unavailable", option="routes", missing="nccl")


def test_routes_are_chosen_by_signs_or_by_name() -> None:
    here = ("kernel", "direct", "staged")
    assert exchange_setups.parse_routes("", here) == here
    assert exchange_setups.parse_routes("+direct,-staged", here) == ("kernel", "direct")
    assert exchange_setups.parse_routes("staged,kernel", here) == ("kernel", "staged")
    with raises(CaseError, "unavailable", missing="nccl"):
        exchange_setups.parse_routes("+nccl", here)
    with raises(CaseError, "invalid_argument", option="routes"):
        exchange_setups.parse_routes("-kernel,-direct,-staged", here)


@pytest.mark.parametrize(("devices", "grid"), [(1, (1, 1, 1)), (2, (2, 1, 1)), (4, (2, 2, 1)), (6, (3, 2, 1))])
def test_devices_lie_along_the_first_axes(devices: int, grid: tuple[int, int, int]) -> None:
    assert exchange_setups.device_grid(devices) == grid


def goals(grid: tuple[int, int, int], ranks: int, clock: str) -> Iterator[float | None]:
    for setup in exchange_setups.must(SCALES["cuda"], grid, ("direct", "staged"), "all"):
        yield exchange_setups.at_most_us(setup, ranks, clock)


def test_times_to_be_reached_are_those_of_the_configuration() -> None:
    assert list(goals((2, 2, 1), 4, "events")) == [12, 20, 60, 185, 510, None]
    assert list(goals((2, 2, 1), 4, "host")) == [25, 35, 75, 200, 530, 5000]
    assert list(goals((2, 2, 1), 1, "events")) == pytest.approx([15.6, 26, 78, 240.5, 663, None], nan_ok=True)
    assert list(goals((1, 1, 1), 1, "events")) == [None, None, None, 100, None, None]
    assert list(goals((2, 1, 1), 2, "host")) == [None] * 6


def test_the_other_library_is_compared_at_the_same_number_of_ranks() -> None:
    setups = [*exchange_setups.must(SCALES["cuda"], (2, 2, 1), ("direct", "staged"), "all")]
    assert [exchange_setups.stencil_us(setup, 4, "host") for setup in setups] == [119, 133, 298, 921, 2472, 21661]
    assert [exchange_setups.stencil_us(setup, 1, "host") for setup in setups] == [205, None, 353, None, None, None]
    assert all(exchange_setups.stencil_us(setup, 4, "events") is None for setup in setups)


def test_a_cube_of_512_over_four_devices_is_not_512_each() -> None:
    strong = Setup("scaling", (512, 512, 512), (2, 2, 1), ("direct",))
    assert exchange_setups.size_name(strong.cells, strong.grid) is None
    assert exchange_setups.cube_of(750, 4) == (1191, 1191, 1191)


def test_each_rung_adds_one_route() -> None:
    for base in exchange_setups.BASES:
        routes = [routes for name, _, routes in exchange_setups.ladders(exchange_setups.ROUTES) if name == base]
        assert routes[0] == (base,) and routes[-1] == (base, "colocated", "peer", "kernel", "direct")
        assert [len(rung) for rung in routes] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("grid", [(1, 1, 1), (2, 2, 1)])
def test_sizes_asked_for_are_measured_once(grid: tuple[int, int, int]) -> None:
    scale = record.chosen(Choice, registry.parse(["exchange", "--sizes", "256", "64"])).scale("cuda")
    devices = math.prod(grid)
    for setups in exchange_setups.ladder(scale, grid, 1, devices, ("staged", "kernel")):
        assert [setup.cells for setup in setups] == [exchange_setups.cube_of(side, devices) for side in (64, 256)]
    cells = [setup.cells for setup in exchange_setups.must(scale, grid, ("kernel",), "all")]
    assert len(cells) == len(set(cells))


def scaling_row(devices: int, us: float, least: float) -> Row:
    return {"ranks": 1, "devices": devices, "backend": "cuda", "part": "scaling", "scaling": "weak", "routes": "all",
            "cells": [512 * devices, 512, 512], "cells_per_device": [512] * 3, "quantities": 4, "radius": 3,
            "clock": "events", "time_us": us, "link_mb": 25.0, "link_gbs": 390.0, "least_us": least}  # fmt: skip


def test_findings_put_more_time_beside_what_the_links_bytes_need() -> None:
    earlier, rows = [scaling_row(1, 100.0, 0.0), scaling_row(4, 150.0, 90.0)], [scaling_row(2, 140.0, 64.0)]
    (found,) = exchange_tables.findings(rows, earlier + rows)
    assert found["question"] == "2 devices over 1, 512^3 each, events clock: more time"
    assert found["published"] == "at most 64 us, 25 MB over a link" and found["here"] == "+40 us"


def test_one_device_measured_again_renews_the_findings_beside_it() -> None:
    earlier, rows = [scaling_row(2, 140.0, 64.0), scaling_row(4, 150.0, 90.0)], [scaling_row(1, 100.0, 0.0)]
    found = exchange_tables.findings(rows, earlier + rows)
    assert [(row["devices"], row["here"]) for row in found] == [(2, "+40 us"), (4, "+50 us")]


def test_of_one_devices_layouts_the_fastest_is_compared_with() -> None:
    rows = [scaling_row(1, us, 0.0) | {"layout": layout} for layout, us in (("soa_z", 120.0), ("soa", 100.0))]
    several = scaling_row(2, 140.0, 64.0) | {"layout": "soa_z"}
    assert exchange_tables._alone([*rows, several], several) is rows[1]


def test_scaling_says_what_the_links_do_not_explain(capsys: pytest.CaptureFixture[str]) -> None:
    earlier, rows = [scaling_row(1, 100.0, 0.0)], [scaling_row(2, 180.0, 64.0)]
    exchange_tables.show(Console(width=140), "a box", rows, earlier + rows)
    (line,) = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("512^3")]
    assert line == ["512^3", "1/2", "events", "100", "180", "+80", "25", "390", "64", "16"]


def test_findings_put_gains_beside_the_papers() -> None:
    rows = [
        {"ranks": 4, "devices": 4, "backend": "cuda", "part": "ladder", "label": "1n/4r/4g/1191", "base": "staged",
         "rung": rung, "cells": [1191] * 3, "cells_per_device": [596, 596, 1191], "time_us": us}
        for rung, us in (("alone", 60.0), ("+ kernel", 12.0), ("+ direct", 4.0))
    ]  # fmt: skip
    found = exchange_tables.findings(rows, rows)
    assert [(row["published"], row["here"]) for row in found] == [
        ("6x, 6 ranks on 6 V100", "5x"),
        ("-", "15x"),
        ("1.16x, 256 nodes of 6 V100", "one node here"),
    ]


def test_findings_put_schemes_beside_the_thesis() -> None:
    rows = [
        {"ranks": 4, "devices": 4, "backend": "cuda", "part": "schemes", "base": "staged", "scheme": scheme,
         "cells": [512, 512, 256], "cells_per_device": [256] * 3, "time_us": us}
        for scheme, us in zip(exchange_setups.SCHEMES, (300.0, 200.0, 400.0), strict=True)
    ]  # fmt: skip
    here = [row["here"] for row in exchange_tables.findings(rows, rows)]
    assert here == ["+50 % at 256^3, the most", "-25 % at 256^3, the most"]


def test_quick_sizes_can_be_cut_for_any_number_of_devices() -> None:
    for devices in (1, 2, 4):
        grid = exchange_setups.device_grid(devices)
        setups = [*exchange_setups.must(QUICK, grid, ("staged",), "all"), *exchange_setups.scaling(QUICK, grid, (), "")]
        assert all(min(setup.largest_block) >= 3 for setup in setups)
