"""Spectral elements: Poisson's, Helmholtz's and the diffusion equation, and incompressible flow. From Python:
`slipstream.sem.Simulation` and `slipstream.sem.Flow`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slipstream.sem.flow.simulation import Flow, FlowOptions, FlowSide
    from slipstream.sem.simulation import Options, Side, Simulation

__all__ = ["Flow", "FlowOptions", "FlowSide", "Options", "Side", "Simulation"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Imported late, because checking a case needs no solver.
    if name in __all__:
        of_flow = "flow." if name.startswith("Flow") else ""
        return getattr(import_module(f"slipstream.sem.{of_flow}simulation"), name)
    raise AttributeError(f"module 'slipstream.sem' has no attribute '{name}'")
