"""Initial state, exact solution and expectations of a case: known flows and mistakes."""

import json
from pathlib import Path

import numpy as np
import pytest
import slipstream._core  # noqa: F401
from conftest import CASES, Cli
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.case.reader import load
from slipstream.flow import energy, initial, load_series
from slipstream.lbm import Simulation, cautions

QUICK = ["machine.backend=host", "output.pictures=false", "output.report=false", "output.fields=false"]


def results(cli: Cli, folder: Path, *arguments: str) -> dict[str, object]:
    """Runs a case by the command line, and returns the table `run` of its comparison."""
    out = cli("run", *arguments, *QUICK, f"output.folder={folder}/r")
    assert out.returncode == 0, out.stdout + out.stderr
    return json.loads((folder / "r" / "comparison.json").read_text())["run"]


@pytest.mark.parametrize("name", ["poiseuille", "couette"])
def test_channel_converges_with_order_two(name: str, cli: Cli, tmp_path: Path) -> None:
    """Checks half-way walls: half the cell size gives a quarter of the error. The velocity is scaled with the cell
    size.
    """
    distances = []
    for n in (1, 2):
        changes = [
            f"grid.cells=[4,{16 * n},1]",
            f"physics.reference_velocity={0.05 / n}",
            f"run.check_every={200 * n * n}",
        ]
        if name == "poiseuille":
            changes += ["physics.reynolds=2.5", f"physics.force=[{0.0005 / n**3},0,0]"]
        (tmp_path / str(n)).mkdir()
        run = results(cli, tmp_path / str(n), str(CASES / f"{name}.toml"), *changes)
        distances.append(run["findings"]["exact.distance"])
    assert 1.8 < np.log2(distances[0] / distances[1]) < 2.2


def test_taylor_green_vortex_loses_the_energy_that_viscosity_takes(cli: Cli, tmp_path: Path) -> None:
    changes = ["grid.cells=[32,32,32]", "physics.reynolds=100", "run.check_every=8", "run.time_units=2"]
    run = results(cli, tmp_path, str(CASES / "taylor_green.toml"), *changes, "output.reference=none")
    found = energy.read(tmp_path / "r" / "energy.csv", load(CASES / "taylor_green.toml", changes))
    assert found.kinetic[0] == pytest.approx(0.125, rel=1e-3)
    assert found.dissipation[0] == pytest.approx(0.75 / 100, rel=0.05)  # 2 nu times the enstrophy, which is 3/8
    np.testing.assert_allclose(found.decay[2:-1], found.dissipation[2:-1], rtol=0.07)
    assert run["findings"]["energy.peak_dissipation"] == pytest.approx(found.decay.max(), rel=0.01)


def test_cylinder_sheds_vortices_with_the_strouhal_number(cli: Cli, tmp_path: Path) -> None:
    """Checks that with half the cells of the case the error of the Strouhal number is at most 5 %."""
    body = '{shape="cylinder",centre=[20,20,0],radius=5,area=10}'
    changes = [
        "grid.cells=[220,41,1]",
        "physics.length=10",
        "physics.reference_velocity=0.05",
        f"bodies.cylinder={body}",
    ]
    changes += ["run.check_every=10", "run.time_units=50", "lbm.magic=0.05"]
    run = results(cli, tmp_path, str(CASES / "cylinder_2d2.toml"), *changes)
    assert run["findings"]["cylinder.strouhal"] == pytest.approx(0.3, rel=0.05)
    assert run["findings"]["cylinder.y.largest"] > 0.5


def test_pressure_drop_drives_a_channel() -> None:
    """Compares with a parabola whose maximum is drop x height^2 / (8 viscosity length)."""
    channel = Simulation(
        cells=(12, 8), viscosity=0.1, reference_velocity=0.01, walls={}, periodic=(True, False, False), precision="f64",
        pressure_drop=(8 * 0.1 * 0.01 * 12 / 64, 0, 0), backend="host",
    )  # fmt: skip
    channel.run(steps=3000, quiet=True)
    velocity = channel.velocity
    assert velocity is not None
    y = (np.arange(8) + 0.5) / 8
    np.testing.assert_allclose(velocity[0, :, 6, 0] / 0.01, 4 * y * (1 - y), rtol=0.01)


def test_published_taylor_green_vortex_has_its_peak() -> None:
    reference = energy.taylor_green_1600()
    n = int(np.argmax(reference.dissipation))
    assert (reference.time[n], reference.dissipation[n]) == (8.97, pytest.approx(0.012857528))
    assert "Wang" in reference.citation


def test_simulation_starts_from_the_velocity_it_is_given() -> None:
    shear = Simulation(
        cells=(4, 16), viscosity=0.1, reference_velocity=0.05, walls={}, periodic=(True, True, False), precision="f64",
        initial={"velocity": ("sin(2*pi*y/Ly)", "0.5*cos(2*pi*x/Lx)", 0)}, backend="host",
    )  # fmt: skip
    velocity = shear.velocity
    assert velocity is not None
    y, x = (np.arange(16) + 0.5) / 16, (np.arange(4) + 0.5) / 4
    np.testing.assert_allclose(velocity[0, :, 0, 0], 0.05 * np.sin(2 * np.pi * y), atol=1e-14)
    np.testing.assert_allclose(velocity[0, 0, :, 1], 0.025 * np.cos(2 * np.pi * x), atol=1e-14)


