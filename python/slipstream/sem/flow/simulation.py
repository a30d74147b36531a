"""Incompressible flow on spectral elements from Python.

Collective: on several ranks, every rank makes the same calls.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack

import numpy as np

from slipstream.base.errors import ArgumentError, ErrorCode
from slipstream.case.case import Case
from slipstream.exchange.options import check
from slipstream.run.simulation import MachineOptions
from slipstream.sem.flow.case import FlowCase
from slipstream.sem.own_table import FlowKeywords
from slipstream.sem.simulation import ElementsSimulation
from slipstream.sem.statistics import Array, FlowStatistics, Means, PlaneMeans, SideForce

if TYPE_CHECKING:
    from slipstream._sem import Flow as Engine  # noqa: F401 (the base class names it)

Parts = Sequence[float | str]


class FlowSide(TypedDict, total=False):
    """Keys of [boundaries] for one side: a wall at rest, a velocity, or a symmetry plane; `otherwise` applies where
    `where` does not."""

    kind: Literal["wall", "velocity", "symmetry"]
    velocity: Parts
    where: str
    otherwise: "FlowSide"


class FlowOptions(MachineOptions, FlowKeywords, total=False):
    """Keys of [sem], [machine] and [exchange]; docs/sem_flow.md and docs/exchange.md say what they do."""


class Flow(ElementsSimulation[FlowCase, "Engine"]):
    """An incompressible flow on `elements` = (ex, ey, ez) hexahedra.

    `boundaries`, `initial` and `exact` are the tables that a case file has under these names: boundaries={"y+":
    {"kind": "velocity", "velocity": [1, 0, 0]}}, initial={"flow": "taylor_green"} or {"velocity": ["sin(y)", 0, 0]},
    exact={"velocity": [...], "pressure": "x"}. Sides that are neither periodic nor named are walls at rest. Further
    keyword arguments are keys of a case file's [sem], [machine] and [exchange]. Arrays are of f64 with the axes
    [element][t][s][r], and of the velocity [component] behind.

    Raises TypeError for a keyword of another name, and CaseError where the numbers do not make a flow.
    """

    _case_type: ClassVar[type[Case]] = FlowCase

    def __init__(
        self,
        elements: Sequence[int],
        *,
        viscosity: float,
        time_step: float,
        periodic: Sequence[bool] = (False, False, False),
        boundaries: Mapping[str, FlowSide] | None = None,
        initial: Mapping[str, Any] | None = None,
        exact: Mapping[str, Any] | None = None,
        **options: Unpack[FlowOptions],
    ) -> None:
        check("a Flow", Flow, options, FlowOptions)
        own = {"equation": "navier_stokes", "viscosity": viscosity, "time_step": time_step, **options}
        given = {"boundaries": boundaries, "initial": initial, "exact": exact}
        self._begin(self._case_of(own, {"grid": {"cells": elements, "periodic": periodic}}, **given))

    @property
    def u(self) -> Array:
        """A copy of the velocity at this rank's points, [element][t][s][r][component]."""
        return self._copy("velocity")

    @property
    def p(self) -> Array:
        """A copy of the pressure over density at this rank's points, of mean zero, [element][t][s][r]."""
        return self._copy("pressure")[..., 0]

    def gathered(self) -> Array | None:
        """Velocity of all elements, [element][t][s][r][component], on rank 0; None elsewhere."""
        return self._gathered("velocity")

    def means(self) -> Means:
        """Copies of this rank's running means from mean_from on. They are zero until the first step that ends after
        mean_from.

        Raises ArgumentError (wrong_state) where mean_from was not given.
        """
        if self.case.sem.mean_from is None:
            raise ArgumentError(
                "no running means are kept: give the time that they begin at, mean_from=0.0",
                ErrorCode.WRONG_STATE,
                argument="mean_from",
            )
        velocity, pressure, squares, products = (
            self._copy(f"mean_{name}") for name in ("velocity", "pressure", "squares", "products")
        )
        return Means(velocity, pressure[..., 0], squares, products)

    def forces(self) -> dict[str, SideForce]:
        """Forces of the fluid on each side that is not periodic, "x-" to "z+", on every rank."""
        found = self._engine.forces()
        return {side: SideForce(np.array(pressure), np.array(viscous)) for side, (pressure, viscous) in found.items()}

    def planes(self, axis: Literal["x", "y", "z"]) -> PlaneMeans:
        """Means over each plane of points across an axis, by the quadrature, on every rank. They use running means if
        there are any, else the present state. In a bent box, points are grouped by index.

        Raises ArgumentError (not_found) for another axis.
        """
        if axis not in ("x", "y", "z"):
            raise ArgumentError(
                f"no axis is called {axis!r}: x, y or z", ErrorCode.NOT_FOUND, argument="axis", given=axis
            )
        return PlaneMeans(*np.array(self._engine.planes("xyz".index(axis))).T)

    def at(self, points: Sequence[Sequence[float]] | Array) -> Array:
        """Velocity and pressure at points [point][x y z], as [point][u v w p] on every rank. Raises the errors of
        Simulation.at.
        """
        there = self._probe(points)
        parts = [self._engine.at(there, "velocity", c) for c in range(3)] + [self._engine.at(there, "pressure", 0)]
        return np.stack([np.asarray(part) for part in parts], axis=1)

    def statistics(self) -> FlowStatistics:
        """Statistics of the flow at this step, on every rank."""
        found = dict(self._engine.statistics(*self.case.solution))
        names = ["volume", "energy", "enstrophy", "dissipation", "decay", "divergence"]
        if self.case.exact:
            names += ["distance", "largest_off", "pressure_off"]
        return FlowStatistics(**{name: found[name] for name in names}, courant=self._engine.courant())
