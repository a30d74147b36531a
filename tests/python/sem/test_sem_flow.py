"""Incompressible flow on spectral elements: from a case file to results, restarts, files and comparisons."""

import itertools
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import slipstream as slip
from conftest import ROOT, Cli, backend_of
from errors import is_error, raises
from pymech.neksuite import readnek
from slipstream.base import rows
from slipstream.base.errors import ArgumentError
from slipstream.case.reader import load
from slipstream.results.results import Results
from slipstream.sem import sampling

#: Case with inflow at x-, outflow at x+, a moving wall, a symmetry side, and two blocks of elements, so that two
#: devices have some.
CHANNEL = """
[case]
name = "channel"
[grid]
cells = [3, 3, 2]
periodic = [false, false, true]
[sem]
equation = "navier_stokes"
order = 4
deformation = 0.03
viscosity = 0.05
force = [0.0, 0.0, "sin(2*pi*x)"]
time_step = 0.005
projection = 0
pressure_tolerance = 1e-9
velocity_tolerance = 1e-9
[boundaries]
"x-" = { kind = "velocity", velocity = ["(1 + 0.2*sin(t))*(1 + y)", 0, 0] }
"x+" = { kind = "velocity", velocity = ["(1 + 0.2*sin(t))*(1 + y)", 0, 0] }
"y-" = { kind = "symmetry" }
"y+" = { kind = "velocity", velocity = [2, 0, 0] }
[initial]
velocity = ["1 + y", 0, 0]
[run]
steps = 6
check_every = 2
[output]
every = 0.015
nek = "f64"
report = false
"""


def case(folder: Path, text: str) -> str:
    (folder / "a.toml").write_text(text)
    return "a.toml"


def findings(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results" / name / "findings.json").read_text())
    return found


def last(path: Path, name: str) -> np.ndarray:
    with h5py.File(path) as file:
        begin = file[f"VTKHDF/Steps/PointDataOffsets/{name}"][-1]
        return np.asarray(file[f"VTKHDF/PointData/{name}"][begin:])


def test_a_run_leaves_velocity_and_pressure_statistics_and_field_files(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path, CHANNEL))
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "results/channel"
    velocity, pressure = (last(folder / "fields.vtkhdf", name) for name in ("velocity", "pressure"))
    assert velocity.shape == (18 * 125, 3) and pressure.shape == (18 * 125,)
    with h5py.File(folder / "fields.vtkhdf") as file:
        assert list(file["VTKHDF/Steps/Values"]) == pytest.approx([0, 0.015, 0.03])
        plan = load(str(tmp_path / "a.toml"))
        sampled = sampling.read(file, "velocity", 2, plan, (slice(None), slice(0, 1), slice(0, 1)))
    assert sampled.shape[-1] == 3 and np.isfinite(sampled).all()
    nek = readnek(str(folder / "fields0.f00002"))
    of_file = np.stack([element.vel for element in nek.elem])
    assert of_file.shape == (18, 3, 5, 5, 5)
    # Values of the inlet, at a corner that it shares with the symmetry side.
    assert of_file[0, :, 0, 0, 0] == pytest.approx([1 + 0.2 * np.sin(0.03), 0, 0], abs=1e-12)
    assert np.stack([element.pres for element in nek.elem]).std() > 1e-3
    header, lines = rows.read(folder / "statistics.csv")
    table = dict(zip(header, np.array(lines, dtype=float).T, strict=True))
    assert list(table["step"]) == [0, 2, 4, 6]
    assert (table["pressure_iterations"][1:] > 0).all() and (table["velocity_iterations"][1:] > 0).all()
    assert table["divergence"][-1] < 0.05
    found = findings(tmp_path, "channel")["findings"]
    assert found["energy"] == pytest.approx(table["energy"][-1])
    for words in ((), ("--field", "speed"), ("--field", "w"), ("--field", "pressure")):
        assert here("plot", "results/channel", *words).returncode == 0
    assert (folder / "pictures/iterations.png").exists()
    assert Results(folder).case.sem.equation == "navier_stokes"


