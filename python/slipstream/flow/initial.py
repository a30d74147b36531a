"""Flows that a case gives by expressions: the initial state and the exact solution."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slipstream.base.core import core
from slipstream.base.errors import CaseError, Fault
from slipstream.case.distance import Distance
from slipstream.case.expression import evaluate
from slipstream.case.flow_case import FlowCase

Array = np.ndarray
#: Number of cells in which expressions are evaluated at once, to bound the memory.
SLAB = 1 << 20


def _fields(
    case: FlowCase, parts: Sequence[float | str], cells: Sequence[Array], more: dict[str, float]
) -> list[Array]:
    """Values of expressions in the coordinates, at the centres of cells, as [z][y][x]."""
    edge = case.cell_edge
    x, y, z = ((n + 0.5) * edge for n in cells)
    names = case.names(x[None, None, :], y[None, :, None], z[:, None, None]) | more
    shape = (len(z), len(y), len(x))
    return [np.broadcast_to(evaluate(p, names) if isinstance(p, str) else p, shape) for p in parts]


def flow(case: FlowCase, cells: Sequence[Array]) -> Array:
    """Density less 1 and velocity in lattice units, [z][y][x][4], of the cells with these numbers along x, y and z.

    Raises ValueError for an expression that has no value.
    """
    assert case.initial is not None
    speed, converter = case.scales.reference_velocity, case.converter
    *velocity, pressure = _fields(case, [*case.initial.velocity, case.initial.pressure], cells, {})
    unit = 1.0 / converter.pressure if case.units.speeds and converter else speed**2
    # In lattice units a difference in pressure is a third of that in density. The solver starts from the density.
    return np.stack(
        [3.0 * unit * pressure, *(speed * case.in_reference_velocities(part) for part in velocity)], axis=-1
    )


def exact(case: FlowCase, cells: Sequence[Array], time: float) -> Array:
    """The velocity of case.exact in units of the reference velocity, [z][y][x][3], after a time in length / reference
    velocity."""
    assert case.exact is not None
    if case.units.speeds and case.converter:
        time *= case.scales.steps_per_time * case.converter.time  # expressions for speeds in m/s take t in s
    return case.in_reference_velocities(np.stack(_fields(case, case.exact.velocity, cells, {"t": time}), axis=-1))


def sample(case: FlowCase) -> list[Array]:
    """Indices of up to 17 cells along each axis, the first and the last among them. Checks evaluate expressions there,
    which is faster than on all cells."""
    return [np.unique(np.linspace(0, n - 1, min(n, 17)).round()) for n in case.grid.cells]


def starter(case: FlowCase) -> Callable[[tuple[int, ...], tuple[int, ...]], Array]:
    """The initial flow as a function of a box of cells; cells beyond a periodic side wrap around."""

    def values(low: tuple[int, ...], high: tuple[int, ...]) -> Array:
        cells = [np.arange(a, b) % n for a, b, n in zip(low, high, case.grid.cells, strict=True)]
        try:
            return np.ascontiguousarray(flow(case, cells))
        except ValueError as error:
            raise CaseError(Fault.of(error).at("initial")) from None

    return values


def distance(engine: Any, case: FlowCase) -> float | None:
    """Relative L2 error of the velocity against case.exact over the fluid cells, on rank 0. Collective."""
    nx, ny, nz = case.grid.cells
    planes = max(1, SLAB // (nx * ny))
    off = Distance()
    for low in range(0, nz, planes):
        high = min(low + planes, nz)
        velocity = engine.gather("velocity", (0, 0, low), (nx, ny, high))
        flags = engine.gather("flags", (0, 0, low), (nx, ny, high))
        if velocity is None:
            continue
        fluid = flags[..., 0] == 0
        cells = [np.arange(nx), np.arange(ny), np.arange(low, high)]
        wanted = exact(case, cells, case.time_of(engine.step))
        found = velocity.astype(np.float64) / case.scales.reference_velocity
        off.add(found[fluid], wanted[fluid])
    return off.value() if core().rank() == 0 else None
