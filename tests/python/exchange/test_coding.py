"""Values cast in flight and throttled networks, from Python and in case files."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from arrays import grid_of, numbered, wrapped
from conftest import ROOT, Cli
from errors import raises
from numpy.typing import NDArray
from ranks import run_on
from rich.console import Console
from slipstream.case.tables import ExchangeTable
from slipstream.lbm import Simulation

THIRD = 1 / 3  #: a value that is not exact in f32 or f16


def fields(grid: slip.Grid, dtype: str) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Fields of multiples of a third, and the expected arrays with filled ghosts."""
    arrays = [np.where(a < 0, a, a.astype("f8") * THIRD).astype(dtype) for a in numbered(grid, 1)]
    return arrays, [(wrapped(grid, 1, block).astype("f8") * THIRD).astype(dtype) for block in range(len(arrays))]


@pytest.mark.parametrize(
    ("dtype", "coding", "narrow"), [("f8", "cast", "f4"), ("f4", "cast", "f2"), ("f8", "cast to f32", "f4")]
)
@pytest.mark.parametrize("routes", [["kernel", "direct"], ["kernel", "staged"], ["staged"], ["kernel", "peer"]])
def test_ghosts_hold_rounded_values_by_every_route(routes: list[str], dtype: str, coding: str, narrow: str) -> None:
    grid = grid_of(devices_per_rank=2)
    arrays, filled = fields(grid, dtype)
    raw = slip.Exchange(grid, {"u": [array.copy() for array in arrays]}, routes=routes)
    exchange = slip.Exchange(grid, {"u": arrays}, routes=routes, coding={"u": coding})
    exchange.run()
    inside = (slice(1, -1),) * 3
    for have, want in zip(arrays, filled, strict=True):
        rounded = want.astype(narrow).astype(dtype)
        rounded[inside] = want[inside]
        np.testing.assert_array_equal(have, rounded)
    whole, half = (sum(message.bytes for message in each.messages()) for each in (raw, exchange))
    # Tolerance for the bytes of coded messages, whose pieces are padded to 16 bytes.
    assert whole / 2 <= half < whole / 2 + 16 * sum(message.transfers for message in raw.messages())


def test_bfloat16_keeps_the_first_half_of_the_bits() -> None:
    grid = grid_of()
    (array,) = numbered(grid, 1)
    u = np.where(array < 0, array, 1.0).astype("f4")
    u[1, 1:-1, 1:-1] = 1 + 2**-8 + 2**-20  # a value closer to 1 + 2^-7 than to 1
    slip.Exchange(grid, {"u": [u]}, coding="cast to bf16", reach="faces").run()
    assert (u[-1, 1:-1, 1:-1] == 1 + 2**-7).all() and (u[0, 1:-1, 1:-1] == 1).all()


def test_a_value_that_is_too_large_names_the_field() -> None:
    grid = grid_of()
    (array,) = numbered(grid, 1)
    u = np.where(array < 0, array.astype("f8"), 1e300)
    exchange = slip.Exchange(grid, {"density": [u]}, coding="cast")
    with raises(OverflowError, "overflow", coding="cast", field="density", item=0, pattern="halo", sequence=1):
        exchange.run()
    assert np.isinf(u[0, 1, 1])
    with pytest.raises(OverflowError):
        exchange.check()


def test_transposes_round_what_they_move() -> None:
    grid = slip.Grid((12, 4, 6), backend="host")
    u = np.arange(288).reshape(6, 4, 12) * (THIRD + 2j * THIRD)
    v, turned = np.zeros_like(u), slip.Grid((6, 4, 12), backend="host")
    w = np.zeros((12, 4, 6), complex)
    slip.Transpose(grid, grid, u, v, coding="cast").run()
    slip.Transpose(grid, turned, u, w, axes=(2, 1, 0), coding="cast").run()
    np.testing.assert_array_equal(v, u.astype("c8"))
    np.testing.assert_array_equal(w, np.moveaxis(u.astype("c8").astype(complex), (0, 1, 2), (2, 1, 0)))


def test_copies_of_a_point_stay_equal() -> None:
    grid = grid_of(devices_per_rank=2)
    ids = [np.array([1, 2, 3]), np.array([3, 2, 4])]
    values = [np.array([0.1, 0.2, 0.3]), np.array([0.7, 0.6, 0.5])]
    gs = slip.GatherScatter(grid, ids, block=3, coding="cast")
    gs.run(values)
    two, three = (float(np.float32(a)) + float(np.float32(b)) for a, b in ((0.2, 0.6), (0.3, 0.7)))
    np.testing.assert_array_equal(values[0], [0.1, two, three])
    np.testing.assert_array_equal(values[1], [three, two, 0.5])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(("coding", "bits"), [("blockfloat, rate 16", 13), ("zfp, rate 16", 4), ("zfp, rate 24", 13)])
