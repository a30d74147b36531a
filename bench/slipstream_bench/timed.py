"""Lazy import of the compiled benchmark module."""

import importlib
from functools import cache
from types import ModuleType

from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode


@cache
def timed() -> ModuleType:
    """Imports `slipstream_bench._native`, with the code that benchmarks time. The compiled module of the engine is
    imported first, because its types are arguments there."""
    core()
    try:
        return importlib.import_module("slipstream_bench._native")
    except ModuleNotFoundError as error:
        if error.name != "slipstream_bench._native":
            raise
        raise CaseError(
            "the compiled module of the benchmarks is not built: run `make build`",
            ErrorCode.UNAVAILABLE,
            part="bench",
            command="make build",
        ) from None
