"""Array arguments: every call accepts an array as it is or refuses it with one error."""

import array
import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from errors import raises
from ranks import run_on

CELLS = (4, 4, 4)
SHAPE = (4, 4, 4)
Call = Callable[[Any], Any]


def grid_of() -> slip.Grid:
    return slip.Grid(CELLS, backend="host", devices_per_rank=1, periodic=(True,) * 3)


def reduced(u: Any) -> None:
    slip.AllReduce(grid_of(), 64).run(u)


def filled(u: Any, **how: Any) -> None:
    slip.Exchange(grid_of(), {"u": u}, ghost=0, **how).run()


def turned(u: Any, **how: Any) -> None:
    slip.Transpose(grid_of(), grid_of(), u, np.zeros(SHAPE), axes=(2, 1, 0), **how).run()


def permuted_into(u: Any) -> None:
    slip.Transpose(grid_of(), grid_of(), np.ones(SHAPE), u, axes=(2, 1, 0)).run()


def bound(u: Any) -> None:
    exchange = slip.Transpose(grid_of(), grid_of(), np.ones(SHAPE), np.zeros(SHAPE), axes=(2, 1, 0), rebinds=True)
    exchange.bind(u)
    exchange.run()


def points() -> slip.GatherScatter:
    return slip.GatherScatter(grid_of(), np.arange(1, 65), block=64, unique=True)


def plan() -> slip.fft.Plan:
    return slip.fft.Plan(grid_of(), "float64")


def modes() -> Any:
    return np.zeros((4, 3, 4), complex)


#: Uses u, a cube of 64 float64 numbers, as the input of each call.
READS: dict[str, Call] = {
    "source of a transpose": turned,
    "source of a coded transpose": lambda u: turned(u, coding="cast"),
    "source that is bound": bound,
    "values of gather": lambda u: points().gather(u, np.zeros(64)),
    "unique of scatter": lambda u: points().scatter(u, np.zeros(64)),
    "u of forward": lambda u: plan().forward(u, modes()),
    "u of convolve": lambda u: plan().convolve(u, modes(), np.zeros(SHAPE)),
}
WRITES: dict[str, Call] = {
    "a reduction": reduced,
    "a halo": filled,
    "a coded halo": lambda u: filled(u, coding="cast"),
    "a halo that is combined": lambda u: filled(u, combine="add"),
    "target of a transpose": permuted_into,
    "values of run": lambda u: points().run(u),
    "values of start": lambda u: points().start(u),
    "unique of gather": lambda u: points().gather(np.zeros(64), u),
    "values of scatter": lambda u: points().scatter(np.zeros(64), u),
    "u of backward": lambda u: plan().backward(modes(), u),
    "w of convolve": lambda u: plan().convolve(np.zeros(SHAPE), modes(), u),
}
CALLS = READS | WRITES


class Interface:
    """An array that supports only one protocol."""

    def __init__(self, held: Any, protocol: str) -> None:
        self.held = held
        setattr(self, protocol, held.__array_interface__)


class OnlyDLPack:
    def __init__(self, held: Any) -> None:
        self.held = held

    def __dlpack__(self, **how: Any) -> Any:
        return self.held.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.held.__dlpack_device__()


def swapped() -> Any:
    return np.ones(SHAPE).astype(np.dtype(float).newbyteorder())


def buffer_of(kind: Any) -> Any:
    """A cube that supports only the buffer protocol."""
    return (kind * 4 * 4 * 4)()


def read_only() -> Any:
    u = np.arange(64.0).reshape(SHAPE)
    u.flags.writeable = False
    return u


OTHER = ctypes.c_double.__ctype_be__ if sys.byteorder == "little" else ctypes.c_double.__ctype_le__


@pytest.mark.parametrize("call", CALLS)
def test_the_other_byte_order_is_refused(call: str) -> None:
    given = (swapped(), Interface(swapped(), "__array_interface__"), Interface(swapped(), "__cuda_array_interface__"))
    for u in (*given, buffer_of(OTHER)):
        with raises(ValueError, "unsupported", needed="native byte order"):
            CALLS[call](u)