@pytest.mark.parametrize("routes", [["kernel", "direct"], ["staged"]])
def test_random_values_come_within_the_bound_of_their_coding(
    routes: list[str], coding: str, bits: int, dtype: str
) -> None:
    """Checks the error bound, which refers to the largest magnitude of all values: that is at least the one of each
    block.
    """
    random = np.random.default_rng(len(coding) + len(dtype))
    grid = slip.Grid((24, 20, 16), periodic=(True, True, True), backend="host", devices_per_rank=2)
    shapes = [array.shape for array in numbered(grid, 3)]
    raw, coded = ([np.zeros(shape, dtype) for shape in shapes] for _ in range(2))
    of = [
        slip.Exchange(grid, {"u": arrays}, ghost=3, coding=how, routes=routes)
        for how, arrays in (("raw", raw), (coding, coded))
    ]
    for exponent in random.integers(-30, 30, 20):
        for block, shape in enumerate(shapes):
            values = np.ldexp(random.uniform(-1, 1, shape), exponent)
            raw[block][...] = values + 1j * random.uniform(-1, 1, shape) if dtype[0] == "c" else values
            coded[block][...] = raw[block]
        for exchange in of:
            exchange.run()
        largest = max(max(np.abs(u.real).max(), np.abs(u.imag).max()) for u in raw)
        errors = [coded[block] - raw[block] for block in range(len(raw))]
        most = max(max(np.abs(e.real).max(), np.abs(e.imag).max()) for e in errors)
        assert 0 < most <= 2.0**-bits * largest
    there, whole = (sum(message.bytes for message in exchange.messages()) for exchange in reversed(of))
    assert there < whole


@pytest.mark.parametrize("pattern", ["halo", "transpose", "gather_scatter"])
def test_bounds_hold_in_random_exchanges(pattern: str) -> None:
    """Checks the error bounds of codings in a few random exchanges. A hundred thousand would take minutes; the program
    takes their number as an argument.
    """
    result = run_on(1, ROOT / "tests" / "python" / "coding_bounds.py", pattern, "600")
    assert result.returncode == 0, result.stderr[-2000:]
    assert f"{pattern}: 600 exchanges" in result.stdout


def test_a_unit_for_all_values_keeps_an_absolute_error() -> None:
    grid = grid_of(devices_per_rank=2)
    arrays, filled = fields(grid, "f8")
    slip.Exchange(grid, {"u": arrays}, coding="blockfloat, max error 0.001").run()
    inside = (slice(1, -1),) * 3
    for have, want in zip(arrays, filled, strict=True):
        np.testing.assert_array_equal(have[inside], want[inside])
        assert 0 < np.abs(have - want).max() <= 0.001
    for array in arrays:
        array[inside] = 1e9
    exchange = slip.Exchange(grid, {"density": arrays}, coding="blockfloat, max error 0.001")
    with raises(
        OverflowError,
        "overflow",
        coding="blockfloat, max error 0.001",
        field="density",
        item=0,
        pattern="halo",
        sequence=1,
    ):
        exchange.run()


def test_auto_loses_nothing_unless_an_error_is_given() -> None:
    grid = grid_of(devices_per_rank=2)
    arrays, filled = fields(grid, "f8")
    exchange = slip.Exchange(grid, {"u": arrays}, coding="auto")
    assert exchange.codings == {"u": "raw"} and "without a max error" in exchange.coding_reason
    exchange.run()
    for have, want in zip(arrays, filled, strict=True):
        np.testing.assert_array_equal(have, want)


def test_auto_takes_the_fastest_that_keeps_the_error() -> None:
    grid = slip.Grid((64, 48, 48), periodic=(True, True, True), backend="host", devices_per_rank=2)
    arrays = [np.ascontiguousarray(array, "f8") for array in numbered(grid, 3)]
    exchange = slip.Exchange(
        grid, {"u": arrays}, ghost=3, coding="auto, max error 1e-3", routes=["kernel", "staged"],
        throttle="0.02 GB/s, 0 us",
    )  # fmt: skip
    # At this link rate only bytes matter: cast halves them, and other codings save more.
    assert exchange.codings["u"].startswith(("blockfloat, rate 16", "zfp, max error 0.001"))
    said = exchange.coding_reason
    assert said.startswith(exchange.codings["u"]) and "raw" in said and "cast" in said
    assert slip.Exchange(grid, {"u": arrays}, ghost=3, coding="auto, max error 1e-3").codings.keys() == {"u"}


