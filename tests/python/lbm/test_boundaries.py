"""Sides and bodies of a case: known flows and mistakes."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import slipstream._core  # noqa: F401
from conftest import CASES, Cli
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.case.reader import load
from slipstream.flow import loads
from slipstream.geometry import bodies
from slipstream.lbm import Simulation, running
from slipstream.machine import discovery
from slipstream.run import engine

PARABOLA = "6*y*(Ly-y)/Ly^2"
PILLAR = {"shape": "cylinder", "centre": (6, 6, 0), "radius": 2, "area": 4}


def channel(**keys: object) -> Simulation:
    """A 2-D channel from a parabolic inlet to a pressure outlet, 12 cells high."""
    return Simulation(
        cells=(30, 12),
        reynolds=2,
        length=12,
        reference_velocity=0.005,
        walls={},
        boundaries={"x-": {"kind": "velocity", "velocity": (PARABOLA, 0, 0)}, "x+": {"kind": "pressure"}},
        precision="f64",
        backend="host",
        **keys,
    )


def test_expression_at_an_inlet_becomes_poiseuille_flow() -> None:
    flow = channel()
    flow.run(steps=4000, quiet=True)
    velocity = flow.velocity
    assert velocity is not None
    y = (np.arange(12) + 0.5) / 12
    np.testing.assert_allclose(velocity[0, :, 20, 0] / 0.005, 6 * y * (1 - y), atol=0.015)


def test_walls_of_the_channel_bear_its_pressure_drop() -> None:
    flow = channel()
    flow.run(steps=4000, quiet=True)
    loads = flow.loads()
    shear = flow.case.scales.viscosity * 6 * 0.005 / 12 * 30
    for side in ("y-", "y+"):
        assert loads[side]["force"][0] == pytest.approx(shear, rel=0.05)


def ball(path: Path) -> dict[str, object]:
    """Writes a sphere of radius 3 to a file, in other units and at another position than in the case."""
    angles = [
        (a, b) for a in np.linspace(0, math.pi, 41)[1:-1] for b in np.linspace(0, 2 * math.pi, 80, endpoint=False)
    ]
    lines = ["v 0 0 30", "v 0 0 -30"]
    lines += [
        f"v {30 * math.sin(a) * math.cos(b)} {30 * math.sin(a) * math.sin(b)} {30 * math.cos(a)}" for a, b in angles
    ]
    ring = [[3 + 80 * r + n for n in range(80)] for r in range(39)]
    for n in range(80):
        m = (n + 1) % 80
        lines.append(f"f 1 {ring[0][n]} {ring[0][m]}")
        lines.append(f"f 2 {ring[-1][m]} {ring[-1][n]}")
        lines += [f"f {ring[r][n]} {ring[r + 1][n]} {ring[r + 1][m]} {ring[r][m]}" for r in range(38)]
    path.write_text("\n".join(lines))
    return {"mesh": str(path), "scale": 0.1, "translate": (8.0, 7.0, 7.0), "area": math.pi * 9}


def flow_past(body: dict[str, object]) -> Simulation:
    flow = Simulation(
        cells=(20, 14, 14),
        reynolds=1,
        length=6,
        reference_velocity=0.03,
        walls={},
        boundaries={
            "x-": {"kind": "velocity", "velocity": (1, 0, 0)},
            "x+": {"kind": "pressure"},
            **{side: {"kind": "slip"} for side in ("y-", "y+", "z-", "z+")},
        },
        bodies={"ball": body},
        backend="host",
    )
    # Many steps, because sound waves between inlet and outlet decay slowly.
    flow.run(steps=8000, quiet=True)
    return flow


def test_a_mesh_and_the_shape_it_stands_for_bear_the_same_drag(tmp_path: Path) -> None:
    drag = []
    shape = {"shape": "sphere", "centre": (8.0, 7.0, 7.0), "radius": 3.0, "area": math.pi * 9}
    for body in (shape, ball(tmp_path / "ball.obj")):
        x, y, z = flow_past(body).loads()["ball"]["coefficient"]
        drag.append(x)
        assert abs(y) < 1e-3 * x
        assert abs(z) < 1e-3 * x
    assert drag[1] == pytest.approx(drag[0], rel=0.01)


def test_moment_about_a_point_is_that_about_the_corner_less_that_of_the_force_there() -> None:
    centre, area = (8.0, 7.0, 7.0), math.pi * 9
    flow = flow_past({"shape": "sphere", "centre": centre, "radius": 3.0, "area": area, "about": [0.0, 3.0, 7.0]})
    ball = flow.loads()["ball"]
    drag = ball["force"][0]
    # The force acts along x through the centre, 4 cells above the reference point.
    assert ball["moment"] == pytest.approx([0.0, 0.0, -4 * drag], abs=0.01 * drag)
    push = 0.5 * 0.03**2 * area
    assert ball["moment_coefficient"] == pytest.approx([part / (push * 6) for part in ball["moment"]])
    assert flow.loads(about=centre)["ball"]["moment"] == pytest.approx([0.0] * 3, abs=0.01 * drag)
    for name, about_corner in flow.loads(about=(0, 0, 0)).items():
        found = flow.loads(about=(1, -2, 5))[name]
        shift = np.cross((1, -2, 5), about_corner["force"])
        np.testing.assert_allclose(found["moment"], np.array(about_corner["moment"]) - shift, rtol=1e-12, atol=1e-15)


def test_body_without_a_point_has_its_moment_about_the_corner_and_no_coefficient_of_it() -> None:
    flow = Simulation(cells=(12, 12), reynolds=10, bodies={"pillar": PILLAR}, periodic=(True, False, False))
    flow.run(steps=20, quiet=True)
    found = flow.loads()["pillar"]
    assert found["moment"] == flow.loads(about=(0, 0, 0))["pillar"]["moment"]
    assert "coefficient" in found and "moment_coefficient" not in found


def test_drag_is_what_pressure_and_momentum_lose_past_the_body() -> None:
    flow = flow_past({"shape": "sphere", "centre": (8.0, 7.0, 7.0), "radius": 3.0})
    velocity, density = flow.velocity, flow.density
    assert velocity is not None and density is not None
    carried = (density[..., 0] / 3 + density[..., 0] * velocity[..., 0] ** 2).sum(axis=(0, 1))
    assert flow.loads()["ball"]["force"][0] == pytest.approx(carried[1] - carried[-2], rel=0.05)


def test_cells_inside_a_body_are_solid() -> None:
    flow = flow_past({"shape": "sphere", "centre": (8.0, 7.0, 7.0), "radius": 3.0})
    solid = 20 * 14 * 14 - flow.solver.fluid_cells()
    x, y, z = np.meshgrid(*(np.arange(n) + 0.5 for n in (20, 14, 14)), indexing="ij")
    assert solid == np.count_nonzero((x - 8) ** 2 + (y - 7) ** 2 + (z - 7) ** 2 < 9)
    velocity = flow.velocity
    assert velocity is not None
    assert not velocity[7, 7, 8].any()


@pytest.mark.parametrize(
    ("keys", "code", "facts"),
    [
        ({"boundaries": {"x-": {"kind": "velocity"}}}, "unsupported", {"key": "boundaries.x-.velocity"}),
        (
            {"boundaries": {"x-": {"kind": "slip", "density": 1}}},
            "unsupported",
            {"key": "boundaries.x-.density", "needed": "pressure, convective"},
        ),
        (
            {"boundaries": {"y+": {"kind": "slip"}}, "walls": {"y+": (1, 0, 0)}},
            "unsupported",
            {"key": "boundaries.y+", "other": "walls.y+"},
        ),
        (
            {"boundaries": {"z+": {"kind": "slip"}}, "periodic": (False, False, True)},
            "unsupported",
            {"key": "boundaries.z+", "other": "grid.periodic"},
        ),
        (
            {"boundaries": {"x-": {"kind": "velocity", "velocity": ("y/h", 0, 0)}}},
            "not_found",
            {"key": "boundaries.x-.velocity", "name": "h"},
        ),
        (
            {"boundaries": {"x-": {"kind": "velocity", "velocity": ("y", 0, 0)}}},
            "invalid_argument",
            {"key": "physics.reference_velocity", "allowed": "<= 0.3"},
        ),
        (
            {"boundaries": {"x-": {"kind": "inlet"}}},
            "invalid_argument",
            {"key": "boundaries.x-.kind", "given": '"inlet"'},
        ),
        (
            {"bodies": {"b": {"shape": "sphere", "radius": 3}}},
            "not_found",
            {"key": "bodies.b", "needed": "centre, radius"},
        ),
        ({"bodies": {"b": {}}}, "invalid_argument", {"key": "bodies.b", "needed": "mesh or shape"}),
        (
            {"bodies": {"b": {"mesh": "none.obj", "units": "mm"}}},
            "unsupported",
            {"key": "bodies.b.units", "needed": "SI"},
        ),
        ({"bodies": {"b": {"mesh": "none.obj"}}}, None, {"key": "bodies.b"}),
        ({"bodies": {"x-": {"shape": "sphere"}}}, "invalid_argument", {"key": "bodies.x-", "given": "x-"}),
        (
            {"bodies": {"b": {"shape": "sphere", "centre": (6, 6, 6), "radius": 3, "links": "halfway"}}},
            "invalid_argument",
            {"key": "bodies.b.links", "allowed": "'interpolated' or 'half-way'"},
        ),
        ({"bodies": {"b": {"shape": "sphere", "centre": (90, 6, 6), "radius": 3}}}, None, {"key": "bodies.b"}),
        (
            {"bodies": {"b": {"shape": "cylinder", "centre": (6, 6, 6), "radius": 9}}},
            "unsupported",
            {"key": "bodies", "cells": 12**3},
        ),
        (
            {"bodies": {"b": {"shape": "cylinder", "centre": (6, 6, 6), "radius": 0.4}}},
            "unsupported",
            {"key": "bodies.b", "given": "0.8 x 0.8 x 18"},
        ),
        (
            {
                "bodies": {"b": {"shape": "cylinder", "axis": "z", "centre": (-8, 6, 6), "radius": 11}},
                "boundaries": {"x-": {"kind": "velocity", "velocity": (1, 0, 0)}, "x+": {"kind": "pressure"}},
            },
            "unsupported",
            {"key": "boundaries.x-", "other": "bodies"},
        ),
    ],
)
def test_mistakes_are_refused_with_the_reason(
    keys: dict[str, object], code: str | None, facts: dict[str, object]
) -> None:
    with raises(CaseError, code, **facts):
        Simulation(cells=(12, 12, 12), reynolds=10, backend="host", **keys)


def test_flow_round_a_ball_at_a_corner_of_a_periodic_box_is_that_in_the_middle_moved() -> None:
    def flow(*centre: float) -> Simulation:
        made = Simulation(
            (16, 14, 12), viscosity=0.1, reference_velocity=0.01, length=6.0, walls={}, periodic=(True, True, True),
            force=(1e-5, 0.0, 0.0), bodies={"ball": {"shape": "sphere", "centre": centre, "radius": 3.0}},
            precision="f64", backend="host",
        )  # fmt: skip
        made.run(steps=30, quiet=True)
        return made

    middle, corner = flow(8.25, 7.0, 6.5), flow(0.25, 14.0, 0.5)
    assert middle.velocity is not None and corner.velocity is not None
    moved = np.roll(middle.velocity, (6, 7, 8), axis=(0, 1, 2))
    np.testing.assert_allclose(corner.velocity, moved, rtol=0, atol=1e-9 * moved.max())
    assert corner.loads()["ball"]["force"][0] == pytest.approx(middle.loads()["ball"]["force"][0], rel=1e-9)
    blocks = [{"device": 0, "lo": (0, 0, 0), "hi": (16, 14, 12)}]
    needed = [bodies.link_memory(flow.case, blocks, "D3Q19", "populations", "f64")[0] for flow in (middle, corner)]
    assert needed[1] == pytest.approx(needed[0], rel=0.02)


@pytest.mark.parametrize("method", [{"precision": "f64"}, {"precision": "f32", "representation": "moments"}])
def test_body_with_half_way_links_is_that_of_its_solid_cells(method: dict[str, str]) -> None:
    def flow(bodies: dict[str, object], solid: np.ndarray | None = None) -> Simulation:
        made = Simulation(
            (16, 14, 12), viscosity=0.1, reference_velocity=0.01, length=6.0, walls={}, periodic=(True, True, True),
            force=(1e-5, 0.0, 0.0), bodies=bodies, backend="host", **method,
        )  # fmt: skip
        if solid is not None:
            made.set_solid(solid)
        made.run(steps=30, quiet=True)
        return made

    ball = {"shape": "sphere", "centre": (8.25, 7.0, 6.5), "radius": 3.0}
    half_way, interpolated = flow({"ball": {**ball, "links": "half-way"}}), flow({"ball": ball})
    z, y, x = np.mgrid[:12, :14, :16] + 0.5
    by_cells = flow({}, (x - 8.25) ** 2 + (y - 7.0) ** 2 + (z - 6.5) ** 2 < 9.0)
    np.testing.assert_array_equal(half_way.velocity, by_cells.velocity)
    assert not np.array_equal(half_way.velocity, interpolated.velocity)
    assert half_way.solver.bytes_of_cells() <= interpolated.solver.bytes_of_cells()


def test_body_longer_than_a_period_is_refused() -> None:
    ball = {"shape": "sphere", "centre": (8.0, 8.0, 8.0), "radius": 7.0}
    with raises(CaseError, "unsupported", axis="x", body="ball", key="bodies", length=14, limit=12):
        Simulation(
            (12, 16, 16), viscosity=0.1, reference_velocity=0.01, length=6.0, walls={}, periodic=(True, False, False),
            bodies={"ball": ball}, backend="host",
        )  # fmt: skip


def test_open_mesh_is_refused_with_the_hole(tmp_path: Path) -> None:
    body = ball(tmp_path / "ball.obj")
    path = tmp_path / "ball.obj"
    path.write_text("\n".join(line for line in path.read_text().splitlines() if line != "f 1 3 4"))
    with raises(
        CaseError, "unsupported", body="ball", holes=1, key="bodies", odd_edges=0, open_edges=3, turned_edges=0
    ):
        flow_past(body)


def mesh_of_a_wing(path: Path) -> None:
    """A wedge along z with its tip between two rows of cells; 4 cells thick at the other end."""
    corners = [(4, 4), (16, 6), (4, 8)]
    lines = [f"v {x} {y} {z}" for z in (3, 9) for x, y in corners]
    path.write_text("\n".join([*lines, "f 3 2 1", "f 4 5 6", "f 1 2 5 4", "f 2 3 6 5", "f 3 1 4 6"]))


def test_body_with_an_edge_thinner_than_a_cell_is_told(cli: Cli, tmp_path: Path) -> None:
    mesh_of_a_wing(tmp_path / "wing.obj")
    wing, ball = {"mesh": str(tmp_path / "wing.obj")}, {"shape": "sphere", "centre": (20.0, 6.0, 6.0), "radius": 2.0}
    warning = r"(\d+) links pass through body wing where it is thinner than a cell: fluid passes there"
    with pytest.warns(UserWarning, match=warning) as told:
        flow = Simulation((24, 12, 12), reynolds=10, backend="host", bodies={"wing": wing, "ball": ball})
    assert len(told) == 1
    number = flow.solver.links_through_bodies()[0]
    # The number of thin places: from x = 13 on the wing is thinner than a cell, which affects 2 or 3 columns along x
    # and 6 rows along z.
    assert 5 * 2 * 6 - 12 <= number <= 9 * 3 * 6
    text = f"{IN_CELLS.partition('[lbm]')[0]}[physics]\nreynolds = 10\nreference_velocity = 0.05\n[run]\nsteps = 1\n"
    text = text.replace("[24, 12, 1]", "[24, 12, 12]") + '[bodies.wing]\nmesh = "wing.obj"\n'
    (tmp_path / "wing.toml").write_text(text)
    for ranks in ("1", "2"):
        done = cli("run", "wing.toml", "output.pictures=false", "output.fields=false", "--overwrite", "-n", ranks)
        assert done.returncode == 0, done.stderr
        found = re.search(f"warning: {warning}", done.stdout)
        assert found is not None and int(found[1]) == number


def test_mesh_of_the_wrong_size_in_cells_is_a_matter_of_its_scale(tmp_path: Path) -> None:
    mesh_of_a_wing(tmp_path / "wing.obj")
    for scale, said in ((1e-3, "smaller than a cell; give its mesh another scale: 1000 t"), (1e3, "0.001 times as")):
        with raises(CaseError, "unsupported", body="wing", domain=24, key="bodies.wing") as error:
            body = {"mesh": str(tmp_path / "wing.obj"), "scale": scale}
            Simulation((24, 12, 12), reynolds=10, backend="host", bodies={"wing": body})
        assert said in str(error.value) and "unit" not in str(error.value)


IN_CELLS = """
[grid]
cells = [24, 12, 1]
[lbm]
lattice = "D2Q9"
[physics]
reynolds = 10
length = 6
reference_velocity = 0.05
[boundaries]
"x-" = { kind = "velocity", velocity = ["4*y*(Ly-y)/Ly^2 + 0.1*sin(L*x)", "y/L - 1", 0] }
"x+" = { kind = "pressure", density = 1.001 }
[bodies.pillar]
shape = "cylinder"
centre = [9, 5.5, 0]
radius = 3
area = 6
about = [8, 2, 0]
[run]
steps = 40
"""


def test_case_in_metres_has_the_profile_the_bodies_and_the_coefficients_of_its_twin_in_cells(tmp_path: Path) -> None:
    in_metres = IN_CELLS.replace("length = 6", "length = 0.03").replace(
        "reference_velocity = 0.05", "reference_velocity = 2"
    )
    in_metres = in_metres.replace("[9, 5.5, 0]", "[0.045, 0.0275, 0]").replace("radius = 3", "radius = 0.015")
    in_metres = in_metres.replace("area = 6", "area = 0.00015").replace("[8, 2, 0]", "[0.04, 0.01, 0]")
    in_metres += '[units]\nsystem = "SI"\ncell = 0.005\ndensity = 998\nlattice_speed = 0.05\n'
    coefficients, forces, moments, profiles, converter = [], [], [], [], None
    for name, text in (("cells.toml", IN_CELLS), ("metres.toml", in_metres)):
        (tmp_path / name).write_text(text)
        case = load(tmp_path / name, ["machine.backend=host"])
        profiles.append(case.options()["boundaries"]["x-"]["profile"])
        lbm = running.compiled(engine.prepare(case, discovery.discover(case.machine)))
        lbm.advance(40)
        found = loads.measure(lbm, case)["pillar"]
        coefficients.append(found["coefficient"] + found["moment_coefficient"])
        forces.append(found["force"])
        moments.append(found["moment"])
        converter = case.converter or converter
    assert converter is not None
    np.testing.assert_allclose(profiles[0], profiles[1], rtol=1e-12)
    np.testing.assert_allclose(coefficients[0], coefficients[1], rtol=1e-3)
    np.testing.assert_allclose(np.array(forces[0]) * converter.force, forces[1], rtol=1e-3)
    np.testing.assert_allclose(np.array(moments[0]) * converter.force * converter.length, moments[1], rtol=1e-3)
    assert coefficients[0][0] > 1


def test_case_with_sides_and_bodies_reads_back_equal(tmp_path: Path) -> None:
    case = load(CASES / "cylinder.toml")
    (tmp_path / "again.toml").write_text(case.resolved().to_toml())
    assert load(tmp_path / "again.toml") == case.resolved()


def test_run_writes_the_loads_on_its_bodies(cli: Cli, tmp_path: Path) -> None:
    small = [
        "grid.cells=[110,41,1]",
        "physics.length=10",
        "bodies.cylinder.centre=[20,20,0]",
        "bodies.cylinder.radius=5",
    ]
    small += [
        "bodies.cylinder.area=10",
        "bodies.cylinder.about=[20,20,0]",
        "run.time_units=20",
        "run.check_every=2000",
        "output.pictures=false",
    ]
    result = cli("run", str(CASES / "cylinder.toml"), *small, "output.folder=out", "machine.backend=host")
    assert result.returncode == 0, result.stderr
    assert "loads on bodies" in result.stdout
    rows = (tmp_path / "out" / "loads.csv").read_text().splitlines()
    assert rows[0].startswith("step,time,cylinder force x,")
    assert rows[0].endswith("cylinder moment coefficient x,cylinder moment coefficient y,cylinder moment coefficient z")
    assert "moment coefficient" in result.stdout
    assert len(rows) >= 4
    loads = json.loads((tmp_path / "out" / "comparison.json").read_text())["run"]["loads"]
    # The case has half of the channel's length and half of the shipped case's cells, hence the tolerance.
    assert loads["cylinder"]["coefficient"][0] == pytest.approx(5.58, rel=0.03)
    # The torque about the cylinder's axis is much smaller than the drag times the radius.
    assert abs(loads["cylinder"]["moment"][2]) < 0.1 * 5 * loads["cylinder"]["force"][0]
