"""Checks of combinations of keys. Faults name the valid range and the remedy."""

import math
from collections.abc import Iterator

import numpy as np

from slipstream.base.errors import ErrorCode, Fault, missing, unsupported
from slipstream.base.toml_text import Path
from slipstream.case.blocks import counts_problems
from slipstream.case.body import Body
from slipstream.case.sides import SIDES
from slipstream.flow import initial
from slipstream.lbm import scales, side_checks
from slipstream.lbm.case import LbmCase
from slipstream.lbm.scales import MACH_HIGH, Problem
from slipstream.lbm.tables import BY_MOMENTS


def problems(case: LbmCase) -> list[Problem]:
    """Faults of combined keys that are valid one by one. Physics is checked only if shapes are valid."""
    found = [
        *_shapes(case),
        *_representation(case),
        *_method(case),
        *side_checks.walls(case),
        *side_checks.boundaries(case),
        *side_checks.pressure_drop(case),
        *_length(case),
        *_bodies(case),
        *_run(case),
        *_guard(case),
        *_choice_of_viscosity(case),
    ]
    found += _units(case)
    return found or [
        *_si_length(case),
        *side_checks.profiles(case),
        *side_checks.side_density(case),
        *_initial(case),
        *_exact(case),
        *side_checks.closed(case),
        *scales.problems(case),
    ]


def _shapes(case: LbmCase) -> Iterator[Problem]:
    nz = case.grid.cells[2]
    if case.lbm.lattice == "D2Q9" and nz != 1:
        yield (
            ("grid", "cells"),
            unsupported(
                f'a 2-D lattice needs nz = 1, it is {nz}; or take lbm.lattice = "D3Q19" or "D3Q27"',
                other="lbm.lattice",
                needed="nz = 1",
            ),
        )
    if case.lbm.lattice != "D2Q9" and nz == 1:
        yield (
            ("grid", "cells"),
            unsupported(
                'a 3-D lattice needs nz > 1; or take lbm.lattice = "D2Q9" for a 2-D flow',
                other="lbm.lattice",
                needed="nz > 1",
            ),
        )
    if case.lbm.lattice == "D2Q9" and case.lbm.layout == "soa_z":
        yield (
            ("lbm", "layout"),
            unsupported(
                'rows along z are one cell long in 2-D; take "auto", "soa" or "aos"',
                other="lbm.lattice",
                allowed="auto, soa, aos",
            ),
        )
    if case.lbm.alignment != "auto" and case.lbm.alignment & (case.lbm.alignment - 1):
        yield (
            ("lbm", "alignment"),
            Fault(f"must be a power of two, it is {case.lbm.alignment}", needed="a power of two"),
        )
    yield from counts_problems(case)


#: Reasons why some lattices have no moment representation.
NO_MOMENTS = {
    "D2Q9": "in two dimensions six numbers would stand for nine, a third less to move where D3Q19 moves half",
    "D3Q27": "ten moments say no more on it than on D3Q19, but for the one third-order term along all three axes",
}

#: Values of keys that the moment representation supports, and the reason why it supports no others.
SUITED = {
    "streaming": (("two",), "a cell reads what 18 neighbours sent, so the old array must last as long as the step"),
    "layout": (("auto", "soa"), "teams take them by rows along x, each of the ten in an array of its own"),
    "solids": (("auto", "dense", "flags"), "teams march through whole blocks, so all cells are stored"),
}


