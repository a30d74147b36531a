"""Predicts the time of a step on a described machine from the rates of memory and links alone.

Rates are 1e9 bytes per second.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slipstream.base import routes
from slipstream.base.core import core
from slipstream.machine.told import Device, Plan

if TYPE_CHECKING:
    from slipstream._core import Machine

#: Size in bytes of the arrays that measure memory bandwidth; it exceeds the size of caches.
PROBE_BYTES = 256_000_000


@dataclass(frozen=True)
class Prediction:
    """Predicted times of one step on the slowest device, in seconds."""

    compute: float
    exchange: float
    overlap: bool

    @property
    def step(self) -> float:
        return max(self.compute, self.exchange) if self.overlap else self.compute + self.exchange

    def rate(self, cells: int) -> float:
        """Predicted rate in millions of cells per second."""
        return cells / self.step / 1e6


def cells_per_device(plan: Plan, devices: int) -> list[int]:
    """Number of cells in all blocks of each device."""
    cells = [0] * devices
    for block in plan["blocks"]:
        cells[block["device"]] += math.prod(high - low for low, high in zip(block["lo"], block["hi"], strict=True))
    return cells


def measure_memory(devices: Sequence[Device], probe_bytes: int = PROBE_BYTES, seconds: float = 0.3) -> float:
    """Measured copy rate of one device for arrays of `probe_bytes`, measured on all ranks at once. Collective."""
    module = core()
    mine = [device for device in devices if device["rank"] == module.rank()]
    module.barrier()
    rate = module.copy_bandwidth(mine[0]["backend"], probe_bytes, seconds, mine[0]["index"])
    # Virtual devices of a rank share its threads; GPUs do not.
    shared_by = len(mine) if mine[0]["backend"] == "host" else 1
    return float(module.broadcast(repr(rate / shared_by), 0))


def predict(machine: "Machine", plan: Plan, overlap: str, throttle: str | None = None) -> Prediction:
    """Predicts the time of a step on the slowest device, as bytes over measured rates.

    `throttle` simulates a slow network for messages that the host sends. Those of one pair of devices follow one
    another; those of different pairs are concurrent.
    """
    devices = machine.devices()
    rates = [device["memory_gb_per_s"] for device in devices]
    cells = cells_per_device(plan, len(devices))
    compute = max((c * plan["bytes_per_cell"] / (r * 1e9) for c, r in zip(cells, rates, strict=True) if r), default=0.0)
    outgoing = [0.0] * len(devices)
    slowed: dict[tuple[int, int], float] = {}
    for message in plan["messages"]:
        if throttle and message["route"] in routes.DRIVEN_BY_HOST:
            pair = (message["source"], message["target"])
            slowed[pair] = slowed.get(pair, 0) + message["bytes"]
            continue
        rate = machine.link(message["source"], message["target"])["gb_per_s"]
        if rate:
            outgoing[message["source"]] += message.get("targets", 1) * message["bytes"] / (rate * 1e9)
    overlaps = overlap != "off" and plan.get("overlaps", True)
    exchange = max([*outgoing, *(core().throttled_seconds(throttle, b) for b in slowed.values())], default=0.0)
    return Prediction(compute, exchange, overlaps)
