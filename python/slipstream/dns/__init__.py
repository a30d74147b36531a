"""Pseudo-spectral simulation of turbulence in a periodic box. From Python: `slipstream.dns.Simulation`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slipstream.dns.lines import longitudinal_spectrum, structure_function
    from slipstream.dns.simulation import Options, Simulation
    from slipstream.dns.statistics import ScalarStatistics, Statistics, Transfer

__all__ = [
    "Options",
    "ScalarStatistics",
    "Simulation",
    "Statistics",
    "Transfer",
    "longitudinal_spectrum",
    "structure_function",
]

#: Module from which a public name of slipstream.dns is imported on first use; slipstream.dns.simulation has all others.
_MODULES = {
    "ScalarStatistics": "slipstream.dns.statistics",
    "Statistics": "slipstream.dns.statistics",
    "Transfer": "slipstream.dns.statistics",
    "longitudinal_spectrum": "slipstream.dns.lines",
    "structure_function": "slipstream.dns.lines",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # The solver is imported late, because checking a case does not need it.
    if name in __all__:
        return getattr(import_module(_MODULES.get(name, "slipstream.dns.simulation")), name)
    raise AttributeError(f"module 'slipstream.dns' has no attribute '{name}'")
