"""Exchanges of NumPy arrays through slipstream.Exchange."""

import re
from pathlib import Path

import numpy as np
import pytest
import slipstream as slip
from arrays import grid_of, numbered, wrapped
from conftest import ROOT
from errors import raises
from ranks import run_on

PAGE = ROOT / "docs" / "python_exchange.md"


def test_ghosts_take_the_values_of_neighbours() -> None:
    grid = grid_of(devices_per_rank=2, blocks_per_device=(1, 2, 1))
    arrays = numbered(grid, 2)
    slip.Exchange(grid, {"u": arrays}, ghost=2).run()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array, wrapped(grid, 2, block))


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("periodic", [True, False])
def test_ghosts_of_an_axis_of_one_cell_are_its_own_where_it_is_periodic(axis: int, periodic: bool) -> None:
    cells = tuple(1 if a == axis else 4 for a in range(3))
    grid = slip.Grid(cells, periodic=[a != axis or periodic for a in range(3)], backend="host", devices_per_rank=2)
    arrays = numbered(grid, 1)
    slip.Exchange(grid, {"u": arrays}).run()
    for block, array in enumerate(arrays):
        want = wrapped(grid, 1, block)
        if not periodic:
            np.moveaxis(want, 2 - axis, 0)[[0, -1]] = -1
        np.testing.assert_array_equal(array, want)


def test_grids_of_two_extents_have_no_ghosts_along_z() -> None:
    grid = grid_of((4, 3))
    array = np.full(grid.array_shape(1), -1)
    array[1:-1, 1:-1] = np.arange(12).reshape(3, 4)
    slip.Exchange(grid, {"u": array}).run()
    np.testing.assert_array_equal(array, np.pad(np.arange(12).reshape(3, 4), 1, "wrap"))


def check_large_messages(
    layout: str,
    device_grid: tuple[int, int, int],
    put=lambda array, _: array,
    get=lambda array: array,
    finish=lambda: None,
    **options: object,
) -> None:
    """Makes three exchanges of more than 8 MB per device.

    put(array, device) copies an array to its device, get(array) to the host. finish() waits for all assignments.
    """
    cut = {"devices_per_rank": int(np.prod(device_grid)), "device_grid": device_grid}
    grid = slip.Grid((14, 700 * device_grid[1], 600), periodic=(True,) * 3, **cut, **options)
    fields = numbered(grid, 3, np.int32)
    if layout == "soa_z":
        fields = [np.ascontiguousarray(array.T) for array in fields]
    fields = [put(array, block.device_index) for array, block in zip(fields, grid.local, strict=True)]
    halo = slip.Exchange(grid, {"u": fields}, ghost=3, layout=layout)
    assert sum(message.bytes for message in halo.messages()) > 8_000_000 * len(fields)
    for exchange in range(3):
        for array in fields:
            array[:3], array[-3:] = -exchange, exchange
        finish()
        halo.run()
        for block, array in enumerate(fields):
            found = get(array)
            np.testing.assert_array_equal(found.T if layout == "soa_z" else found, wrapped(grid, 3, block, np.int32))


@pytest.mark.parametrize("layout", ["soa", "soa_z"])
def test_large_messages_go_in_another_order_and_arrive_as_well(layout: str) -> None:
    check_large_messages(layout, (2, 1, 1), backend="host")


def test_halves_travel() -> None:
    grid = grid_of(devices_per_rank=2)
    arrays = numbered(grid, 1, np.float16)
    slip.Exchange(grid, {"u": arrays}).run()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array, wrapped(grid, 1, block, np.float16))


def test_the_suited_layout_on_a_host_has_rows_along_x() -> None:
    assert grid_of((64, 64, 64), devices_per_rank=2, device_grid=(2, 1, 1)).suited_layout == "soa"


def test_one_block_needs_no_list() -> None:
    grid = grid_of()
    (array,) = numbered(grid, 1)
    slip.Exchange(grid, {"u": array}).run()
    np.testing.assert_array_equal(array, wrapped(grid, 1, 0))


