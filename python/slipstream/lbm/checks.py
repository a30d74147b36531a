"""Checks of combinations of keys. Faults name the valid range and the remedy."""

import math
from collections.abc import Iterator

import numpy as np

from slipstream.base.errors import ErrorCode, Fault, missing, unsupported
from slipstream.case import problems as shared
from slipstream.case.body import Body
from slipstream.case.sides import SIDES
from slipstream.flow import initial
from slipstream.lbm import scales, side_checks
from slipstream.lbm.case import LbmCase
from slipstream.lbm.scales import MACH_HIGH
from slipstream.lbm.tables import BY_MOMENTS


def problems(case: LbmCase) -> list[Fault]:
    """Lists faults of combined keys of a case file that are valid one by one. Keys of sides, initial flow and units are
    checked only if the other keys have no fault.
    """
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


def _shapes(case: LbmCase) -> Iterator[Fault]:
    nz = case.grid.cells[2]
    if case.lbm.lattice == "D2Q9" and nz != 1:
        said = f'a 2-D lattice needs nz = 1, it is {nz}; or take lbm.lattice = "D3Q19" or "D3Q27"'
        yield unsupported("grid.cells", said, other="lbm.lattice", needed="nz = 1")
    if case.lbm.lattice != "D2Q9" and nz == 1:
        said = 'a 3-D lattice needs nz > 1; or take lbm.lattice = "D2Q9" for a 2-D flow'
        yield unsupported("grid.cells", said, other="lbm.lattice", needed="nz > 1")
    if case.lbm.lattice == "D2Q9" and case.lbm.layout == "soa_z":
        said = 'rows along z are one cell long in 2-D; take "auto", "soa" or "aos"'
        yield unsupported("lbm.layout", said, other="lbm.lattice", allowed="auto, soa, aos")
    if case.lbm.alignment != "auto" and case.lbm.alignment & (case.lbm.alignment - 1):
        yield Fault(f"must be a power of two, it is {case.lbm.alignment}", key="lbm.alignment", needed="a power of two")
    yield from shared.counts(case)


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


def _representation(case: LbmCase) -> Iterator[Fault]:
    """Faults of keys that the moment representation does not support, and of those that only it supports."""
    lbm = case.lbm
    by_moments = lbm.representation == "moments"
    if (lbm.collision in BY_MOMENTS) != by_moments:
        said, allowed = 'runs with lbm.representation = "moments"; take that, or "SRT", "TRT" or "MRT"', "SRT, TRT, MRT"
        if by_moments:
            said, allowed = "needs more than the ten moments that a cell holds; take ", ", ".join(sorted(BY_MOMENTS))
            said += '"regularised" or "recursive"'
            said += "" if _has_no_cumulants(case) else ', or lbm.representation = "populations"'
        said = f'"{lbm.collision}" {said}'
        yield unsupported("lbm.collision", said, other="lbm.representation", allowed=allowed)
    if not by_moments:
        said = 'shares out a step by moments; take lbm.representation = "moments", or leave it out'
        facts = {"other": "lbm.representation", "needed": "moments"}
        yield from shared.unused(case, "lbm", ("tile", "chunk"), said, **facts)
        return
    cells = case.grid.cells
    tiles = ("64x8", "32x16") if lbm.precision == "f16" else ("64x4", "32x8")
    if lbm.tile not in ("auto", *tiles):
        said = f'{lbm.precision} has no tile of {lbm.tile} cells; take "{tiles[0]}", "{tiles[1]}" or "auto"'
        yield unsupported("lbm.tile", said, other="lbm.precision", allowed=", ".join(tiles))
    if lbm.tile_cells[0] > cells[0] or lbm.tile_cells[1] > cells[1]:
        said = f'{lbm.tile} cells do not fit a grid of {" x ".join(map(str, cells))}; take "auto"'
        yield Fault(said, ErrorCode.MISMATCH, key="lbm.tile", other="grid.cells")
    if lbm.chunk != "auto" and lbm.chunk > cells[2]:
        said = f"the grid has {cells[2]} planes along z, fewer than {lbm.chunk}"
        yield Fault(said, ErrorCode.MISMATCH, key="lbm.chunk", other="grid.cells", available=cells[2])
    if reason := NO_MOMENTS.get(lbm.lattice):
        said = f'moments cannot be had with "{lbm.lattice}": {reason}; take "D3Q19", or lbm.representation = '
        said += '"populations"'
        yield unsupported("lbm.lattice", said, other="lbm.representation", allowed="D3Q19")
    for key, (values, reason) in SUITED.items():
        if (value := getattr(lbm, key)) not in values:
            said = f'moments cannot be had with "{value}": {reason}; take "{values[0]}", or lbm.representation = '
            said += '"populations"'
            yield unsupported(f"lbm.{key}", said, other="lbm.representation", allowed=", ".join(values))


