"""Timeouts: infinite and invalid ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from arrays import grid_of, numbered
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.case.reader import load

MADE: dict[str, Callable[[float], Any]] = {
    "exchange": lambda limit: slip.Exchange(grid_of(), {"u": numbered(grid_of(), 1)}, wait_limit=limit),
    "gather-scatter": lambda limit: slip.GatherScatter(grid_of(), np.array([1, 2, 2]), wait_limit=limit),
    "all-reduce": lambda limit: slip.AllReduce(grid_of(), 1, wait_limit=limit),
    "transform": lambda limit: slip.fft.Plan(grid_of((4, 4, 4)), "float64", wait_limit=limit),
}


@pytest.mark.parametrize("what", MADE)
@pytest.mark.parametrize("limit", [float("nan"), -1.0, 0.0, 1e12])
def test_that_is_none_is_an_error(what: str, limit: float) -> None:
    with raises(RuntimeError, "invalid_argument", limit="1e+09", option="wait_limit"):
        MADE[what](limit)


@pytest.mark.parametrize("what", MADE)
def test_may_be_infinite(what: str) -> None:
    MADE[what](float("inf")).close()


@pytest.mark.parametrize("limit", ["nan", "-1.0", "0.0", "1e12", "-inf"])
def test_that_is_none_is_refused_in_a_case(small: Path, limit: str) -> None:
    with raises(CaseError, "invalid_argument", key="exchange.wait_limit"):
        load(small, [f"exchange.wait_limit={limit}"])


def test_of_a_case_may_be_infinite_and_stays_so(small: Path, tmp_path: Path) -> None:
    resolved = load(small, ["exchange.wait_limit=inf"]).resolved("host")
    assert resolved.exchange.wait_limit == float("inf")
    copy = tmp_path / "copy.toml"
    copy.write_text(resolved.to_toml("text"))
    assert load(copy) == resolved