def test_fields_of_other_types_and_widths_travel_together() -> None:
    grid = grid_of(devices_per_rank=2)
    narrow, wide = numbered(grid, 1, np.int64), numbered(grid, 3, np.float64)
    slip.Exchange(grid, {"n": narrow, "w": wide}, ghost={"n": 1, "w": 3}).run()
    for block in range(2):
        np.testing.assert_array_equal(narrow[block], wrapped(grid, 1, block))
        np.testing.assert_array_equal(wide[block], wrapped(grid, 3, block))


def test_swap_moves_the_other_copy() -> None:
    grid = grid_of()
    (first,), (second,) = numbered(grid, 1), numbered(grid, 1)
    halo = slip.Exchange(grid, {"u": (first, second)})
    halo.swap("u")
    halo.run()
    assert (first[0] == -1).all()
    np.testing.assert_array_equal(second, wrapped(grid, 1, 0))


def test_narrower_sides_leave_the_rest_alone() -> None:
    grid = grid_of()
    (array,) = numbered(grid, 2)
    slip.Exchange(grid, {"u": array}, ghost=2, low=(1, 0, 0), high=0, reach="faces").run()
    inside = wrapped(grid, 2, 0)[2:-2, 2:-2, 1]
    np.testing.assert_array_equal(array[2:-2, 2:-2, 1], inside)
    assert (array[:, :, 0] == -1).all() and (array[:, :, -2:] == -1).all() and (array[:2] == -1).all()


def test_padded_rows_are_taken_where_they_lie() -> None:
    grid = grid_of()
    base = np.full(grid.array_shape(1, padding=(3, 0, 0)), -7, np.float32)
    array = base[:, :, :-3]
    array[:] = numbered(grid, 1)[0]
    slip.Exchange(grid, {"u": array}, padding=(3, 0, 0)).run()
    np.testing.assert_array_equal(array, wrapped(grid, 1, 0))
    assert (base[:, :, -3:] == -7).all()


def test_two_dimensional_grids_have_arrays_of_two_axes() -> None:
    grid = grid_of((7, 5))
    array = np.full(grid.array_shape(1), -1, np.float32)
    array[1:-1, 1:-1] = np.arange(35).reshape(5, 7)
    slip.Exchange(grid, {"u": array}).run()
    np.testing.assert_array_equal(array, np.pad(np.arange(35, dtype=np.float32).reshape(5, 7), 1, mode="wrap"))


def test_own_boxes_are_taken() -> None:
    boxes = [((0, 0, 0), (3, 6, 5), 0), ((3, 0, 0), (8, 6, 5), 0)]
    grid = grid_of(boxes=boxes)
    assert [(block.lo, block.hi) for block in grid.local] == [box[:2] for box in boxes]
    arrays = numbered(grid, 2)
    slip.Exchange(grid, {"u": arrays}, ghost=2).run()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array, wrapped(grid, 2, block))


def test_objects_that_speak_only_dlpack_are_taken() -> None:
    class Foreign:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **options: object) -> object:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    grid = grid_of()
    (array,) = numbered(grid, 1)
    slip.Exchange(grid, {"u": Foreign(array)}).run()
    np.testing.assert_array_equal(array, wrapped(grid, 1, 0))


def test_messages_tell_routes_and_bytes() -> None:
    grid = grid_of(devices_per_rank=2)
    halo = slip.Exchange(grid, {"u": numbered(grid, 1)}, routes=["staged"])
    found = halo.messages()
    assert {(m.source, m.target) for m in found} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert {m.route for m in found} == {"staged"} and all(m.bytes > 0 and m.reason for m in found)
    assert halo.needs_host


