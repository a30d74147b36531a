"""The solver from Python: solid cells, case files, units, files and checkpoints."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import slipstream as slip
import slipstream._core  # noqa: F401
from conftest import ROOT, SMALL, TETRAHEDRON, Cli
from errors import raises
from slipstream.case.reader import load
from slipstream.lbm import Simulation
from slipstream.pictures.flow_quantities import pressure
from slipstream.run import march

CELLS = (12, 10, 8)


def block() -> np.ndarray:
    mask = np.zeros(CELLS[::-1], dtype=bool)
    mask[2:5, 3:6, 4:8] = True
    return mask


@pytest.mark.parametrize("solids", ["auto", "dense", "flags", "sparse"])
def test_flow_with_solid_cells_starts_from_the_flow_that_was_given(solids: str) -> None:
    flow = Simulation(
        CELLS,
        20,
        0.05,
        walls={},
        periodic=(True, True, True),
        initial={"velocity": ("sin(2*pi*y/Ly)", 0.5, 0)},
        precision="f64",
        backend="host",
        solids=solids,
    )
    flow.set_solid(block())
    velocity = flow.velocity
    assert velocity is not None
    y = (np.arange(10) + 0.5) / 10
    wanted = np.broadcast_to(0.05 * np.sin(2 * np.pi * y)[None, :, None], CELLS[::-1])
    np.testing.assert_allclose(velocity[..., 0], np.where(block(), 0, wanted), atol=1e-12)
    np.testing.assert_allclose(velocity[..., 1], np.where(block(), 0, 0.025), atol=1e-12)


def outlet_filled() -> np.ndarray:
    mask = np.zeros(CELLS[::-1], dtype=bool)
    mask[:, :, -1] = True
    return mask


@pytest.mark.parametrize(
    ("mask", "code", "facts"),
    [
        (np.ones(CELLS[::-1], dtype=bool), "unsupported", {"key": "solid cells", "cells": 8 * 10 * 12}),
        (outlet_filled(), "unsupported", {"key": "boundaries.x+", "other": "solid cells"}),
        (np.zeros(CELLS, dtype=bool), "mismatch", {"given": "[12, 10, 8]", "needed": "[8, 10, 12]"}),
    ],
)
def test_solid_cells_that_leave_no_way_for_the_flow_are_refused(
    mask: np.ndarray, code: str, facts: dict[str, object]
) -> None:
    sides = {"x-": {"kind": "velocity", "velocity": (1, 0, 0)}, "x+": {"kind": "pressure"}}
    flow = Simulation(CELLS, 20, 0.05, walls={}, boundaries=sides, backend="host")
    with raises(slip.CaseError, code, **facts):
        flow.set_solid(mask)


def test_solid_cells_are_refused_after_the_first_step() -> None:
    flow = Simulation(CELLS, 20, 0.05, backend="host")
    flow.run(steps=1, quiet=True)
    with raises(slip.CaseError, "wrong_state", argument="set_solid", step=1):
        flow.set_solid(block())


@pytest.fixture
def case_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL + "[machine]\nbackend = 'host'\n[variants.exact]\nlbm.precision = 'f64'\n")
    return path


def test_simulation_of_a_case_file_is_that_of_its_keys(case_file: Path) -> None:
    flow = Simulation.from_case(case_file, ["grid.cells=[8,9,10]", "run.steps=7"], variant="exact")
    outcome = flow.run(quiet=True)
    assert outcome.steps == flow.step == 7
    twin = Simulation((8, 9, 10), 100, 0.1, precision="f64", backend="host")
    twin.run(steps=7, quiet=True)
    assert np.array_equal(flow.solver.populations(), twin.solver.populations())


def test_simulation_of_a_loaded_case_ends_when_it_is_steady(case_file: Path) -> None:
    case = load(case_file, ["grid.cells=[8,8,8]", "run.steps=4000", "run.residual=0.5", "physics.reynolds=10"])
    outcome = Simulation.from_case(case).run(quiet=True)
    assert outcome.steady and outcome.steps < 4000
    with raises(ValueError, "wrong_state", argument="overrides, variant"):
        Simulation.from_case(case, ["run.steps=1"])


def test_faults_of_a_case_file_are_told_with_their_place(case_file: Path) -> None:
    with raises(slip.CaseError, "not_found", override="grid.cels=1", key="grid.cels", nearest="cells"):
        Simulation.from_case(case_file, ["grid.cels=1"])


def test_run_without_an_end_is_refused() -> None:
    with raises(ValueError, "not_found", argument="until, steps, steady"):
        Simulation(CELLS, 20, 0.05, backend="host").run(quiet=True)


SIDES = {"x-": {"kind": "velocity", "velocity": (1, 0, 0)}, "x+": {"kind": "pressure"}}
BALL = {"shape": "sphere", "centre": (6.0, 5.0, 4.0), "radius": 2.0}


@pytest.mark.parametrize(
    "own",
    [
        {"boundaries": SIDES},
        {"bodies": {"ball": BALL}},
        {"initial": {"velocity": ("sin(2*pi*y/Ly)", 0, 0)}},
        {"periodic": (True, False, True)},
        {"force": (1e-6, 0, 0)},
        {"pressure_drop": (1e-4, 0, 0), "periodic": (True, False, True)},
        {"walls": {}},
        {"walls": {"z-": (0, 1, 0)}},
    ],
    ids=lambda own: " and ".join(own),
)
def test_flow_with_something_of_its_own_has_no_lid(own: dict[str, object]) -> None:
    flow = Simulation(CELLS, 20, 0.05, backend="host", **own)
    assert "y+" not in flow.case.walls


def test_wall_given_as_a_table_is_refused_with_the_form_that_it_has() -> None:
    with raises(slip.CaseError, "invalid_argument", key="walls.y-", given="{'velocity': [0, 0, 0]}"):
        Simulation(CELLS, 20, 0.05, walls={"y-": {"velocity": [0, 0, 0]}}, backend="host")


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        ({"cells": 5}, "grid.cells", "5"),
        ({"walls": [1]}, "walls", "[1]"),
        ({"force": 1}, "physics.force", "1"),
        ({"force": ("a", 0, 0)}, "physics.force[0]", '"a"'),
        ({"periodic": True}, "grid.periodic", "true"),
        ({"boundaries": {"x-": "slip"}}, "boundaries.x-", '"slip"'),
        ({"bodies": [1]}, "bodies", "[1]"),
        ({"initial": (1, 0, 0)}, "initial", "[1, 0, 0]"),
        ({"units": "SI"}, "units", '"SI"'),
        ({"guard": 5}, "guard", "5"),
    ],
    ids=str,
)
def test_argument_of_the_wrong_form_is_told_by_its_key(given: dict[str, object], key: str, value: str) -> None:
    with raises(slip.CaseError, "invalid_argument", key=key, given=value):
        Simulation(**({"cells": CELLS, "reynolds": 20, "reference_velocity": 0.05, "backend": "host"} | given))


METRES = {"system": "SI", "cell": 0.005, "density": 998.0, "lattice_speed": 0.05}


def pillar(edge: float, units: dict[str, object] | None, reference_velocity: float) -> Simulation:
    return Simulation(
        (16, 12),
        10,
        reference_velocity,
        length=6 * edge,
        units=units,
        walls={"y+": (1, 0, 0)},
        bodies={"pillar": {"shape": "cylinder", "centre": (8 * edge, 5 * edge, 0), "radius": 2 * edge}},
        precision="f64",
        backend="host",
    )


def test_simulation_in_si_is_its_twin_in_cells_and_returns_metres_seconds_and_newtons() -> None:
    si, cells = pillar(0.005, METRES, 2.0), pillar(1.0, None, 0.05)
    step = 0.05 * 0.005 / 2.0  # length of a step in seconds
    assert si.run(until=40 * step, quiet=True).steps == 40
    cells.run(steps=40, quiet=True)
    assert np.array_equal(si.solver.populations(), cells.solver.populations())
    assert si.time == pytest.approx(40 * step)
    speed, mass = 0.005 / step, 998 * 0.005**3
    for mine, other, unit in ((si.velocity, cells.velocity, speed), (si.density, cells.density, 998.0)):
        assert mine is not None and other is not None
        np.testing.assert_allclose(mine, other * unit, rtol=1e-12)
    assert si.mass == pytest.approx(cells.mass * mass)
    force = [part * 998 * speed**2 * 0.005**2 for part in cells.loads()["pillar"]["force"]]
    assert si.loads()["pillar"]["force"] == pytest.approx(force)
    assert si.energy().kinetic == pytest.approx(cells.energy().kinetic * 2.0**2)
    assert si.energy().dissipation == pytest.approx(cells.energy().dissipation * 2.0**3 / 0.03)


def test_energy_is_that_of_the_velocity() -> None:
    wave = {"velocity": ("sin(2*pi*y/Ly)", 0, 0)}
    flow = Simulation((8, 32), 20, 0.05, walls={}, periodic=(True, True, True), initial=wave, backend="host")
    kinetic, dissipation = flow.energy()
    assert kinetic == pytest.approx(0.25, rel=1e-3)
    # Mean of nu (du/dy)^2 in units of reference_velocity^3 / length; the length is 8 cells.
    assert dissipation == pytest.approx(0.5 * (2 * np.pi * 8 / 32) ** 2 / 20, rel=0.02)


def test_guard_of_a_simulation_has_the_range_and_the_period_that_were_given() -> None:
    close = {"every": 5, "density": (0.9999, 1.0001)}
    with raises(march.Diverged, "diverged"):
        Simulation((8, 8, 8), 20, 0.1, guard=close, backend="host").run(steps=40, quiet=True)
    Simulation((8, 8, 8), 20, 0.1, guard=close | {"every": 0}, backend="host").run(steps=40, quiet=True)


def test_box_round_the_meshes_of_a_simulation_holds_whole_blocks(tmp_path: Path) -> None:
    (tmp_path / "tetrahedron.obj").write_text(TETRAHEDRON)
    flow = Simulation(
        reynolds=10,
        domain={"margin_low": (2, 2, 2), "margin_high": (2, 2, 2), "block": (4, 4, 4)},
        bodies={"pyramid": {"mesh": str(tmp_path / "tetrahedron.obj"), "scale": 20.0, "about": (8, 8, 8)}},
        backend="host",
    )
    assert flow.case.grid.cells == (8, 8, 8)
    # The mesh has 4 cells between margins of 2; its corner was at (8, 8, 8) in the file.
    assert flow.case.bodies["pyramid"].about == pytest.approx((2, 2, 2))
    assert flow.solver.fluid_cells() < 8**3


def test_box_needs_cells_or_a_domain() -> None:
    with raises(slip.CaseError, "not_found", key="grid.cells"):
        Simulation(reynolds=10)


@pytest.mark.parametrize(("units", "reference_velocity"), [(None, 0.05), (METRES, 2.0)], ids=["cells", "SI"])
def test_fields_of_a_simulation_are_a_series_for_paraview(
    tmp_path: Path, units: dict[str, object] | None, reference_velocity: float
) -> None:
    flow = pillar(0.005 if units else 1.0, units, reference_velocity)
    path = tmp_path / "flow.vtkhdf"
    times = []
    for _ in range(2):
        flow.run(steps=10, quiet=True)
        flow.write(path)
        flow.write(path)  # a second write in the same step, which adds no frame
        times.append(flow.time)
    velocity = flow.velocity
    assert velocity is not None
    with h5py.File(path) as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == 2
        np.testing.assert_allclose(file["VTKHDF/Steps/Values"][:], times)
        last = np.asarray(file["VTKHDF/CellData/velocity"][-1:])
        np.testing.assert_allclose(last[0], velocity if units else velocity / reference_velocity, rtol=1e-6)
        solid = file["VTKHDF/CellData/flags"][0] != 0
        assert 0 < np.count_nonzero(solid) < solid.size
        # The mask for VTK, written once: vtkDataSetAttributes::HIDDENCELL is 32.
        np.testing.assert_array_equal(file["VTKHDF/CellData/vtkGhostType"][:], np.where(solid, 32, 0)[None])
        assert file["VTKHDF/CellData/vtkGhostType"].dtype == np.uint8
        density = file["VTKHDF/CellData/density"][-1]
        expected = np.where(solid, 0.0, pressure(flow.case, density))
        np.testing.assert_allclose(file["VTKHDF/CellData/pressure"][-1], expected, rtol=1e-9, atol=1e-9)


def test_run_makes_the_checkpoints_that_were_asked_for(tmp_path: Path) -> None:
    def flow() -> Simulation:
        kept = {"every": 10, "keep": 2, "folder": str(tmp_path / "kept")}
        return Simulation((8, 9, 10), 20, 0.1, precision="f64", backend="host", checkpoint=kept)

    first = flow()
    for steps in (25, 20):
        first.run(steps=steps, quiet=True)
    assert [path.name[-5:] for path in sorted((tmp_path / "kept" / "case").iterdir())] == ["30.h5", "40.h5"]
    second = flow()
    second.restore()
    assert second.step == 40
    second.run(steps=5, quiet=True)
    assert np.array_equal(first.solver.populations(), second.solver.populations())


def test_run_of_a_case_goes_on_from_a_simulation_of_it(
    case_file: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flow = Simulation.from_case(case_file)
    flow.run(steps=20, quiet=True)
    assert Path(flow.save()).parent == Path("results/small/checkpoints")
    result = cli("run", "small.toml", "--restart", "last", "output.pictures=false", "output.report=false")
    assert result.returncode == 0, result.stderr
    assert "restarted at step 20" in result.stdout


ON_RANKS = """
import sys, numpy as np, slipstream as slip
flow = slip.lbm.Simulation.from_case("small.toml", ["grid.cells=[8,9,10]", "lbm.precision='f64'"])
flow.run(steps=7, quiet=True)
flow.write("flow.vtkhdf")
flow.save("kept")
flow.run(quiet=True)
kinetic, dissipation = flow.energy()
sys.stdout.write(f"{flow.step} {kinetic.hex()} {dissipation.hex()} {flow.loads(about=(1, 2, 3))['y+']['moment']}\\n")
flow.restore("kept/checkpoint-000000000007.h5")
mask = np.zeros((10, 9, 8), dtype=bool)
mask[3:5, 3:5, 3:5] = True
other = slip.lbm.Simulation.from_case("small.toml", ["grid.cells=[8,9,10]", "initial.velocity=[1,0,0]"])
other.set_solid(mask)
sys.stdout.write(f"{flow.step} {other.energy().kinetic.hex()}\\n")
"""


def test_ranks_see_the_same_figures_and_files_as_one(case_file: Path, tmp_path: Path) -> None:
    said, found = [], []
    (tmp_path / "script.py").write_text(ON_RANKS)
    search = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PYTHONPATH": search}
    for ranks in (1, 2):
        result = subprocess.run(
            ["mpiexec", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", sys.executable, "script.py"],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        lines = sorted(result.stdout.splitlines())
        assert len(lines) == 2 * ranks
        said.append(sorted(set(lines)))
        with h5py.File(tmp_path / "flow.vtkhdf") as file:
            found.append(np.asarray(file["VTKHDF/CellData/velocity"]))
    assert len(said[0]) == 2 and said[1][0].startswith("40 ")
    assert np.array_equal(found[0], found[1])


def test_simulation_warns_as_a_run_does(tmp_path: Path) -> None:
    sides = {"x-": {"kind": "velocity", "velocity": (1.0, 0.0, 0.0)}, "x+": {"kind": "convective", "relaxation": 0}}
    channel = {"walls": {}, "boundaries": sides, "backend": "host"}
    with pytest.warns(UserWarning, match="relaxation = 0 leaves the pressure free") as told:
        flow = Simulation((24, 16), 10, 0.1, **channel)
    assert [Path(warning.filename) for warning in told] == [Path(__file__)]
    with pytest.warns(UserWarning, match=r"the mass has changed by .* since the start") as told:
        flow.run(steps=100, quiet=True)
    assert [Path(warning.filename) for warning in told] == [Path(__file__)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calm = Simulation((16, 16), 10, 0.1, precision="f16", backend="host")
        calm.run(steps=10, quiet=True)
    with pytest.warns(UserWarning, match="run.residual = 1e-05 may never be met"):
        calm.run(steps=1, steady=1e-5, quiet=True)


def test_what_a_restore_by_the_other_representation_loses_is_told(tmp_path: Path) -> None:
    def flow(**method: str) -> Simulation:
        return Simulation((8, 9, 10), 20, 0.1, backend="host", checkpoint={"convert": True}, **method)

    path = flow().save(tmp_path)
    with pytest.warns(UserWarning, match=r"converted from the checkpoint .*\.h5; lost: of the 19 populations"):
        flow(representation="moments", collision="recursive").restore(path)
