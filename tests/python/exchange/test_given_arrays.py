"""Array arguments: every call accepts an array as it is or refuses it with one error."""

import array
import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from errors import raises
from ranks import run_on
from slipstream.base.errors import Fault

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


#: Calls that use u, a cube of 64 float64 numbers, as input.
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
    """An array with one of the attributes __array_interface__ and __cuda_array_interface__, named by `protocol`."""

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
    """A cube that supports the buffer protocol only."""
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


@dataclass(frozen=True)
class Refusal:
    """Codes of the errors that calls raise, and the wrong arguments that the errors report as `given`. None stands for
    an error that reports no wrong argument."""

    codes: str
    given: set[str | None]


def shape(shape: str, count: int) -> Refusal:
    return Refusal("mismatch", {shape, f"{count} x f64"})


def strides(z: int, y: int, x: int) -> Refusal:
    told = {f"({z}, {y}, {x})", f"({x}, {y}, {z})", f"x {x}, y {y}, z {z}, component 0", None}
    return Refusal("mismatch unsupported", told)


#: Kinds of arrays with their refusal; None if they are accepted.
KINDS: dict[str, tuple[Callable[[], Any], Refusal | None]] = {
    "packed": (lambda: np.ones(SHAPE), None),
    "an array in a list": (lambda: [np.ones(SHAPE)], None),
    "behind an offset": (lambda: np.ones(65)[1:].reshape(SHAPE), None),
    "a buffer": (lambda: buffer_of(ctypes.c_double), None),
    "one element too many": (lambda: np.ones(65), shape("(65,)", 65)),
    "empty": (lambda: np.ones((4, 4, 0)), shape("(4, 4, 0)", 0)),
    "no components": (lambda: np.ones((0, *SHAPE)), Refusal("invalid_argument mismatch", {None, "0 x f64"})),
    "no axis": (lambda: np.float64(1), shape("()", 1)),
    "numbers": (lambda: [[1.0, 2.0]] * 2, Refusal("invalid_argument mismatch", {"2"})),
    "none": (lambda: None, Refusal("invalid_argument", {"NoneType"})),
    "text": (lambda: "u", Refusal("invalid_argument", {"str"})),
    "every other value": (lambda: np.ones((4, 4, 8))[..., ::2], strides(32, 8, 2)),
    "negative strides": (lambda: np.ones(SHAPE)[::-1], strides(-16, 4, 1)),
    "in Fortran's order": (lambda: np.ones(SHAPE, order="F"), strides(1, 4, 16)),
    "one value for all": (lambda: strided(0, 8, 8), Refusal("unsupported", {"(0, 1, 1)"})),
    "rows in one another": (lambda: strided(8, 8, 8), strides(1, 1, 1)),
    "float32": (lambda: np.ones(SHAPE, "f4"), Refusal("mismatch", {"1 x f32", "64 x f32", "f32", None})),
    "bool": (
        lambda: np.ones(SHAPE, bool),
        Refusal("mismatch unsupported", {"1 x u8", "64 x another format", "u8", "add", None}),
    ),
    "objects": (lambda: np.ones(SHAPE, object), Refusal("unsupported", {"|O"})),
    "long doubles": (lambda: np.ones(SHAPE, np.longdouble), Refusal("unsupported", {"f16"})),
    "dates": (lambda: np.ones(SHAPE, "M8[s]"), Refusal("unsupported", {"<M8[s]"})),
    "records": (lambda: np.ones(SHAPE, [("a", "f4"), ("b", "f4")]), Refusal("unsupported", {"V8"})),
    "a Python array": (lambda: array.array("d", [1.0] * 64), Refusal("mismatch", {"(64,)"})),
}


def strided(*steps: int) -> Any:
    return np.lib.stride_tricks.as_strided(np.ones(64), SHAPE, steps)