def test_the_other_byte_order_is_refused_in_modes_factors_and_ids() -> None:
    u, w, v = np.ones(SHAPE), np.ones(SHAPE), modes()
    permuted_modes = v.astype(v.dtype.newbyteorder())
    for call in (
        lambda: plan().forward(u, permuted_modes),
        lambda: plan().backward(permuted_modes, u),
        lambda: plan().convolve(u, permuted_modes, w),
        lambda: plan().convolve(u, v, w, multiply=permuted_modes),
        lambda: plan().convolve(u, v, w, multiply=v.real.astype(swapped().dtype)),
        lambda: slip.GatherScatter(grid_of(), np.arange(3).astype(np.dtype(int).newbyteorder())),
        lambda: filled(np.ones(SHAPE, np.dtype("uint16").newbyteorder())),
    ):
        with raises(ValueError, "unsupported", needed="native byte order"):
            call()


@pytest.mark.parametrize("call", READS)
def test_what_is_only_read_may_be_read_only(call: str) -> None:
    for u in (read_only(), Interface(read_only(), "__array_interface__"), OnlyDLPack(read_only())):
        before = np.arange(64.0)
        READS[call](u)
        np.testing.assert_array_equal(getattr(u, "held", u).reshape(-1), before)
    READS[call](memoryview(np.ones(SHAPE)).toreadonly())


@pytest.mark.parametrize("call", WRITES)
def test_what_is_written_may_not_be_read_only(call: str) -> None:
    for u in (read_only(), Interface(read_only(), "__array_interface__"), OnlyDLPack(read_only())):
        with raises(ValueError, "unsupported", given="read-only", needed="writable"):
            WRITES[call](u)


def test_what_is_read_only_is_not_written_by_another_name() -> None:
    room = np.zeros(4 * 4 * 6)
    u = room[:64].reshape(SHAPE)
    shown = u.view()
    shown.flags.writeable = False
    into = room.view(complex).reshape(4, 3, 4)
    for call in (
        lambda: plan().forward(shown, into),
        lambda: plan().convolve(shown, modes(), u),
        lambda: plan().convolve(shown, into, np.zeros(SHAPE)),
        lambda: slip.Transpose(grid_of(), grid_of(), shown, u, axes=(2, 1, 0)),
    ):
        with raises(ValueError, "unsupported", given="read-only", needed="writable"):
            call()
    plan().forward(u, into)


#: Kinds of arrays and the text of their error; "" if accepted.
KINDS: dict[str, tuple[Callable[[], Any], str]] = {
    "packed": (lambda: np.ones(SHAPE), ""),
    "an array in a list": (lambda: [np.ones(SHAPE)], ""),
    "behind an offset": (lambda: np.ones(65)[1:].reshape(SHAPE), ""),
    "a buffer": (lambda: buffer_of(ctypes.c_double), ""),
    "one element too many": (lambda: np.ones(65), "shape|holds 65 values"),
    "empty": (lambda: np.ones((4, 4, 0)), "shape|holds 0 values"),
    "no components": (lambda: np.ones((0, *SHAPE)), "no components|holds 0 values|shape"),
    "no axis": (lambda: np.float64(1), "shape|holds 1 values|no array|read-only"),
    "numbers": (lambda: [[1.0, 2.0]] * 2, "arrays for the 1"),
    "none": (lambda: None, "no array"),
    "text": (lambda: "u", "no array"),
    "every other value": (lambda: np.ones((4, 4, 8))[..., ::2], "strides|gaps|side by side|in another way"),
    "negative strides": (lambda: np.ones(SHAPE)[::-1], "strides|gaps|side by side|in another way"),
    "in Fortran's order": (lambda: np.ones(SHAPE, order="F"), "strides|gaps|side by side|in another way"),
    "one value for all": (lambda: strided(0, 8, 8), "one value for all|side by side"),
    "rows in one another": (lambda: strided(8, 8, 8), "strides|gaps|side by side|in another way"),
    "between two numbers": (lambda: np.zeros(516, "u1")[4:].view("f8").reshape(SHAPE), "no multiple of the 8 bytes"),
    "float32": (lambda: np.ones(SHAPE, "f4"), "f32"),
    "bool": (lambda: np.ones(SHAPE, bool), "u8|another format|not of f32"),
    "objects": (lambda: np.ones(SHAPE, object), "type '.O' cannot be exchanged"),
    "long doubles": (lambda: np.ones(SHAPE, np.longdouble), "values of kind 'f' and 16 bytes"),
    "dates": (lambda: np.ones(SHAPE, "M8[s]"), "type '<M8\\[s\\]' cannot be exchanged"),
    "records": (lambda: np.ones(SHAPE, [("a", "f4"), ("b", "f4")]), "values of kind 'V'"),
    "a Python array": (lambda: array.array("d", [1.0] * 64), "shape|"),
}  # fmt: skip


