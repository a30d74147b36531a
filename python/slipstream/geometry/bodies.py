"""Bodies of a case for the solver, from mesh files or simple shapes."""

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from slipstream.base.core import as_case_error, core, part
from slipstream.base.errors import CaseError, ErrorCode, Fault
from slipstream.case.body import Body
from slipstream.case.flow_case import FlowCase
from slipstream.geometry import beads, shells
from slipstream.machine.told import PlannedBlock

Corner = tuple[int, ...]
#: Number of sides of the prism that approximates a cylinder, from which it differs by 1.2e-6 of the radius.
CYLINDER_SIDES = 2048
#: Number n of refinements of a sphere: its 20 x 4^n triangles differ from the sphere by less than 1e-4 of the radius.
SPHERE_REFINEMENTS = 6
#: Number of refinements of each sphere in a packing, from which its triangles differ by 2e-3 of the radius.
BEAD_REFINEMENTS = 4


def prism(centre: tuple[float, float, float], radius: float, axis: int, low: float, high: float) -> Any:
    """Closed surface of a cylinder along an axis, between two positions on it."""
    angle = 2.0 * math.pi * np.arange(CYLINDER_SIDES) / CYLINDER_SIDES
    first, second = (axis + 1) % 3, (axis + 2) % 3
    vertices = np.empty((2 * CYLINDER_SIDES + 2, 3))
    for n, end in enumerate((low, high)):
        ring = vertices[n * CYLINDER_SIDES : (n + 1) * CYLINDER_SIDES]
        ring[:, axis] = end
        ring[:, first] = centre[first] + radius * np.cos(angle)
        ring[:, second] = centre[second] + radius * np.sin(angle)
        vertices[2 * CYLINDER_SIDES + n] = centre
        vertices[2 * CYLINDER_SIDES + n, axis] = end
    this = np.arange(CYLINDER_SIDES)
    after = (this + 1) % CYLINDER_SIDES
    bottom, top = np.full_like(this, 2 * CYLINDER_SIDES), np.full_like(this, 2 * CYLINDER_SIDES + 1)
    above = CYLINDER_SIDES
    faces = [(this, after, after + above), (this, after + above, this + above)]
    faces += [(bottom, after, this), (top, this + above, after + above)]
    triangles = np.concatenate([np.stack(face, axis=1) for face in faces]).astype(np.int32)
    return core().Mesh.of(np.ascontiguousarray(vertices), np.ascontiguousarray(triangles))


def _beads(body: Body, case: FlowCase) -> Any:
    """Surface of a packing of spheres with periodic images: spheres that cross sides of the box occur twice or more
    often."""
    assert body.radius is not None and body.solid is not None
    cells, radius = case.grid.cells, body.radius / case.cell_edge
    try:
        centres = beads.pack(cells, radius, beads.count_for(body.solid, radius, cells), body.seed)
    except ValueError as error:
        raise CaseError(Fault.of(error)) from None
    # The outermost cells need bodies up to a cell and a half beyond the sides of the box.
    shown = beads.with_images(cells, centres, radius + 2.0)
    spheres = np.ascontiguousarray(shown * case.cell_edge)
    return core().Mesh.spheres(spheres, body.radius, BEAD_REFINEMENTS)


def read(body: Body) -> Any:
    """The mesh of a body's file, processed as the case asks."""
    mesh = core().Mesh.read(body.mesh)
    mesh = mesh.part(body.part) if body.part else mesh
    mesh = mesh.transformed(body.units or "m", body.scale, body.rotate, body.translate)
    mesh = mesh.weld(body.weld) if body.weld else mesh
    return mesh.oriented() if body.orient else mesh


def checksums(case: FlowCase) -> dict[str, str]:
    """SHA-256 of the mesh file of each body that has one, in hexadecimal digits. Raises CaseError where one cannot be
    read."""
    found = {}
    for name, body in case.bodies.items():
        if body.mesh is None:
            continue
        try:
            with open(body.mesh, "rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise CaseError(
                f"bodies.{name}.mesh: {body.mesh} cannot be read: {error.strerror or error}",
                ErrorCode.IO,
                key=f"bodies.{name}.mesh",
                file=body.mesh,
            ) from None
    return found


def surface(body: Body, case: FlowCase) -> Any:
    """Triangles of a body's surface, in the unit of length of the case."""
    if body.mesh is not None:
        return read(body)
    if body.shape == "beads":
        return _beads(body, case)
    assert body.centre is not None and body.radius is not None
    if body.shape == "sphere":
        return core().Mesh.sphere(body.centre, body.radius, SPHERE_REFINEMENTS)
    # Both ends of a cylinder lie beyond the sides of the domain, so that it spans the domain.
    axis = "xyz".index(body.axis)
    edge = case.cell_edge
    return prism(body.centre, body.radius, axis, -3 * edge, (case.grid.cells[axis] + 3) * edge)


def _continued(body: Body) -> tuple[bool, bool, bool]:
    """For each axis, whether the mesh of a body extends beyond the box without periodic images."""
    if body.shape == "beads":
        return (True, True, True)
    through = body.axis if body.shape == "cylinder" else ""
    return ("x" == through, "y" == through, "z" == through)


