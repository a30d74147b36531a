"""Cases in SI units: the conversion, its errors, and output of runs."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import CASES, SMALL, Cli
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.case.reader import load
from slipstream.flow import initial
from slipstream.lbm import Simulation, running
from slipstream.lbm.case import LbmCase
from slipstream.lbm.cautions import warnings
from slipstream.machine import discovery
from slipstream.run import engine

#: The case SMALL in SI units: a viscous fluid in a cavity of 1.6 m with a lid at 2 m/s.
SI = SMALL.replace(
    "[physics]\nreynolds = 100\nreference_velocity = 0.1\n",
    """\
[units]
system = "SI"
cell = 0.1
density = 800
lattice_speed = 0.1

[physics]
viscosity = 0.032
reference_velocity = 2
""",
)


@pytest.fixture
def si(tmp_path: Path) -> Path:
    path = tmp_path / "si.toml"
    path.write_text(SI)
    return path


def velocity_after(case: LbmCase, steps: int) -> np.ndarray:
    lbm = running.compiled(engine.prepare(case, discovery.discover(case.machine)))
    lbm.advance(steps)
    return np.asarray(lbm.gather("velocity", (0, 0, 0), case.grid.cells))


def test_cavity_in_si_is_the_same_lattice_run_as_its_twin_in_cells() -> None:
    twins = [load(CASES / name, ["machine.backend=host"]) for name in ("cavity_si.toml", "cavity.toml")]
    assert twins[0].scales == twins[1].scales
    assert twins[0].last_step == twins[1].last_step and twins[0].check_every == twins[1].check_every
    assert twins[0].options() == twins[1].options()
    in_si, in_cells = (velocity_after(case, 6) for case in twins)
    assert np.abs(in_cells).max() > 0.01
    assert np.array_equal(in_si, in_cells)


def test_converter_gives_the_si_value_of_one_lattice_unit(si: Path) -> None:
    converter = load(si).converter
    assert converter is not None
    values = {name: value for name, value, _ in converter.rows()}
    # A time step is lattice_speed x cell / reference_velocity = 0.005 s.
    assert values == pytest.approx(
        {
            "length": 0.1,
            "time": 0.005,
            "velocity": 20,
            "density": 800,
            "viscosity": 2,
            "force": 800 * 0.1**4 / 0.005**2,
            "force a volume": 800 * 0.1 / 0.005**2,
            "pressure": 800 * 20**2,
        }
    )


def test_case_in_cells_has_no_converter(small: Path) -> None:
    assert load(small).converter is None


@pytest.mark.parametrize(
    ("words", "reference_velocity", "step"),
    [
        ([], 0.1, 0.005),
        (["units.lattice_speed=0.05"], 0.05, 0.0025),
        (["grid.cells=[32,32,32]", "units.cell=0.05"], 0.1, 0.0025),
    ],
)
def test_step_follows_from_the_reference_velocity_in_cells(
    si: Path, words: list[str], reference_velocity: float, step: float
) -> None:
    case = load(si, words)
    assert case.scales.reference_velocity == reference_velocity
    assert case.converter is not None and case.converter.time == pytest.approx(step)
    assert case.scales.reynolds == pytest.approx(100)


def test_reference_velocity_in_cells_follows_from_the_step(tmp_path: Path) -> None:
    path = tmp_path / "si.toml"
    path.write_text(SI.replace("lattice_speed = 0.1", "step = 0.0025"))
    case = load(path)
    assert case.scales.reference_velocity == pytest.approx(0.05)
    assert case.scales.viscosity == pytest.approx(0.032 * 0.0025 / 0.1**2)
    assert case.converter is not None and case.converter.time == 0.0025


def test_reference_velocity_in_cells_left_out_scales_with_the_grid(tmp_path: Path) -> None:
    path = tmp_path / "si.toml"
    path.write_text(SI.replace("lattice_speed = 0.1\n", ""))
    speeds = [
        load(path, [f"grid.cells=[{n},{n},{n}]", f"units.cell={1.6 / n}"]).scales.reference_velocity for n in (64, 128)
    ]
    assert speeds == [0.1, 0.05]


def test_reynolds_number_serves_in_si_too(tmp_path: Path) -> None:
    path = tmp_path / "si.toml"
    path.write_text(SI.replace("viscosity = 0.032", "reynolds = 100"))
    assert load(path).scales == load(path, ["physics.length=1.6"]).scales
    assert load(path).scales.viscosity == pytest.approx(0.016)


def test_length_in_metres_becomes_whole_cells_in_spite_of_rounding(si: Path) -> None:
    assert 0.3 / 0.1 != 3
    assert load(si, ["physics.length=0.3"]).scales.length == 3
    assert load(si, ["physics.length=0.25"]).scales.length == 2.5


def test_force_in_newtons_a_volume_is_the_acceleration_that_it_gives_the_fluid(si: Path) -> None:
    # The force is 800 kg/m^3 x 0.04 m/s^2; in lattice units 0.04 x 0.005^2 / 0.1.
    assert load(si, ["physics.force=[0, 0, -32]"]).options()["force"] == pytest.approx((0, 0, -1e-5))


def test_run_ends_after_a_time_in_seconds(si: Path) -> None:
    assert load(si, ["run.time=0.1"]).last_step == 20
    assert load(si, ["run.time=10"]).last_step == 40


@pytest.mark.parametrize("words", [[], ["physics.length=0.25", "run.time=0.15"], ["physics.force=[32, 0, 0]"]])
def test_resolved_case_in_si_is_the_same_run(si: Path, tmp_path: Path, words: list[str]) -> None:
    case = load(si, words)
    resolved = case.resolved("host")
    copy = tmp_path / "copy.toml"
    copy.write_text(resolved.to_toml())
    again = load(copy)
    assert again == resolved
    assert again.scales == case.scales and again.converter == case.converter and again.force == case.force


def test_resolved_case_in_cells_says_nothing_of_units(small: Path) -> None:
    assert "units" not in load(small).resolved("host").to_toml()


@pytest.mark.parametrize(
    ("old", "new", "code", "facts"),
    [
        ("cell = 0.1\n", "", "not_found", {"key": "units.cell", "other": "units.system"}),
        ("density = 800\n", "", "not_found", {"key": "units.density", "unit": "kg/m^3"}),
        ("reference_velocity = 2\n", "", "not_found", {"key": "physics.reference_velocity", "unit": "m/s"}),
        ("cell = 0.1", "cell = 0", "invalid_argument", {"key": "units.cell", "given": 0, "allowed": "> 0.0"}),
        (
            "density = 800",
            "density = -1",
            "invalid_argument",
            {"key": "units.density", "given": -1, "allowed": "> 0.0"},
        ),
        (
            "viscosity = 0.032",
            "viscosity = -1e-6",
            "invalid_argument",
            {"key": "physics.viscosity", "allowed": "> 0.0"},
        ),
        ("cell = 0.1", "cell = inf", "invalid_argument", {"key": "units.cell", "allowed": "finite"}),
        (
            "cell = 0.1",
            'cell = "10 cm"',
            "invalid_argument",
            {"key": "units.cell", "given": '"10 cm"', "allowed": "number"},
        ),
        (
            '"SI"',
            '"imperial"',
            "invalid_argument",
            {"key": "units.system", "given": '"imperial"', "allowed": "'lattice' or 'SI'"},
        ),
        ("cell = 0.1", "cel = 0.1", "not_found", {"key": "units.cel", "nearest": "cell"}),
        (
            "cell = 0.1",
            "cell = 0.1\nstep = 0.1",
            "unsupported",
            {"key": "units.step", "other": "units.lattice_speed"},
        ),
        (
            'system = "SI"\n',
            "",
            "unsupported",
            {"key": "units.cell", "other": "units.system", "needed": "SI"},
        ),
        (
            "viscosity = 0.032",
            "viscosity = 0.032\nlength = 0.05",
            "invalid_argument",
            {"key": "physics.length", "given": 0.05, "other": "units.cell"},
        ),
        ("steps = 40\n", "", "not_found", {"key": "run", "needed": "steps, time_units or time"}),
    ],
)
def test_faults_of_units_are_refused_with_their_key_and_the_choices(
    si: Path, old: str, new: str, code: str, facts: dict[str, object]
) -> None:
    assert old in SI
    si.write_text(SI.replace(old, new))
    with raises(CaseError, code, **facts, file=si):
        load(si)


#: A channel of 0.12 m: with velocities relative to 2 m/s, and with velocities in m/s.
CHANNEL = """
[grid]
cells = [24, 12, 1]
[lbm]
lattice = "D2Q9"
precision = "f64"
[units]
system = "SI"
cell = 0.01
density = 800
lattice_speed = 0.02
[physics]
reynolds = 4
length = 0.12
reference_velocity = 2
[walls]
"y+" = { velocity = [0.25, 0, 0] }
[boundaries]
"x-" = { kind = "velocity", velocity = ["1.5*6*y*(Ly-y)/Ly^2", 0.125, 0] }
"x+" = { kind = "convective", speed = 0.5 }
[initial]
velocity = ["0.5*y/Ly", 0, 0]
pressure = "0.25*x/Lx"
[exact]
velocity = ["exp(-2*t)*y/Ly", 0, 0]
[run]
steps = 40
[machine]
backend = "host"
"""
IN_SI = {
    "lattice_speed = 0.02": 'lattice_speed = 0.02\nspeeds = "m/s"',
    "[0.25, 0, 0]": "[0.5, 0, 0]",
    '["1.5*6*y*(Ly-y)/Ly^2", 0.125, 0]': '["3*6*y*(Ly-y)/Ly^2", 0.25, 0]',
    "speed = 0.5": "speed = 1.0",
    '["0.5*y/Ly", 0, 0]': '["y/Ly", 0, 0]',
    '"0.25*x/Lx"': '"800*x/Lx"',  # pressure scale: 800 kg/m^3 times 4 m^2/s^2
    "exp(-2*t)*y/Ly": "2*exp(-2*t/0.06)*y/Ly",  # time scale: 0.12 m at 2 m/s gives 0.06 s
}


def channel_in_si(path: Path, **more: str) -> Path:
    text = CHANNEL
    for old, new in (IN_SI | more).items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)
    return path


def test_velocities_in_metres_a_second_are_those_of_the_twin_in_reference_velocities(tmp_path: Path) -> None:
    (tmp_path / "ratios.toml").write_text(CHANNEL)
    ratios, si = load(tmp_path / "ratios.toml"), load(channel_in_si(tmp_path / "si.toml"))
    ours, theirs = si.options(), ratios.options()
    assert ours["walls"]["y+"] == pytest.approx((0.005, 0, 0)) == theirs["walls"]["y+"]
    assert ours["boundaries"]["x+"]["speed"] == pytest.approx(0.01) == theirs["boundaries"]["x+"]["speed"]
    inlets = [options["boundaries"]["x-"]["profile"] for options in (ours, theirs)]
    np.testing.assert_allclose(*inlets, rtol=1e-12)
    assert inlets[0][12] == pytest.approx((0.02 * 1.5 * 1.5, 0.02 * 0.125, 0))
    cells = initial.sample(si)
    np.testing.assert_allclose(initial.flow(si, cells), initial.flow(ratios, cells), rtol=1e-12)
    np.testing.assert_allclose(initial.exact(si, cells, 0.7), initial.exact(ratios, cells, 0.7), rtol=1e-12)
    np.testing.assert_allclose(velocity_after(si, 40), velocity_after(ratios, 40), rtol=1e-9, atol=1e-12)
    ends = [case.side_velocity("y+") for case in (si, ratios)]
    np.testing.assert_allclose(*ends)
    (tmp_path / "again.toml").write_text(si.resolved().to_toml())
    assert load(tmp_path / "again.toml") == si.resolved()


OUTLET = {'kind = "convective", speed = 1.0': 'kind = "pressure", pressure = 4800'}


def test_pressure_in_pascal_is_what_the_fluid_has_at_that_side(tmp_path: Path) -> None:
    open_side = {
        '"3*6*y*(Ly-y)/Ly^2", 0.25, 0': '"0.3*6*y*(Ly-y)/Ly^2", 0, 0',
        '"y+" = { velocity = [0.5, 0, 0] }': "",
        'pressure = "800*x/Lx"': "pressure = 4800",
    }
    path = tmp_path / "outlet.toml"
    text = channel_in_si(path).read_text()
    for old, new in (OUTLET | open_side).items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)
    case = load(path)
    # The lattice unit of pressure is 800 kg/m^3 times the square of 2 / 0.02 m/s.
    assert case.options()["boundaries"]["x+"]["density"] == pytest.approx(1 + 3 * 4800 / 8e6)
    flow = Simulation.from_case(case)
    flow.run(steps=3000, quiet=True)
    density, velocity = flow.density, flow.velocity
    assert density is not None and velocity is not None
    above = (density[0, :, -1, 0] / 800 - 1) * 8e6 / 3
    # The centres of the last cells are 5 mm from the side. The gradient 12 density viscosity speed / height^2 is 12
    # kPa/m.
    np.testing.assert_allclose(above, 4860, rtol=1e-3)
    y = (np.arange(12) + 0.5) / 12
    np.testing.assert_allclose(velocity[0, :, 15, 0], 0.3 * 6 * y * (1 - y), atol=0.015 * 0.45)


@pytest.mark.parametrize(
    ("more", "code", "facts"),
    [
        (
            {'"convective", speed = 1.0': '"slip", pressure = 1.0'},
            "unsupported",
            {"key": "boundaries.x+.pressure", "other": "kind", "needed": "pressure, convective"},
        ),
        (
            {'"convective", speed = 1.0': '"pressure", pressure = 10, density = 1'},
            "unsupported",
            {"key": "boundaries.x+.pressure", "other": "density"},
        ),
        (
            {'"convective", speed = 1.0': '"pressure", pressure = 1e8'},
            "invalid_argument",
            {
                "key": "boundaries.x+.pressure",
                "value": 38.5,
                "allowed": "0.2 to 5",
                "remedy": "units.lattice_speed <= 0.00653",
            },
        ),
        (
            {'"convective", speed = 1.0': '"pressure", pressure = -5e6'},
            "invalid_argument",
            {"key": "boundaries.x+.pressure", "value": -0.875},
        ),
        (
            {"[0.5, 0, 0]": "[50, 0, 0]"},
            "invalid_argument",
            {"key": "units.lattice_speed", "value": 0.866, "allowed": "<= 0.3"},
        ),
        ({'speeds = "m/s"': 'speeds = "km/h"'}, "invalid_argument", {"key": "units.speeds", "allowed": "'m/s'"}),
        (
            {"[machine]": "[output]\nevery = 1\nevery_time = 1\n[machine]"},
            "unsupported",
            {"key": "output.every_time", "other": "output.every"},
        ),
    ],
)
def test_faults_of_sides_in_si_are_refused(
    tmp_path: Path, more: dict[str, str], code: str, facts: dict[str, object]
) -> None:
    path = tmp_path / "si.toml"
    text = channel_in_si(path).read_text()
    for old, new in more.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)
    with raises(CaseError, code, **facts):
        load(path)


def test_remedy_for_a_pressure_out_of_range_mends_it(tmp_path: Path) -> None:
    path = tmp_path / "si.toml"
    text = channel_in_si(path).read_text().replace('"convective", speed = 1.0', '"pressure", pressure = 1e8')
    path.write_text(text)
    # A higher viscosity keeps tau in its range with this short step.
    load(path, ["units.lattice_speed=0.00653", "physics.reynolds=0.5"])
    with raises(CaseError, "invalid_argument", key="boundaries.x+.pressure", allowed="0.2 to 5"):
        load(path, ["units.lattice_speed=0.0066", "physics.reynolds=0.5"])


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('[boundaries]\n"x+" = { kind = "pressure", pressure = 1 }', "boundaries.x+.pressure"),
        ('[units]\nspeeds = "m/s"', "units.speeds"),
        ("[output]\nevery_time = 1", "output.every_time"),
    ],
)
def test_keys_in_si_of_a_case_in_cells_are_refused(small: Path, table: str, key: str) -> None:
    small.write_text(f"{SMALL}{table}\n")
    with raises(CaseError, "unsupported", key=key, other="units.system", needed="SI"):
        load(small)


def test_fields_are_written_every_so_many_seconds(cli: Cli, si: Path, tmp_path: Path) -> None:
    quick = ["output.every_time=0.05", "output.pictures=false", "output.report=false", "machine.backend=host"]
    result = cli("run", str(si), *quick, "output.folder=out")
    assert result.returncode == 0, result.stderr
    with h5py.File(tmp_path / "out" / "fields.vtkhdf") as file:
        np.testing.assert_allclose(file["VTKHDF/Steps/Values"][:], [0.0, 0.05, 0.1, 0.15, 0.2])


def test_lid_left_out_moves_at_the_reference_velocity_in_metres_a_second() -> None:
    units = {"system": "SI", "cell": 0.1, "density": 800, "speeds": "m/s"}
    flow = Simulation((8, 8), 10, 2.0, units=units, backend="host")
    assert flow.case.options()["walls"]["y+"][0] == flow.case.scales.reference_velocity


def test_time_in_seconds_of_a_case_in_cells_is_refused(small: Path) -> None:
    with raises(CaseError, "unsupported", key="run.time", other="units.system", needed="SI"):
        load(small, ["run.time=1"])


def test_lattice_speed_with_too_large_mach_number_is_refused_with_its_range(si: Path) -> None:
    facts = {"key": "units.lattice_speed", "value": 0.866, "remedy": "units.lattice_speed <= 0.173"}
    with raises(CaseError, "invalid_argument", **facts):
        load(si, ["units.lattice_speed=0.5"])


def test_step_with_too_large_mach_number_is_refused_with_its_range(tmp_path: Path) -> None:
    path = tmp_path / "si.toml"
    path.write_text(SI.replace("lattice_speed = 0.1", "step = 0.05"))
    with raises(CaseError, "invalid_argument", key="units.step", value=1.732, remedy="units.step <= 0.00866 s"):
        load(path)


@pytest.mark.parametrize("viscosity", [1e-4, 50])
@pytest.mark.parametrize("step", ["lattice_speed = 0.1", "lattice_speed = 0.02", "step = 0.001"])
def test_every_remedy_for_tau_out_of_range_mends_it(tmp_path: Path, step: str, viscosity: float) -> None:
    path = tmp_path / "si.toml"
    path.write_text(SI.replace("lattice_speed = 0.1", step).replace("0.032", str(viscosity)))
    with raises(CaseError, "invalid_argument", key="physics.viscosity", allowed="0.502 to 2") as caught:
        load(path)
    for remedy in caught.value.facts["remedy"].split(" or "):
        key, _, value, *_ = remedy.split()
        load(path, [f"{key if '.' in key else 'physics.' + key}={value}"])


def test_large_grid_reynolds_number_in_si_is_a_warning(si: Path) -> None:
    assert "grid Reynolds number 62.5 is above 20" in warnings(load(si, ["physics.viscosity=0.0032"]))[0]


def test_length_far_beyond_the_box_is_a_warning(si: Path) -> None:
    case = load(si, ["physics.length=32", "physics.viscosity=0.64"])
    assert warnings(case) == ["physics.length of 32 m is 20 times the longest side of the box: is it in metres?"]


def test_force_that_drives_too_fast_a_flow_is_a_warning_in_newtons(si: Path) -> None:
    words = ["grid.periodic=[true, false, false]"]
    (text,) = warnings(load(si, ["physics.force=[3200, 0, 0]", *words]))
    bound, unit = text.split()[-2:]
    assert unit == "N/m^3"
    assert warnings(load(si, [f"physics.force=[{bound}, 0, 0]", *words])) == []


def test_check_shows_the_table_of_the_converter(cli: Cli) -> None:
    result = cli("check", str(CASES / "cavity_si.toml"))
    assert result.returncode == 0, result.stderr
    text = " ".join(result.stdout.split())
    for row in (
        "length 0.0015625 m",
        "time 0.015625 s",
        "velocity 0.1 m/s",
        "density 998 kg/m^3",
        "viscosity 0.00015625 m^2/s",
        "force 2.43652e-05 N",
        "pressure 9.98 Pa",
        "Reynolds number 1000 -",
        "Mach number 0.173205 -",
        "tau 0.5192 -",
    ):
        assert row in text


def test_files_and_lines_of_a_run_in_si_are_in_si(cli: Cli, si: Path, small: Path) -> None:
    for path in (si, small):
        result = cli("run", path.name, f"output.folder={path.stem}", "output.pictures=false", "machine.backend=host")
        assert result.returncode == 0, result.stderr
        text = result.stdout
        assert ("one lattice unit in SI" in text) == (path == si)
        assert ("time 0.2 s " in text) == (path == si) and ("time 0.25 L/U " in text) == (path == small)
    with h5py.File(si.parent / "si/fields.vtkhdf") as metres, h5py.File(si.parent / "small/fields.vtkhdf") as ratios:
        assert metres["VTKHDF"].attrs["Spacing"] == pytest.approx([0.1] * 3)
        assert metres["VTKHDF/Steps/Values"][-1] == pytest.approx(40 * 0.005)
        assert metres["Series/velocity"][-1] == pytest.approx(2 * ratios["Series/velocity"][-1], rel=1e-6)
        assert metres["Series/density"][-1] == pytest.approx(800 * ratios["Series/density"][-1], rel=1e-6)
        units = {name: dict(metres[f"Series/{name}"].attrs) for name in ("velocity", "density", "flags")}
        assert units == {"velocity": {"unit": b"m/s"}, "density": {"unit": b"kg/m^3"}, "flags": {}}
        assert dict(ratios["Series/velocity"].attrs) == {}
    metres, ratios = (
        np.genfromtxt(si.parent / name / "profiles.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
        for name in ("si", "small")
    )
    assert metres.dtype.names == ("axis", "place_m", "u_m_per_s", "v_m_per_s", "w_m_per_s")
    assert metres["place_m"] == pytest.approx(1.6 * ratios["place"])
    assert metres["u_m_per_s"] == pytest.approx(2 * ratios["u"], rel=1e-6)
    figures = json.loads((si.parent / "si/comparison.json").read_text())["run"]
    assert figures["si"]["step_s"] == pytest.approx(0.005) and figures["si"]["time_s"] == pytest.approx(0.2)
    assert figures["si"]["viscosity_m2_per_s"] == pytest.approx(0.032)


def test_run_in_si_goes_on_from_its_checkpoint(cli: Cli, si: Path) -> None:
    words = ["run", "si.toml", "output.pictures=false", "machine.backend=host"]
    assert cli(*words, "output.folder=whole").returncode == 0
    assert cli(*words, "output.folder=parts", "run.steps=20", "checkpoint.every=20").returncode == 0
    result = cli(*words, "output.folder=parts", "--restart", "last")
    assert result.returncode == 0 and "restarted at step 20" in result.stdout, result.stderr
    assert (si.parent / "parts/profiles.csv").read_bytes() == (si.parent / "whole/profiles.csv").read_bytes()
