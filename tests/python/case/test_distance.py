"""The error against an exact solution is correct at any scale."""

import math

import numpy as np
import pytest
from slipstream.case.distance import Distance

PARTS = np.random.default_rng(3).standard_normal((4, 2, 500))


def distance(scale: float) -> float:
    found = Distance()
    for u, wanted in PARTS * scale:
        found.add(u, wanted)
    return found.value()


def test_distance_of_parts_is_that_of_the_whole() -> None:
    u, wanted = PARTS[:, 0], PARTS[:, 1]
    assert distance(1) == pytest.approx(np.linalg.norm(u - wanted) / np.linalg.norm(wanted), rel=1e-14)


@pytest.mark.parametrize("exponent", [-700, -300, 300, 700])
def test_distance_does_not_depend_on_a_power_of_two(exponent: int) -> None:
    assert distance(math.ldexp(1, exponent)) == pytest.approx(distance(1), rel=1e-15)


def test_distance_from_zero_is_absolute() -> None:
    found = Distance()
    found.add(np.array([3.0, 4.0]), np.zeros(2))
    assert found.value() == 5.0


def test_values_that_are_not_finite_have_no_finite_distance() -> None:
    found = Distance()
    found.add(np.array([np.nan, 1.0]), np.ones(2))
    assert not math.isfinite(found.value())
