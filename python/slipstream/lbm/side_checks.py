"""Checks of the sides of a case. Faults name the valid range and the remedy."""

import math
from collections.abc import Iterator

from slipstream.base.errors import Fault, unsupported
from slipstream.lbm.case import LbmCase
from slipstream.lbm.scales import step_remedy

#: Tolerated imbalance between sides of given velocity: difference of inflow and outflow over their sum.
BALANCE = 1e-3


def walls(case: LbmCase) -> Iterator[Fault]:
    for side, wall in case.walls.given():
        axis = "xyz".index(side[0])
        if case.grid.periodic[axis]:
            said = f"the {side[0]} axis is periodic and can have no wall; drop one of the two"
            yield unsupported(f"walls.{side}", said, other="grid.periodic")
        if case.lbm.lattice == "D2Q9" and axis == 2:
            yield unsupported(f"walls.{side}", "a 2-D lattice has no walls along z", other="lbm.lattice")
        elif case.lbm.lattice == "D2Q9" and wall.velocity[2]:
            yield unsupported(f"walls.{side}.velocity", "in 2-D a wall cannot move along z", other="lbm.lattice")
        if wall.velocity[axis]:
            said = f"a wall moves in its own plane: the {side[0]} component must be 0"
            yield Fault(said, key=f"walls.{side}.velocity", axis=side[0])


def boundaries(case: LbmCase) -> Iterator[Fault]:
    walls = {side for side, _ in case.walls.given()}
    for side, boundary in case.boundaries.given():
        axis = "xyz".index(side[0])
        path = f"boundaries.{side}"
        if case.grid.periodic[axis]:
            said = f"the {side[0]} axis is periodic and can have no boundary; drop one of the two"
            yield unsupported(path, said, other="grid.periodic")
        if side in walls:
            yield unsupported(path, f"walls.{side} is given, too; drop one of the two", other=f"walls.{side}")
        if case.lbm.lattice == "D2Q9" and axis == 2:
            yield unsupported(path, "a 2-D lattice has no sides along z", other="lbm.lattice")
        if (boundary.kind == "velocity") != (boundary.velocity is not None):
            said = 'belongs to kind = "velocity", and only there; give both or none'
            yield unsupported(f"{path}.velocity", said, other="kind", needed="velocity")
        for key in ("density", "pressure"):
            if boundary.kind not in ("pressure", "convective") and getattr(boundary, key) is not None:
                said = 'belongs to kind = "pressure" or "convective"'
                yield unsupported(f"{path}.{key}", said, other="kind", needed="pressure, convective")
        if boundary.density is not None and boundary.pressure is not None:
            yield unsupported(f"{path}.pressure", "density says it, too; drop one of the two", other="density")
        for key in ("speed", "relaxation"):
            if boundary.kind != "convective" and getattr(boundary, key) is not None:
                yield unsupported(f"{path}.{key}", 'belongs to kind = "convective"', other="kind", needed="convective")
        if case.lbm.lattice == "D2Q9" and boundary.velocity and boundary.velocity[2]:
            said = "in 2-D nothing flows along z: the third part must be 0"
            yield unsupported(f"{path}.velocity", said, other="lbm.lattice")

    convective = [side for side, boundary in case.boundaries.given() if boundary.kind == "convective"]
    for side in convective[1:]:
        said = f'{convective[0]} is convective, and one side may be; take "pressure" here'
        yield unsupported(f"boundaries.{side}.kind", said, other=f"boundaries.{convective[0]}")


def _flow_in(case: LbmCase) -> dict[str, float]:
    """Inflow through each side of given velocity, in reference velocity times cells: the sum over centres of cells."""
    found, cells = {}, case.grid.cells
    for side, boundary in case.boundaries.given():
        if boundary.kind != "velocity":
            continue
        axis = "xyz".index(side[0])
        slower, faster = (n for n in (2, 1, 0) if n != axis)
        points = case.profile(side, boundary).reshape(2 * cells[slower] + 1, 2 * cells[faster] + 1, 3)
        found[side] = float(points[1::2, 1::2, axis].sum()) * (1.0 if side[1] == "-" else -1.0)
    return found


def closed(case: LbmCase) -> Iterator[Fault]:
    """Faults of cases with only inflow or only outflow, whose density would change without limit."""
    if any(boundary.kind in ("pressure", "convective") for _, boundary in case.boundaries.given()):
        return
    try:
        flows = _flow_in(case)
    except ValueError:
        return  # expressions that have no value are reported by the check profiles()
    total = sum(flows.values())
    if abs(total) <= BALANCE * sum(map(abs, flows.values())):
        return
    share = f"{100 * abs(total) * case.scales.length / case.cell_count:.2g} %"
    sides = [side for side, flow in flows.items() if flow * total > 0]
    way, other, change = ("comes in", "out", "grow") if total > 0 else ("leaves", "in", "fall")
    said = f"what {way} through {' and '.join(sides)} has no way {other}: the density would {change} without an end, "
    said += f'by {share} of the fluid in length / reference velocity; make another side kind = "pressure", or let as '
    said += f'much {other} through one of kind = "velocity"'
    yield unsupported(
        f"boundaries.{sides[0]}", said, sides=", ".join(sides), way="in" if total > 0 else "out", change=share
    )


def pressure_drop(case: LbmCase) -> Iterator[Fault]:
    path = "physics.pressure_drop"
    for axis, drop in zip("xyz", case.physics.pressure_drop, strict=True):
        periodic, cells = case.grid.periodic["xyz".index(axis)], case.grid.cells["xyz".index(axis)]
        if drop and not periodic:
            said = f"the {axis} axis is not periodic and has no drop; set grid.periodic, or take pressure sides"
            yield unsupported(path, said, other="grid.periodic", axis=axis)
        elif drop and cells < 2:
            said = f"the {axis} axis needs two cells at least for a drop"
            yield unsupported(path, said, other="grid.cells", axis=axis)
    driven = [side for side, boundary in case.boundaries.given() if boundary.kind != "slip"]
    if any(case.physics.pressure_drop) and driven:
        said = f"boundaries.{driven[0]} drives the flow, too; drop one of the two"
        yield unsupported(path, said, other=f"boundaries.{driven[0]}")


def profiles(case: LbmCase) -> Iterator[Fault]:
    """Faults of boundary velocities whose expressions have no value."""
    for side, boundary in case.boundaries.given():
        try:
            case.profile(side, boundary)
        except ValueError as error:
            yield Fault(Fault.of(error), key=f"boundaries.{side}.velocity")


def side_density(case: LbmCase) -> Iterator[Fault]:
    """Faults of pressures at sides, in Pa, that exceed the guard's range of density."""
    low, high = case.guard.density
    for side, boundary in case.boundaries.given():
        density = case.side_density(boundary)
        if boundary.pressure is None or low <= density <= high:
            continue
        # At a fixed pressure in Pa, the change of density in lattice units grows with the square of the time step.
        remedy = step_remedy(case, math.sqrt(((high if density > 1 else low) - 1.0) / (density - 1.0)))[1]
        said = f"the density that follows is {density:.3g} of that at rest, and guard.density reaches from {low:g} to "
        said += f"{high:g}; pressure counts from that at rest; take a smaller one, or {remedy}"
        yield Fault(
            said,
            key=f"boundaries.{side}.pressure",
            value=f"{density:.3g}",
            allowed=f"{low:g} to {high:g}",
            remedy=remedy,
        )
