"""Warnings of `check` and `run`, openings that do not balance, and the criterion for steady flow."""

from typing import Any

import pytest
from conftest import CASES
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.case.reader import Source, load, parse
from slipstream.flow import energy, steadiness
from slipstream.lbm import cautions
from slipstream.lbm.case import LbmCase
from slipstream.lbm.running import LbmRun
from slipstream.run.march import march

INLET = {"kind": "velocity", "velocity": ["4*y*(Ly-y)/Ly^2", 0, 0]}


def flow(**tables: Any) -> LbmCase:
    """A 2-D channel at rest; the reference velocity is 0.1 and the length 4 cells."""
    data = {"grid": {"cells": [4, 32, 1]}, "lbm": {"lattice": "D2Q9"}, "run": {"steps": 100}}
    return parse(data | {"physics": {"viscosity": 0.1}} | tables, Source("test"))


def channel(**sides: Any) -> LbmCase:
    return flow(boundaries={side.replace("_low", "-").replace("_high", "+"): kind for side, kind in sides.items()})


def forced(**keys: Any) -> LbmCase:
    physics = {"viscosity": 0.1, "force": [1e-6, 0, 0], **keys}
    grid = {"cells": [4, 32, 1], "periodic": [True, False, False]}
    return flow(grid=grid, physics=physics, run={"residual": 1e-3, "time_units": 2000})


#: Share of the fluid that flows in or out per length / reference velocity.
CHANGE = "67 %"


@pytest.mark.parametrize(
    ("sides", "facts"),
    [
        ({"x_low": INLET}, {"key": "boundaries.x-", "sides": "x-", "way": "in", "change": CHANGE}),
        ({"x_high": INLET}, {"key": "boundaries.x+", "sides": "x+", "way": "out", "change": CHANGE}),
        ({"x_low": INLET, "x_high": {"kind": "slip"}}, {"key": "boundaries.x-", "way": "in"}),
        (
            {"x_low": INLET, "x_high": {"kind": "velocity", "velocity": [0.5, 0, 0]}},
            {"key": "boundaries.x-", "way": "in"},
        ),
    ],
)
def test_box_that_fills_up_is_refused(sides: dict[str, Any], facts: dict[str, str]) -> None:
    with raises(CaseError, "unsupported", **facts):
        channel(**sides)


@pytest.mark.parametrize(
    "sides",
    [
        {"x_low": INLET, "x_high": INLET},
        {"x_low": INLET, "x_high": {"kind": "pressure"}},
        {"x_low": INLET, "x_high": {"kind": "convective"}},
        {"y_low": {"kind": "velocity", "velocity": [1, 0, 0]}},
    ],
)
def test_box_whose_sides_balance_or_give_way_is_good(sides: dict[str, Any]) -> None:
    channel(**sides)


def test_pressure_that_nothing_holds_is_warned_of_where_the_flow_starts_at_rest() -> None:
    def warned(case: LbmCase) -> bool:
        return any("relaxation = 0 leaves the pressure free" in text for text in cautions.warnings(case))

    away = {"kind": "convective", "relaxation": 0}
    assert not warned(channel(x_low=INLET, x_high={"kind": "convective"}))
    assert warned(channel(x_low=INLET, x_high=away))
    assert not warned(channel(x_low=INLET, x_high={"kind": "pressure"}))
    assert not warned(channel(x_low=INLET, x_high=away, y_high={"kind": "pressure"}))
    initial = {"velocity": [1, 0, 0]}
    assert not warned(flow(boundaries={"x-": INLET, "x+": away}, initial=initial))


@pytest.mark.parametrize(
    ("collision", "magic", "said"),
    [
        ("TRT", 0.1875, "lbm.magic = 0.05 held, or take more cells"),
        ("TRT", 0.05, ""),
        ("SRT", 0.05, "; take more cells, or more viscosity"),
        ("regularised", 0.1875, "; take more cells, or more viscosity"),
        ("recursive", 0.05, "; take more cells, or more viscosity"),
    ],
)
def test_caution_beside_a_coarse_inlet_names_the_magic_number_where_it_counts(
    collision: str, magic: float, said: str
) -> None:
    moments = collision in ("regularised", "recursive")
    method = {"representation": "moments" if moments else "populations", "collision": collision, "magic": magic}
    inlet, outlet = {"kind": "velocity", "velocity": [1, 0, 0]}, {"kind": "pressure"}
    case = flow(
        grid={"cells": [8, 8, 8]}, lbm=method, physics={"viscosity": 0.004}, boundaries={"x-": inlet, "x+": outlet}
    )
    found = [text for text in cautions.warnings(case) if "the inlet may become unstable" in text]
    assert [said in text for text in found] == ([True] if said else [])
    assert moments is False or "magic" not in found[0]