def _has_no_cumulants(case: LbmCase) -> bool:
    return case.lbm.collision == "cumulant" and case.lbm.lattice != "D3Q27"


def _method(case: LbmCase) -> Iterator[Fault]:
    lattice = case.lbm.lattice
    if _has_no_cumulants(case) and case.lbm.representation == "populations":
        said = f'"cumulant" runs on lbm.lattice = "D3Q27", not on "{lattice}"; take that lattice, or "SRT", "TRT" or '
        said += '"MRT", which run on every lattice'
        yield unsupported("lbm.collision", said, other="lbm.lattice", needed="D3Q27", allowed="SRT, TRT, MRT")
    if lattice == "D2Q9" and case.physics.force[2]:
        said = "in 2-D no force acts along z: the third part must be 0"
        yield unsupported("physics.force", said, other="lbm.lattice")


def _length(case: LbmCase) -> Iterator[Fault]:
    try:
        _ = case.given_length
    except ValueError as error:
        yield Fault(Fault.of(error), key="physics.length")


def _bodies(case: LbmCase) -> Iterator[Fault]:
    for name, body in case.bodies.items():
        path = f"bodies.{name}"
        if (body.mesh is None) == (body.shape is None):
            yield Fault("mesh or shape: give one of them", key=path, needed="mesh or shape")
        if body.shape == "beads":
            yield from _beads(case, body, path)
        elif body.shape and (body.centre is None or body.radius is None):
            yield missing(path, f"a {body.shape} needs centre and radius", needed="centre, radius")
        if body.shape != "beads" and (body.solid is not None or body.seed):
            yield unsupported(path, "solid and seed belong to beads", other="shape", needed="beads")
        if body.units and not case.si:
            said = 'belongs to a case in SI; in one in cells a mesh is in cells, after "scale"'
            yield unsupported(f"{path}.units", said, other="units.system", needed="SI")
        if body.mesh is None and (body.units or body.part or body.orient or body.weld):
            yield unsupported(path, "units, part, orient and weld belong to a mesh", other="mesh")
        if name in SIDES:
            yield Fault("is the name of a side; choose another", key=path, given=name)


def _beads(case: LbmCase, body: Body, path: str) -> Iterator[Fault]:
    if body.radius is None or body.solid is None:
        yield missing(path, "beads need radius and solid", needed="radius, solid")
    elif 2.0 * body.radius / case.cell_edge > 0.5 * min(case.grid.cells):
        said = "beads must be at most half as wide as the box; more cells, or smaller beads"
        yield Fault(said, key=f"{path}.radius", other="grid.cells")
    if body.centre is not None:
        yield unsupported(f"{path}.centre", "beads lie all over the box and have none", other="shape")
    if not all(case.grid.periodic):
        said = "beads fill a box that goes on for ever: grid.periodic = [true, true, true]"
        yield unsupported(path, said, other="grid.periodic")


