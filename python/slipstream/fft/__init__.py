"""Fourier transforms of arrays that lie on any number of devices."""

from slipstream.fft.plan import Plan, memory

__all__ = ["Plan", "memory"]


def __dir__() -> list[str]:
    return sorted(__all__)
