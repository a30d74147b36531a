"""Machine files describe a machine in a screenful of TOML, for planning and tests without the hardware.

name = "two boxes"
nodes = 2
ranks = 4                # per node; the devices of a node are dealt to them in order

[device]
name = "V100"
memory_gb = 16
memory_gb_per_s = 900
groups = [2, 2]          # devices of a node, by the group within which they are joined directly

[host]                   # of a node
memory_gb = 512
gb_per_s = 50            # a device and its host, each way

[links.within]           # two devices of one group
kind = "nvlink"
gb_per_s = 50
peer = true

[links.between]          # two groups of one node
kind = "numa"
gb_per_s = 16            # a pair alone
per_group_gb_per_s = 20  # all devices of a group at once
through_host = true      # on a device's link to its host

[links.network]          # two nodes
kind = "network"
gb_per_s = 12.5
per_node_gb_per_s = 25   # injection: all devices of a node at once

[[links.pairs]]          # two devices of a node, by their number there, that are joined otherwise
devices = [0, 1]
kind = "nvlink"
gb_per_s = 100
peer = true
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from slipstream.base import toml_text
from slipstream.base.errors import CaseError, ErrorCode, Fault
from slipstream.base.faults import explain
from slipstream.base.keys import Count, Positive, Table, keys_at
from slipstream.machine.told import Device, Link

Kind = Literal["nvlink", "pcie_switch", "host_bridge", "numa", "system", "memory", "network"]


class DeviceTable(Table):
    """Devices of a described machine, which are all equal."""

    name: str
    memory_gb: Positive = Field(description="memory in 10^9 bytes")
    memory_gb_per_s: Positive = Field(description="bytes read and written per second")
    groups: Annotated[list[Count], Field(min_length=1)] = Field([1], description="devices of a node, by group")


class HostTable(Table):
    """The host of a node: its memory and its links to devices."""

    memory_gb: Positive | None = None
    gb_per_s: Positive | None = Field(None, description="rate between a device and its host in each direction")


class LinkTable(Table):
    """Rates of a link in each direction: of a single pair of devices, and of what many concurrent pairs share."""

    kind: Kind
    gb_per_s: Positive
    peer: bool = False
    per_device_gb_per_s: Positive | None = Field(None, description="limit for all links of this kind of a device")
    per_group_gb_per_s: Positive | None = Field(None, description="limit for all devices of a group")
    per_node_gb_per_s: Positive | None = Field(None, description="limit for all devices of a node")
    through_host: bool = Field(False, description="the path uses the device's link to its host")


class PairTable(Table):
    """Two devices of a node whose link differs from the usual one within or between groups of joined devices."""

    devices: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
    kind: Kind
    gb_per_s: Positive
    peer: bool = False


class LinksTable(Table):
    """Links of a described machine, by the distance between two devices."""

    within: LinkTable | None = None
    between: LinkTable | None = None
    network: LinkTable | None = None
    pairs: list[PairTable] = []


class MachineFile(Table):
    """A uniform machine: equal nodes of equal devices."""

    name: str
    nodes: Count = 1
    ranks: Count | None = Field(None, description="ranks per node; left out: one per device")
    device: DeviceTable
    host: HostTable = HostTable()
    links: LinksTable = LinksTable()

    @property
    def devices_per_node(self) -> int:
        return sum(self.device.groups)

    def devices(self) -> list[Device]:
        """Devices of all nodes, by node, then rank."""
        per_node = self.devices_per_node
        per_rank = per_node // (self.ranks or per_node)
        return [
            {
                "node": d // per_node,
                "rank": d // per_rank,
                "index": d % per_rank,
                "name": self.device.name,
                "memory": int(self.device.memory_gb * 1e9),
                "memory_gb_per_s": self.device.memory_gb_per_s,
            }
            for d in range(self.nodes * per_node)
        ]

    def group(self, device: int) -> int:
        """Index, within its node, of the group of closely linked devices to which a device belongs."""
        local, group = device % self.devices_per_node, 0
        while local >= self.device.groups[group]:
            local -= self.device.groups[group]
            group += 1
        return group

    def node(self, device: int) -> int:
        return device // self.devices_per_node

    def sort(self, a: int, b: int) -> str:
        """Kind of the link between two devices: "pair", "within", "between" or "network"."""
        if self.node(a) != self.node(b):
            return "network"
        if self._pair(a, b) is not None:
            return "pair"
        return "within" if self.group(a) == self.group(b) else "between"

    def link(self, a: int, b: int) -> Link:
        """The link from device a to device b: a pair's own rate, or its share of the rate for all devices if that is
        less. The link of a device to itself has half the rate of its memory."""
        if a == b:
            return {"kind": "same", "gb_per_s": self.device.memory_gb_per_s / 2, "peer": True}
        table = self.table(a, b)
        return {"kind": table.kind, "gb_per_s": self._share(table, a), "peer": table.peer}

    def table(self, a: int, b: int) -> "LinkTable | PairTable":
        """The table of the file that describes the link of two different devices."""
        sort = self.sort(a, b)
        table = self._pair(a, b) if sort == "pair" else getattr(self.links, sort)
        assert table is not None
        return table

    def link_classes(self) -> tuple[list[Link], list[list[int]], list[list[int]]]:
        """The distinct links, and tables of their indices: for devices a and b of one node, and of different nodes. All
        nodes have the same table, because they are equal."""
        per_node = self.devices_per_node
        links: list[Link] = []

        def number(link: Link) -> int:
            if link not in links:
                links.append(link)
            return links.index(link)

        def joined(first: int) -> list[list[int]]:
            return [[number(self.link(a, first + b)) for b in range(per_node)] for a in range(per_node)]

        within = joined(0)
        if self.nodes == 1:  # with a single node, no link leads to another node
            return links, within, [[number({"kind": "network", "gb_per_s": 1.0, "peer": False})]]
        between = joined(per_node)
        alike = len({link for row in between for link in row}) == 1
        return links, within, [between[0][:1]] if alike else between

    def _pair(self, a: int, b: int) -> PairTable | None:
        local = {a % self.devices_per_node, b % self.devices_per_node}
        return next((pair for pair in self.links.pairs if set(pair.devices) == local), None)

    def _share(self, table: LinkTable | PairTable, device: int) -> float:
        if isinstance(table, PairTable):
            return table.gb_per_s
        rates = [table.gb_per_s]
        if table.per_device_gb_per_s:
            rates.append(table.per_device_gb_per_s)
        if table.per_group_gb_per_s:
            rates.append(table.per_group_gb_per_s / self.device.groups[self.group(device)])
        if table.per_node_gb_per_s:
            rates.append(table.per_node_gb_per_s / self.devices_per_node)
        return min(rates)

    def faults(self) -> list[Fault]:
        """Faults of links that the machine needs and the file lacks, or that contradict each other."""
        return [*self._missing(), *self._wrong_pairs()]

    def _missing(self) -> Iterator[Fault]:
        if self.ranks and self.devices_per_node % self.ranks:
            said = f"{self.devices_per_node} devices of a node cannot be dealt to {self.ranks} ranks evenly"
            yield Fault(said, ErrorCode.MISMATCH, key="ranks", given=self.ranks, devices=self.devices_per_node)
        for key, why, needed in (
            ("within", "a group has more than one device", max(self.device.groups) > 1),
            ("between", "a node has more than one group", len(self.device.groups) > 1),
            ("network", "there is more than one node", self.nodes > 1),
        ):
            if needed and getattr(self.links, key) is None:
                yield Fault(f"[links.{key}] is missing: {why}", ErrorCode.NOT_FOUND, key=f"links.{key}")
        tables = (self.links.within, self.links.between, self.links.network)
        if self.host.gb_per_s is None and any(table and table.through_host for table in tables):
            said = "host.gb_per_s is missing: a link goes through the host"
            yield Fault(said, ErrorCode.NOT_FOUND, key="host.gb_per_s")

    def _wrong_pairs(self) -> Iterator[Fault]:
        seen = set()
        for pair in self.links.pairs:
            key = frozenset(pair.devices)
            if len(key) < 2 or max(key) >= self.devices_per_node:
                last = self.devices_per_node - 1
                said = f"links.pairs: {pair.devices} are no two different devices of a node, which are 0 to {last}"
                yield Fault(said, key="links.pairs", given=pair.devices, allowed=f"0 to {last}")
            if key in seen:
                said = f"links.pairs: {pair.devices} are named twice"
                yield Fault(said, key="links.pairs", given=pair.devices, twice="yes")
            seen.add(key)


def load(path: str | Path) -> MachineFile:
    """Reads and checks a machine file."""
    path = Path(path)
    text, data = toml_text.load(path, "machine")
    try:
        machine = MachineFile.model_validate(data)
    except ValidationError as error:
        faults = []
        for fault in error.errors(include_url=False):
            key = tuple(fault["loc"])
            line = toml_text.find_line(text, key)
            where = f"{path}:{line}" if line else str(path)
            said = explain(fault, key, keys_at(MachineFile, key[:-1]), [], {}, "machine")
            faults.append(Fault(said.reworded(f"{where}: {said}"), file=path, line=line))
        raise CaseError.all_of(faults) from None
    if found := machine.faults():
        raise CaseError.all_of(fault.at(file=path) for fault in found)
    return machine