@pytest.mark.parametrize(
    "words",
    [(), ("sem.target_courant=0.3", "sem.time_step=0.04"), ("sem.projection=3",), ("sem.mean_from=0.007",)],
)
def test_a_restart_has_the_same_bits_on_other_devices(here: Cli, tmp_path: Path, words: tuple[str, ...]) -> None:
    given = ("run", case(tmp_path, CHANNEL), *words, *backend_of(2), "output.nek=no")
    assert here(*given, "output.folder=whole").returncode == 0
    assert here(*given, "output.folder=part", "run.steps=4", "checkpoint.every=4").returncode == 0
    more = ("output.folder=part", "machine.devices_per_rank=2", "--restart", "last")
    result = here(*given, *more)
    assert result.returncode == 0, result.stderr
    means = (
        ("mean_velocity", "mean_pressure", "mean_squares", "mean_products") if "sem.mean_from=0.007" in words else ()
    )
    for name in ("velocity", "pressure", *means):
        whole, part = (last(tmp_path / folder / "fields.vtkhdf", name) for folder in ("whole", "part"))
        assert whole.any() and whole.tobytes() == part.tobytes()
    whole_rows, part_rows = (rows.read(tmp_path / folder / "statistics.csv")[1] for folder in ("whole", "part"))
    assert whole_rows[-1][:8] == part_rows[-1][:8]


def test_taylor_and_greens_vortex_is_the_published_one_at_first(here: Cli, tmp_path: Path) -> None:
    words = ("grid.cells=[4,4,4]", "sem.order=5", "sem.time_step=0.02", "run.time=0.4", "output.report=false")
    result = here("run", str(ROOT / "cases/taylor_green_sem.toml"), *words, "output.folder=out")
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "out/findings.json").read_text())["findings"]
    assert found["energy.largest_enstrophy_error"] < 0.01
    assert found["energy.largest_decay_error"] < 0.002
    assert (tmp_path / "out/dissipation.png").exists()


def left_by_interpolation(plan: Any, order: int) -> float:
    """L2 error of interpolating the exact velocity at the element points, by a finer quadrature."""
    nodes = np.polynomial.legendre.Legendre.basis(order).deriv().roots().real
    nodes = np.concatenate([[-1], np.sort(nodes), [1]])
    fine, weights = np.polynomial.legendre.leggauss(order + 8)
    basis = np.linalg.inv(np.polynomial.legendre.legvander(nodes, order))
    to_fine = np.polynomial.legendre.legvander(fine, order) @ basis
    weight = np.einsum("i,j,k->ijk", weights, weights, weights)
    bend, edges, cells = plan.sem.deformation, np.array(plan.sem.lengths), np.array(plan.grid.cells)

    def finer(values: np.ndarray) -> np.ndarray:
        return np.einsum("ai,bj,ck,...ijk->...abc", to_fine, to_fine, to_fine, values, optimize=True)

    off = size = 0.0
    for element in np.ndindex(*cells):
        y = np.array(
            np.meshgrid(*((e + (nodes + 1) / 2) / c for e, c in zip(element, cells, strict=True)), indexing="ij")
        )
        places = edges[:, None, None, None] * (y + bend * np.sin(2 * np.pi * y).prod(axis=0))
        known = finer(places).reshape(3, -1).T
        for part in plan.solution[0]:
            if part is not None:
                exact = part(known, 0.0)
                through = finer(part(places.reshape(3, -1).T, 0.0).reshape(y.shape[1:])).ravel()
                off += (weight.ravel() * (through - exact) ** 2).sum()
                size += (weight.ravel() * exact**2).sum()
    return float(np.sqrt(off / size))


