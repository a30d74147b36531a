"""Checks that arrays which a call writes share no memory with its other arrays."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from slipstream.base.errors import ArgumentError
from slipstream.exchange.arrays import Described


@dataclass(frozen=True)
class Place:
    """Range of memory that a call reads or writes, from the byte `first` to before `behind`. `array`: its shape and
    strides, if other values may lie in its gaps; else None."""

    name: str
    first: int
    behind: int
    written: bool
    read_only: bool = False
    array: Described | None = None
    side: str = ""  #: name of a transform's argument whose memory this is: u, v, w or multiply; else empty
    component: int = 0
    block: int = 0


def place_of(array: Described, name: str, written: bool) -> Place:
    first, behind = array.ends() if math.prod(array.shape) else (array.pointer, array.pointer)
    return Place(name, first, behind, written, array.read_only, array=array)


def apart_or_why(a: Place, b: Place) -> str:
    """The reason why two arrays of a call must not overlap in memory; empty if they may."""
    if not (a.written or b.written):
        return ""
    return f"{a.name} and {b.name} share memory that is written: give arrays that lie apart"


def require_apart(places: Iterable[Place], why: Callable[[Place, Place], str] = apart_or_why) -> None:
    """Raises ArgumentError if two memory ranges overlap, unless the function `why` allows it by an empty text. It gets
    the two ranges in the order in which they are given."""
    given = [place for place in places if place.first < place.behind]
    before: list[int] = []  # indices of memory ranges that begin earlier, and end beyond the start of the present one
    for number in sorted(range(len(given)), key=lambda n: given[n].first):
        before = [n for n in before if given[n].behind > given[number].first]
        for other in before:
            a, b = given[min(number, other)], given[max(number, other)]
            if (said := why(a, b)) and _meet(a, b):
                raise ArgumentError(said, one=a.name, other=b.name)
        before.append(number)


def _meet(a: Place, b: Place) -> bool:
    """Whether two memory ranges whose bounds overlap share a byte; values of strided arrays may interleave instead."""
    if a.array is None or b.array is None:
        return True
    import numpy as np

    most: Any = 100_000  # declared as Any, because NumPy's type stubs lack the argument `max_work`
    try:
        return bool(np.shares_memory(np.asarray(_Bytes(a.array)), np.asarray(_Bytes(b.array)), max_work=most))
    except np.exceptions.TooHardError:
        return True


class _Bytes:
    """Describes the memory of an array to NumPy, which compares its addresses with those of another array; no value is
    read."""

    def __init__(self, array: Described) -> None:
        strides = tuple(stride * array.size for stride in array.strides)
        self.__array_interface__ = {
            "data": (array.pointer, True),
            "shape": array.shape,
            "strides": strides,
            "typestr": f"|V{array.size}",
            "version": 3,
        }