@pytest.mark.parametrize(
    ("sides", "share", "said"),
    [
        ({"x_low": INLET, "x_high": {"kind": "convective"}}, 0.13, 'changed by +13 %.*take kind = "pressure" there'),
        ({"x_low": INLET, "x_high": {"kind": "convective"}}, 0.009, ""),
        ({"x_low": INLET, "x_high": INLET}, -0.02, 'changed by -2 %.*make one of them kind = "pressure"'),
        ({"x_low": INLET, "x_high": {"kind": "pressure"}}, 0.02, "a smaller physics.reference_velocity"),
        ({"x_low": {"kind": "pressure", "density": 1.1}, "x_high": {"kind": "pressure"}}, 0.05, ""),
        ({}, 0.02, 'no side lets fluid in or out, so rounding in f32 did it; take lbm.precision = "f64"'),
    ],
)
def test_mass_that_drifts_is_told_with_a_remedy(sides: dict[str, Any], share: float, said: str) -> None:
    found = cautions.drift(channel(**sides), share)
    assert bool(found) == bool(said)
    for part in said.split(".*"):
        assert part in found


@pytest.mark.parametrize("precision", ["f16", "f32", "f64"])
def test_remedy_for_a_mass_that_drifts_in_a_closed_box_is_never_what_the_case_has(precision: str) -> None:
    found = cautions.drift(flow(lbm={"lattice": "D2Q9", "precision": precision}), 0.02)
    assert ('take lbm.precision = "f64"' in found) == (precision != "f64")
    assert ("f64 rounds far less" in found) == (precision == "f64")


def test_mass_that_a_moving_wall_makes_at_a_body_is_told_as_such() -> None:
    pillar = {"shape": "cylinder", "centre": [2, 30, 0], "radius": 1.9}
    case = flow(
        lbm={"lattice": "D2Q9", "precision": "f64"}, walls={"y+": {"velocity": [1, 0, 0]}}, bodies={"pillar": pillar}
    )
    assert "a body fills the edge at which a moving wall ends" in cautions.drift(case, 0.02)


class Still:
    """Imitates a solver whose fluid accelerates from rest, as by a force, to 1e-3 cells per step."""

    def __init__(self) -> None:
        self.step = self._seen = 0

    def speed(self, step: int) -> float:
        return 1e-3 * (1.0 - 0.999**step)

    def advance(self, steps: int) -> None:
        self.step += steps

    def residual(self) -> float:
        change, self._seen = self.speed(self.step) - self.speed(self._seen), self.step
        return change

    def energy(self) -> tuple[float, float]:
        return 0.5 * 128 * self.speed(self.step) ** 2, 0.0

    def fluid_cells(self) -> int:
        return 128


def test_slow_flow_is_not_steady_at_the_first_look() -> None:
    solver, case = Still(), forced()
    outcome = march(LbmRun(solver, case), case, case.last_step, 72, lambda progress: None)
    # Relative to the reference velocity the flow would be steady after 40 steps, at 4 % of its final velocity.
    assert outcome.steady and solver.speed(outcome.steps) > 0.96e-3


@pytest.mark.parametrize(
    ("case", "own"),
    [
        (forced(), True),
        (channel(x_low={"kind": "pressure", "density": 1.01}, x_high={"kind": "pressure"}), True),
        (channel(x_low=INLET, x_high={"kind": "pressure"}), False),
        (flow(walls={"y+": {"velocity": [1, 0, 0]}}), False),
        (flow(walls={"y+": {"velocity": [1e-4, 0, 0]}}), True),
        (flow(initial={"velocity": [1, 0, 0]}), False),
    ],
    ids=["force", "pressure", "inlet", "lid", "slow lid", "decay"],
)
def test_changes_are_taken_over_the_speed_of_the_flow_where_no_side_moves_at_the_reference_velocity(
    case: LbmCase, own: bool
) -> None:
    solver = Still()
    solver.advance(100000)
    assert steadiness.scale(solver, case) == pytest.approx(1e-3 if own else 0.1)


def test_force_whose_changes_are_below_the_residual_is_warned_of_with_a_reference_velocity() -> None:
    (text,) = (text for text in cautions.warnings(forced()) if "less than run.residual = 0.001" in text)
    assert (
        "by 0.0004 reference velocities" in text
        and "a physics.reference_velocity of 0.00128, that of a laminar flow" in text
    )
    assert not any("less than run.residual" in text for text in cautions.warnings(forced(reference_velocity=0.00128)))


def test_interval_shorter_than_a_step_is_warned_of() -> None:
    (text,) = cautions.warnings(flow(output={"every": 0.01}))
    assert text == "output.every = 0.01 is shorter than a step of 0.025: every step writes fields"


def test_published_decay_of_another_reynolds_number_is_not_compared_with() -> None:
    def warned(case: LbmCase) -> bool:
        return any("nothing is compared with it" in text for text in cautions.warnings(case))

    same, other = load(CASES / "taylor_green.toml"), load(CASES / "taylor_green.toml", ["physics.reynolds=800"])
    assert energy.reference_for(same) is not None and not warned(same)
    assert energy.reference_for(other) is None and warned(other)
    assert not warned(load(CASES / "taylor_green.toml", ["physics.reynolds=800", "output.reference=none"]))