# Order 6 is tested in the thorough set, because it takes three times as long as the other two.
@pytest.mark.parametrize("most", [5, pytest.param(6, marks=pytest.mark.thorough)])
def test_kovasznays_flow_falls_tenfold_with_each_order_as_interpolation_does(
    here: Cli, tmp_path: Path, most: int
) -> None:
    path, errors = str(ROOT / "cases/kovasznay_sem.toml"), []
    # numbers of steps with nearly equal Courant numbers
    for order, steps in zip(range(4, most + 1), (13, 21, 30), strict=False):
        words = (f"sem.order={order}", f"sem.time_step={0.06 / steps}", f"run.steps={steps}", "--overwrite")
        result = here("run", path, *words, "output.folder=out")
        assert result.returncode == 0, result.stderr
        errors.append(json.loads((tmp_path / "out/findings.json").read_text())["findings"])
        assert errors[-1]["exact.distance"] < 1.5 * left_by_interpolation(load(path), order)
    for name, least in (("exact.distance", 9.5), ("exact.pressure", 5.5), ("divergence", 5)):
        found = [one[name] for one in errors]
        assert all(finer < coarser / least for coarser, finer in itertools.pairwise(found)), found
    for name in ("exact.distance", "exact.pressure"):
        assert errors[-1][name] < errors[0][name] / {5: 5.5, 6: 50}[most]


def test_receivers_and_profiles_have_velocity_and_pressure(here: Cli, tmp_path: Path) -> None:
    words = ("receivers.mid.at=[0.5, 0.5, 0.25]", "receivers.line.at=[0, 0, 0.5]", "receivers.line.to=[0, 1, 0.5]")
    result = here(
        "run", case(tmp_path, CHANNEL), *words, "receivers.line.points=5", "output.fields=false", "output.nek=no"
    )
    assert result.returncode == 0, result.stderr
    header, lines = rows.read(tmp_path / "results/channel/receivers.csv")
    assert header == ["step", "time", "mid.u", "mid.v", "mid.w", "mid.p"] and len(lines) == 4
    header, lines = rows.read(tmp_path / "results/channel/profiles.csv")
    table = np.array([line[1:] for line in lines], dtype=float)
    inlet = (1 + 0.2 * np.sin(0.03)) * (1 + table[:, 2])
    # At points shared by inlet and wall, the wall's values count, because they are set last. The polynomials in the
    # elements next to the wall thus differ from the inlet's.
    np.testing.assert_allclose(table[:3, 4], inlet[:3], atol=1e-12)
    assert table[-1, 4] == pytest.approx(2, abs=1e-12)


def test_forces_means_and_planes_are_those_of_a_channel(here: Cli, tmp_path: Path) -> None:
    # Arguments of Poiseuille flow from the start: u = y (1 - y).
    words = ["sem.force=[1, 0, 0]", "sem.viscosity=0.5", "initial.velocity=['y*(1 - y)', 0, 0]", "sem.deformation=0"]
    words += ["grid.periodic=[true, false, true]", "sem.mean_from=0.01", "output.planes=y", "output.nek=no"]
    text = CHANNEL[: CHANNEL.index("[boundaries]")] + CHANNEL[CHANNEL.index("[initial]") :]
    result = here("run", case(tmp_path, text), *words)
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "results/channel"
    header, lines = rows.read(folder / "loads.csv")
    loads = dict(zip(header, np.array(lines, dtype=float).T, strict=True))
    for side in ("y-", "y+"):
        np.testing.assert_allclose(loads[f"{side}.viscous_x"], 0.5, atol=1e-6)
        np.testing.assert_allclose(loads[f"{side}.pressure_y"], 0, atol=1e-6)
    header, lines = rows.read(folder / "planes.csv")
    planes = dict(zip(header, np.array(lines, dtype=float).T, strict=True))
    y = planes["y"]
    assert len(y) == 13 and y[0] == pytest.approx(0) and y[-1] == pytest.approx(1)
    np.testing.assert_allclose(planes["u"], y * (1 - y), atol=1e-7)
    np.testing.assert_allclose(planes["uu"], (y * (1 - y)) ** 2, atol=1e-7)
    mean = last(folder / "fields.vtkhdf", "mean_velocity")
    assert mean.shape == (18 * 125, 3) and mean[:, 0].max() == pytest.approx(0.25, abs=1e-6)


