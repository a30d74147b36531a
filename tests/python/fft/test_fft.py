"""Fourier transforms from Python, compared with NumPy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from arrays import parts
from conftest import ROOT
from errors import raises
from ranks import run_on

CELLS = (18, 10, 7)


def values(cells: tuple[int, int, int], dtype: str, components: tuple[int, ...] = ()) -> Any:
    random = np.random.default_rng(1)
    u = random.normal(size=(*components, *cells[::-1]))
    return (u + 1j * random.normal(size=u.shape) if "complex" in dtype else u).astype(dtype)


def spectrum(u: Any, transposed: bool) -> Any:
    """The modes as [y, x, z] or [z, y, x]."""
    v = (np.fft.fftn if np.iscomplexobj(u) else np.fft.rfftn)(u, axes=(-3, -2, -1))
    return np.moveaxis(v, -3, -1) if transposed else v


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "float64"])
@pytest.mark.parametrize("process_grid", [(0, 0), (2, 2), (4, 1)])
@pytest.mark.parametrize("transposed", [True, False])
def test_transforms_are_those_of_numpy(dtype: str, process_grid: tuple[int, int], transposed: bool) -> None:
    grid = slip.Grid(CELLS, backend="host", devices_per_rank=4)
    u = values(CELLS, dtype)
    wanted = spectrum(u, transposed)
    exact = 1e-12 if dtype in ("float64", "complex128") else 1e-4
    with slip.fft.Plan(grid, dtype, process_grid=process_grid, transposed=transposed) as plan:
        mine = parts(plan.physical, u)
        v = [np.empty_like(part, np.result_type(dtype, "complex64")) for part in parts(plan.spectral, wanted)]
        plan.forward(mine, v)
        for part, right in zip(v, parts(plan.spectral, wanted), strict=True):
            np.testing.assert_allclose(part, right, atol=exact * abs(wanted).max())
        back = [np.empty_like(part) for part in mine]
        plan.backward(v, back)
        for part, right in zip(back, mine, strict=True):
            np.testing.assert_allclose(part, right, atol=exact)


@pytest.mark.parametrize("overlap", [False, True])
def test_all_components_are_transformed(overlap: bool) -> None:
    plan = slip.fft.Plan(slip.Grid(CELLS, backend="host", devices_per_rank=2), np.float64, overlap=overlap)
    u = values(CELLS, "float64", (3,))
    each = [parts(plan.physical, component) for component in u]
    wanted = [parts(plan.spectral, spectrum(component, True)) for component in u]
    mine = [np.stack([component[block] for component in each]) for block in range(2)]
    v = [np.empty((3, *part.shape), complex) for part in wanted[0]]
    plan.forward(mine, v)
    back = [np.empty_like(part) for part in mine]
    plan.backward(v, back)
    for block in range(2):
        np.testing.assert_allclose(v[block], [component[block] for component in wanted], atol=1e-11)
        np.testing.assert_allclose(back[block], mine[block], atol=1e-14)


def test_a_rank_without_blocks_has_nothing_to_give(tmp_path: Path) -> None:
    program = tmp_path / "few_planes.py"
    program.write_text(FEW_PLANES)
    result = run_on(3, program)
    assert result.returncode == 0 and result.stdout.count("right") == 3, result.stdout + result.stderr


#: Program in which a transform has fewer planes (two) than ranks (three).
FEW_PLANES = """
import numpy as np
import slipstream as slip

