"""Errors of the compiled modules are exceptions of Python with a code and facts."""

from pathlib import Path

import numpy as np
import pytest
import slipstream as slip
from slipstream.base.core import core, part


def code_and_facts(error: BaseException) -> tuple[str, dict[str, str]]:
    return error.code, error.facts  # type: ignore[attr-defined]


def test_an_argument_that_is_not_allowed() -> None:
    with pytest.raises(RuntimeError) as raised:
        core().device_count("opencl")
    assert code_and_facts(raised.value) == (
        "invalid_argument",
        {"option": "backend", "given": "opencl", "choices": "host, cuda"},
    )
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as raised:
        core().checkpoint_info(str(tmp_path / "none"))
    assert code_and_facts(raised.value) == ("not_found", {"file": str(tmp_path / "none")})


def test_a_kind_of_its_own_in_python() -> None:
    grid = slip.Grid((8, 8, 8), periodic=(True, True, True), backend="host")
    u = np.full(grid.array_shape(ghost=1), 1e300)
    exchange = slip.Exchange(grid, {"density": u}, ghost=1, coding="cast")
    with pytest.raises(OverflowError) as raised:
        exchange.run()
    code, facts = code_and_facts(raised.value)
    assert code == "overflow"
    assert facts["item"] == "0" and facts["field"] == "density" and facts["coding"] == "cast"


def test_a_class_of_the_module() -> None:
    options = {"cells": (8, 8, 8), "viscosity": 0.1, "time_step": 0.01}
    run = part("dns").Dns(core().Machine.discover("host"), options)
    run.guard(1)
    run.random(part("dns").peaked_spectrum(3, 2, 1e300), 1)
    run.inspect()
    with pytest.raises(core().Diverged) as raised:
        run.advance(3)
    code, facts = code_and_facts(raised.value)
    assert issubclass(core().Diverged, RuntimeError) and code == "diverged"
    assert facts["quantity"] == "velocity" and facts["rank"] == "0" and facts["cell"] == "(0, 0, 0)"
