"""Reports of an exchange during its lifetime, and its end."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
import slipstream as slip
from arrays import grid_of, numbered, wrapped
from errors import raises
from ranks import run_on


def test_a_closed_exchange_is_refused_by_its_name() -> None:
    grid = grid_of()
    halo = slip.Exchange(grid, {"u": numbered(grid, 1)})
    halo.close()
    halo.close()
    for call in (halo.run, halo.begin, halo.end, halo.check, halo.messages, lambda: halo.swap("u")):
        with raises(RuntimeError, "wrong_state", problem="closed"):
            call()


def test_leaving_with_closes() -> None:
    grid = grid_of()
    arrays = numbered(grid, 1)
    with slip.Exchange(grid, {"u": arrays}) as halo:
        halo.run()
    np.testing.assert_array_equal(arrays[0], wrapped(grid, 1, 0))
    with raises(RuntimeError, "wrong_state", problem="closed"):
        halo.run()


def test_arrays_may_go_when_the_exchange_was_closed() -> None:
    class Array(np.ndarray):
        """An array class that supports weak references."""

    grid = grid_of()
    array = numbered(grid, 1)[0].view(Array)
    halo = slip.Exchange(grid, {"u": array})
    seen = weakref.ref(array)
    del array
    gc.collect()
    assert seen() is not None
    halo.close()
    gc.collect()
    assert seen() is None


def test_check_finds_nothing_where_all_came() -> None:
    grid = grid_of(devices_per_rank=2)
    halo = slip.Exchange(grid, {"u": numbered(grid, 1)})
    halo.check()
    halo.run()
    halo.check()


@pytest.mark.parametrize(("routes", "can"), [(["kernel", "direct"], True), (["kernel", "staged"], False)])
def test_exchanges_without_the_host_can_be_captured(routes: list[str], can: bool) -> None:
    grid = grid_of(devices_per_rank=2)
    halo = slip.Exchange(grid, {"u": numbered(grid, 1)}, routes=routes)
    assert halo.capturable == halo.limited_in_graphs == can == (not halo.needs_host)


ON_TWO = """
import sys, time, slipstream as slip
from arrays import grid_of, numbered
grid = grid_of()
with slip.Exchange(grid, {"u": numbered(grid, 1)}) as halo:
    halo.run()
    if grid.comm.rank == 1:
        time.sleep(0.5)
        halo.run()
    else:
        halo.begin()
        halo.end()
    late = time.monotonic()
sys.stdout.write(f"closed by rank {grid.comm.rank}\\n")
"""


def test_two_ranks_close_together(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(ON_TWO)
    result = run_on(2, path)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == ["closed by rank 0", "closed by rank 1"]
