"""A user's update on shifted arrays, compared with NumPy on one whole array."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from conftest import ROOT
from errors import raises
from ranks import run_on


def whole(stencil: slip.Stencil, name: str) -> np.ndarray:
    """The field of a grid on one rank, [z, y, x]."""
    values = np.full(stencil.grid.cells[stencil.grid.axes - 1 :: -1], np.nan)
    for block, part in stencil.blocks(name):
        places = tuple(slice(a, b) for a, b in zip(block.lo, block.hi, strict=True))[: stencil.grid.axes]
        values[tuple(reversed(places))] = part
    return values


def heat(u):
    around = u[1, 0, 0] + u[-1, 0, 0] + u[0, 1, 0] + u[0, -1, 0] + u[0, 0, 1] + u[0, 0, -1]
    return u[0, 0, 0] + 0.1 * (around - 6 * u[0, 0, 0])


@pytest.mark.parametrize("devices", [1, 2, 3, 8])
@pytest.mark.parametrize("routes", [["kernel", "direct"], ["kernel", "staged"]])
def test_steps_are_those_on_one_array(devices: int, routes: list[str]) -> None:
    cells = (13, 9, 11)
    grid = slip.Grid(cells, periodic=(True, True, True), backend="host", devices_per_rank=devices)
    start = np.random.default_rng(devices).random(cells[::-1])
    with slip.Stencil(grid, heat, reach="faces", routes=routes) as stencil:
        for block, part in stencil.blocks("u"):
            lo, hi = block.lo, block.hi
            part[...] = start[lo[2] : hi[2], lo[1] : hi[1], lo[0] : hi[0]]
        stencil.run(7)
        found = whole(stencil, "u")
    for _ in range(7):
        around = sum(np.roll(start, -s, a) for a, s in ((2, 1), (2, -1), (1, 1), (1, -1), (0, 1), (0, -1)))
        start = start + 0.1 * (around - 6 * start)
    np.testing.assert_allclose(found, start, rtol=1e-13)
    assert stencil.steps == 7


def test_cuts_change_no_bit_of_a_wave_of_two_fields_in_two_dimensions() -> None:
    def wave(u, before):
        lap = u[2, 0] + u[-2, 0] + u[0, 2] + u[0, -2] + u[1, 1] - 5 * u[0, 0]
        return 2 * u[0, 0] - before[0, 0] + 0.05 * lap + 1e-3 * np.sin(u.x), u[0, 0]

    found = []
    for devices in (1, 2, 5):
        grid = slip.Grid((21, 16), backend="host", devices_per_rank=devices)
        with slip.Stencil(grid, wave, ("u", "before"), radius=2, outside=0.5) as stencil:
            stencil.fill(u=lambda x, y: np.exp(-((x - 9) ** 2 + (y - 7) ** 2) / 8), before=0.25).run(9)
            found.append((whole(stencil, "u"), whole(stencil, "before")))
    assert np.isfinite(found[0][0]).all() and np.ptp(found[0][0]) > 0.1
    assert all((u == found[0][0]).all() and (before == found[0][1]).all() for u, before in found[1:])


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("cells", [(16, 12, 1), (16, 1, 1), (1, 12, 7), (1, 1, 1), (16, 12), (16, 1)])
def test_axes_of_one_cell_are_like_others(cells: tuple[int, ...], periodic: bool) -> None:
    axes = len(cells)
    low, high = ([sign if axis == other else 0 for other in range(axes)] for sign in (-1, 1) for axis in (axes - 1,))

    def update(u):
        return u[(0,) * axes] + 0.1 * u[tuple(low)] + 0.2 * u[tuple(high)] + 0.3 * u[(1,) + (0,) * (axes - 1)]

    grid = slip.Grid(cells, periodic=(periodic,) * 3, backend="host")
    start = np.random.default_rng(1).random(cells[::-1])
    with slip.Stencil(grid, update, outside=0.5) as stencil:
        stencil.interior("u")[...] = start
        stencil.run(3)
        found = whole(stencil, "u")
    for _ in range(3):
        ringed = np.pad(start, 1, mode="wrap") if periodic else np.pad(start, 1, constant_values=0.5)
        inner = [slice(1, -1)] * axes
        before, after, along = ((slice(*ends), *inner[1:]) for ends in ((0, -2), (2, None), (1, -1)))
        start = start + 0.1 * ringed[before] + 0.2 * ringed[after] + 0.3 * ringed[(*along[:-1], slice(2, None))]
    np.testing.assert_allclose(found, start, rtol=1e-13)


@pytest.mark.parametrize(
    ("reach", "shift", "covered", "wider"),
    [
        ("faces", (0, -1, 0), True, ""),
        ("faces", (1, 1, 0), False, "faces_and_edges"),
        ("faces", (0, -1, 1), False, "faces_and_edges"),
        ("faces", (1, -1, 1), False, "all"),
        ("faces", (1, 1), False, "all"),
        ("faces_and_edges", (1, 0, -1), True, ""),
        ("faces_and_edges", (1, 1), True, ""),
        ("faces_and_edges", (1, 1, 1), False, "all"),
        ("all", (1, 1, 1), True, ""),
    ],
)
def test_shift_that_the_reach_does_not_cover_is_refused(
    reach: str, shift: tuple[int, ...], covered: bool, wider: str
) -> None:
    grid = slip.Grid((6, 6, 4)[: len(shift)], backend="host", devices_per_rank=2, periodic=(True,) * 3)
    start = np.random.default_rng(0).standard_normal(grid.cells[len(shift) - 1 :: -1])
    with slip.Stencil(grid, lambda u: u[shift], reach=reach) as stencil:
        for block, part in stencil.blocks("u"):
            places = tuple(slice(a, b) for a, b in zip(block.lo, block.hi, strict=True))[: len(shift)]
            part[...] = start[tuple(reversed(places))]
        if covered:
            stencil.run()
            moved = np.roll(start, [-d for d in shift], axis=[len(shift) - 1 - n for n in range(len(shift))])
            np.testing.assert_array_equal(whole(stencil, "u"), moved)
        else:
            with raises(IndexError, "invalid_argument", reach=reach, needed=wider):
                stencil.run()


@pytest.mark.parametrize("option", [{"low": 0}, {"high": 0}, {"combine": "add"}, {"layout": "soa_z"}, {"padding": 1}])
def test_options_that_the_radius_decides_are_refused(option: dict[str, object]) -> None:
    grid = slip.Grid((6, 6, 4), backend="host")
    with raises(TypeError, "not_found", option=next(iter(option))):
        slip.Stencil(grid, heat, **option)


@pytest.mark.parametrize("call", ["fill", "interior", "blocks"])
def test_field_that_is_not_named_is_refused_with_the_nearest(call: str) -> None:
    grid = slip.Grid((6, 6, 4), backend="host")
    with slip.Stencil(grid, heat, ["density", "speed"]) as stencil:
        with raises(ValueError, "not_found", field="densty", nearest="density"):
            stencil.fill(densty=1.0) if call == "fill" else getattr(stencil, call)("densty")


@pytest.mark.parametrize("fields", [2, "uv", [], ["u", "u"], ["u", 3], None])
def test_fields_that_are_no_list_of_names_are_refused(fields: object) -> None:
    with raises(ValueError, "invalid_argument", argument="fields", given=repr(fields)):
        slip.Stencil(slip.Grid((6, 6, 4), backend="host"), heat, fields)


@pytest.mark.parametrize(
    ("given", "code", "facts"),
    [
        ({"radius": 1.5}, "invalid_argument", {"argument": "radius", "given": 1.5, "allowed": ">= 1"}),
        ({"radius": "1"}, "invalid_argument", {"argument": "radius", "given": "'1'", "allowed": ">= 1"}),
        ({"dtype": "f99"}, "invalid_argument", {"argument": "dtype", "given": "'f99'"}),
        ({"outside": "x"}, "invalid_argument", {"argument": "outside", "given": "'x'"}),
        (
            {"reach": "edges"},
            "invalid_argument",
            {"argument": "reach", "given": "'edges'", "allowed": "faces, faces_and_edges, all"},
        ),
        ({"dtype": object}, "unsupported", {"argument": "field 'u'", "given": "|O"}),
    ],
    ids=str,
)
def test_argument_of_a_stencil_that_cannot_be_is_said(
    given: dict[str, object], code: str, facts: dict[str, object]
) -> None:
    with raises(ValueError, code, **facts):
        slip.Stencil(slip.Grid((6, 6, 4), backend="host"), heat, **given)


@pytest.mark.parametrize(
    ("call", "kind", "code", "facts"),
    [
        (lambda flow: flow.run(1.5), ValueError, "invalid_argument", {"argument": "steps", "given": 1.5}),
        (lambda flow: flow.run(-1), ValueError, "invalid_argument", {"argument": "steps", "given": -1}),
        (lambda flow: flow.fill(u="x"), ValueError, "mismatch", {"field": "u"}),
        (lambda flow: flow.fill(u=np.zeros(5)), ValueError, "mismatch", {"field": "u"}),
        (lambda flow: flow.interior("u", 3), IndexError, "not_found", {"block": 3, "available": 1}),
    ],
)
def test_call_of_a_stencil_that_cannot_be_is_said(
    call: Any, kind: type[Exception], code: str, facts: dict[str, object]
) -> None:
    with slip.Stencil(slip.Grid((6, 6, 4), backend="host"), heat) as flow, raises(kind, code, **facts):
        call(flow)


@pytest.mark.parametrize(
    ("shift", "code", "given"),
    [(0, "mismatch", 1), ((0, 0, 0.5), "invalid_argument", (0, 0, 0.5)), ("x", "invalid_argument", ("x",))],
)
def test_shift_that_is_none_is_said(shift: Any, code: str, given: object) -> None:
    grid = slip.Grid((6, 6, 4), backend="host")
    with slip.Stencil(grid, lambda u: u[shift]) as flow, raises(IndexError, code, given=given):
        flow.run()


def test_on_gpus_exchanges_are_of_the_current_streams_and_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = slip.Grid((12, 6, 4), backend="host", devices_per_rank=2)
    said: list[str] = []
    with slip.Stencil(grid, heat) as stencil:

        class Cuda:
            """The part of cupy.cuda that a Stencil uses."""

            def Device(self, index: int) -> Any:  # noqa: N802
                self.index = index
                return nullcontext()

            def get_current_stream(self) -> Any:
                name = f"stream {self.index}"
                return SimpleNamespace(name=name, synchronize=lambda: said.append(f"waits for {name}"))

        class Exchange:
            def begin(self, streams: Any) -> None:
                said.append(f"begins behind {[stream.name for stream in streams]}")

            def end(self) -> None:
                said.append("ends")

            def swap(self, name: str) -> None:
                pass

            def check(self) -> None:
                said.append("checks")

        with monkeypatch.context() as change:
            change.setattr(grid, "backend", "cuda")
            change.setattr(stencil, "_xp", SimpleNamespace(cuda=Cuda()))
            change.setattr(stencil, "_exchange", Exchange())
            stencil.run()
    assert said == [
        "begins behind ['stream 0', 'stream 1']",
        "ends",
        "waits for stream 0",
        "waits for stream 1",
        "checks",
    ]


def test_bad_input_is_said() -> None:
    grid = slip.Grid((12, 4, 4), backend="host", devices_per_rank=2)
    with raises(ValueError, "unsupported", argument="radius", given=5, available=4):
        slip.Stencil(grid, heat, radius=5)
    with raises(ValueError, "invalid_argument", argument="radius", given=0, allowed=">= 1"):
        slip.Stencil(grid, heat, radius=0)
    for update, kind, code, facts in (
        (lambda u: u[2, 0, 0], IndexError, "invalid_argument", {"given": (2, 0, 0), "allowed": 1}),
        (lambda u: u[0, 0], IndexError, "mismatch", {"given": 2, "needed": 3}),
        (lambda u: (u[0, 0, 0],) * 2, ValueError, "mismatch", {"argument": "update", "given": 2, "needed": 1}),
        (lambda u: None, ValueError, "invalid_argument", {"argument": "update", "given": "None"}),
    ):
        with slip.Stencil(grid, update) as stencil, raises(kind, code, **facts):
            stencil.run()


@pytest.mark.parametrize("ranks", [1, 2])
def test_example_runs(ranks: int) -> None:
    result = run_on(ranks, ROOT / "examples" / "stencil.py")
    assert result.returncode == 0, result.stderr
    assert "after 100 steps the wave has 0.8" in result.stdout
