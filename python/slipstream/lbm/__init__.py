"""Lattice Boltzmann from Python: `slipstream.lbm.Simulation`, and types of its arguments and results."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slipstream.flow.loads import Load
    from slipstream.lbm.options import (
        Body,
        Boundary,
        Checkpoint,
        Domain,
        Guard,
        Initial,
        Options,
        Side,
        Units,
    )
    from slipstream.lbm.simulation import Energy, Simulation

__all__ = [
    "Body",
    "Boundary",
    "Checkpoint",
    "Domain",
    "Energy",
    "Guard",
    "Initial",
    "Load",
    "Options",
    "Side",
    "Simulation",
    "Units",
]

#: Module from which a public name of slipstream.lbm is imported on first use; slipstream.lbm.options has all others.
_MODULES = {
    "Energy": "slipstream.lbm.simulation",
    "Load": "slipstream.flow.loads",
    "Simulation": "slipstream.lbm.simulation",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # The solver is imported late, because checking a case does not need it.
    if name in __all__:
        return getattr(import_module(_MODULES.get(name, "slipstream.lbm.options")), name)
    raise AttributeError(f"module 'slipstream.lbm' has no attribute '{name}'")
