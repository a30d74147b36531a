"""Gives each rank the network card nearest its GPUs, by a variable that UCX reads when MPI starts.

NCCL and NVSHMEM take the nearest card by themselves. NCCL must find the same cards on all ranks of a node.
"""

import os
from types import ModuleType
from typing import TYPE_CHECKING

from slipstream.base import core
from slipstream.machine.discovery import MachineTable

if TYPE_CHECKING:
    from slipstream._core import Machine

VARIABLE = "UCX_NET_DEVICES"

#: Whether bind() has set the environment variable UCX_NET_DEVICES.
_bound = False


def is_fabric(card: str) -> bool:
    """Whether a card's name has a port, as UCX needs it for InfiniBand; cards of Ethernet alone have none."""
    return ":" in card


def bind(wanted: MachineTable, module: ModuleType) -> None:
    """Chooses the network card of this rank by UCX_NET_DEVICES, before MPI starts. Nothing changes without GPUs or
    cards, on one node, or if the user has set the variable. A launcher must tell the rank's place on its node."""
    global _bound
    place, ranks = core.place_here(), core.launched_here()
    if not wanted.bind or wanted.backend == "host" or place is None or ranks >= (core.launched_size() or 1):
        return
    if VARIABLE in os.environ or not module.available("cuda"):
        return
    try:
        cards = module.Machine.network_cards("cuda", wanted.devices_per_rank, place, ranks)
    except RuntimeError:
        # The error that some device is faulty is not raised here: a later step finds the devices again, and then
        # raises it on all ranks.
        return
    if is_fabric(cards):
        os.environ[VARIABLE] = cards
        _bound = True


def row(machine: "Machine") -> list[tuple[str, str]]:
    """The row of a run's banner with the network card of rank 0, and the reason for it."""
    cards = os.environ.get(VARIABLE)
    if not cards or machine.nodes == 1:
        return []
    return [("network", f"{cards} for rank 0, {'nearest its GPUs' if _bound else f'as {VARIABLE} was set'}")]
