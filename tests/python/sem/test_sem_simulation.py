"""`slipstream.sem.Simulation`, its files, points and initial states."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import slipstream as slip
from errors import raises
from pymech.neksuite import readnek
from ranks import run_on
from slipstream.sem import Simulation
from slipstream.sem.simulation import Options
from slipstream.sem.tables import SemTable

SIDES = ("x-", "x+", "y-", "y+", "z-", "z+")


def diffusion(**more: Any) -> Simulation:
    given: dict[str, Any] = {"order": 4, "deformation": 0.04, "time_step": 0.01, "time_order": 1}
    boundaries = {side: {"flux": 0.0} for side in SIDES}
    initial = {"value": "cos(pi*x) + y*z"}
    return Simulation("diffusion", (2, 3, 2), **({"boundaries": boundaries, "initial": initial} | given | more))


def of_nek(path: Path, name: str) -> np.ndarray:
    """Values of a field of a Nek5000 file, [element][component][t][s][r], in the order of element numbers."""
    found = readnek(str(path))
    part = {"X": "pos", "U": "vel", "P": "pres", "T": "temp", "S": "scal"}[name]
    return np.stack([getattr(element, part) for element in found.elem])


def test_poisson_is_solved_and_measured_at_any_point() -> None:
    sides = {side: {"value": "x^2 - y*z"} for side in SIDES}
    sim = slip.sem.Simulation("poisson", [2, 2, 2], order=4, source=-2, boundaries=sides, exact={"value": "x^2 - y*z"})
    sim.run()
    assert sim.step == 1 and "Poisson's equation, order 4" in repr(sim)
    assert sim.statistics().largest_off < 1e-9
    points = np.array([[0.1, 0.2, 0.3], [1, 1, 1], [0.5, 0.25, 0.999]])
    np.testing.assert_allclose(sim.at(points), points[:, 0] ** 2 - points[:, 1] * points[:, 2], atol=1e-9)
    x, y, z = np.moveaxis(sim.places, -1, 0)
    np.testing.assert_allclose(sim.u, x**2 - y * z, atol=1e-9)
    np.testing.assert_array_equal(sim.gathered(), sim.u)
    assert sim.elements == range(8)
    with raises(slip.CaseError, "not_found", index=1):
        sim.at([[0.5, 0.5, 0.5], [0.5, 1.5, 0.5]])
    with raises(ValueError, "mismatch", argument="points"):
        sim.at(np.zeros(3))


def test_keywords_are_the_keys_of_a_case_file() -> None:
    sides: dict[str, Any] = {side: {"value": 0.0} for side in SIDES}
    sides["z+"] = {"flux": 1.0, "transfer": "1 + x"}
    largest = []
    for how in ({}, {"method": "fgmres", "restart": 20, "preconditioner": "schwarz", "degree": 3}):
        sim = Simulation("poisson", (2, 2, 2), order=5, source=1, diffusivity="1 + 0.5*y", boundaries=sides, **how)
        sim.run()
        largest.append(sim.u.max())
    assert largest[0] > 0.1 and largest[1] == pytest.approx(largest[0], rel=1e-8)
    # Each key of the table [sem] in case files, except `equation`, is a keyword argument of Simulation.
    keys = {name for name in SemTable.model_fields if name != "equation"}
    assert keys <= set(Options.__annotations__)


def test_keywords_of_other_names_and_cases_of_other_solvers_are_refused() -> None:
    with pytest.raises(TypeError, match="ordre"):
        Simulation("poisson", [1, 1, 1], ordre=3)  # type: ignore[call-arg]
    with raises(slip.CaseError, "mismatch", given="lbm"):
        Simulation.from_case(Path(__file__).parents[3] / "cases" / "cavity.toml")


@pytest.mark.parametrize(("words", "rounding"), [("f32", 1e-6), ("f64", 0)])
def test_pymech_reads_what_nek_files_hold(tmp_path: Path, words: Any, rounding: float) -> None:
    sim = diffusion()
    sim.run(2)
    path = tmp_path / "x0.f00000"
    sim.write_nek(path, words)
    found = readnek(str(path))
    assert found.time == pytest.approx(0.02) and found.istep == 2 and list(found.lr1) == [5, 5, 5] and found.nel == 12
    np.testing.assert_allclose(of_nek(path, "T")[:, 0], sim.u, rtol=0, atol=rounding)
    np.testing.assert_allclose(np.moveaxis(of_nek(path, "X"), 1, -1), sim.places, rtol=0, atol=rounding)
    velocity = np.stack([sim.u, 2 * sim.u, sim.u**2], axis=-1)
    sim.write_nek(path, words, {"U": velocity, "P": np.float32(sim.u), "T": -sim.u, "S01": sim.u + 1, "S02": 3 * sim.u})
    np.testing.assert_allclose(np.moveaxis(of_nek(path, "U"), 1, -1), velocity, rtol=0, atol=2 * rounding)
    np.testing.assert_array_equal(of_nek(path, "P")[:, 0].astype(np.float32), np.float32(sim.u))
    np.testing.assert_allclose(of_nek(path, "T")[:, 0], -sim.u, rtol=0, atol=rounding)
    np.testing.assert_allclose(of_nek(path, "S"), np.stack([sim.u + 1, 3 * sim.u], axis=1), rtol=0, atol=6 * rounding)
    with raises(slip.CaseError, "mismatch", field="T", needed="12, 5, 5, 5"):
        sim.write_nek(path, words, {"T": sim.u[1:]})


def test_a_start_from_a_file_has_its_values_and_goes_to_another_order(tmp_path: Path) -> None:
    first = diffusion()
    first.write_nek(tmp_path / "x0.f00000", "f64")
    file = str(tmp_path / "x0.f00000")
    np.testing.assert_allclose(diffusion(initial={"file": file}).u, first.u, rtol=1e-15, atol=1e-15)
    finer = diffusion(order=7, initial={"file": file})
    # Orders 4 and 7 describe a bent element differently between its corners, so solutions are compared at corners only.
    # On undeformed elements, below, they agree everywhere.
    points = finer.places[3, 0, 0, [0, -1]]
    np.testing.assert_allclose(finer.at(points), first.at(points), atol=1e-12)
    straight = diffusion(deformation=0)
    straight.write_nek(file, "f64")
    finer = diffusion(order=7, deformation=0, initial={"file": file})
    places = finer.places.reshape(-1, 3)
    np.testing.assert_allclose(finer.u.ravel(), straight.at(places), atol=1e-12)


@pytest.mark.parametrize("words", ["f32", "f64"])
def test_a_start_from_another_mesh_is_refused(tmp_path: Path, words: Any) -> None:
    file = str(tmp_path / "x0.f00000")
    diffusion().write_nek(file, words)
    with raises(slip.CaseError, "mismatch", file=file, problem="places"):
        diffusion(deformation=0.05, initial={"file": file})
    with raises(slip.CaseError, "mismatch", file=file, problem="places"):
        diffusion(order=6, lengths=(1, 1, 1.001), initial={"file": file})
    with raises(slip.CaseError, "not_found", file=file, field="P", choices="X, T"):
        diffusion(initial={"file": file, "field": "P"})
    Simulation("poisson", (2, 2, 2), order=2, boundaries={s: {"value": 0} for s in SIDES}).write_nek(file, words)
    with raises(slip.CaseError, "mismatch", file=file, problem="elements", given=8, needed=12):
        diffusion(initial={"file": file})


@pytest.mark.parametrize(
    ("problem", "code"),
    [("length", "bad_file"), ("header", "bad_file"), ("endian", "bad_file"), ("numbers", "bad_file")]
    + [("files", "unsupported"), ("dimensions", "unsupported")],
)
def test_a_broken_file_is_told_by_what_is_wrong(tmp_path: Path, problem: str, code: str) -> None:
    path = tmp_path / "x0.f00000"
    diffusion().write_nek(path, "f64")
    data = bytearray(path.read_bytes())
    if problem == "length":
        del data[-3000:]
    elif problem == "header":
        data[5:6] = b"7"
    elif problem == "endian":
        data[132:136] = b"\0\0\0\0"
    elif problem == "numbers":
        data[136:140] = data[140:144]
    elif problem == "files":
        data[17:27] = b"%10d" % 6
    else:
        data[13:15] = b" 1"
    path.write_bytes(data)
    with raises(slip.CaseError, code, file=str(path), problem=problem):
        diffusion(initial={"file": str(path)})


ON_RANKS = """
import sys
import numpy as np
from slipstream.sem import Simulation
from slipstream.sem.simulation import Options
from slipstream.sem.tables import SemTable
sides = {side: {"flux": 0.0} for side in ("x-", "x+", "y-", "y+", "z-", "z+")}
sim = Simulation("diffusion", (2, 3, 2), order=4, deformation=0.04, time_step=0.01, boundaries=sides,
                 initial={"value": "cos(pi*x) + y*z"}, backend="host")