def _periodic(case: FlowCase) -> tuple[bool, bool, bool]:
    """For each axis, whether bodies have periodic images; the single cell of a plane flow has no sides along z."""
    x, y, z = case.grid.periodic
    return (x, y, z and case.dimensions == 3)


def with_images(mesh: Any, body: Body, case: FlowCase) -> Any:
    """The mesh of a body, joined with its images beyond periodic sides."""
    axes = zip(_periodic(case), _continued(body), strict=True)
    return mesh.with_images(case.cell_edge, case.grid.cells, tuple(p and not c for p, c in axes))


def kinds_of_links(case: FlowCase) -> list[str]:
    """Kind of wall condition of each body, "interpolated" or "half-way", in the order of bodies."""
    return [body.links for body in case.bodies.values()]


def link_memory(
    case: FlowCase, blocks: Sequence[PlannedBlock], lattice: str, representation: str, precision: str
) -> dict[int, int]:
    """Estimated bytes by device for links, the pairs of fluid and solid cells at bodies. In a moment representation
    they include links of cells beside bodies. In 2-D they are negligible."""
    needed = dict.fromkeys((block["device"] for block in blocks), 0)
    if case.dimensions < 3:
        return needed
    boxes = [(block["lo"], block["hi"]) for block in blocks]
    for name, body in case.bodies.items():
        with as_case_error(f"bodies.{name}"):
            mesh = with_images(surface(body, case), body, case)
            shares = part("lbm").link_bytes(mesh, case.cell_edge, boxes, lattice, representation, precision, body.links)
        for block, share in zip(blocks, shares, strict=True):
            needed[block["device"]] += share
    return needed


def make(case: FlowCase) -> Any:
    """Finds the cells inside all bodies of the case. Raises CaseError that names the body and what is wrong with it."""
    named = []
    for name, body in case.bodies.items():
        with as_case_error(f"bodies.{name}"):
            mesh = surface(body, case)
            if body.shape not in ("cylinder", "beads"):
                mesh.require_inside(name, case.cell_edge, case.grid.cells, case.length_unit)
            named.append((name, mesh, _continued(body)))
    with as_case_error("bodies"):
        made = core().make_bodies(named, case.cell_edge, case.grid.cells, _periodic(case))
    for name, mesh, goes_on in named:
        if case.bodies[name].mesh is not None:
            shells.check(name, mesh, partial(_cells_inside, case, goes_on))
    check_room(case, made.solid_cells, "bodies")
    for (name, mesh, _), centres in zip(named, made.centres((0, 0, 0), case.grid.cells), strict=True):
        if centres == 0:
            low, high = mesh.bounds()
            extents = " x ".join(f"{(b - a) / case.cell_edge:.3g}" for a, b in zip(low, high, strict=True))
            edge = f" of {case.cell_edge:g} m" if case.si else ""
            raise CaseError(
                f"bodies.{name}: it holds no centre of a cell in the box, so that the flow would pass it unseen: it is "
                f"{extents} cells{edge} large; take smaller cells, or a thicker body, or move it",
                ErrorCode.UNSUPPORTED,
                key=f"bodies.{name}",
                given=extents,
            )
    return made


def _cells_inside(case: FlowCase, goes_on: tuple[bool, bool, bool], mesh: Any) -> int:
    """Number of cells that a mesh encloses."""
    made = core().make_bodies([("shell", mesh, goes_on)], case.cell_edge, case.grid.cells, _periodic(case))
    return int(made.solid_cells((0, 0, 0), case.grid.cells))


def thin_places(engine: Any, case: FlowCase) -> list[str]:
    """Warnings of bodies thinner than a cell, through which fluid passes. Collective."""
    counts = zip(case.bodies, engine.links_through_bodies(), strict=True) if case.bodies else ()
    return [
        f"{count} links pass through body {name} where it is thinner than a cell: fluid passes there"
        for name, count in counts
        if count
    ]


def check_room(case: FlowCase, solid_cells: Callable[[Corner, Corner], int], who: str) -> None:
    """Raises CaseError for bodies that leave no fluid in the box, or at a side through which it flows. `solid_cells`
    counts the solid cells between two corners of a box."""
    cells = case.grid.cells
    if solid_cells((0, 0, 0), cells) == case.cell_count:
        raise CaseError(
            f"{who}: they fill the whole box and leave no fluid; check their scale and place",
            ErrorCode.UNSUPPORTED,
            key=who,
            cells=case.cell_count,
        )
    for side, boundary in case.boundaries.given():
        axis = "xyz".index(side[0])
        low, high = [0, 0, 0], list(cells)
        if side[1] == "-":
            high[axis] = 1
        else:
            low[axis] = cells[axis] - 1
        if boundary.kind != "slip" and solid_cells((*low,), (*high,)) == case.cell_count // cells[axis]:
            raise CaseError(
                f"boundaries.{side}: {who} fill all cells of this side, so that nothing can flow through it; move them "
                "or give the box more cells there",
                ErrorCode.UNSUPPORTED,
                key=f"boundaries.{side}",
                other=who,
            )
