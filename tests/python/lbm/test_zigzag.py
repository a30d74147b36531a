"""Velocities that alternate from cell to cell: a run reports them, and its remedies remove them."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, words
from slipstream.flow.zigzag import Zigzag, measure
from slipstream.lbm import Simulation
from slipstream.lbm.advice import STRIPES_HIGH, against_stripes, of_stripes

Keys = dict[str, Any]

WIND = {"x-": {"kind": "velocity", "velocity": (1, 0, 0)}, "x+": {"kind": "convective"}}
SLIP = {side: {"kind": "slip"} for side in ("y-", "y+", "z-", "z+")}
BALL: Keys = {
    "cells": (48, 24, 24),
    "reynolds": 500,
    "length": 10,
    "boundaries": WIND | SLIP,
    "bodies": {"ball": {"shape": "sphere", "centre": (16, 12, 12), "radius": 5}},
}
ROD: Keys = {
    "cells": (96, 48),
    "reynolds": 600,
    "length": 12,
    "boundaries": WIND | {side: SLIP[side] for side in ("y-", "y+")},
    "bodies": {"rod": {"shape": "cylinder", "centre": (24, 24, 0), "radius": 6}},
}

#: Flows whose velocity oscillates from cell to cell: their keys, number of steps, and how many changes of keys the
#: advice names against it.
STRIPED: dict[str, tuple[Keys, int, int]] = {
    "ball by MRT": (BALL | {"collision": "MRT"}, 300, 2),
    "ball by D3Q27": (BALL | {"collision": "MRT", "lattice": "D3Q27"}, 600, 2),
    "rod by MRT": (ROD | {"collision": "MRT"}, 1200, 1),
    "rod by TRT": (ROD | {"collision": "TRT"}, 1200, 1),
}


def flow_of(keys: Keys, steps: int) -> Simulation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        common = {"reference_velocity": 0.06, "magic": 0.05, "smagorinsky": 0.15, "initial": {"velocity": (1, 0, 0)}}
        flow = Simulation(**(common | {"backend": "host"} | keys))
        flow.run(steps=steps, quiet=True)
    return flow


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.thorough if "D3Q27" in name else ()) for name in STRIPED]
)
def test_what_is_advised_takes_the_stripes_away(name: str) -> None:
    keys, steps, count = STRIPED[name]
    flow = flow_of(keys, steps)
    said = of_stripes(flow.case, flow.zigzag())
    assert said.startswith("stripes: ") and "lost them with lbm." in said
    found = against_stripes(flow.case)
    assert len(found) == count
    for remedy in found:
        other = flow_of(keys | remedy, steps)
        assert other.zigzag().share < 0.2 * STRIPES_HIGH, remedy
        assert of_stripes(other.case, other.zigzag()) == ""


def test_more_cells_are_advised_where_nothing_else_is_left() -> None:
    case = flow_of(BALL | {"representation": "moments", "collision": "recursive"}, 1).case
    assert of_stripes(case, Zigzag(0.1, "v", "y")).endswith("; take more cells")


@pytest.mark.parametrize("share", [STRIPES_HIGH, float("nan")])
def test_nothing_is_said_of_less_or_of_a_fluid_at_rest(share: float) -> None:
    case = flow_of(BALL, 1).case
    assert of_stripes(case, Zigzag(share, "v", "y")) == ""


class Engine:
    def __init__(self, speed: float) -> None:
        self.speed = speed

    def zigzag(self) -> dict[str, Any]:
        return {"amplitude": [[0.1, 0.2, 0.0], [0.0, 0.1, 0.5], [0.3, 0.0, 0.0]], "cells": [1, 1, 1]} | {
            "mean_speed": self.speed
        }


def test_the_largest_is_named_with_its_axis() -> None:
    assert measure(Engine(2.0)) == Zigzag(0.25, "w", "y")
    assert measure(Engine(0.0)).figures() == {"share": None, "of": "w", "along": "y"}


WAVES = """\
[case]
name = "waves"
[grid]
cells = [16, 16, 4]
periodic = [true, true, true]
[physics]
reynolds = 100
reference_velocity = 0.05
[run]
steps = 1
[expected]
zigzag = [0, 0.03]
"""


@pytest.mark.parametrize(("wave", "striped"), [("0.1*cos(pi*(y - 0.5))", True), ("0.1*cos(2*pi*y/Ly)", False)])
def test_run_tells_its_zigzag_and_compares_it(cli: Cli, tmp_path: Path, wave: str, striped: bool) -> None:
    (tmp_path / "waves.toml").write_text(f'{WAVES}[initial]\nvelocity = ["1 + {wave}", 0, 0]\n')
    result = cli("run", "waves.toml", "output.folder=out")
    assert result.returncode == 0, result.stderr
    assert ("warning: stripes: u goes up and down from cell to cell along y, by" in words(result.stdout)) == striped
    run = json.loads((tmp_path / "out/comparison.json").read_text())["run"]
    assert run["zigzag"]["along"] == "y" and (run["zigzag"]["share"] > STRIPES_HIGH) == striped
    assert [entry["met"] for entry in run["expected"]] == [not striped]


def test_ranks_change_no_bit_of_it(cli: Cli, tmp_path: Path) -> None:
    rough = '[initial]\nvelocity = ["1 + 0.1*sin(13*x*x + y*y)", "0.1*sin(7*y*y + x)", "0.1*sin(5*z*z + x*x)"]\n'
    (tmp_path / "waves.toml").write_text(WAVES + rough)
    found = []
    for ranks in ("1", "2", "4"):
        keys = ["exchange.block=[4,4,2]", "machine.backend=host", f"output.folder=on{ranks}"]
        result = cli("run", "waves.toml", "-n", ranks, *keys)
        assert result.returncode == 0, result.stderr
        found.append(json.loads((tmp_path / f"on{ranks}" / "comparison.json").read_text())["run"]["zigzag"])
    assert found[0]["share"] > 0.01 and found == [found[0]] * 3
