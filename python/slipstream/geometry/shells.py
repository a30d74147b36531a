"""Connected components (shells) of a triangle mesh. Inside of shells the winding number counts outward ones up and
inward ones down, so overlaps of opposite shells become fluid."""

from collections.abc import Callable
from typing import Any

import numpy as np

from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode

Array = np.ndarray


def labels(vertices: int, triangles: Array) -> Array:
    """Number of each triangle's shell, a connected part of a surface: the lowest index of its vertices."""
    found = np.arange(vertices)
    while True:
        least = found[triangles].min(axis=1)
        new = found.copy()
        np.minimum.at(new, triangles.ravel(), np.repeat(least, 3))
        new = new[new]
        if (new == found).all():
            shells: Array = found[triangles[:, 0]]
            return shells
        found = new


def volumes(vertices: Array, triangles: Array, shells: Array, count: int) -> Array:
    """Volume that each closed shell of a surface encloses, negative if its normals point inwards."""
    a, b, c = (vertices[triangles[:, n]] for n in range(3))
    return np.bincount(shells, np.einsum("ij,ij->i", a, np.cross(b, c)) / 6, count)


def check(name: str, mesh: Any, solid_cells: Callable[[Any], int]) -> None:
    """Raises CaseError if a shell, a connected part of a mesh, with inward normals lies partly inside of outward ones.
    One that lies wholly inside is a cavity. `solid_cells` counts the cells that a mesh encloses."""
    vertices, triangles = np.asarray(mesh.vertices), np.asarray(mesh.triangles)
    numbers, shells = np.unique(labels(len(vertices), triangles), return_inverse=True)
    enclosed = volumes(vertices, triangles, shells.ravel(), len(numbers))
    inwards = np.flatnonzero(enclosed < 0)
    if len(inwards) in (0, len(numbers)):
        return

    def cells(chosen: Array) -> int:
        return solid_cells(core().Mesh.of(vertices, np.ascontiguousarray(triangles[chosen])))

    outer = ~np.isin(shells, inwards)
    outside = cells(outer)
    for shell in inwards:
        this = shells == shell
        alone = cells(this)
        # Cells that both shells enclose cancel in the winding number.
        both = (outside + alone - cells(outer | this)) // 2
        if 0 < both < alone:
            raise CaseError(
                f"bodies.{name}: two of its {len(numbers)} shells overlap and face opposite ways, so that the {both} "
                "cells that both enclose would be fluid; turn one of them round, or make them bodies of their own "
                "(bodies.X.part)",
                ErrorCode.UNSUPPORTED,
                key=f"bodies.{name}",
                cells=both,
                shells=len(numbers),
            )
