"""Domains fitted to the meshes of bodies, and blocks of a given size."""

import math
from pathlib import Path

import pytest
import slipstream as slip
from conftest import ROOT, Cli
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.case import blocks
from slipstream.case.reader import load
from slipstream.case.solver import solver_of
from slipstream.geometry import bodies
from slipstream.machine import discovery
from slipstream.run import engine

CAR = f"""\
[domain]
margin_low = [1.0, 0.5, 0.0]
margin_high = [2.0, 0.5, 1.0]
block = [8, 8, 8]
keep_low = [false, false, true]
[grid]
[units]
system = "SI"
cell = 0.2
density = 1.2
[physics]
reynolds = 200
reference_velocity = 10
length = 4
[bodies.car]
mesh = "{ROOT}/cases/car.obj"
[run]
steps = 1
"""


@pytest.fixture
def car(tmp_path: Path) -> Path:
    path = tmp_path / "car.toml"
    path.write_text(CAR)
    return path


def test_box_round_a_mesh_holds_whole_blocks_and_the_margins(car: Path) -> None:
    case = load(car)
    assert case.domain is None
    assert case.exchange.block == (8, 8, 8)
    low, high = bodies.read(case.bodies["car"]).bounds()
    for axis, (before, behind) in enumerate(((1.0, 2.0), (0.5, 0.5), (0.0, 1.0))):
        cells = case.grid.cells[axis]
        assert cells % 8 == 0
        assert low[axis] >= before - 1e-9
        assert cells * 0.2 - high[axis] >= behind - 1e-9
        # The box is minimal: no block could be removed.
        assert cells * 0.2 - 8 * 0.2 < high[axis] - low[axis] + before + behind
    assert low[2] == pytest.approx(0.0, abs=1e-9)  # the wheels, the lowest points of the car, are at z = 0


def test_point_of_the_moments_moves_along_with_its_body(car: Path) -> None:
    before = bodies.read(load(car).bodies["car"]).bounds()[0]
    case = load(car, ["bodies.car.about=[1,2,3]", "bodies.car.translate=[10,0,-2]"])
    body = case.bodies["car"]
    assert body.about is not None
    assert bodies.read(body).bounds()[0] == pytest.approx(before, abs=1e-9)
    # The reference point has moved with the body by the displacement of the box's corner.
    assert body.about == pytest.approx(
        [p + b - a for p, b, a in zip((1, 2, 3), body.translate, (10, 0, -2), strict=True)]
    )
    ball = ['bodies.ball.shape="sphere"', "bodies.ball.centre=[1,1,1]", "bodies.ball.radius=1"]
    with raises(CaseError, "not_found", key="bodies.ball.about[2]"):
        load(car, [*ball, "bodies.ball.about=[1,2]"])


def test_resolved_case_with_the_box_is_read_back_as_it_is(car: Path, tmp_path: Path) -> None:
    case = load(car).resolved("host")
    (tmp_path / "again.toml").write_text(case.to_toml())
    assert load(tmp_path / "again.toml") == case


