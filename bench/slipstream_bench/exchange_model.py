"""A model of the time of a halo exchange from bytes and rates, for a described or a discovered machine.

Each device packs all data to send, then all transfers run concurrently, then each device unpacks:

    t = max over devices (bytes read and written / memory rate) + max over links (bytes on it / its rate)

A byte sent to another device is read and written once when packed and once when unpacked. A byte that stays on its
device is read and written once. A link is one direction of a connection. Connections are the line between two devices,
and a device's line to its host. Others are resources that a machine file states for a device, a group or a node: a
switch port, a bus between sockets, network cards. The model excludes latency, launches and MPI overhead.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slipstream.machine.machine_file import LinkTable, MachineFile

if TYPE_CHECKING:
    from slipstream._core import Machine

#: Messages of one exchange: (source device, target device, bytes). Equal devices mean that a device is its own
#: neighbour.
Traffic = Iterable[tuple[int, int, float]]


@dataclass(frozen=True)
class ExchangeTime:
    """Seconds of an exchange, and the link that limits it."""

    memory: float
    links: float
    busiest: str

    @property
    def total(self) -> float:
        return self.memory + self.links


def exchange_time(
    machine: "Machine", traffic: Traffic, file: MachineFile | None = None, measured: Sequence[float] = ()
) -> ExchangeTime:
    """Predicts the time of one exchange. Without a machine file, only links between pairs are known, with measured
    rates (GB/s, devices x devices) if given."""
    memory: dict[int, float] = defaultdict(float)
    loads: dict[str, float] = defaultdict(float)
    for source, target, count in traffic:
        memory[source] += 2 * count
        if source == target:
            continue
        memory[target] += 2 * count
        for name, rate in _links(file, source, target) if file else _line(machine, measured, source, target):
            loads[name] += count / (rate * 1e9)
    busiest = max(loads, key=lambda name: loads[name], default="none")
    rates = [device["memory_gb_per_s"] for device in machine.devices()]
    packing = max((count / (rates[d] * 1e9) for d, count in memory.items() if rates[d]), default=0.0)
    return ExchangeTime(packing, loads.get(busiest, 0.0), busiest)


def _line(machine: "Machine", measured: Sequence[float], source: int, target: int) -> Iterable[tuple[str, float]]:
    """The direct link between two devices, which is the only link known for a discovered machine."""
    count = round(len(measured) ** 0.5)
    rate = measured[source * count + target] if measured else machine.link(source, target)["gb_per_s"]
    yield f"device {source} to device {target}", rate


def _links(file: MachineFile, source: int, target: int) -> Iterable[tuple[str, float]]:
    """All links that a message between two devices passes, with their rates."""
    table = file.table(source, target)
    yield f"device {source} to device {target}", table.gb_per_s
    if not isinstance(table, LinkTable):
        return
    sort = file.sort(source, target)
    for way, device in (("out of", source), ("into", target)):
        node, group = file.node(device), file.group(device)
        if table.per_device_gb_per_s:
            yield f"{sort}, {way} device {device}", table.per_device_gb_per_s
        if table.per_group_gb_per_s:
            yield f"{sort}, {way} group {group} of node {node}", table.per_group_gb_per_s
        if table.per_node_gb_per_s:
            yield f"{sort}, {way} node {node}", table.per_node_gb_per_s
        if table.through_host and file.host.gb_per_s:
            yield f"host, {way} device {device}", file.host.gb_per_s