def _representation(case: LbmCase) -> Iterator[Problem]:
    """Faults of keys that the moment representation does not support, and of those that only it supports."""
    lbm = case.lbm
    by_moments = lbm.representation == "moments"
    if (lbm.collision in BY_MOMENTS) != by_moments:
        populations = "" if _has_no_cumulants(case) else ', or lbm.representation = "populations"'
        yield (
            ("lbm", "collision"),
            unsupported(
                f'"{lbm.collision}" needs more than the ten moments that a cell holds; take "regularised" or '
                f'"recursive"{populations}'
                if by_moments
                else f'"{lbm.collision}" runs with lbm.representation = "moments"; take that, or "SRT", "TRT" or "MRT"',
                other="lbm.representation",
                allowed=", ".join(sorted(BY_MOMENTS)) if by_moments else "SRT, TRT, MRT",
            ),
        )
    if not by_moments:
        for key in ("tile", "chunk"):
            if getattr(lbm, key) != "auto":
                yield (
                    ("lbm", key),
                    unsupported(
                        'shares out a step by moments; take lbm.representation = "moments", or leave it out',
                        other="lbm.representation",
                        needed="moments",
                    ),
                )
        return
    cells = case.grid.cells
    tiles = ("64x8", "32x16") if lbm.precision == "f16" else ("64x4", "32x8")
    if lbm.tile not in ("auto", *tiles):
        yield (
            ("lbm", "tile"),
            unsupported(
                f'{lbm.precision} has no tile of {lbm.tile} cells; take "{tiles[0]}", "{tiles[1]}" or "auto"',
                other="lbm.precision",
                allowed=", ".join(tiles),
            ),
        )
    if lbm.tile_cells[0] > cells[0] or lbm.tile_cells[1] > cells[1]:
        yield (
            ("lbm", "tile"),
            Fault(
                f'{lbm.tile} cells do not fit a grid of {" x ".join(map(str, cells))}; take "auto"',
                ErrorCode.MISMATCH,
                other="grid.cells",
            ),
        )
    if lbm.chunk != "auto" and lbm.chunk > cells[2]:
        yield (
            ("lbm", "chunk"),
            Fault(
                f"the grid has {cells[2]} planes along z, fewer than {lbm.chunk}",
                ErrorCode.MISMATCH,
                other="grid.cells",
                available=cells[2],
            ),
        )
    if reason := NO_MOMENTS.get(lbm.lattice):
        yield (
            ("lbm", "lattice"),
            unsupported(
                f'moments cannot be had with "{lbm.lattice}": {reason}; take "D3Q19", or lbm.representation = '
                '"populations"',
                other="lbm.representation",
                allowed="D3Q19",
            ),
        )
    for key, (values, reason) in SUITED.items():
        if (value := getattr(lbm, key)) not in values:
            yield (
                ("lbm", key),
                unsupported(
                    f'moments cannot be had with "{value}": {reason}; take "{values[0]}", or lbm.representation = '
                    '"populations"',
                    other="lbm.representation",
                    allowed=", ".join(values),
                ),
            )


def _has_no_cumulants(case: LbmCase) -> bool:
    return case.lbm.collision == "cumulant" and case.lbm.lattice != "D3Q27"


def _method(case: LbmCase) -> Iterator[Problem]:
    lattice = case.lbm.lattice
    if _has_no_cumulants(case) and case.lbm.representation == "populations":
        yield (
            ("lbm", "collision"),
            unsupported(
                f'"cumulant" runs on lbm.lattice = "D3Q27", not on "{lattice}"; take that lattice, or "SRT", "TRT" or '
                '"MRT", which run on every lattice',
                other="lbm.lattice",
                needed="D3Q27",
                allowed="SRT, TRT, MRT",
            ),
        )
    if lattice == "D2Q9" and case.physics.force[2]:
        yield (
            ("physics", "force"),
            unsupported("in 2-D no force acts along z: the third part must be 0", other="lbm.lattice"),
        )


def _length(case: LbmCase) -> Iterator[Problem]:
    try:
        _ = case.given_length
    except ValueError as error:
        yield ("physics", "length"), Fault.of(error)


def _bodies(case: LbmCase) -> Iterator[Problem]:
    for name, body in case.bodies.items():
        path: Path = ("bodies", name)
        if (body.mesh is None) == (body.shape is None):
            yield path, Fault("mesh or shape: give one of them", needed="mesh or shape")
        if body.shape == "beads":
            yield from _beads(case, body, path)
        elif body.shape and (body.centre is None or body.radius is None):
            yield path, missing(f"a {body.shape} needs centre and radius", needed="centre, radius")
        if body.shape != "beads" and (body.solid is not None or body.seed):
            yield path, unsupported("solid and seed belong to beads", other="shape", needed="beads")
        if body.units and not case.si:
            yield (
                (*path, "units"),
                unsupported(
                    'belongs to a case in SI; in one in cells a mesh is in cells, after "scale"',
                    other="units.system",
                    needed="SI",
                ),
            )
        if body.mesh is None and (body.units or body.part or body.orient or body.weld):
            yield path, unsupported("units, part, orient and weld belong to a mesh", other="mesh")
        if name in SIDES:
            yield path, Fault("is the name of a side; choose another", given=name)


def _beads(case: LbmCase, body: Body, path: Path) -> Iterator[Problem]:
    if body.radius is None or body.solid is None:
        yield path, missing("beads need radius and solid", needed="radius, solid")
    elif 2.0 * body.radius / case.cell_edge > 0.5 * min(case.grid.cells):
        yield (
            (*path, "radius"),
            Fault("beads must be at most half as wide as the box; more cells, or smaller beads", other="grid.cells"),
        )
    if body.centre is not None:
        yield (*path, "centre"), unsupported("beads lie all over the box and have none", other="shape")
    if not all(case.grid.periodic):
        yield (
            path,
            unsupported(
                "beads fill a box that goes on for ever: grid.periodic = [true, true, true]", other="grid.periodic"
            ),
        )


