"""Lattice Boltzmann, from Python: `slipstream.lbm.Simulation`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slipstream.lbm.simulation import Energy, Simulation

__all__ = ["Energy", "Simulation"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Late, because checking a case needs nothing of what marches it.
    if name in __all__:
        return getattr(import_module("slipstream.lbm.simulation"), name)
    raise AttributeError(f"module 'slipstream.lbm' has no attribute '{name}'")
