"""Machine files: a machine that is not there, described in a screenful of TOML, for planning and tests.

name = "two boxes"
nodes = 2
ranks = 4                # per node; the devices of a node are dealt to them in order

[device]
name = "V100"
memory_gb = 16
memory_gb_per_s = 900
groups = [2, 2]          # devices of a node, by the group within which they are joined directly

[links.within]           # two devices of one group
kind = "nvlink"
gb_per_s = 50
peer = true

[links.between]          # two groups of one node
kind = "numa"
gb_per_s = 16

[links.network]          # two nodes
kind = "network"
gb_per_s = 12.5
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from slipstream.case import Count, Positive, Table
from slipstream.errors import CaseError
from slipstream.toml_text import find_line

Kind = Literal["nvlink", "pcie_switch", "host_bridge", "numa", "system", "memory", "network"]


class DeviceTable(Table):
    """All devices are alike."""

    name: str
    memory_gb: Positive = Field(description="10^9 bytes")
    memory_gb_per_s: Positive = Field(description="read + write")
    groups: Annotated[list[Count], Field(min_length=1)] = Field([1], description="devices of a node, by group")


class LinkTable(Table):
    """Rate each way."""

    kind: Kind
    gb_per_s: Positive
    peer: bool = False


class LinksTable(Table):
    """Links by how far apart two devices are; the nearer stands in for one that is left out."""

    within: LinkTable | None = None
    between: LinkTable | None = None
    network: LinkTable | None = None


class MachineFile(Table):
    """A uniform machine: alike nodes of alike devices."""

    name: str
    nodes: Count = 1
    ranks: Count | None = Field(None, description="per node; left out: one per device")
    device: DeviceTable
    links: LinksTable = LinksTable()

    @property
    def devices_per_node(self) -> int:
        return sum(self.device.groups)

    def devices(self) -> list[dict[str, Any]]:
        """One entry a device, by node then rank."""
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

    def links_matrix(self) -> list[list[dict[str, Any]]]:
        """Row a, column b: the link from device a to device b. A device reaches itself at half its memory's rate."""
        total = self.nodes * self.devices_per_node
        return [[self._link(a, b) for b in range(total)] for a in range(total)]

    def _group(self, device: int) -> int:
        local, group = device % self.devices_per_node, 0
        while local >= self.device.groups[group]:
            local -= self.device.groups[group]
            group += 1
        return group

    def _link(self, a: int, b: int) -> dict[str, Any]:
        if a == b:
            return {"kind": "same", "gb_per_s": self.device.memory_gb_per_s / 2, "peer": True}
        if a // self.devices_per_node != b // self.devices_per_node:
            link = self.links.network
        else:
            link = self.links.within if self._group(a) == self._group(b) else self.links.between
        assert link is not None
        return link.model_dump()

    def faults(self) -> list[str]:
        """What the shapes need and the file does not say."""
        found = []
        if self.ranks and self.devices_per_node % self.ranks:
            found.append(f"{self.devices_per_node} devices of a node cannot be dealt to {self.ranks} ranks evenly")
        if max(self.device.groups) > 1 and self.links.within is None:
            found.append("[links.within] is missing: a group has more than one device")
        if len(self.device.groups) > 1 and self.links.between is None:
            found.append("[links.between] is missing: a node has more than one group")
        if self.nodes > 1 and self.links.network is None:
            found.append("[links.network] is missing: there is more than one node")
        return found


def load(path: str | Path) -> MachineFile:
    """Reads and checks a machine file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        machine = MachineFile.model_validate(tomllib.loads(text))
    except FileNotFoundError:
        raise CaseError(f"{path}: no such machine file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CaseError(f"{path}: {error}") from None
    except ValidationError as error:
        faults = []
        for fault in error.errors(include_url=False):
            line = find_line(text, tuple(fault["loc"]))
            where = f"{path}:{line}" if line else str(path)
            faults.append(f"{where}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}")
        raise CaseError("\n  ".join(faults)) from None
    if faults := machine.faults():
        raise CaseError("\n  ".join(f"{path}: {fault}" for fault in faults))
    return machine
