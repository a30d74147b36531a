"""Shells of a surface: triangles that hang together. Where two overlap, one inside counts those that face outwards up
and the others down, so that shells that face opposite ways leave fluid in what both enclose."""

from collections.abc import Callable
from typing import Any

import numpy as np

from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode

Array = np.ndarray


def labels(vertices: int, triangles: Array) -> Array:
    """The shell of each triangle, by a number of its own: the least vertex that hangs together with it."""
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
    """The volume of each shell, below zero where it faces inwards."""
    a, b, c = (vertices[triangles[:, n]] for n in range(3))
    return np.bincount(shells, np.einsum("ij,ij->i", a, np.cross(b, c)) / 6, count)


def check(name: str, mesh: Any, solid_cells: Callable[[Any], int]) -> None:
    """Raises CaseError where a shell that faces inwards is partly inside of those that face outwards. One that is
    wholly inside is a cavity. `solid_cells` counts what a mesh encloses."""
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
        # Where both enclose a cell, one takes away what the other has brought.
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
