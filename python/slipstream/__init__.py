"""Slipstream: flow solvers whose data stays on the GPUs, from case files, a command line and Python."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from slipstream.errors import CaseError

if TYPE_CHECKING:
    from slipstream import lbm

__version__ = "0.1.0"
__all__ = ["CaseError", "__version__", "lbm"]


def __getattr__(name: str) -> Any:
    if name == "lbm":
        return import_module("slipstream.lbm")
    raise AttributeError(f"module 'slipstream' has no attribute '{name}'")