def test_from_python_a_flow_is_its_velocity_and_pressure(tmp_path: Path) -> None:
    flow = slip.sem.Flow(
        (4, 4, 4),
        viscosity=0.05,
        time_step=0.05,
        periodic=(True, True, True),
        order=5,
        lengths=[2 * np.pi] * 3,
        exact={
            "velocity": ["cos(x)*sin(y)*exp(-0.1*t)", "-sin(x)*cos(y)*exp(-0.1*t)", 0],
            "pressure": "-0.25*(cos(2*x) + cos(2*y))*exp(-0.2*t)",
        },
        start="exact",
    )
    flow.run(4)
    found = flow.statistics()
    assert flow.step == 4 and flow.time == pytest.approx(0.2)
    assert found.distance is not None and found.pressure_off is not None
    assert found.distance < 1e-3 and found.pressure_off < 1e-2 and found.divergence < 1e-2
    assert found.energy == pytest.approx(0.25 * np.exp(-0.04), rel=1e-3)
    assert found.decay == pytest.approx(2 * 0.05 * found.enstrophy, rel=1e-2)
    n = flow.case.sem.order + 1
    assert flow.u.shape == (64, n, n, n, 3) and flow.p.shape == (64, n, n, n)
    at = flow.at([[1, 2, 3]])
    assert at[0] == pytest.approx(
        [
            np.cos(1) * np.sin(2) * np.exp(-0.02),
            -np.sin(1) * np.cos(2) * np.exp(-0.02),
            0,
            0.25 * -(np.cos(2) + np.cos(4)) * np.exp(-0.04),
        ],
        abs=5e-3,
    )
    flow.write(tmp_path / "a.vtkhdf", {"twice": 2 * flow.u})
    assert last(tmp_path / "a.vtkhdf", "twice").shape == (64 * n**3, 3)
    flow.write_nek(tmp_path / "x0.f00000", "f64")
    assert readnek(str(tmp_path / "x0.f00000")).elem[0].vel.shape == (3, n, n, n)
    np.testing.assert_array_equal(flow.gathered(), flow.u)
    with raises(slip.CaseError, "mismatch"):
        slip.sem.Flow.from_case(ROOT / "cases/heat_sem.toml")
    with raises(TypeError, "not_found", option="viscositi", nearest="viscosity"):
        slip.sem.Flow((2, 2, 2), viscosity=1, time_step=1, viscositi=2)  # type: ignore[call-arg]


def test_from_python_means_are_those_of_the_steps_and_walls_hold_what_drives_the_fluid() -> None:
    def channel(**more: Any) -> slip.sem.Flow:
        return slip.sem.Flow(
            (2, 2, 1),
            viscosity=0.5,
            time_step=0.01,
            periodic=(True, False, True),
            order=4,
            force=["1 + 5*sin(40*t)", "sin(2*pi*x)*cos(30*t)", "y"],
            initial={"velocity": ["y*(1 - y)", 0, 0]},
            **more,
        )

    flow, steps = channel(mean_from=0.025), []
    for step in range(1, 7):
        flow.run(1)
        if step > 2:
            steps.append((flow.u, flow.p))
    u, p = (np.stack(values) for values in zip(*steps, strict=True))
    mean = flow.means()
    assert mean.pressure.shape == (4, 5, 5, 5)
    assert mean.velocity.shape == mean.squares.shape == mean.products.shape == (4, 5, 5, 5, 3)
    pairs = u[..., [0, 0, 1]] * u[..., [1, 2, 2]]
    for name, values in {"velocity": u, "pressure": p, "squares": u**2, "products": pairs}.items():
        np.testing.assert_allclose(mean[name], values.mean(axis=0), atol=1e-14, err_msg=name)
    assert np.ptp(u[..., 0], axis=0).max() > 1e-4, "the flow changes"
    planes = flow.planes("y")
    assert {planes[name].shape for name in planes} == {(9,)}
    # The plane of a wall is at rest; the mean over a plane is that of its points, by their weights.
    assert planes.place[[0, 4, 8]] == pytest.approx([0, 0.5, 1]) and planes.u[[0, 8]] == pytest.approx([0, 0])
    w = np.array([0.1, 49 / 90, 32 / 45, 49 / 90, 0.1]) / 2
    for name, values in (("u", mean.velocity[..., 0]), ("ww", mean.squares[..., 2])):
        lower_half = np.einsum("ekji,k,i->j", values[:2], w, w) / 2
        np.testing.assert_allclose(planes[name][:4], lower_half[:4], atol=1e-14)
    forces = channel().forces()
    assert list(forces) == ["y-", "y+"]
    for side in forces.values():
        np.testing.assert_allclose(side.viscous, [0.5, 0, 0], atol=1e-12)
        np.testing.assert_allclose(side.pressure, [0, 0, 0], atol=1e-12)
    with raises(ArgumentError, "not_found", argument="axis", given="q"):
        flow.planes("q")  # type: ignore[arg-type]
    with raises(ArgumentError, "wrong_state", argument="mean_from"):
        channel().means()


