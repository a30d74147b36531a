"""Type stubs list exactly the existing options; errors for other options name the nearest."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from errors import raises
from ranks import run_on
from slipstream.base.core import core
from slipstream.exchange.options import ExchangeOptions, GridOptions

GRID = slip.Grid((8, 6, 4), backend="host", devices_per_rank=1)
IDS = np.arange(8 * 6 * 4) + 1


def cube() -> Any:
    return np.zeros((4, 6, 8))


CALLS = {
    "a grid": (lambda **how: slip.Grid((8, 6, 4), **how), "node_grids", "node_grid"),
    "an exchange": (lambda **how: slip.Exchange(GRID, {"u": cube()}, 0, **how), "gost", "ghost"),
    "an exchange by another": (lambda **how: slip.Exchange(GRID, {"u": cube()}, 0, **how), "rouets", "routes"),
    "a transpose": (lambda **how: slip.Transpose(GRID, GRID, cube(), cube(), **how), "wait_limits", "wait_limit"),
    "a gather-scatter": (lambda **how: slip.GatherScatter(GRID, IDS, **how), "uniqe", "unique"),
    "a stencil": (lambda **how: slip.Stencil(GRID, lambda u: u[0, 0, 0], **how), "radious", "radius"),
    "a Fourier transform": (lambda **how: slip.fft.Plan(GRID, **how), "tuner_cash", "tuner_cache"),
    "a Fourier transform by memory": (lambda **how: slip.fft.memory(GRID, **how), "transpose", "transposed"),
}


@pytest.mark.parametrize("what", CALLS)
def test_option_of_another_name_is_refused_with_the_nearest(what: str) -> None:
    call, given, meant = CALLS[what]
    with raises(TypeError, "not_found", option=given, nearest=meant):
        call(**{given: 1})


def test_option_that_is_near_none_is_refused_with_all() -> None:
    with raises(TypeError, "not_found", option="zzzz", nearest=None) as refused:
        slip.Grid((8, 6, 4), zzzz=1)
    known = refused.value.facts["allowed"].split(", ")
    assert {"cells", "comm", "placement", "blocks_per_device"} <= set(known)


def test_checkers_see_all_options_of_the_compiled_exchange() -> None:
    with raises(RuntimeError, "invalid_argument", of="an exchange", option="zzzz") as refused:
        core().ArrayExchange(GRID.comm, GRID._grid, [], {"zzzz": 1})
    known = str(refused.value).partition("there are ")[2].split(", ")
    assert {*ExchangeOptions.__annotations__, "routes"} == set(known)


def test_checkers_see_all_options_of_the_compiled_grid() -> None:
    with raises(RuntimeError, "invalid_argument", of="a grid", option="zzzz") as refused:
        core().Grid((8, 6, 4), GRID.machine, GRID.comm, {"zzzz": 1})
    known = set(str(refused.value).partition("there are ")[2].split(", "))
    own = {"periodic", "dimensions", "placement", "measured_gb_per_s", "boxes"}
    assert known - own == {*GridOptions.__annotations__}


ONE_REFUSES = """
import numpy as np, slipstream as slip

grid = slip.Grid((8, 6, 4), backend="host", devices_per_rank=1)
wrong = {"zzzz": 1} if grid.comm.rank == 1 else {}
calls = [
    lambda: slip.Grid((8, 6, 4), **wrong),
    lambda: slip.Exchange(grid, {"u": np.zeros(grid.array_shape(1))}, **wrong),
    lambda: slip.GatherScatter(grid, np.arange(4) + 1, **wrong),
    lambda: slip.Stencil(grid, lambda u: u[0, 0, 0], **wrong),
    lambda: slip.fft.Plan(grid, **wrong),
]
for call in calls:
    try:
        call()
    except TypeError as error:
        assert (error.code, error.facts["rank"], error.facts["option"]) == ("not_found", "1", "zzzz"), error
    else:
        raise AssertionError("not refused")
print("refused")
"""


def test_option_that_one_rank_refuses_is_the_same_error_on_all(tmp_path: Path) -> None:
    program = tmp_path / "refused.py"
    program.write_text(ONE_REFUSES)
    done = run_on(2, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") == 2