#: Library calls under test: those that accept an array of any shape with 64 numbers, and halo exchanges, which also
#: accept float32 values.
FLAT = {"a reduction", *(name for name in CALLS if name.split()[0] in ("values", "unique"))}
MOVING = {"a halo", "a coded halo", "a halo that is combined"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_each_kind_of_array_is_taken_or_refused(call: str, kind: str) -> None:
    make, refusal = KINDS[kind]
    if call == "source that is bound" and kind == "none":
        refusal = None  # accepted: a call without an array uses the bound one
    if call == "source that is bound" and kind == "behind an offset":
        refusal = Refusal("unsupported", {"8"})  # refused, because the address is no multiple of 16
    if kind == "a Python array" and call in FLAT:
        refusal = None
    if call == "a halo" and kind == "bool" or call in MOVING and kind == "float32":
        refusal = None
    if refusal is None:
        CALLS[call](make())
        return
    with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        CALLS[call](make())
    fault = Fault.of(caught.value)
    assert fault.code in refusal.codes.split() and fault.facts.get("given") in refusal.given, fault.facts


@pytest.mark.parametrize("call", CALLS)
def test_numbers_begin_at_multiples_of_their_size(call: str) -> None:
    between = np.zeros(516, "u1")[4:].view("f8").reshape(SHAPE)
    with raises(ValueError, "unsupported", needed="a multiple of 8"):
        CALLS[call](between)


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


def test_neighbours_in_memory_lie_apart() -> None:
    grid = grid_of()
    shape = grid.array_shape(1)
    room = np.zeros((2, *shape))
    room[0] = 1
    with slip.Transpose(grid, grid, room[0], room[1], ghost=1, rebinds=True) as transpose:
        transpose.run()
    inner = (slice(1, -1),) * 3
    assert (room[1][inner] == 1).all()
    assert room[1].sum() == room[1][inner].size


ONE_REFUSES = """
import numpy as np
import pytest
import slipstream as slip
from errors import raises

comm = slip.world()
grid = slip.Grid((4, 4, 4), backend="host", devices_per_rank=1)
odd = comm.rank == 1
swapped = np.dtype(float).newbyteorder()

def refused(call, right, wrong, own, others):
    code, facts = own if odd else others
    with raises((ValueError, TypeError, RuntimeError), code, **facts) if code else pytest.raises(TypeError):
        call(wrong if odd else right)

plan = slip.fft.Plan(grid, "float64", wait_limit=5)
u = np.zeros(plan.physical.array_shape(0))
v = np.zeros(plan.spectral.array_shape(0), complex)
reduce = slip.AllReduce(grid, 4, wait_limit=5)
points = slip.GatherScatter(grid, np.arange(1, 5), block=4, unique=True, first_block=comm.rank, wait_limit=5)
unique = np.zeros(points.counts().unique_ids)
order = "unsupported", {"needed": "native byte order"}

def told(object, call, number):
    return "mismatch", {"rank": 1, "object": object, "call": f"{call} as call {number}"}

def alike(code, **facts):
    return (code, facts), (code, facts)

def convolve(how):
    plan.convolve(u, v, np.zeros_like(u), **how)

def exchange(a):
    slip.Exchange(grid, {"u": a}, ghost=0)

of_plan, of_points = "a Fourier transform", "a gather-scatter"
refused(exchange, np.zeros_like(u), u.astype(swapped), *alike(*order[:1], **order[1]))
refused(reduce.run, np.zeros(4), np.zeros(4, swapped), order, told("an all-reduce", "run", 1))
refused(points.run, np.zeros(4), np.zeros(4, swapped), order, told(of_points, "run (add)", 1))
short, single = ("mismatch", {"given": "5 x f64"}), ("mismatch", {"given": "4 x f32"})
refused(lambda a: points.gather(a, unique), np.zeros(4), np.zeros(5), short, told(of_points, "gather (add)", 2))
refused(lambda a: points.scatter(unique, a), np.zeros(4), np.zeros(4, "f4"), single, told(of_points, "scatter", 3))
refused(lambda a: plan.forward(a, v), u, u.astype(swapped), order, told(of_plan, "forward", 1))
refused(lambda a: plan.backward(v, a), u, u[::-1], ("unsupported", {"argument": "u"}), told(of_plan, "backward", 2))
for n in range(2):
    for wrong, code, facts in (
        ({"constant": 1j}, "unsupported", {"option": "constant"}),
        ({"sharp": float("nan")}, "invalid_argument", {"option": "sharp", "given": "nan"}),
        ({"sharp": -2}, "invalid_argument", {"option": "sharp", "given": "-2"}),
        ({"edges": (1, 2)}, "invalid_argument", {"option": "edges"}),
        ({"laplacian": 1.5}, None, {}),  # Python's own error
    ):
        right = {"sharp": 2} if "sharp" in wrong else {}
        refused(convolve, right, wrong, (code, facts), ("mismatch", {"rank": 1, "object": of_plan}))
    refused(convolve, {"sharp": 2}, {"sharp": 3}, *alike("mismatch", object=of_plan))
    convolve({"sharp": 2})
refused(lambda h: slip.fft.Plan(grid, highest=h), (1, 1, 1), (1, -2, 1), *alike("invalid_argument", option="highest"))
refused(lambda c: slip.fft.Plan(grid, coding=c), "raw", "cast to f16", *alike("unsupported", coding="cast to f16"))
refused(lambda o: slip.AllReduce(grid, 4, op=o), "add", "mean", *alike("invalid_argument", given="mean"))
refused(lambda i: slip.GatherScatter(grid, i), np.arange(3), np.arange(3).astype(">i8"), *alike(*order[:1], **order[1]))
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