def _initial(case: LbmCase) -> Iterator[Fault]:
    if case.initial is None:
        return
    try:
        flow = initial.flow(case, initial.sample(case))
    except ValueError as error:
        yield Fault(Fault.of(error), key="initial")
        return
    speed, density = np.linalg.norm(flow[..., 1:], axis=-1).max(), 1.0 + flow[..., 0]
    if math.sqrt(3.0) * speed > MACH_HIGH:
        said = f"its Mach number is {math.sqrt(3.0) * speed:.3f}, above {MACH_HIGH}, where a weakly compressible "
        said += "method stops being accurate; take a smaller velocity or physics.reference_velocity"
        yield Fault(said, key="initial.velocity", value=f"{math.sqrt(3.0) * speed:.3f}", allowed=f"<= {MACH_HIGH}")
    low, high = case.guard.density
    if density.min() < low or density.max() > high:
        said = f"the density that follows reaches from {density.min():.3g} to {density.max():.3g}, and guard.density "
        said += f"from {low:g} to {high:g}; take a smaller pressure or physics.reference_velocity"
        yield Fault(
            said,
            key="initial.pressure",
            value=f"{density.min():.3g} to {density.max():.3g}",
            allowed=f"{low:g} to {high:g}",
        )
    if case.lbm.lattice == "D2Q9" and np.any(flow[..., 3]):
        said = "in 2-D nothing flows along z: the third part must be 0"
        yield unsupported("initial.velocity", said, other="lbm.lattice")


def _exact(case: LbmCase) -> Iterator[Fault]:
    if case.exact is None:
        return
    try:
        initial.exact(case, initial.sample(case), 1.0)
    except ValueError as error:
        yield Fault(Fault.of(error), key="exact.velocity")


def _run(case: LbmCase) -> Iterator[Fault]:
    if case.run.steps is None and case.run.time_units is None and case.run.time is None:
        keys = "steps, time_units or time" if case.si else "steps or time_units"
        yield missing("run", f"give {keys}, so that the run ends even where the flow stays unsteady", needed=keys)


def _guard(case: LbmCase) -> Iterator[Fault]:
    low, high = case.guard.density
    if not low < 1.0 < high:
        said = f"the range must hold 1, the density of a fluid at rest; it is {[low, high]}"
        yield Fault(said, key="guard.density", needed=1)


def _choice_of_viscosity(case: LbmCase) -> Iterator[Fault]:
    physics = case.physics
    if (physics.reynolds is None) == (physics.viscosity is None):
        both = "only one of them" if physics.reynolds else "one of them"
        kind = unsupported if physics.reynolds else missing
        yield kind("physics", f"reynolds or viscosity: give {both}", needed="reynolds or viscosity")


def _units(case: LbmCase) -> Iterator[Fault]:
    """Faults of keys that a system of units needs, or that belong to another one."""
    units = case.units
    if not case.si:
        given = [f"units.{key}" for key in type(units).model_fields if key != "system" and getattr(units, key)]
        given += ["run.time"] if case.run.time else []
        given += ["output.every_time"] if case.output.every_time else []
        sides = [f"boundaries.{side}.pressure" for side, b in case.boundaries.given() if b.pressure is not None]
        for path in given + sides:
            said = 'belongs to a case in SI, and this one is in cells and steps: take units.system = "SI" and write '
            said += "[physics] in metres and seconds, or drop it"
            yield unsupported(path, said, other="units.system", needed="SI")
        return
    if units.cell is None:
        said = 'missing; a case in SI needs the edge of a cell in m, or take units.system = "lattice"'
        yield missing("units.cell", said, other="units.system")
    if units.density is None:
        said = "missing; a case in SI needs the density of the fluid at rest in kg/m^3 (water 998, air 1.2)"
        yield missing("units.density", said, other="units.system", unit="kg/m^3")
    if case.physics.reference_velocity is None:
        said = "missing; a case in SI needs a typical velocity of the flow, in m/s"
        yield missing("physics.reference_velocity", said, other="units.system", unit="m/s")
    if case.output.every and case.output.every_time:
        said = "every (length / reference velocity) or every_time (s): give only one of them"
        yield unsupported("output.every_time", said, other="output.every")
    if units.step and units.lattice_speed:
        said = "step (s) or lattice_speed (the reference velocity in cells per step): give only one of them"
        yield unsupported("units.step", said, other="units.lattice_speed")


def _si_length(case: LbmCase) -> Iterator[Fault]:
    if case.si and case.scales.length < 1:
        said = f"{case.given_length:g} m is less than one cell of {case.units.cell:g} m; take a smaller units.cell"
        yield Fault(said, key="physics.length", other="units.cell")
