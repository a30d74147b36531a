"""Base class of cases on spectral elements: places of points, and expressions of places."""

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from slipstream.base.terminal import show_extent
from slipstream.case.case import Case
from slipstream.case.expression import evaluate
from slipstream.sem import sampling
from slipstream.sem.own_table import ElementsTable
from slipstream.sem.tables import SemOutputTable

Array = np.ndarray
Expression = float | str
#: Degree of the Chebyshev polynomials for each preconditioner, if the case gives none.
USUAL_DEGREE = {"jacobi": 1, "chebyshev": 4, "multigrid": 3, "schwarz": 2}


def parts(side: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Boundary conditions of a side of the box in order of precedence, each with its key. Those of `otherwise` follow,
    for faces on which `where` excludes the ones before."""
    while side:
        yield key, side
        key, side = f"{key}.otherwise", side.otherwise


def steady(given: Expression) -> bool:
    """Whether an expression does not depend on time."""
    if not isinstance(given, str):
        return True
    try:
        tree = ast.parse(given.strip().replace("^", "**"), mode="eval")
    except SyntaxError:
        return True  # other checks report that the expression is invalid
    return not any(isinstance(node, ast.Name) and node.id == "t" for node in ast.walk(tree))


class ElementsCase(Case):
    """A case file of fields on spectral elements."""

    sem: ElementsTable
    output: SemOutputTable = SemOutputTable()

    @property
    def marches(self) -> bool:
        """Whether the case is time-dependent; otherwise one step finds the steady solution."""
        return True

    @property
    def nek_items(self) -> list[tuple[str, str]]:
        """Names of the case's fields in files of Nek5000, each with its name in the solver's state."""
        raise NotImplementedError

    @property
    def points_of_an_element(self) -> int:
        return (self.sem.order + 1) ** 3

    @property
    def cell_count(self) -> int:
        """Number of points of all elements; those on faces count once per element."""
        return math.prod(self.grid.cells) * self.points_of_an_element

    @property
    def size(self) -> str:
        of_elements = f"{show_extent(self.grid.cells)} elements of {self.points_of_an_element} points"
        return f"{of_elements} = {self.cell_count:,} points".replace(",", " ")

    @property
    def varies(self) -> bool:
        """Whether geometric factors differ between points of an element."""
        return bool(self.sem.deformation or self.sem.map)

    @property
    def factors(self) -> str:
        if self.sem.factors != "auto":
            return self.sem.factors
        return "stored" if self.varies else "affine"

    @property
    def corner(self) -> tuple[float, float, float]:
        x, y, z = sampling.bounds(self)[0]
        return (x, y, z)

    @property
    def samples(self) -> tuple[int, int, int]:
        low, high = sampling.bounds(self)
        return sampling.counts(high - low, self.grid.cells, self.sem.order)

    @property
    def spacing(self) -> float:
        """Largest distance of neighbouring samples in pictures."""
        return max(self.spacings)

    @property
    def spacings(self) -> tuple[float, float, float]:
        low, high = sampling.bounds(self)
        x, y, z = (n / s for n, s in zip(high - low, self.samples, strict=True))
        return (x, y, z)

    def read(self, file: Any, name: str, step: int, box: tuple[slice, slice, slice]) -> Array:
        return sampling.read(file, name, step, self, box)

    def resolved(self, backend: str | None = None) -> Self:
        return super().resolved(backend).changed(sem={"factors": self.factors})

    def names(self, places: Array, time: float | None = None) -> Mapping[str, Any]:
        """Names that expressions may use, with their values at points, whose coordinates are [point][x y z]."""
        x, y, z = places.T
        lengths = {f"L{axis}": edge for axis, edge in zip("xyz", self.sem.lengths, strict=True)}
        known = {"x": x, "y": y, "z": z, **lengths}
        return known if time is None else known | {"t": time}

    def values(self, given: Expression, places: Array, time: float | None = None) -> Array:
        """Values of a number or an expression at points, whose coordinates are [point][x y z]. Raises ValueError where
        the expression has none."""
        value = evaluate(given, self.names(places, time)) if isinstance(given, str) else given
        return np.ascontiguousarray(np.broadcast_to(value, len(places)), dtype=np.float64)

    def mapped(self, places: Array) -> Array:
        """Applies the case's map to coordinates [point][x y z] of the box. Raises ValueError where the map has no
        value.
        """
        if self.sem.map is None:
            return places
        return np.stack([self.values(given, places) for given in self.sem.map], axis=1)

    def function(self, given: Expression, timed: bool = True) -> Callable[[Array, float], Array]:
        """An expression as a function of coordinates and time, for the compiled solver."""
        return lambda places, time: self.values(given, places, time if timed and self.marches else None)

    def _given(self, given: Expression) -> tuple[Callable[[Array, float], Array], bool] | None:
        return None if given == 0 else (self.function(given), steady(given))
