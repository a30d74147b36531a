"""Checks of the sides of a case. Faults name the valid range and the remedy."""

import math
from collections.abc import Iterator

from slipstream.base.errors import Fault, unsupported
from slipstream.base.toml_text import Path
from slipstream.lbm.case import LbmCase
from slipstream.lbm.scales import Problem, step_remedy

#: Tolerated imbalance between sides of given velocity: difference of inflow and outflow over their sum.
BALANCE = 1e-3


def walls(case: LbmCase) -> Iterator[Problem]:
    for side, wall in case.walls.given():
        axis = "xyz".index(side[0])
        if case.grid.periodic[axis]:
            yield (
                ("walls", side),
                unsupported(
                    f"the {side[0]} axis is periodic and can have no wall; drop one of the two", other="grid.periodic"
                ),
            )
        if case.lbm.lattice == "D2Q9" and axis == 2:
            yield (("walls", side), unsupported("a 2-D lattice has no walls along z", other="lbm.lattice"))
        elif case.lbm.lattice == "D2Q9" and wall.velocity[2]:
            yield (("walls", side, "velocity"), unsupported("in 2-D a wall cannot move along z", other="lbm.lattice"))
        if wall.velocity[axis]:
            yield (
                ("walls", side, "velocity"),
                Fault(f"a wall moves in its own plane: the {side[0]} component must be 0", axis=side[0]),
            )


def boundaries(case: LbmCase) -> Iterator[Problem]:
    walls = {side for side, _ in case.walls.given()}
    for side, boundary in case.boundaries.given():
        axis = "xyz".index(side[0])
        path: Path = ("boundaries", side)
        if case.grid.periodic[axis]:
            yield (
                path,
                unsupported(
                    f"the {side[0]} axis is periodic and can have no boundary; drop one of the two",
                    other="grid.periodic",
                ),
            )
        if side in walls:
            yield (path, unsupported(f"walls.{side} is given, too; drop one of the two", other=f"walls.{side}"))
        if case.lbm.lattice == "D2Q9" and axis == 2:
            yield path, unsupported("a 2-D lattice has no sides along z", other="lbm.lattice")
        if (boundary.kind == "velocity") != (boundary.velocity is not None):
            yield (
                (*path, "velocity"),
                unsupported(
                    'belongs to kind = "velocity", and only there; give both or none', other="kind", needed="velocity"
                ),
            )
        for key in ("density", "pressure"):
            if boundary.kind not in ("pressure", "convective") and getattr(boundary, key) is not None:
                yield (
                    (*path, key),
                    unsupported(
                        'belongs to kind = "pressure" or "convective"', other="kind", needed="pressure, convective"
                    ),
                )
        if boundary.density is not None and boundary.pressure is not None:
            yield ((*path, "pressure"), unsupported("density says it, too; drop one of the two", other="density"))
        for key in ("speed", "relaxation"):
            if boundary.kind != "convective" and getattr(boundary, key) is not None:
                yield ((*path, key), unsupported('belongs to kind = "convective"', other="kind", needed="convective"))
        if case.lbm.lattice == "D2Q9" and boundary.velocity and boundary.velocity[2]:
            yield (
                (*path, "velocity"),
                unsupported("in 2-D nothing flows along z: the third part must be 0", other="lbm.lattice"),
            )

    convective = [side for side, boundary in case.boundaries.given() if boundary.kind == "convective"]
    for side in convective[1:]:
        yield (
            ("boundaries", side, "kind"),
            unsupported(
                f'{convective[0]} is convective, and one side may be; take "pressure" here',
                other=f"boundaries.{convective[0]}",
            ),
        )


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


def closed(case: LbmCase) -> Iterator[Problem]:
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
    yield (
        ("boundaries", sides[0]),
        unsupported(
            f"what {way} through {' and '.join(sides)} has no way {other}: the density would {change} without an end, "
            f'by {share} of the fluid in length / reference velocity; make another side kind = "pressure", or let as '
            f"much "
            f'{other} through one of kind = "velocity"',
            sides=", ".join(sides),
            way="in" if total > 0 else "out",
            change=share,
        ),
    )


def pressure_drop(case: LbmCase) -> Iterator[Problem]:
    path: Path = ("physics", "pressure_drop")
    for axis, drop in zip("xyz", case.physics.pressure_drop, strict=True):
        periodic, cells = case.grid.periodic["xyz".index(axis)], case.grid.cells["xyz".index(axis)]
        if drop and not periodic:
            yield (
                path,
                unsupported(
                    f"the {axis} axis is not periodic and has no drop; set grid.periodic, or take pressure sides",
                    other="grid.periodic",
                    axis=axis,
                ),
            )
        elif drop and cells < 2:
            yield (
                path,
                unsupported(f"the {axis} axis needs two cells at least for a drop", other="grid.cells", axis=axis),
            )
    driven = [side for side, boundary in case.boundaries.given() if boundary.kind != "slip"]
    if any(case.physics.pressure_drop) and driven:
        yield (
            path,
            unsupported(
                f"boundaries.{driven[0]} drives the flow, too; drop one of the two", other=f"boundaries.{driven[0]}"
            ),
        )


def profiles(case: LbmCase) -> Iterator[Problem]:
    """Faults of boundary velocities whose expressions have no value."""
    for side, boundary in case.boundaries.given():
        try:
            case.profile(side, boundary)
        except ValueError as error:
            yield ("boundaries", side, "velocity"), Fault.of(error)


def side_density(case: LbmCase) -> Iterator[Problem]:
    """Faults of pressures at sides, in Pa, that exceed the guard's range of density."""
    low, high = case.guard.density
    for side, boundary in case.boundaries.given():
        density = case.side_density(boundary)
        if boundary.pressure is None or low <= density <= high:
            continue
        # At a fixed pressure in Pa, the change of density in lattice units grows with the square of the time step.
        remedy = step_remedy(case, math.sqrt(((high if density > 1 else low) - 1.0) / (density - 1.0)))[1]
        yield (
            ("boundaries", side, "pressure"),
            Fault(
                f"the density that follows is {density:.3g} of that at rest, and guard.density reaches from {low:g} to "
                f"{high:g}; pressure counts from that at rest; take a smaller one, or {remedy}",
                value=f"{density:.3g}",
                allowed=f"{low:g} to {high:g}",
                remedy=remedy,
            ),
        )
