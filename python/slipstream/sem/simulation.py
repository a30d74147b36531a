"""Spectral elements from Python: a Simulation is an equation on a box of hexahedra of high order.

Collective: on several ranks, every rank makes the same calls.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, TypeVar, Unpack

import numpy as np

from slipstream.base.core import as_case_error
from slipstream.base.errors import ArgumentError, ErrorCode
from slipstream.case.case import Case
from slipstream.exchange.options import check
from slipstream.run.simulation import CaseSimulation, MachineOptions
from slipstream.sem import nek
from slipstream.sem.case import SemCase
from slipstream.sem.elements_case import ElementsCase
from slipstream.sem.own_table import SemKeywords, SolveKeywords
from slipstream.sem.statistics import Array, Statistics

if TYPE_CHECKING:
    from slipstream._sem import ElementSeries, Flow, Probe, Sem

ElementsCaseT = TypeVar("ElementsCaseT", bound=ElementsCase)
ElementsEngineT = TypeVar("ElementsEngineT", bound="Sem | Flow")


class Side(TypedDict, total=False):
    """Keys of a table [boundaries.SIDE] of a case: a given value, or a flux. `transfer`: factor of u in a loss (Robin
    condition). `where`: expression that is positive where this condition holds. `otherwise`: condition elsewhere."""

    value: float | str
    flux: float | str
    transfer: float | str
    where: str
    otherwise: "Side"


class Scalar(SolveKeywords, total=False):
    """Keys of a table [sem.scalars.NAME], for an unknown beside u. Missing keys have the values of u's."""

    source: float | str
    boundaries: Mapping[str, Side]
    initial: float | str
    exact: float | str


class Options(MachineOptions, SemKeywords, total=False):
    """Keys of [sem], [machine] and [exchange]; docs/sem.md and docs/exchange.md say what they do."""

    scalars: Mapping[str, Scalar]


class ElementsSimulation(CaseSimulation[ElementsCaseT, ElementsEngineT]):
    """A problem on spectral elements: the base of Simulation and Flow."""

    _counted: ClassVar[str] = "elements"

    def _begin(self, case: Any) -> None:
        super()._begin(case)
        self._files: dict[Path, ElementSeries] = {}
        self._probes: dict[bytes, Probe] = {}

    def run(self, steps: int = 1) -> None:
        """Advances by `steps` steps; one step solves Poisson's and Helmholtz's equation.

        Raises RuntimeError with the code not_converged where conjugate gradients do not reach the tolerance (unless
        not_converged="go on"), and diverged where values are no numbers.
        """
        self._engine.advance(steps)

    @property
    def elements(self) -> range:
        """Indices of the elements on this rank."""
        return range(*self._engine.elements())

    @property
    def places(self) -> Array:
        """Coordinates of the points of this rank's elements, [element][t][s][r][x y z]."""
        found: Array = np.asarray(self._engine.places())
        return found

    def _gathered(self, field: str) -> Array | None:
        """Values of all elements, [element][t][s][r][component], on rank 0; None elsewhere."""
        n, elements = self.case.sem.order + 1, int(np.prod(self.case.grid.cells))
        found = self._engine.gather(field, (0, 0, 0), (n**3, elements, 1))
        return None if found is None else np.asarray(found).reshape(elements, n, n, n, -1)

    def _copy(self, field: str) -> Array:
        """A copy of a field at this rank's points, [element][t][s][r][component]."""
        n, blocks = self.case.sem.order + 1, []
        for copy in self._engine.copies(field):
            blocks.append(copy.reshape(-1, n, n, n, copy.shape[-1]))
        return np.concatenate(blocks) if blocks else np.empty((0, n, n, n, 1))

    def _probe(self, points: Sequence[Sequence[float]] | Array) -> "Probe":
        places = np.ascontiguousarray(points, dtype=np.float64)
        if places.ndim != 2 or places.shape[1] != 3:
            raise ArgumentError(
                f"points are [point][x y z], and these are {list(places.shape)}",
                ErrorCode.MISMATCH,
                argument="points",
                given=list(places.shape),
            )
        key = places.tobytes()
        if key not in self._probes:
            with as_case_error():
                self._probes[key] = self._engine.probe([(x, y, z) for x, y, z in places.tolist()])
        return self._probes[key]

    def write(self, path: str | Path, fields: Mapping[str, Array] | None = None) -> None:
        """Adds all unknowns of this step to a file that ParaView opens (VTKHDF, curved elements). The first call
        creates the file, and replaces an existing one; later steps are appended.

        `fields`: more arrays by name, f32 or f64, of this rank's elements: [element][t][s][r], or with three components
        behind. Every step has the same. Raises CaseError where an array has another shape (mismatch), or where the
        file cannot be written (io).
        """
        path = Path(path).absolute()
        with as_case_error():
            if path not in self._files:
                self._files[path] = self._engine.series(str(path))
            self._files[path].write(self.time, [(name, "") for _, name in self.case.nek_items], contiguous(fields))

    def write_nek(
        self,
        path: str | Path,
        words: Literal["f32", "f64"] = "f32",
        fields: Mapping[str, Array] | None = None,
        *,
        places: bool = True,
    ) -> None:
        """Writes a field file of Nek5000, and replaces an existing one: the coordinates, u as the temperature T, and
        further scalars as S01 and on.

        `fields`: in place of u, arrays by the names U (three components behind), P, T, S01, S02 and so on, f32 or f64,
        [element][t][s][r] of this rank's elements. Raises CaseError where an array has another shape (mismatch), or
        where the file cannot be written (io).
        """
        items: Sequence[tuple[str, object]] = self.case.nek_items if fields is None else contiguous(fields)
        with as_case_error():
            self._engine.write_nek(str(Path(path).absolute()), nek.WORDS[words], places, list(items))


