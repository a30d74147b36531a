"""repr() of objects is one line: shape, number format and routes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import slipstream as slip


def grid(*cells: int, **how: Any) -> slip.Grid:
    return slip.Grid(cells or (8, 6, 4), backend="host", devices_per_rank=2, **how)


def arrays(of: slip.Grid, ghost: int = 0, components: int | None = None) -> list[Any]:
    return [np.zeros(of.array_shape(ghost, components, block=block)) for block in range(2)]


def exchange() -> slip.Exchange:
    fields = {"u": arrays(grid(), 1, 3), "v": arrays(grid(), 1)}
    return slip.Exchange(grid(), fields, routes="staged")


def transpose() -> slip.Transpose:
    source, target = grid(), grid(4, 6, 8)
    return slip.Transpose(source, target, arrays(source), arrays(target), axes=(2, 1, 0), routes="staged")


SHOWN: dict[str, tuple[Callable[[], Any], str]] = {
    "a grid": (
        lambda: grid(periodic=(True, False, True)),
        "Grid: 8 x 6 x 4 cells, periodic along x, z, 2 blocks on host devices, 2 of rank 0",
    ),
    "a flat grid": (lambda: grid(6, 4), "Grid: 6 x 4 cells, 2 blocks on host devices, 2 of rank 0"),
    "the ranks": (slip.world, "Communicator: rank 0 of 1"),
    "an exchange": (
        exchange,
        "Exchange: u f64[3] with ghosts (1, 1, 1), v f64[1] with ghosts (1, 1, 1) on 8 x 6 x 4 cells; staged",
    ),
    "a transpose": (
        transpose,
        "Transpose: 1 field from 8 x 6 x 4 to 4 x 6 x 8 cells, x to z, y to y, z to x; staged",
    ),
    "sums": (
        lambda: slip.GatherScatter(grid(), [np.array([1, 2, 0]), np.array([2, 3])], components=2),
        "GatherScatter: f64[2] at 5 points of rank 0, 2 devices; 2 shared",
    ),
    "a reduction": (lambda: slip.AllReduce(grid(), 3, "f32", "max"), "AllReduce: max f32[3] over 2 devices; peer"),
    "a stencil": (
        lambda: slip.Stencil(grid(), lambda u, v: u[0, 0, 0], ["u", "v"]).run(1),
        "Stencil: u, v with radius 1 on 8 x 6 x 4 cells on host devices; 1 step",
    ),
    "a transform": (
        lambda: slip.fft.Plan(grid(8, 8, 8), "float32"),
        "fft.Plan: 8^3 cells, float32 to complex64; process grid 1 x 2 of host devices",
    ),
}


def test_machine_is_shown_by_its_name_and_counts() -> None:
    machine = grid().machine
    assert repr(machine) == f"<slipstream.Machine: {machine.name}; nodes 1, ranks 1, devices 2>"


@pytest.mark.parametrize("what", SHOWN)
def test_shown_in_one_line(what: str) -> None:
    make, line = SHOWN[what]
    assert repr(make()) == f"<slipstream.{line}>"


@pytest.mark.parametrize("what", ["an exchange", "a transpose", "sums", "a reduction", "a stencil", "a transform"])
def test_shown_when_closed(what: str) -> None:
    made = SHOWN[what][0]()
    made.close()
    assert repr(made).startswith(f"<slipstream.{SHOWN[what][1].partition(';')[0]};")
