"""A case of incompressible flow on spectral elements, and the options of its compiled solver."""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from slipstream.case.case import Case
from slipstream.case.sides import SIDES
from slipstream.case.tables import BodyName
from slipstream.flow import reference
from slipstream.sem.elements_case import USUAL_DEGREE, Array, ElementsCase, Expression, parts
from slipstream.sem.flow.tables import (
    FlowOutputTable,
    FlowRunTable,
    FlowSidesTable,
    FlowSideTable,
    FlowSolutionTable,
    FlowStartTable,
    Parts,
)
from slipstream.sem.own_table import FlowTable
from slipstream.sem.tables import SemReceiverTable

#: Initial velocity of the Taylor-Green vortex, of energy 1/8 in a periodic box with edges 2 pi.
TAYLOR_GREEN = ("sin(x)*cos(y)*cos(z)", "-cos(x)*sin(y)*cos(z)", 0.0)


class Condition(NamedTuple):
    """A boundary condition on a side, or on those faces of its elements where the expression `where` is above 0."""

    kind: str  #: kind of the boundary condition: "periodic", "velocity" or "symmetry"
    velocity: Parts = (0.0, 0.0, 0.0)
    where: str | None = None


class FlowCase(ElementsCase):
    """A case file of incompressible flow on spectral elements."""

    solver: ClassVar[str] = "sem"
    registered: ClassVar[str] = "sem.navier_stokes"
    free_tables: ClassVar[frozenset[str]] = Case.free_tables | {"exact", "receivers"}

    sem: FlowTable
    boundaries: FlowSidesTable = FlowSidesTable()
    initial: FlowStartTable | None = Field(None, description="The initial velocity.")
    exact: FlowSolutionTable | None = Field(None, description="The exact flow.")
    receivers: dict[BodyName, SemReceiverTable] = Field({}, description="Receivers, by name.")
    run: FlowRunTable = FlowRunTable()
    output: FlowOutputTable = FlowOutputTable()

    @classmethod
    def is_free(cls, key: str) -> bool:
        return super().is_free(key) or key in ("sem.most_iterations", "sem.not_converged")

    @property
    def nek_items(self) -> list[tuple[str, str]]:
        return [("U", "velocity"), ("P", "pressure")]

    @property
    def time_step(self) -> float:
        return self.sem.time_step

    @property
    def degree(self) -> int:
        """Degree of the Chebyshev polynomials of the pressure's preconditioner."""
        return self.sem.degree or USUAL_DEGREE[self.sem.preconditioner]

    @property
    def published_cavity(self) -> reference.Reference | None:
        """Published velocities along centrelines, if the case is a cavity: a unit cube whose lid y+ moves at speed 1
        along x."""
        if self.output.reference != "albensoeder2005":
            return None
        return reference.load(self.output.reference, 1 / self.sem.viscosity)

    @property
    def is_reference_flow(self) -> bool:
        """Whether the case is the Taylor-Green vortex at Reynolds number 1600."""
        same = abs(self.sem.viscosity * 1600 - 1) < 1e-9 and all(self.grid.periodic) and not self.sem.force
        box = all(abs(edge / (2 * math.pi) - 1) < 1e-9 for edge in self.sem.lengths)
        flow = self.initial is not None and self.initial.flow == "taylor_green"
        return self.output.reference in ("auto", "taylor_green1600") and flow and same and box

    @property
    def conditions(self) -> list[list[Condition]]:
        """Boundary conditions of the sides x- to z+, those of higher precedence first."""
        given = dict(self.boundaries.given())

        def condition(entry: FlowSideTable) -> Condition:
            kind = "symmetry" if entry.kind == "symmetry" else "velocity"
            return Condition(kind, entry.velocity or (0.0, 0.0, 0.0), entry.where)

        return [
            [Condition("periodic")]
            if self.grid.periodic[n // 2]
            else [condition(entry) for _, entry in parts(given.get(side, FlowSideTable(kind="wall")))]
            for n, side in enumerate(SIDES)
        ]

    @property
    def solution(self) -> tuple[list[Any], Any]:
        """Functions of the exact velocity components and pressure."""
        exact = self.exact
        velocity = [self.function(part) for part in exact.velocity] if exact and exact.velocity else []
        pressure = None if exact is None or exact.pressure is None else self.function(exact.pressure)
        return velocity, pressure

    @property
    def start(self) -> list[Callable[[Array, float], Array]]:
        """Functions for the initial velocity; with start = "exact" also for earlier times."""
        if self.sem.start == "exact" or self.initial is None:
            return self.solution[0]
        parts = TAYLOR_GREEN if self.initial.flow else self.initial.velocity
        return [self.function(part, timed=False) for part in parts or ()]

    def _parts(self, parts: Parts | None) -> list[Any]:
        given: list[Any] = [self._given(part) for part in parts or ()]
        return given

    def _condition(self, part: Condition) -> tuple[str, list[Any], Any]:
        where: Expression | None = part.where
        return part.kind, self._parts(part.velocity), None if where is None else self.function(where, timed=False)

    def options(self) -> dict[str, Any]:
        table = self.sem
        same = ("lengths", "stretch", "deformation", "order", "viscosity", "time_step", "time_order", "filter")
        damped = ("divergence_damping", "courant_limit")
        solved = ("filter_modes", "pressure_tolerance", "velocity_tolerance", "most_iterations")
        how = ("method", "restart", "projection", "preconditioner")
        return {
            "elements": self.grid.cells,
            **{key: getattr(table, key) for key in (*same, *damped, *solved, *how)},
            "degree": self.degree,
            "factors": self.factors,
            "map": self.mapped if table.map else None,
            "exact_start": table.start == "exact",
            "target_courant": table.target_courant or 0.0,
            "mean_from": table.mean_from,
            "go_on": table.not_converged == "go on",
            "sides": [[self._condition(part) for part in side] for side in self.conditions],
            "force": self._parts(table.force),
            "initial": self.start,
            "exchange": self.exchange_options("messages"),
        }