def test_what_cannot_be_cast_is_one_error() -> None:
    grid = grid_of()
    whole = [array.astype("i4") for array in numbered(grid, 1)]
    with raises(RuntimeError, "unsupported", coding="cast", of="field u", option="type", type="i32"):
        slip.Exchange(grid, {"u": whole}, coding="cast")
    with raises(RuntimeError, "invalid_argument", given="zip", option="coding"):
        slip.Exchange(grid, {"u": whole}, coding="zip")
    with raises(RuntimeError, "unsupported", coding="cast", of="a gather-scatter", option="type", type="i64"):
        slip.GatherScatter(grid, np.array([1, 1]), dtype="i64", coding="cast")


def test_a_throttle_leaves_routes_that_the_host_drives() -> None:
    grid = grid_of(devices_per_rank=2)
    arrays = numbered(grid, 1)
    exchange = slip.Exchange(grid, {"u": arrays}, throttle="0.1 GB/s, 50 us")
    exchange.run()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array, wrapped(grid, 1, block))
    between = [m for m in exchange.messages() if m.source != m.target]
    assert {m.route for m in between} <= {"staged", "gpu_mpi"}
    assert all("the throttle slows messages that the host sends" in m.reason for m in between)
    for throttle, facts in (("fast", {"given": "fast"}), ("2000 GB/s", {"gb_per_s": 2000})):
        with raises(RuntimeError, "invalid_argument", option="throttle", **facts):
            slip.Exchange(grid, {"u": arrays}, throttle=throttle)


@pytest.mark.parametrize(("precision", "streaming"), [("f32", "two"), ("f64", "in_place")])
def test_populations_are_cast_alike_by_every_route(precision: str, streaming: str) -> None:
    def velocity(coding: str, routes: list[str]) -> NDArray[Any]:
        flow = Simulation(
            (12, 10, 8),
            20,
            0.05,
            walls={},
            periodic=(True, True, True),
            initial={"velocity": ("sin(2*pi*y/Ly)", 0.5, 0)},
            backend="host",
            devices_per_rank=2,
            precision=precision,
            streaming=streaming,
            coding=coding,
            routes=routes,
        )
        flow.run(steps=40, quiet=True)
        assert flow.velocity is not None
        return flow.velocity

    raw = velocity("raw", [])
    cast, *others = (velocity("cast", ["kernel", route]) for route in ("direct", "staged", "peer"))
    assert all((other == cast).all() for other in others)
    # Limits of the difference: populations are at most 1; f16 keeps 11 bits of them and f32 24.
    assert 0 < np.abs(cast - raw).max() < {"f32": 2e-3, "f64": 2e-7}[precision]


def test_the_report_shows_errors_where_they_are_measured() -> None:
    def shown(**options: Any) -> str:
        grid = grid_of(devices_per_rank=2)
        exchange = slip.Exchange(grid, {"u": [THIRD * array for array in numbered(grid, 1)]}, **options)
        exchange.run()
        said = io.StringIO()
        Console(width=250, file=said).print(exchange.report())
        return said.getvalue()

    # From 64 on, numbers in f16 are 1/16 apart, so the error of multiples of a third is at most 1/48.
    watched = shown(coding="cast", measure_errors=True)
    assert "largest error  rms error  encode us  decode us" in watched and "0.021" in watched
    assert "rms error" not in shown(coding="cast")


def test_case_files_have_a_coding_and_a_throttle() -> None:
    table = ExchangeTable(coding="cast", throttle="12.5 GB/s, 2 us")
    assert (table.coding, table.throttle) == ("cast", "12.5 GB/s, 2 us")
    assert (ExchangeTable().coding, ExchangeTable().throttle) == ("raw", None)
    for bad in ({"coding": "zip"}, {"throttle": "fast"}):
        with pytest.raises(ValueError):
            ExchangeTable(**bad)


def test_bench_exchange_has_rows_of_cast_values(here: Cli, tmp_path: Path) -> None:
    words = ("bench", "exchange", "--quick", "--backend", "host", "--folder", "out", "--part", "must", "--dtype", "f64")
    for coding in ("raw", "cast"):
        result = here(*words, "--coding", coding)
        assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / "exchange").glob("*.json")
    rows = [row for row in json.loads(path.read_text())["rows"] if row.get("routes") == "all"]
    cast, raw = ([row for row in rows if row.get("coding", "raw") == name] for name in ("cast", "raw"))
    assert len(cast) == len(raw) > 0
    for one, other in zip(cast, raw, strict=True):
        assert one["cells"] == other["cells"] and one["link_mb"] == pytest.approx(other["link_mb"] / 2, rel=0.02)