plan = slip.fft.Plan(slip.Grid((4, 3, 2), backend="host"), process_grid=(1, 3), components=2)
shape = lambda grid, block: (2, *grid.array_shape(0, block=block))
u = [np.full(shape(plan.physical, 0), 1 + 2j) for _ in plan.physical.local]
v = [np.empty(shape(plan.spectral, 0), complex) for _ in plan.spectral.local]
plan.forward(u, v)
first = plan.spectral.local[0].lo == (0, 0, 0)
assert abs(np.sum(v[0][0]) - (24 * (1 + 2j) if first else 0)) < 1e-12
plan.backward(v, u)
assert all(np.allclose(part, 1 + 2j) for part in u)
print("right\\n", end="", flush=True)
"""


@pytest.mark.parametrize("dtype", ["complex64", "float64"])
@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("transposed", [True, False])
def test_both_sides_may_be_one_array(dtype: str, devices: int, transposed: bool) -> None:
    plan = slip.fft.Plan(slip.Grid(CELLS, backend="host", devices_per_rank=devices), dtype, transposed=transposed)
    u = values(CELLS, dtype)
    memory = [np.empty(plan.room(block), np.uint8) for block in range(devices)]
    mine, v = zip(*(plan.in_place(one, block) for block, one in enumerate(memory)), strict=True)
    for part, given in zip(mine, parts(plan.physical, u), strict=True):
        part[...] = given
    plan.forward(list(mine), list(v))
    exact = 1e-12 if dtype == "float64" else 1e-4
    wanted = spectrum(u, transposed)
    for part, right in zip(v, parts(plan.spectral, wanted), strict=True):
        np.testing.assert_allclose(part, right, atol=exact * abs(wanted).max())
    plan.backward(list(v), list(mine))
    for part, given in zip(mine, parts(plan.physical, u), strict=True):
        np.testing.assert_allclose(part, given, atol=exact)
    with raises(ValueError, "mismatch", given=8, needed=plan.room()):
        plan.in_place(np.empty(8, np.uint8))


def test_the_fastest_process_grid_is_measured_and_cached(tmp_path: Path) -> None:
    grid = slip.Grid(CELLS, backend="host", devices_per_rank=4)
    how = {"routes": ["kernel", "staged"], "tuner_cache": str(tmp_path)}
    for source in ("measured", "cache"):
        with slip.fft.Plan(grid, "complex64", process_grid="measured", **how) as plan:
            found = plan.process_grids
            assert found.source == source and not found.notes
            times = dict(found.times)
            assert set(times) <= {(1, 4), (2, 2), (4, 1)} and len(times) > 1
            assert times[plan.process_grid] <= 1.03 * min(times.values())
    assert slip.fft.Plan(grid, process_grid=(2, 2)).process_grids.source == "given"
    with raises(ValueError, "invalid_argument", argument="process_grid", given="best"):
        slip.fft.Plan(grid, process_grid="best")


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "float64"])
@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("transposed", [True, False])
def test_a_convolution_is_forward_a_factor_and_backward(dtype: str, devices: int, transposed: bool) -> None:
    grid = slip.Grid(CELLS, backend="host", devices_per_rank=devices)
    plan = slip.fft.Plan(grid, dtype, transposed=transposed)
    one = values(CELLS, dtype)
    u = [np.stack([part, 2 - part]) for part in parts(plan.physical, one)]
    edges = (2 * np.pi, np.pi, 3.0)
    k = [plan.modes(block) for block in range(devices)]
    kappa = [[2 * np.pi / edge * of for edge, of in zip(edges, ks, strict=True)] for ks in k]
    square = [x**2 + y**2 + z**2 for x, y, z in kappa]
    exact = 1e-13 if dtype in ("float64", "complex128") else 2e-5
    real = np.empty(0, dtype).real.dtype
    shape = [plan.spectral.array_shape(0, block=block) for block in range(devices)]
    random = np.random.default_rng(3)
    array = [random.normal(size=of).astype(real) for of in shape]
    turned = [(random.normal(size=of) + 1j).astype(np.result_type(real, "complex64")) for of in shape]
    with np.errstate(divide="ignore"):
        inverse = [np.where(of > 0, -1 / of, 0) for of in square]
    cases: list[tuple[dict[str, Any], list[Any]]] = [
        ({"laplacian": -1, "edges": edges}, inverse),
        ({"derivative": (0, 0, 1), "constant": 2, "edges": edges}, [2j * z for _, _, z in kappa]),
        ({"gaussian": 0.5, "sharp": 4}, [_filter(*of) for of in k]),
        ({"multiply": array}, array),
        ({"multiply": turned, "constant": -1}, [-of for of in turned]),
    ]
    for how, factor in cases:
        mine = [part.copy() for part in u]
        through = [np.empty((2, *of), np.result_type(real, "complex64")) for of in shape]
        w, v = [np.empty_like(part) for part in mine], [np.empty_like(part) for part in through]
        plan.convolve(mine, through, w, **how)
        plan.forward(mine, v)
        wanted = [np.empty_like(part) for part in mine]
        plan.backward([(a * b).astype(a.dtype) for a, b in zip(v, factor, strict=True)], wanted)
        for part, right in zip(w, wanted, strict=True):
            np.testing.assert_allclose(part, right, rtol=0, atol=exact * abs(right).max(), err_msg=str(how))
        assert all((part == before).all() for part, before in zip(mine, u, strict=True))


def _filter(kx: Any, ky: Any, kz: Any) -> Any:
    square = kx**2 + ky**2 + kz**2
    return np.exp(-square * 0.5**2 / 24) * (square <= 16)


def test_a_plan_says_where_a_factor_is_applied() -> None:
    def said(devices: int, **how: Any) -> str:
        return slip.fft.Plan(slip.Grid(CELLS, backend="host", devices_per_rank=devices), **how).describe()

    assert "before they are stored" in said(1) and "forward: no move" in said(1)
    assert "a move stored by the lines before it" in said(2)
    assert "packed by the engine in 2 parts" in said(2, parts=2, store=False)
    assert "by the copy of the spectrum" in said(2, transposed=False)
    assert "in a pass of its own" in said(1, transposed=False)


def test_a_factor_that_cannot_be_is_refused() -> None:
    plan = slip.fft.Plan(slip.Grid(CELLS, backend="host"), "float64")
    u, v = values(CELLS, "float64"), np.empty(plan.spectral.array_shape(0), complex)
    for option, how in (
        ("derivative", {"derivative": (-1, 0, 0)}),
        ("edges", {"edges": (1, 0, 1)}),
    ):
        with raises(RuntimeError, "invalid_argument", option=option):
            plan.convolve(u, v, np.empty_like(u), **how)
    for multiply, facts in (
        (v.real.astype(np.float32), {"argument": "multiply", "given": "f32", "allowed": "c128, f64"}),
        (np.stack([v, v]), {"argument": "multiply", "given": 2, "needed": 1}),
        (u, {"field": "multiply", "block": 0, "given": u.shape, "needed": v.shape}),
    ):
        with raises(ValueError, "mismatch", **facts):
            plan.convolve(u, v, np.empty_like(u), multiply=multiply)
    with raises(ValueError, "mismatch", given="1, 1, 2"):
        plan.convolve(u, v, np.stack([u, u]))


def test_a_report_has_the_times_of_the_messages() -> None:
    plan = slip.fft.Plan(slip.Grid(CELLS, backend="host", devices_per_rank=2))
    u = parts(plan.physical, values(CELLS, "complex128"))
    plan.forward(u, [np.empty(plan.spectral.array_shape(0, block=block), complex) for block in range(2)])
    assert {(row.source, row.target) for row in plan.report()} >= {(0, 1), (1, 0)}


def test_results_are_stored_where_they_must_go() -> None:
    u, spectra = values(CELLS, "float64"), []
    for store, routes, stored in ((True, [], (2, 2)), (False, [], (0, 2)), (True, ["kernel", "staged"], (0, 2))):
        grid = slip.Grid(CELLS, backend="host", devices_per_rank=4)
        with slip.fft.Plan(grid, "float64", process_grid=(2, 2), store=store, routes=routes) as plan:
            assert plan.stored_moves == stored
            v = [np.empty(plan.spectral.array_shape(0, block=block), complex) for block in range(4)]
            plan.forward(parts(plan.physical, u), v)
            spectra.append(v)
    for part, right in zip(spectra[0], parts(plan.spectral, spectrum(u, True)), strict=True):
        np.testing.assert_allclose(part, right, atol=1e-11)
    for other in spectra[1:]:
        assert all((a == b).all() for a, b in zip(spectra[0], other, strict=True))


def test_values_travel_as_narrower_numbers_and_plans_are_verified() -> None:
    grid = slip.Grid(CELLS, backend="host", devices_per_rank=2)
    u, found = values(CELLS, "float64"), []
    for coding in ("raw", "cast", "blockfloat, rate 28", "zfp, rate 32"):
        with slip.fft.Plan(grid, "float64", coding=coding, parts=2, verify=True) as plan:
            v = [np.empty(plan.spectral.array_shape(0, block=block), complex) for block in range(2)]
            plan.forward(parts(plan.physical, u), v)
            right = parts(plan.spectral, spectrum(u, True))
            found.append(max(abs(a - b).max() for a, b in zip(v, right, strict=True)))
    assert found[0] < 1e-11 and all(1e-9 < off < 1e-4 for off in found[1:])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_right_transforms_of_many_values_pass_their_verification(dtype: str) -> None:
    grid = slip.Grid((128, 128, 128), backend="host", devices_per_rank=2)
    slip.fft.Plan(grid, dtype, verify=True).close()


def test_modes_are_wave_numbers_of_each_block() -> None:
    grid = slip.Grid(CELLS, backend="host", devices_per_rank=2)
    for dtype, transposed in (("float64", True), ("complex128", False)):
        plan = slip.fft.Plan(grid, dtype, transposed=transposed)
        for k, axis in zip(plan.modes(1), (0, 1, 2), strict=True):
            n = CELLS[axis]
            every = np.fft.fftfreq(n, 1 / n).round().astype(int)
            every[every == -n // 2 if n % 2 == 0 else np.zeros(n, bool)] = n // 2
            place = list(plan._axes).index(axis)
            lo, hi = plan.spectral.local[1].lo[place], plan.spectral.local[1].hi[place]
            assert (k.ravel() == every[lo:hi]).all()


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"process_grid": (2, 2)},
        {"store": False, "routes": ["kernel", "staged"]},
        {"store": False, "routes": ["kernel", "staged"], "highest": (10, 10, 10)},
        {"store": False, "routes": ["kernel", "staged"], "overlap": True},
        {"store": False, "routes": ["kernel", "direct"], "transposed": False},
        {"coding": "cast", "routes": ["kernel", "staged"], "parts": 2},
    ],
)
def test_memory_is_known_before(how: dict[str, Any]) -> None:
    # A size at which transfer lists, which the estimate omits, are negligible.
    grid = slip.Grid((96, 96, 96), backend="host", devices_per_rank=4)
    needed = slip.fft.memory(grid, "float64", **how)
    assert sum(m.physical for m in needed) == 96**3 * 8 and sum(m.spectral for m in needed) == 49 * 96**2 * 16
    with slip.fft.Plan(grid, "float64", **how) as plan:
        held = sum(m.work + m.messages + m.library for m in needed)
        assert held == pytest.approx(plan.bytes, rel=0.1)


def test_a_plan_that_does_not_fit_names_the_largest_that_does() -> None:
    grid = slip.Grid((20000, 20000, 20000), backend="host")
    with raises(RuntimeError, "out_of_memory", cells="20000 x 20000 x 20000"):
        slip.fft.Plan(grid, "float64")


def test_several_fields_are_tuples() -> None:
    plan = slip.fft.Plan(slip.Grid(CELLS, backend="host", devices_per_rank=2), "float64")
    each = [parts(plan.physical, component) for component in values(CELLS, "float64", (3,))]
    modes = [[np.empty(plan.spectral.array_shape(0, block=block), complex) for block in range(2)] for _ in each]
    plan.forward(tuple(each), tuple(modes))
    for field, right in zip(modes, values(CELLS, "float64", (3,)), strict=True):
        for part, wanted in zip(field, parts(plan.spectral, spectrum(right, True)), strict=True):
            np.testing.assert_allclose(part, wanted, atol=1e-11)
    back = [[np.empty_like(part) for part in field] for field in each]
    plan.backward(tuple(modes), tuple(back))
    np.testing.assert_allclose(back[2][1], each[2][1], atol=1e-14)
    with raises(ValueError, "invalid_argument", argument="stream", given="ndarray"):
        slip.fft.Plan(slip.Grid(CELLS, backend="host"), "float64").forward(*(np.zeros(CELLS[::-1]) for _ in range(3)))


def test_more_devices_than_planes() -> None:
    cells = (4, 3, 2)
    plan = slip.fft.Plan(slip.Grid(cells, backend="host", devices_per_rank=6), process_grid=(1, 6))
    assert len(plan.physical.local) < 6
    u = values(cells, "complex128")
    v = [np.empty_like(part) for part in parts(plan.spectral, spectrum(u, True))]
    plan.forward(parts(plan.physical, u), v)
    for part, right in zip(v, parts(plan.spectral, spectrum(u, True)), strict=True):
        np.testing.assert_allclose(part, right, atol=1e-12)


def test_bad_input_is_one_error() -> None:
    grid = slip.Grid(CELLS, backend="host")
    with raises(ValueError, "unsupported", argument="dtype", given="int32"):
        slip.fft.Plan(grid, "int32")
    with raises((ValueError, RuntimeError), "invalid_argument", given="3 x 2", needed=1, option="process_grid"):
        slip.fft.Plan(grid, process_grid=(3, 2))
    plan = slip.fft.Plan(grid)
    u, v = values(CELLS, "complex128"), np.empty(plan.spectral.array_shape(0), complex)
    with raises(ValueError, "mismatch", field="v", block=0, given=u.shape, needed=v.shape):
        plan.forward(u, u.copy())
    with raises(ValueError, "mismatch", argument="u", given="c64", needed="c128"):
        plan.forward(u.astype(np.complex64), v)
    with raises(ValueError, "unsupported", argument="u"):
        plan.forward(np.asfortranarray(u), v)
    with raises(ValueError, "mismatch", given="2, 1"):
        plan.forward(np.stack([u, u]), v)
    with raises(ValueError, "mismatch", given=1, needed=2):
        slip.fft.Plan(grid, components=2).forward(u, v)
    plan.close()
    with raises((ValueError, RuntimeError), "wrong_state", problem="closed"):
        plan.forward(u, v)


def test_what_one_rank_refuses_is_an_error_on_all(tmp_path: Path) -> None:
    program = tmp_path / "one_refuses.py"
    program.write_text(ONE_REFUSES)
    result = run_on(2, program)
    assert result.returncode == 0 and result.stdout.count("all refused") == 2, result.stdout + result.stderr


#: Program in which only rank 1 passes an invalid argument.
ONE_REFUSES = """
import numpy as np
import slipstream as slip

