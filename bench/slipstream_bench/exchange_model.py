"""How long a halo exchange takes by bytes and rates alone, on a machine that a file describes or that was found.

Every device first packs what it sends, then all transfers run at once, then every device unpacks:

    t = max over devices (bytes read and written / memory rate) + max over links (bytes on it / its rate)

A byte that goes to another device is read and written once where it is packed and once where it is unpacked; one that
stays on its device is read and written once. A link is one way of: the line between two devices; what a machine file
says that a device, a group or a node has for all its links of a sort (a switch's port, a bus between sockets, network
cards); a device's line to its host. Latency, launches and MPI are not in it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slipstream.machine.machine_file import LinkTable, MachineFile

if TYPE_CHECKING:
    from slipstream._core import Machine

#: (from device, to device, bytes) of one exchange; from = to where a device is its own neighbour.
Traffic = Iterable[tuple[int, int, float]]


@dataclass(frozen=True)
class ExchangeTime:
    """Seconds, and what the links waited for."""

    memory: float
    links: float
    busiest: str

    @property
    def total(self) -> float:
        return self.memory + self.links


def exchange_time(
    machine: "Machine", traffic: Traffic, file: MachineFile | None = None, measured: Sequence[float] = ()
) -> ExchangeTime:
    """The time of one exchange; without a file only the lines between pairs are known, by their measured rates (GB/s,
    devices x devices) where there are some."""
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
    """The line between two devices, all that is known of a machine that was found."""
    count = round(len(measured) ** 0.5)
    rate = measured[source * count + target] if measured else machine.link(source, target)["gb_per_s"]
    yield f"device {source} to device {target}", rate


def _links(file: MachineFile, source: int, target: int) -> Iterable[tuple[str, float]]:
    """What a byte from one device to another passes, each with its rate."""
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
