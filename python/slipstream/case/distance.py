"""The relative distance of a field from an exact solution."""

import math

import numpy as np

Array = np.ndarray


def norm(values: Array) -> float:
    """L2 norm of values. They are scaled by a power of two first, so that no square overflows or underflows."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0 or not math.isfinite(largest):
        return largest
    exponent = math.frexp(largest)[1]
    return math.ldexp(math.sqrt(float((np.ldexp(values, -exponent) ** 2).sum())), exponent)


class Distance:
    """Relative distance: root of the sum of (found - wanted)^2 over that of wanted^2, computed from parts of the
    fields.
    """

    def __init__(self) -> None:
        self._off = self._size = 0.0

    def add(self, found: Array, wanted: Array) -> None:
        self._off = math.hypot(self._off, norm(found - wanted))
        self._size = math.hypot(self._size, norm(wanted))

    def value(self) -> float:
        """The relative L2 distance, or the absolute one if the reference field is zero everywhere."""
        return self._off / self._size if self._size else self._off