for _ in range(2):
    sim.run()
    more = {"vector": np.stack([sim.u, 2 * sim.u, sim.places[..., 0]], axis=-1), "narrow": np.float32(sim.u)}
    sim.write(sys.argv[1] + ".vtkhdf", more)
sim.write_nek(sys.argv[1] + "0.f00000", "f64")
np.save(f"{sys.argv[1]}_at.npy", sim.at([[0.3, 0.2, 0.1], [1, 1, 1], [0.5, 0.5, 0.5]]))
"""


def test_files_and_points_do_not_depend_on_the_ranks(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(ON_RANKS)
    for ranks in (1, 2):
        done = run_on(ranks, program, str(tmp_path / f"of{ranks}"))
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "of10.f00000").read_bytes() == (tmp_path / "of20.f00000").read_bytes()
    assert (tmp_path / "of1_at.npy").read_bytes() == (tmp_path / "of2_at.npy").read_bytes()
    with h5py.File(tmp_path / "of1.vtkhdf") as one, h5py.File(tmp_path / "of2.vtkhdf") as two:
        names = ["Points", "Connectivity", "Offsets", "Types", *(f"PointData/{n}" for n in ("u", "vector", "narrow"))]
        for name in names:
            a, b = one[f"VTKHDF/{name}"], two[f"VTKHDF/{name}"]
            assert a.dtype == b.dtype and a[:].tobytes() == b[:].tobytes(), name
        u, vector = one["VTKHDF/PointData/u"][:], one["VTKHDF/PointData/vector"]
        assert vector.shape == (2 * 12 * 125, 3) and one["VTKHDF/PointData/narrow"].dtype == np.float32
        np.testing.assert_allclose(vector[:, 1], 2 * u, rtol=1e-14)
        np.testing.assert_allclose(vector[-1500:, 2], one["VTKHDF/Points"][:, 0], atol=1e-14)


def test_vtk_reads_vectors_and_scalars_of_each_step(tmp_path: Path) -> None:
    vtk = pytest.importorskip("vtkmodules.vtkIOHDF", reason="VTK is not installed (tools/setup.sh render)")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    sim = diffusion()
    for _ in range(2):
        sim.run()
        sim.write(tmp_path / "a.vtkhdf", {"vector": np.stack([sim.u, 2 * sim.u, -sim.u], axis=-1)})
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(tmp_path / "a.vtkhdf"))
    reader.UpdateInformation()
    reader.SetStep(1)
    reader.Update()
    data = reader.GetOutput().GetPointData()
    u, vector = (vtk_to_numpy(data.GetArray(name)) for name in ("u", "vector"))
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        np.testing.assert_array_equal(u, file["VTKHDF/PointData/u"][-1500:])
        np.testing.assert_array_equal(vector, file["VTKHDF/PointData/vector"][-1500:])


CASE = """
[case]
name = "spread"
[grid]
cells = [2, 3, 2]
[sem]
equation = "diffusion"
order = 4
deformation = 0.04
time_step = 0.01
[boundaries]
"x-" = { flux = 0.0 }
"x+" = { flux = 0.0 }
"y-" = { flux = 0.0 }
"y+" = { flux = 0.0 }
"z-" = { flux = 0.0 }
"z+" = { flux = 0.0 }
[initial]
value = "cos(pi*x) + y*z"
[receivers.middle]
at = [0.5, 0.5, 0.5]
[receivers.across]
at = [0.0, 0.2, 0.3]
to = [1.0, 0.2, 0.3]
points = 11
[run]
steps = 4
check_every = 2
[output]
every = 0.02
nek = "f64"
"""


def test_a_case_writes_nek_frames_receivers_and_profiles_and_starts_from_a_frame(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(CASE)
    result = cli("run", "a.toml", "output.report=false")
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "results" / "spread"
    frames = sorted(path.name for path in folder.glob("fields0.f*"))
    assert frames == ["fields0.f00000", "fields0.f00001", "fields0.f00002"]
    assert "numtimesteps: 3" in (folder / "fields.nek5000").read_text()
    sim = Simulation.from_case(tmp_path / "a.toml")
    sim.run(4)
    np.testing.assert_array_equal(of_nek(folder / frames[2], "T")[:, 0], sim.u)
    heard = np.loadtxt(folder / "receivers.csv", delimiter=",", skiprows=1)
    assert heard[:, 0].tolist() == [0, 2, 4] and heard[-1, 2] == sim.at([[0.5, 0.5, 0.5]])[0]
    lines = np.loadtxt(folder / "profiles.csv", delimiter=",", skiprows=1, usecols=range(1, 6))
    np.testing.assert_allclose(lines[:, 0], np.linspace(0, 1, 11), atol=1e-15)
    np.testing.assert_array_equal(lines[:, 4], sim.at(lines[:, 1:4]))
    # The second run makes a step of the same length from the frame of step 2.
    (tmp_path / "b.toml").write_text(CASE.replace('value = "cos(pi*x) + y*z"', f'file = "{folder / frames[1]}"'))
    result = cli("run", "b.toml", "case.name=on", "run.steps=1", "sem.time_order=1", "output.report=false")
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "results" / "on" / "findings.json").read_text())["findings"]
    assert found["u.mean"] == pytest.approx(sim.statistics().mean, abs=1e-9)
    # Copies of a point were averaged, so they are equal.
    first = of_nek(tmp_path / "results" / "on" / "fields0.f00000", "T")
    np.testing.assert_allclose(first, of_nek(folder / frames[1], "T"), rtol=1e-15, atol=1e-15)


def test_a_receiver_outside_of_the_box_is_one_error(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(CASE.replace("at = [0.5, 0.5, 0.5]", "at = [0.5, 0.5, 1.5]"))
    result = cli("run", "a.toml")
    assert result.returncode == 2 and "receivers.middle" in result.stderr, result.stderr
