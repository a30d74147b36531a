"""`slipstream bench lbm_methods` measures each choice once, relative to TRT on D3Q19."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from errors import is_error
from rich.console import Console
from slipstream_bench import registry
from slipstream_bench.lbm import methods
from slipstream_bench.lbm.methods import Choice, Method
from slipstream_bench.record import Row

CHOICE = Choice("host", 1, 16, "f32")


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    monkeypatch.setattr(methods, "STEPS", {"host": 2})
    monkeypatch.setattr(methods, "REPEATS", 1)
    monkeypatch.setattr(methods, "ROUNDS", {"host": 2})
    words = ["lbm_methods", "--backend", "host", "--threads", "1", "--cells", "16", "--folder", str(tmp_path)]
    methods.run(registry.parse(words), Console(quiet=True))
    (path,) = (tmp_path / "lbm_methods").glob("*.json")
    return json.loads(path.read_text())["rows"]


def test_each_choice_is_measured_once_beside_trt_on_d3q19(rows: list[Row]) -> None:
    found = [(r["box"], r["lattice"], r["collision"], r["eddies"], r["force"]) for r in rows]
    assert found == [(m.box, m.lattice, m.collision, m.eddies, m.force) for m in methods.methods()]
    assert len(set(found)) == len(found)
    base = rows[found.index((methods.EMPTY, "D3Q19", "TRT", False, False))]
    assert base["to_trt_d3q19"] == 1.0
    for row in rows:
        assert row["to_trt_d3q19"] == pytest.approx(row["mlups"] / base["mlups"], rel=1e-3)


def test_all_collisions_are_measured_on_all_lattices_that_have_them() -> None:
    plain = {(m.lattice, m.collision) for m in methods.methods() if not (m.eddies or m.force)}
    assert len(plain) == 10 and ("D3Q27", "cumulant") in plain and ("D3Q19", "cumulant") not in plain


def test_a_square_has_about_as_many_cells_as_the_cube() -> None:
    for side in (64, 256):
        x, y, z = methods.grid(Method("D2Q9"), side)
        assert (x * y, z) == (side**3, 1)


def test_the_ball_takes_its_share_of_the_box_and_cuts_links() -> None:
    case = methods.case_of(CHOICE, Method(box=methods.BALL), 32)
    setup = methods.engine.prepare(case, methods.discovery.discover(case.machine))
    assert methods.running.compiled(setup).fluid_cells() == pytest.approx((1 - methods.SHARE) * 32**3, rel=5e-3)
    assert any(array["array"] == "links of bodies" and array["bytes"] for array in setup.plan["arrays"])


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (
            ["--collision", "SRT"],
            {"code": "invalid_argument", "benchmark": "lbm_methods", "unknown": "--collision SRT"},
        ),
        (["--cells", "16", "32"], {"code": "invalid_argument", "option": "cells"}),
        (["--cells", "4"], {"code": "invalid_argument", "option": "cells", "limit": 8}),
        (["--devices", "2"], {"code": "invalid_argument", "benchmark": "lbm_methods", "unknown": "--devices 2"}),
    ],
)
def test_methods_refuse_what_they_cannot_measure(cli: Cli, words: list[str], fault: dict[str, Any]) -> None:
    result = cli("bench", "lbm", "--backend", "host", "--no-write", "--experiment", "methods", *words)
    is_error(result, **fault)