def test_restarted_run_keeps_its_energy_rows(cli: Cli, tmp_path: Path) -> None:
    case = [
        str(CASES / "taylor_green.toml"),
        "grid.cells=[12,12,12]",
        "physics.reynolds=50",
        "run.check_every=4",
        "checkpoint.every=6",
    ]
    results(cli, tmp_path, *case, "run.steps=20", "run.time_units=100")
    whole = (tmp_path / "r" / "energy.csv").read_text()
    last = sorted((tmp_path / "r" / "checkpoints").iterdir())[0]
    out = cli("run", *case, *QUICK, "run.steps=20", "run.time_units=100", f"output.folder={tmp_path}/r",
              "--restart", str(last))  # fmt: skip
    assert out.returncode == 0, out.stdout + out.stderr
    assert (tmp_path / "r" / "energy.csv").read_text() == whole


def test_frequency_of_a_swing_is_found() -> None:
    time = np.arange(0, 20, 0.1)
    assert load_series.frequency(time, 2 + np.sin(2 * np.pi * 0.31 * time)) == pytest.approx(0.31, rel=1e-3)
    assert load_series.frequency(time, np.sin(0.3 * time)) is None


def test_run_says_what_was_expected_and_what_came(cli: Cli, tmp_path: Path) -> None:
    changes = ["grid.cells=[4,8,1]", 'expected."exact.distance"=[0,1e-9]', 'expected."no.such"=[0,1]']
    run = results(cli, tmp_path, str(CASES / "couette.toml"), *changes)
    assert [(e["quantity"], e["met"]) for e in run["expected"]] == [("exact.distance", False), ("no.such", False)]


def test_residual_that_halves_do_not_reach_is_warned_of() -> None:
    def warned(*words: str) -> bool:
        return any("may never be met" in text for text in cautions.warnings(load(CASES / "cavity.toml", words)))

    assert warned("lbm.precision=f16", "run.residual=1e-5")
    assert not warned("lbm.precision=f16", "run.residual=1e-2") and not warned("run.residual=1e-5")


def test_inlet_that_is_too_fast_for_its_cells_is_warned_of() -> None:
    fast = ["physics.length=8", "physics.reynolds=100", "lbm.magic=0.1875"]
    assert any("may become unstable" in warning for warning in cautions.warnings(load(CASES / "sphere.toml", fast)))
    for held in ("lbm.magic=0.05", "physics.reynolds=60"):
        assert not any("unstable" in w for w in cautions.warnings(load(CASES / "sphere.toml", [*fast, held])))


BASE = ["grid.cells=[8,8,1]", "lbm.lattice=D2Q9", "run.steps=1"]


X_PLUS = 'boundaries."x+"='


@pytest.mark.parametrize(
    ("override", "code", "facts"),
    [
        ('initial.velocity=["sin(q)",0,0]', "not_found", {"key": "initial", "name": "q"}),
        ("initial.velocity=[9,0,0]", "invalid_argument", {"key": "initial.velocity", "allowed": "<= 0.3"}),
        ("initial.velocity=[0,0,0.1]", "unsupported", {"key": "initial.velocity", "other": "lbm.lattice"}),
        ("initial.pressure=900", "invalid_argument", {"key": "initial.pressure", "allowed": "0.2 to 5"}),
        ('initial.pressure="log(x-0.5)"', "overflow", {"key": "initial", "given": "log(x-0.5)"}),
        ('exact.velocity=["1/(t-1)",0,0]', "overflow", {"key": "exact.velocity", "given": "1/(t-1)"}),
        ('physics.length="Lq"', "not_found", {"key": "physics.length", "name": "Lq"}),
        ('physics.length="Lx-Ly"', "invalid_argument", {"key": "physics.length", "value": 0}),
        (f'{X_PLUS}{{kind="pressure",speed=1}}', "unsupported", {"key": "boundaries.x+.speed", "needed": "convective"}),
        (
            f'{X_PLUS}{{kind="pressure",relaxation=1}}',
            "unsupported",
            {"key": "boundaries.x+.relaxation", "needed": "convective"},
        ),
        (f'{X_PLUS}{{kind="convective",relaxation=3}}', "invalid_argument", {"key": "boundaries.x+.relaxation"}),
        (
            'boundaries={"x+"={kind="convective"},"x-"={kind="convective"}}',
            "unsupported",
            {"key": "boundaries.x+.kind", "other": "boundaries.x-"},
        ),
        (
            "physics.pressure_drop=[0.01,0,0]",
            "unsupported",
            {"key": "physics.pressure_drop", "axis": "x", "other": "grid.periodic"},
        ),
    ],
)
def test_mistake_in_the_flow_is_explained(override: str, code: str, facts: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "flow.toml"
    path.write_text("[physics]\nreynolds = 10\n[grid]\n[run]\n")
    with raises(CaseError, code, **facts):
        load(path, [*BASE, override])


def test_convective_side_hands_on_what_holds_its_pressure() -> None:
    table = 'boundaries={"x+"={kind="convective"'
    usual = load(CASES / "couette.toml", ["grid.periodic=[false,false,false]", table + "}}"]).options()
    side = usual["boundaries"]["x+"]
    assert side == {"kind": "convective", "density": 1.0, "speed": side["speed"]}
    other = load(CASES / "couette.toml", ["grid.periodic=[false,false,false]", table + ",density=1.01,relaxation=0}}"])
    assert other.options()["boundaries"]["x+"]["density"] == 1.01
    assert other.options()["boundaries"]["x+"]["relaxation"] == 0


def test_expression_that_has_no_value_somewhere_ends_the_start() -> None:
    case = load(CASES / "couette.toml", ["grid.cells=[4,64,1]", 'initial.velocity=["1/(y-2.5)",0,0]', "guard.every=0"])
    with raises(CaseError, "overflow", key="initial", given="1/(y-2.5)"):
        initial.starter(case)((0, 0, 0), (4, 64, 1))
