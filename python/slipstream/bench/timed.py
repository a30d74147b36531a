"""The compiled module of benchmarks, imported late."""

import importlib
from functools import cache
from types import ModuleType

from slipstream.base.core import core


@cache
def timed() -> ModuleType:
    """`slipstream._bench`: what benchmarks time. Its types are those of `core()`."""
    core()
    return importlib.import_module("slipstream._bench")