class Simulation(ElementsSimulation[SemCase, "Sem"]):
    """An equation on `elements` = (ex, ey, ez) hexahedra: "poisson", "helmholtz" or "diffusion".

    `boundaries`, `initial` and `exact` are the tables that a case file has under these names: boundaries={"y-":
    {"value": "t*x"}, "y+": {"flux": 0}}, initial={"value": "sin(x)"} or {"file": "x0.f00000"}, exact={"value": "x"}.
    Further keyword arguments are keys of a case file's [sem], [machine] and [exchange]: order=9, deformation=0.05,
    time_step=0.01, devices_per_rank=2. Lengths and times are in any units that fit together. Arrays are of f64 with
    the axes [element][t][s][r], each axis within an element with order + 1 Gauss-Lobatto-Legendre points, from -1 to
    1; elements go x fastest.

    Raises TypeError for a keyword of another name, and CaseError where the numbers do not make a problem that can be
    solved.
    """

    _case_type: ClassVar[type[Case]] = SemCase

    def __init__(
        self,
        equation: Literal["poisson", "helmholtz", "diffusion"],
        elements: Sequence[int],
        *,
        periodic: Sequence[bool] = (False, False, False),
        boundaries: Mapping[str, Side] | None = None,
        initial: Mapping[str, float | str] | None = None,
        exact: Mapping[str, float | str] | None = None,
        **options: Unpack[Options],
    ) -> None:
        check("a Simulation", Simulation, options, Options)
        given = {"boundaries": boundaries, "initial": initial, "exact": exact}
        needed = {"grid": {"cells": elements, "periodic": periodic}}
        if equation != "diffusion":
            needed["run"] = {}  # no end time: a single step solves a steady equation
        self._begin(self._case_of({"equation": equation, **options}, needed, **given))

    @property
    def u(self) -> Array:
        """A copy of u at this rank's points, [element][t][s][r]."""
        return self.values("u")

    def values(self, name: str) -> Array:
        """A copy of an unknown, u or one of `scalars`, at this rank's points."""
        self._number(name)
        return self._copy(name)[..., 0]

    def _number(self, name: str) -> int:
        names = [one.name for one in self.case.unknowns]
        if name not in names:
            raise ArgumentError(
                f"no unknown is called {name!r}; there are {', '.join(names)}",
                ErrorCode.NOT_FOUND,
                argument="name",
                given=name,
            )
        return names.index(name)

    def gathered(self, name: str = "u") -> Array | None:
        """Values of an unknown at all points, [element][t][s][r], on rank 0; None elsewhere."""
        self._number(name)
        found = self._gathered(name)
        return None if found is None else found[..., 0]

    def at(self, points: Sequence[Sequence[float]] | Array, name: str = "u") -> Array:
        """An unknown at points [point][x y z], by point and on every rank: values of the elements' polynomials. The
        points must be the same on all ranks. They are located at the first call with them.

        Raises ArgumentError for another shape, and CaseError (not_found) that names the point in no element.
        """
        self._number(name)
        return np.asarray(self._engine.at(self._probe(points), name))

    def statistics(self, name: str = "u") -> Statistics:
        """Statistics of u or of one of `scalars`, on every rank. Raises ArgumentError (not_found) for another name."""
        number = self._number(name)
        exact = self.case.unknowns[number].exact
        found = dict(self._engine.statistics(None if exact is None else self.case.function(exact), number))
        names = ("volume", "mean", "least", "largest") + (() if exact is None else ("distance", "largest_off"))
        return Statistics(**{name: found[name] for name in names})


def contiguous(fields: Mapping[str, Array] | None) -> list[tuple[str, object]]:
    return [(name, np.ascontiguousarray(values)) for name, values in (fields or {}).items()]
