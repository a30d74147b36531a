"""Slipstream: flow solvers whose data stays on the GPUs, from case files, a command line and Python."""

from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstream.base.errors import CaseError

if TYPE_CHECKING:
    from slipstream import dns, fft, lbm, sem
    from slipstream.exchange.allreduce import AllReduce
    from slipstream.exchange.gather_scatter import GatherScatter
    from slipstream.exchange.grid import Grid, communicator, world
    from slipstream.exchange.halo import Exchange
    from slipstream.exchange.stencil import Stencil
    from slipstream.exchange.transpose import Transpose

    __version__: str

__all__ = [
    "AllReduce",
    "CaseError",
    "Exchange",
    "GatherScatter",
    "Grid",
    "Stencil",
    "Transpose",
    "__version__",
    "communicator",
    "dns",
    "fft",
    "lbm",
    "sem",
    "world",
]

#: Modules of the names that the package exports; loaded on first use.
_MODULES = {
    "AllReduce": "slipstream.exchange.allreduce",
    "Exchange": "slipstream.exchange.halo",
    "GatherScatter": "slipstream.exchange.gather_scatter",
    "Grid": "slipstream.exchange.grid",
    "Stencil": "slipstream.exchange.stencil",
    "Transpose": "slipstream.exchange.transpose",
    "communicator": "slipstream.exchange.grid",
    "world": "slipstream.exchange.grid",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def _version() -> str:
    """Version of the installed package; in a source tree, the version in its CMakeLists.txt."""
    try:
        return metadata.version("slipstream")
    except metadata.PackageNotFoundError:
        text = (Path(__file__).parents[2] / "CMakeLists.txt").read_text(encoding="utf-8")
        return text.partition("project(slipstream VERSION ")[2].split()[0]


def __getattr__(name: str) -> Any:
    if name in ("dns", "fft", "lbm", "sem"):
        return import_module(f"slipstream.{name}")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name == "__version__":
        return _version()
    raise AttributeError(f"module 'slipstream' has no attribute '{name}'")