def test_blocks_of_a_size_are_dealt_out_to_devices(car: Path) -> None:
    case = load(car)
    counts = [n // 8 for n in case.grid.cells]
    shared = blocks.share_blocks(case, 2).exchange
    assert [a * b for a, b in zip(shared.device_grid, shared.blocks_per_device, strict=True)] == counts
    assert sorted(shared.device_grid) == [1, 1, 2]


def test_run_in_a_box_round_a_mesh_is_cut_into_its_blocks(car: Path, cli: Cli) -> None:
    out = cli("plan", str(car), "machine.backend=host")
    assert out.returncode == 0, out.stdout + out.stderr
    counts = [n // 8 for n in load(car).grid.cells]
    assert " x ".join(map(str, counts)) in out.stdout.replace("×", "x")


@pytest.mark.parametrize(
    ("override", "code", "facts"),
    [
        ("grid.cells=[8,8,8]", "invalid_argument", {"key": "domain", "other": "grid.cells"}),
        ("domain.block=[8,8]", "not_found", {"key": "domain.block[2]"}),
        ("domain.blok=1", "not_found", {"key": "domain.blok", "nearest": "block"}),
        ('domain.bodies=["van"]', "not_found", {"key": "domain", "given": "van", "allowed": "car"}),
        ("domain.margin_low=[-9,-9,-9]", None, {"key": "domain"}),
        ("units.cell=0", "not_found", {"key": "domain", "other": "units.cell"}),
        ('bodies.car.mesh="no.obj"', "not_found", {"key": "bodies.car.mesh", "given": "no.obj"}),
        ("exchange.block=[4,4,4]", "invalid_argument", {"key": "domain", "other": "exchange.block"}),
    ],
)
def test_mistake_in_the_box_is_explained(override: str, code: str | None, facts: dict[str, str], car: Path) -> None:
    with raises(CaseError, code, **facts):
        load(car, [override])


def test_blocks_that_do_not_fit_are_refused(car: Path) -> None:
    case = load(car)
    with raises(CaseError, "mismatch", key="exchange.block", given="7 x 8 x 8"):
        blocks.share_blocks(
            case.model_copy(update={"exchange": case.exchange.model_copy(update={"block": (7, 8, 8)})}), 1
        )
    with raises(CaseError, "unsupported", key="exchange.block", devices=17):
        blocks.share_blocks(case, 17)


def test_links_of_bodies_are_in_the_plan(tmp_path: Path) -> None:
    """Compares the plan's memory for links with an estimate for a sphere: 88 bytes for each link. The number of links
    is half the sum of |c . n| over velocities, times the area.
    """
    path = tmp_path / "ball.toml"
    path.write_text(
        "[grid]\ncells = [40, 40, 40]\n[exchange]\nblocks_per_device = [2, 1, 1]\n[machine]\nbackend = 'host'\n"
        "[physics]\nreynolds = 10\n[bodies.ball]\nshape = 'sphere'\ncentre = [20, 20, 20]\nradius = 12\n"
        "[run]\nsteps = 1\n"
    )
    case = load(path)
    machine = discovery.discover(case.machine)
    setup = engine.prepare(case, machine)
    plan, exact = setup.plan, solver_of(case).plan(case, machine, setup.options, thorough=True)
    (entry,), (counted,) = (
        [array for array in found["arrays"] if array["array"] == "links of bodies"] for found in (plan, exact)
    )
    assert entry["bytes"] == pytest.approx(counted["bytes"], rel=0.05)
    # Average number of lattice links that a unit area of surface cuts. It is the sum of |c . n| / 2 over the velocities
    # c of D3Q19, averaged over all unit normals n.
    mean = (6 + 12 * math.sqrt(2)) / 4
    per_link = entry["bytes"] / (4 * math.pi * 12**2 * mean)
    assert 35 < per_link < 40
    sides = [array["bytes"] for array in plan["arrays"] if array["array"] == "links of sides"]
    assert sides[0] > 6 * 40 * 40 * 5 * 16


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_cells_beside_bodies_are_in_the_plan_of_moments(precision: str) -> None:
    ball = {"shape": "sphere", "centre": (20.0, 20.0, 20.0), "radius": 12.0}

    def lbm(bodies: dict[str, object]) -> slip.lbm.Simulation:
        return slip.lbm.Simulation(
            (40, 40, 40), viscosity=0.1, reference_velocity=0.01, length=24.0, walls={}, periodic=(True, True, True),
            force=(1e-6, 0.0, 0.0), bodies=bodies, representation="moments", precision=precision, backend="host",
        )  # fmt: skip

    def planned(made: slip.lbm.Simulation, representation: str) -> int:
        blocks = [{"device": 0, "lo": (0, 0, 0), "hi": (40, 40, 40)}]
        return bodies.link_memory(made.case, blocks, "D3Q19", representation, precision)[0]

    past = lbm({"ball": ball})
    taken = past.solver.bytes_of_cells() - lbm({}).solver.bytes_of_cells()
    finding = 40**2 * 2 * 8  # bytes of the bit fields in which stored cells are found
    cells = planned(past, "moments") - planned(past, "populations")
    # The layer outside of the ball exceeds its surface by the ratio of thickness to radius.
    assert 0.89 < cells / (taken - finding) < 0.96