BAD = {
    "shape": (lambda a: a[:-1], {}, "mismatch", {"field": "u", "given": (6, 8, 10), "needed": (7, 8, 10)}),
    "read_only": (lambda a: np.broadcast_to(a[:1], a.shape), {}, "unsupported", {"given": "read-only"}),
    "format": (lambda a: a.astype(np.longdouble), {}, "unsupported", {"argument": "field 'u'", "given": "f16"}),
    "no_array": (lambda a: a.tolist()[0][0][0], {}, "invalid_argument", {"given": "float"}),
    "number_of_arrays": (lambda a: [a, a], {}, "mismatch", {"field": "u", "given": 2, "needed": 1}),
    "width_of_another_field": (lambda a: a, {"ghost": {"v": 1}}, "not_found", {"argument": "ghost", "field": "u"}),
    "widths": (lambda a: a, {"ghost": (1, 1)}, "invalid_argument", {"given": (1, 1), "needed": 3}),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_are_refused(case: str) -> None:
    change, options, code, facts = BAD[case]
    grid = grid_of()
    with raises(ValueError, code, **facts):
        slip.Exchange(grid, {"u": change(numbered(grid, 1)[0])}, **options)


def test_strides_that_do_not_fit_are_refused_with_the_right_ones() -> None:
    grid = grid_of()
    array = np.asfortranarray(numbered(grid, 1)[0])
    with raises(
        RuntimeError,
        "mismatch",
        block=0,
        field="u",
        given="x 56, y 7, z 1, component 0",
        needed="x 1, y 10, z 80, component 560",
    ):
        slip.Exchange(grid, {"u": array})


def test_streams_are_refused_on_the_host() -> None:
    grid = grid_of()
    halo = slip.Exchange(grid, {"u": numbered(grid, 1)})
    with raises(ValueError, "unsupported", argument="stream", backend="host"):
        halo.begin(1)


def test_unknown_options_are_refused() -> None:
    grid = grid_of()
    with raises(TypeError, "not_found", option="rotes", nearest="routes"):
        slip.Exchange(grid, {"u": numbered(grid, 1)}, rotes=["staged"])


def test_options_of_the_wrong_type_are_refused_by_name() -> None:
    grid = grid_of()
    with raises(RuntimeError, "invalid_argument", given="'long'", of="an exchange", option="wait_limit"):
        slip.Exchange(grid, {"u": numbered(grid, 1)}, wait_limit="long")


# Prints each line by one write call, so that lines of several ranks do not mix.
ON_TWO = """
import sys, numpy as np, slipstream as slip
from arrays import grid_of, numbered, wrapped
grid = grid_of((9, 8, 7), devices_per_rank=2)
for routes in (["direct", "kernel", "colocated"], ["kernel", "colocated", "peer"], ["staged"]):
    arrays = numbered(grid, 2)
    slip.Exchange(grid, {"u": arrays}, ghost=2, routes=routes).run()
    for block, array in enumerate(arrays):
        np.testing.assert_array_equal(array, wrapped(grid, 2, block))
sys.stdout.write(f"right on rank {grid.comm.rank}\\n")
"""


def test_two_ranks_fill_each_others_ghosts(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(ON_TWO)
    result = run_on(2, path)
    assert result.returncode == 0, result.stderr
    assert {"right on rank 0", "right on rank 1"} <= set(result.stdout.splitlines())


ON_NODES = """
import sys, numpy as np, slipstream as slip
from arrays import grid_of, numbered, wrapped
grid = grid_of((9, 8, 7), ranks_per_node=2)
arrays = numbered(grid, 1)
halo = slip.Exchange(grid, {"u": arrays}, routes=["kernel", "staged"], grouping="nodes")
halo.run()
np.testing.assert_array_equal(arrays[0], wrapped(grid, 1, 0))
grouped = sum("travels in the message of node" in message.reason for message in halo.messages())
sys.stdout.write(f"{grouped} in messages of nodes by {halo.tuning.knobs.grouping}\\n")
"""


def test_two_nodes_send_each_other_one_message(tmp_path: Path) -> None:
    path = tmp_path / "nodes.py"
    path.write_text(ON_NODES)
    result = run_on(4, path)
    assert result.returncode == 0, result.stderr
    # Number of messages: each of four devices has two neighbours on the other node, in both directions.
    assert result.stdout.splitlines() == ["4 in messages of nodes by nodes"] * 4


def test_an_unknown_grouping_is_told_the_known_ones() -> None:
    grid = grid_of()
    with raises(
        RuntimeError, "invalid_argument", choices="devices, nodes", given="ranks", option="grouping of messages"
    ):
        slip.Exchange(grid, {"u": numbered(grid, 1)}, grouping="ranks")


REFUSED_ON_TWO = """
import sys, slipstream as slip
from arrays import grid_of, numbered
grid = grid_of()
arrays = numbered(grid, 1)
if grid.comm.rank == 1:
    arrays = [array[1:] for array in arrays]
try:
    slip.Exchange(grid, {"u": arrays})
except ValueError as error:
    sys.stdout.write(f"{grid.comm.rank} refused: {error}\\n")
"""


def test_a_bad_array_of_one_rank_is_an_error_on_all(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(REFUSED_ON_TWO)
    lines = run_on(2, path).stdout.splitlines()
    assert sorted(line.partition(" the array")[0] for line in lines) == [
        f"{rank} refused: rank 1: field 'u', block 0 of this rank:" for rank in (0, 1)
    ]


GUEST_ON_TWO = """
import ctypes, ctypes.util, sys
mpi = ctypes.CDLL(ctypes.util.find_library("mpi"), mode=ctypes.RTLD_GLOBAL)
if not hasattr(mpi, "ompi_mpi_comm_world"):
    sys.exit(77)
mpi.MPI_Init(None, None)
every, mine, rank = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")), ctypes.c_void_p(), ctypes.c_int()
mpi.MPI_Comm_rank(every, ctypes.byref(rank))
mpi.MPI_Comm_split(every, rank, 0, ctypes.byref(mine))
if rank.value == 0:
    import numpy as np, slipstream as slip
    from arrays import numbered, wrapped
    comm = slip.communicator(mpi.MPI_Comm_c2f(mine))
    grid = slip.Grid((6, 5, 4), comm, periodic=(True,) * 3, backend="host")
    arrays = numbered(grid, 1)
    slip.Exchange(grid, {"u": arrays}).run()
    np.testing.assert_array_equal(arrays[0], wrapped(grid, 1, 0))
    sys.stdout.write(f"guest of {comm.size}\\n")
    del comm, grid
mpi.MPI_Finalize()
"""


def test_a_part_of_the_ranks_may_use_their_own_communicator(tmp_path: Path) -> None:
    path = tmp_path / "guest.py"
    path.write_text(GUEST_ON_TWO)
    result = run_on(2, path)
    if result.returncode == 77:
        pytest.skip("asks Open MPI for a communicator without mpi4py")
    assert result.stdout.splitlines() == ["guest of 1"], result.stderr
    assert result.returncode == 0, result.stderr


IDLE_ON_TWO = """
import sys, numpy as np, slipstream as slip
grid = slip.Grid((4, 4, 4), periodic=(True,) * 3, backend="host", boxes=[((0, 0, 0), (4, 4, 4), 0)])
arrays = [np.zeros(grid.array_shape(1, 2, block=block), np.float64) for block in range(len(grid.local))]
for array in arrays:
    array[:, 1:-1, 1:-1, 1:-1] = 5
slip.Exchange(grid, {"u": arrays}).run()
good = all((array == 5).all() for array in arrays)
sys.stdout.write(f"{grid.comm.rank} {len(arrays)} {good}\\n")
"""


def test_a_rank_without_blocks_takes_part(tmp_path: Path) -> None:
    path = tmp_path / "idle.py"
    path.write_text(IDLE_ON_TWO)
    result = run_on(2, path)
    assert sorted(result.stdout.splitlines()) == ["0 1 True", "1 0 True"], result.stderr


def page_example(name: str = "example") -> str:
    page = PAGE.read_text(encoding="utf-8")
    return re.search(rf"<!-- {name} -->\n```python\n(.*?)```", page, re.DOTALL).group(1)


def test_the_pages_example_runs(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        page_example()
        + "\nassert u.min() == 1 and u.max() == 1 + comm.size - 1\n"
        + "u[:] = 1 + comm.rank\n"
        + page_example("all-reduce")
        + "\nassert list(sums) == [3 * u.size, 5 * u.size], sums\nhalo.close()\n"
        + "import sys; sys.stdout.write('good\\n')\n"
    )
    result = run_on(2, path)
    assert result.stdout.split() == ["good", "good"], result.stdout + result.stderr


def test_the_pages_example_has_ten_lines() -> None:
    assert len([line for line in page_example().splitlines() if line.strip()]) <= 10
