"""Spectral elements: Poisson's, Helmholtz's and the diffusion equation, and incompressible flow. From Python:
`slipstream.sem.Simulation` and `slipstream.sem.Flow`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slipstream.sem.flow.simulation import Flow, FlowOptions, FlowSide
    from slipstream.sem.simulation import Options, Scalar, Side, Simulation
    from slipstream.sem.statistics import FlowStatistics, Means, PlaneMeans, SideForce, Statistics

#: Modules of the names that the package exports; loaded on first use.
_MODULES = {
    "Flow": "slipstream.sem.flow.simulation",
    "FlowOptions": "slipstream.sem.flow.simulation",
    "FlowSide": "slipstream.sem.flow.simulation",
    "FlowStatistics": "slipstream.sem.statistics",
    "Means": "slipstream.sem.statistics",
    "Options": "slipstream.sem.simulation",
    "PlaneMeans": "slipstream.sem.statistics",
    "Scalar": "slipstream.sem.simulation",
    "Side": "slipstream.sem.simulation",
    "SideForce": "slipstream.sem.statistics",
    "Simulation": "slipstream.sem.simulation",
    "Statistics": "slipstream.sem.statistics",
}

__all__ = [
    "Flow",
    "FlowOptions",
    "FlowSide",
    "FlowStatistics",
    "Means",
    "Options",
    "PlaneMeans",
    "Scalar",
    "Side",
    "SideForce",
    "Simulation",
    "Statistics",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Imported late, because checking a case does not need the solver.
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'slipstream.sem' has no attribute '{name}'")
