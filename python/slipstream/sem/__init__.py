"""Spectral elements: Poisson's, Helmholtz's and the diffusion equation. From Python: `slipstream.sem.Simulation`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slipstream.sem.simulation import Options, Side, Simulation

__all__ = ["Options", "Side", "Simulation"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Late, because checking a case needs nothing of what solves it.
    if name in __all__:
        return getattr(import_module("slipstream.sem.simulation"), name)
    raise AttributeError(f"module 'slipstream.sem' has no attribute '{name}'")