grid = slip.Grid((8, 8, 8), backend="host")
odd = grid.comm.rank == 1
u = np.zeros(grid.array_shape(0))

def refused(words, make, right, wrong):
    try:
        make(**(wrong if odd else right))
    except (TypeError, ValueError, RuntimeError) as error:
        assert words in str(error), error
        return
    raise AssertionError(f"not refused: {wrong}")

def plan(**how):
    slip.fft.Plan(grid, **how)

def transpose(**how):
    slip.Transpose(grid, grid, u, np.zeros_like(u), **how)

refused("rank 1: dtype int32", plan, {}, {"dtype": "int32"})
refused("rank 1: process_grid is 'best'", plan, {}, {"process_grid": "best"})
refused("rank 1: the process grid 3 x 1", plan, {}, {"process_grid": (3, 1)})
refused("rank 1: a Fourier transform has no option named 'rings'", plan, {}, {"rings": 3})
refused("different Fourier transforms", plan, {}, {"dtype": "float64"})
refused("different Fourier transforms", plan, {}, {"coding": "cast"})
refused("different Fourier transforms", plan, {"store": False}, {"store": False, "parts": 2})
refused("different Fourier transforms", plan, {}, {"verify": True})
refused("rank 1: the axes (0, 1, 1)", transpose, {}, {"axes": (0, 1, 1)})
refused("rank 1: ", transpose, {}, {"coding": "zip"})
refused("rank 1: field 'source', block 0", transpose, {}, {"ghost": 1})
refused("rank 1: ", transpose, {}, {"layout": "zyx"})
refused("different exchanges", transpose, {}, {"coding": "cast"})
print("all refused\\n", end="", flush=True)
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_example(ranks: int) -> None:
    for name in ("fft.py", "poisson.py"):
        result = run_on(ranks, ROOT / "examples" / name)
        assert result.returncode == 0, result.stderr
        assert result.stdout.count("rank") == ranks