def strided(*steps: int) -> Any:
    return np.lib.stride_tricks.as_strided(np.ones(64), SHAPE, steps)


#: Calls that accept 64 numbers of any shape, and calls that only move values.
FLAT = {"a reduction", *(name for name in CALLS if name.split()[0] in ("values", "unique"))}
MOVING = {"a halo", "a coded halo", "a halo that is combined"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_each_kind_of_array_is_taken_or_refused(call: str, kind: str) -> None:
    make, said = KINDS[kind]
    taken = not said
    if call == "source that is bound" and kind in ("behind an offset", "none"):
        taken, said = kind == "none", "8 bytes behind a multiple of 16"  # an omitted array stays bound
    if kind == "a Python array":
        taken, said = call in FLAT, "shape"
    if kind in ("float32", "bool") and call in MOVING:
        taken = not (kind == "bool" and call != "a halo")
        said = "cast rounds|not of f32"
    if taken:
        CALLS[call](make())
        return
    with pytest.raises((ValueError, TypeError, RuntimeError), match=said):
        CALLS[call](make())


def test_results_and_what_is_read_lie_apart() -> None:
    room, two = np.zeros(400), slip.Grid(CELLS, backend="host", devices_per_rank=2, periodic=(True,) * 3)
    a, b = room[:64], room[32:96]
    gs = points()
    half = slip.GatherScatter(two, [np.arange(1, 33), np.arange(17, 49)], block=32)
    cube, next_ = room[:64].reshape(SHAPE), room[32:96].reshape(SHAPE)
    one, other = np.zeros((2, 4, 4)), np.zeros((2, 4, 4))
    first, second = room[:96].view(complex).reshape(4, 3, 4), room[96:192].view(complex).reshape(4, 3, 4)
    calls: dict[str, Callable[[], Any]] = {
        "'values' and 'unique'": lambda: gs.gather(a, b),
        "'values' and 'unique' ": lambda: gs.scatter(a, b),
        "'values' of device 0 and 'values' of device 1": lambda: half.run([room[:32], room[16:48]]),
        "the array of device 0 and the array of device 1": lambda: slip.AllReduce(two, 4).run([room[:4], room[3:7]]),
        "field 'u' and field 'v'": lambda: slip.Exchange(grid_of(), {"u": cube, "v": next_}, ghost=0),
        "field 'u', block 0 of this rank, and field 'u', block 1 of this rank,": lambda: slip.Exchange(
            two, {"u": [one, one]}, ghost=0
        ),
        "field 'target u' and field 'target v'": lambda: slip.Transpose(
            grid_of(), grid_of(), {"u": np.ones(SHAPE), "v": np.ones(SHAPE)}, {"u": cube, "v": next_}
        ),
        "component 0 of v and component 1 of v": lambda: plan().forward((cube, cube), (second, second)),
        "component 0 of u and component 1 of u": lambda: plan().backward((modes(), modes()), (next_, next_)),
        "u and v": lambda: plan().forward(next_, first),
        "component 1 of u and component 0 of v": lambda: plan().forward((np.ones(SHAPE), cube), (first, second)),
        "v and w": lambda: plan().convolve(np.ones(SHAPE), first, next_),
        "v and multiply": lambda: plan().convolve(np.ones(SHAPE), first, np.ones(SHAPE), multiply=first),
        "w and multiply": lambda: plan().convolve(np.ones(SHAPE), second, cube, multiply=first),
        "component 0 of w and component 1 of w": lambda: plan().convolve(
            (cube, next_), (modes(), modes()), (cube, cube)
        ),
    }
    for words, call in calls.items():
        names = dict(zip(("one", "other"), words.strip().split(" and "), strict=True))
        with raises(ValueError, "invalid_argument", **names):
            call()
    del other


def test_values_in_the_gaps_of_others_lie_apart() -> None:
    room = np.zeros((4, 8, 4))
    u, v = room[:, :4], room[:, 4:]
    u[...], v[...] = 1, 2
    grid = slip.Grid((2, 2, 2), backend="host", periodic=(True,) * 3)
    u[1:3, 1:3, 1:3], v[1:3, 1:3, 1:3] = 3, 4
    slip.Exchange(grid, {"u": u, "v": v}, padding=(0, 4, 0)).run()
    assert (u == 3).all() and (v == 4).all()


def test_what_is_bound_lies_apart() -> None:
    grid, room = grid_of(), np.zeros(100)
    fields = {name: np.ones(SHAPE) for name in "uv"}
    into = {name: np.zeros(SHAPE) for name in "uv"}
    with slip.Transpose(grid, grid, fields, into, rebinds=True) as transpose:
        with raises(ValueError, "invalid_argument", one="field 'target u'", other="field 'target v'"):
            transpose.bind(into={"u": room[:64].reshape(SHAPE), "v": room[2:66].reshape(SHAPE)})
        with raises(ValueError, "invalid_argument", one="field 'target u'", other="field 'target v'"):
            transpose.bind(into={"u": into["v"]})
        transpose.bind(into={"u": into["v"], "v": into["u"]})
        transpose.run()
    assert (into["u"] == 1).all()


ONE_REFUSES = """
import numpy as np
import slipstream as slip

comm = slip.world()
grid = slip.Grid((4, 4, 4), backend="host", devices_per_rank=1)
odd = comm.rank == 1
swapped = np.dtype(float).newbyteorder()

def refused(call, right, wrong, words, others):
    try:
        call(wrong if odd else right)
    except (ValueError, TypeError, RuntimeError) as error:
        assert (words if odd else others) in str(error), error
        return
    raise AssertionError(f"not refused: {words}")

plan = slip.fft.Plan(grid, "float64", wait_limit=5)
u = np.zeros(plan.physical.array_shape(0))
v = np.zeros(plan.spectral.array_shape(0), complex)
reduce = slip.AllReduce(grid, 4, wait_limit=5)
points = slip.GatherScatter(grid, np.arange(1, 5), block=4, unique=True, first_block=comm.rank, wait_limit=5)
unique = np.zeros(points.counts().unique_ids)
ends = " as call {} of {}: its own error says why"
order, told = "have the other byte order", "rank 1 could not make "

def convolve(how):
    plan.convolve(u, v, np.zeros_like(u), **how)

def exchange(a):
    slip.Exchange(grid, {"u": a}, ghost=0)

refused(exchange, np.zeros_like(u), u.astype(swapped), order, "rank 1: field 'u'")
refused(reduce.run, np.zeros(4), np.zeros(4, swapped), order, told + "run" + ends.format(1, "an all-reduce"))
refused(points.run, np.zeros(4), np.zeros(4, swapped), order, told + "run (add)" + ends.format(1, "a gather-scatter"))
refused(lambda a: points.gather(a, unique), np.zeros(4), np.zeros(5), "holds 5 values", told + "gather (add)")
refused(lambda a: points.scatter(unique, a), np.zeros(4), np.zeros(4, "f4"), "of f32", told + "scatter")
refused(lambda a: plan.forward(a, v), u, u.astype(swapped), order, told + "forward as call 1 of a Fourier transform")
refused(lambda a: plan.backward(v, a), u, u[::-1], "without gaps", told + "backward")
for _ in range(2):
    refused(convolve, {}, {"constant": 1j}, "it must be real", told + "convolve")
    refused(convolve, {"sharp": 2}, {"sharp": float("nan")}, "at the wave number nan", told + "convolve")
    refused(convolve, {"sharp": 2}, {"sharp": -2}, "at the wave number -2", told + "convolve")
    refused(convolve, {}, {"edges": (1, 2)}, "edges", told + "convolve")
    refused(convolve, {}, {"laplacian": 1.5}, "cannot be interpreted as an integer", told + "convolve")
    refused(convolve, {"sharp": 2}, {"sharp": 3}, "with different numbers", "with different numbers")
    convolve({"sharp": 2})
refused(lambda h: slip.fft.Plan(grid, highest=h), (1, 1, 1), (1, -2, 1), *["rank 1: the highest mode"] * 2)
refused(lambda c: slip.fft.Plan(grid, coding=c), "raw", "cast to f16", "rank 1: the coding", "rank 1: the coding")
refused(lambda o: slip.AllReduce(grid, 4, op=o), "add", "mean", "rank 1: no combination", "rank 1: no combination")
refused(lambda i: slip.GatherScatter(grid, i), np.arange(3), np.arange(3).astype(">i8"), "rank 1: ids", "rank 1: ids")
plan.forward(u, v)
points.run(np.zeros(4))
reduce.run(np.zeros(4))
print("all refused\\n", end="", flush=True)
"""


def test_what_one_rank_is_given_is_an_error_on_all(tmp_path: Path) -> None:
    program = tmp_path / "one_refuses.py"
    program.write_text(ONE_REFUSES)
    result = run_on(2, program)
    assert result.returncode == 0 and result.stdout.count("all refused") == 2, result.stdout + result.stderr