def _initial(case: LbmCase) -> Iterator[Problem]:
    if case.initial is None:
        return
    path: Path = ("initial",)
    try:
        flow = initial.flow(case, initial.sample(case))
    except ValueError as error:
        yield path, Fault.of(error)
        return
    speed, density = np.linalg.norm(flow[..., 1:], axis=-1).max(), 1.0 + flow[..., 0]
    if math.sqrt(3.0) * speed > MACH_HIGH:
        yield (
            (*path, "velocity"),
            Fault(
                f"its Mach number is {math.sqrt(3.0) * speed:.3f}, above {MACH_HIGH}, where a weakly compressible "
                "method stops being accurate; take a smaller velocity or physics.reference_velocity",
                value=f"{math.sqrt(3.0) * speed:.3f}",
                allowed=f"<= {MACH_HIGH}",
            ),
        )
    low, high = case.guard.density
    if density.min() < low or density.max() > high:
        yield (
            (*path, "pressure"),
            Fault(
                f"the density that follows reaches from {density.min():.3g} to {density.max():.3g}, and guard.density "
                f"from {low:g} to {high:g}; take a smaller pressure or physics.reference_velocity",
                value=f"{density.min():.3g} to {density.max():.3g}",
                allowed=f"{low:g} to {high:g}",
            ),
        )
    if case.lbm.lattice == "D2Q9" and np.any(flow[..., 3]):
        yield (
            (*path, "velocity"),
            unsupported("in 2-D nothing flows along z: the third part must be 0", other="lbm.lattice"),
        )


def _exact(case: LbmCase) -> Iterator[Problem]:
    if case.exact is None:
        return
    try:
        initial.exact(case, initial.sample(case), 1.0)
    except ValueError as error:
        yield ("exact", "velocity"), Fault.of(error)


def _run(case: LbmCase) -> Iterator[Problem]:
    if case.run.steps is None and case.run.time_units is None and case.run.time is None:
        keys = "steps, time_units or time" if case.si else "steps or time_units"
        yield (("run",), missing(f"give {keys}, so that the run ends even where the flow stays unsteady", needed=keys))


def _guard(case: LbmCase) -> Iterator[Problem]:
    low, high = case.guard.density
    if not low < 1.0 < high:
        yield (
            ("guard", "density"),
            Fault(f"the range must hold 1, the density of a fluid at rest; it is {[low, high]}", needed=1),
        )


def _choice_of_viscosity(case: LbmCase) -> Iterator[Problem]:
    physics = case.physics
    if (physics.reynolds is None) == (physics.viscosity is None):
        both = "only one of them" if physics.reynolds else "one of them"
        kind = unsupported if physics.reynolds else missing
        yield ("physics",), kind(f"reynolds or viscosity: give {both}", needed="reynolds or viscosity")


def _units(case: LbmCase) -> Iterator[Problem]:
    """Faults of keys that a system of units needs, or that belong to another one."""
    units = case.units
    if not case.si:
        given = [("units", key) for key in type(units).model_fields if key != "system" and getattr(units, key)]
        given += [("run", "time")] if case.run.time else []
        given += [("output", "every_time")] if case.output.every_time else []
        sides = [("boundaries", side, "pressure") for side, b in case.boundaries.given() if b.pressure is not None]
        for path in given + sides:
            yield (
                path,
                unsupported(
                    'belongs to a case in SI, and this one is in cells and steps: take units.system = "SI" and write '
                    "[physics] in metres and seconds, or drop it",
                    other="units.system",
                    needed="SI",
                ),
            )
        return
    if units.cell is None:
        yield (
            ("units", "cell"),
            missing(
                'missing; a case in SI needs the edge of a cell in m, or take units.system = "lattice"',
                other="units.system",
            ),
        )
    if units.density is None:
        yield (
            ("units", "density"),
            missing(
                "missing; a case in SI needs the density of the fluid at rest in kg/m^3 (water 998, air 1.2)",
                other="units.system",
                unit="kg/m^3",
            ),
        )
    if case.physics.reference_velocity is None:
        yield (
            ("physics", "reference_velocity"),
            missing(
                "missing; a case in SI needs a typical velocity of the flow, in m/s",
                other="units.system",
                unit="m/s",
            ),
        )
    if case.output.every and case.output.every_time:
        yield (
            ("output", "every_time"),
            unsupported(
                "every (length / reference velocity) or every_time (s): give only one of them", other="output.every"
            ),
        )
    if units.step and units.lattice_speed:
        yield (
            ("units", "step"),
            unsupported(
                "step (s) or lattice_speed (the reference velocity in cells per step): give only one of them",
                other="units.lattice_speed",
            ),
        )


def _si_length(case: LbmCase) -> Iterator[Problem]:
    if case.si and case.scales.length < 1:
        yield (
            ("physics", "length"),
            Fault(
                f"{case.given_length:g} m is less than one cell of {case.units.cell:g} m; take a smaller units.cell",
                other="units.cell",
            ),
        )