def test_couette_flow_between_cylinders_stays_what_it_is() -> None:
    # Angular velocity of u = (a + b / r^2) (-y, x), with speed zero at r = 1 and speed 1 at r = 2.
    turn = "(2/3 - 2/3/(x^2 + y^2))"
    flow = slip.sem.Flow(
        (2, 6, 1),
        viscosity=0.1,
        time_step=0.01,
        order=8,
        periodic=(False, True, True),
        map=["(1 + x)*cos(2*pi*y)", "(1 + x)*sin(2*pi*y)", "z"],
        boundaries={"x+": {"kind": "velocity", "velocity": ["-y/2", "x/2", 0]}},
        # The pressure gradient balances u^2 / r.
        exact={
            "velocity": [f"-y*{turn}", f"x*{turn}", 0],
            "pressure": "4/9*((x^2 + y^2)/2 - log(x^2 + y^2) - 1/(2*(x^2 + y^2)))",
        },
        start="exact",
    )
    flow.run(20)
    found = flow.statistics()
    assert found.distance is not None and found.pressure_off is not None
    assert found.distance < 2e-6 and found.pressure_off < 2e-5 and found.divergence < 1e-5
    # The torque of friction on the inner cylinder is 4 pi nu 2/3 for a depth of 1. Forces on a whole ring vanish.
    assert np.abs(np.array(flow.solver.forces()["x-"])).max() < 1e-6


def test_faults_of_a_case_are_told_by_key(here: Cli, tmp_path: Path) -> None:
    path = case(tmp_path, CHANNEL)
    for words, code, facts in (
        (["sem.order=12"], "invalid_argument", {"key": "sem.order", "allowed": "2 to 11"}),
        (["boundaries.y-.velocity=[1, 0, 0]"], "unsupported", {"key": "boundaries.y-.velocity", "needed": "velocity"}),
        (["boundaries.z-.kind=wall"], "unsupported", {"key": "boundaries.z-", "other": "grid.periodic"}),
        (["boundaries.y+.kind=outflow"], "invalid_argument", {"key": "boundaries.y+.kind", "given": '"outflow"'}),
        (["boundaries.top.kind=wall"], "not_found", {"key": "boundaries.top"}),
        (["sem.filter_modes=2"], "not_found", {"key": "sem.filter_modes", "other": "sem.filter"}),
        (["sem.start=exact"], "not_found", {"key": "sem.start", "other": "exact"}),
        (["sem.force=[1, 0, 'q']"], "not_found", {"key": "sem.force.2", "name": "q"}),
        (["sem.diffusivity=1"], "not_found", {"key": "sem.diffusivity"}),
        (["output.reference=albensoeder2005"], "not_found", {"key": "output.reference"}),
    ):
        is_error(here("check", path, *words), code, **facts)
    for words, code, facts in (
        (["boundaries.x+.velocity=[0, 0, 0]"], "invalid_argument", {"problem": "balance"}),
        # The inflow at side x- changes with time, so this constant outflow at side x+ balances it only at the start.
        (["boundaries.x+.velocity=['1 + y', 0, 0]"], "not_converged", {"problem": "balance", "time": 0.01}),
        (["sem.deformation=0.2"], "invalid_argument", {"element": 0}),
        (["sem.time_step=0.5"], "not_converged", {"problem": "courant", "field": "velocity"}),
        (["sem.most_iterations=1"], "not_converged", {"iterations": 1, "field": "pressure at step 1"}),
    ):
        result = here("run", path, *words, "--overwrite")
        is_error(result, code, returncode=3 if code == "not_converged" else 2, **facts)
    result = here("run", path, "sem.most_iterations=1", "sem.not_converged=go on", "--overwrite")
    assert result.returncode == 0 and "did not converge" in result.stdout + result.stderr
