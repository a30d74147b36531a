"""Nodes, ranks, devices and links of a machine as tables. Equal nodes are shown once, because large machines have
thousands of devices but few kinds of nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.text import Text

from slipstream.base.terminal import ROWS, count, megabytes, rate, table
from slipstream.machine.told import Device, Link

if TYPE_CHECKING:
    from slipstream._core import Machine

_UNIT = "GB/s each way (* loads and stores reach)"


@dataclass(frozen=True)
class Sort:
    """A group of nodes that have the same devices in the same order, joined by the same links."""

    nodes: list[int]
    devices: list[list[int]]  #: for each of these equal nodes, the numbers of its devices

    @property
    def name(self) -> str:
        return f"{'nodes' if len(self.nodes) > 1 else 'node'} {ranges(self.nodes)}"


class Topology:
    """Devices and links of a machine, grouped by equal nodes for printed tables."""

    def __init__(self, machine: "Machine") -> None:
        self.devices: list[Device] = machine.devices()
        classes = machine.link_classes()
        self.links: list[Link] = classes["links"]
        #: Tables with the index in `links` of the link between two devices. `_within` has one table for each kind of
        #: node; `_between` is for devices of different nodes, which are grouped by equal links.
        self._within = [np.array(table) for table in classes["within"]]
        self._between = np.array(classes["between"])
        self._kinds: list[int] = classes["kind"]
        self._groups = np.array(classes["group"])
        self.sorts = self._sorts()

    def _sorts(self) -> list[Sort]:
        of_node: dict[int, list[int]] = {}
        for d, device in enumerate(self.devices):
            of_node.setdefault(device["node"], []).append(d)
        found: dict[Any, Sort] = {}
        for node, members in of_node.items():
            key = (tuple(self.rows_of_node(members)), self.within(members).tobytes())
            sort = found.setdefault(key, Sort([], []))
            sort.nodes.append(node)
            sort.devices.append(members)
        return list(found.values())

    def rows_of_node(self, members: Sequence[int]) -> list[tuple[Any, ...]]:
        """Rows of the printed table of devices for one node: number, name, rank and memory of each device.
        Numbers of devices and ranks are counted from the first ones on the node."""
        first = min(self.devices[d]["rank"] for d in members)
        return [
            (d - members[0], self.devices[d]["name"], self.devices[d]["rank"] - first, *_memory(self.devices[d]))
            for d in members
        ]

    def within(self, members: Sequence[int]) -> np.ndarray:
        """Table with the index of the link between any two devices of a node."""
        return self._within[self._kinds[self.devices[members[0]]["node"]]]

    def which(self) -> np.ndarray:
        """Table with the index of the link between any two devices of the machine."""
        found: np.ndarray = self._between[np.ix_(self._groups, self._groups)]
        for sort in self.sorts:
            for members in sort.devices:
                found[np.ix_(members, members)] = self.within(members)
        return found

    def link_table(self, which: np.ndarray) -> Group:
        rows = [
            [str(a), *("." if a == b else _show(self.links[w]) for b, w in enumerate(row))]
            for a, row in enumerate(which)
        ]
        return table(f"links, {_UNIT}", ["from \\ to", *map(str, range(len(which)))], rows)

    def between_table(self) -> Group:
        """Table of links from devices of one node to those of others, with the number of pairs that each joins."""
        rows = [
            (here.name, there.name, _show(link), pairs)
            for here, there in product(self.sorts, repeat=2)
            for link, pairs in self.between(here, there)
        ]
        more = f" (and {len(rows) - ROWS} more)" if len(rows) > ROWS else ""
        return table(f"links between nodes, {_UNIT}{more}", ["from", "to", "link", "of them"], rows[:ROWS], left=3)

    def between(self, here: Sort, there: Sort) -> Iterator[tuple[Link, int]]:
        counts = self._pairs(np.concatenate(here.devices), np.concatenate(there.devices))
        if here is there:
            for members in here.devices:
                counts -= self._pairs(np.array(members), np.array(members))
        for link, number in zip(self.links, counts, strict=True):
            if number:
                yield link, int(number)

    def _pairs(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Number of pairs of devices that each link joins, as if all devices were on different nodes."""
        groups = len(self._between)
        of_groups = np.outer(
            np.bincount(self._groups[some], minlength=groups), np.bincount(self._groups[others], minlength=groups)
        )
        counts = np.zeros(len(self.links), dtype=np.int64)
        np.add.at(counts, self._between, of_groups)
        return counts

    def summary(self) -> Iterator[Link]:
        """Distinct links between different devices."""
        joins = np.zeros(len(self.links), dtype=bool)
        for table_of_node in self._within:
            joins[table_of_node[~np.eye(len(table_of_node), dtype=bool)]] = True
        for here, there in product(self.sorts, repeat=2):
            for link, _ in self.between(here, there):
                joins[self.links.index(link)] = True
        for link, is_used in zip(self.links, joins, strict=True):
            if is_used:
                yield link


def tables(machine: "Machine", everything: bool = False) -> Iterator[Group | Text]:
    """Tables of devices, links and bindings of ranks: for each kind of node once, or for all devices one by one."""
    topology = Topology(machine)
    if everything or machine.nodes == 1:
        yield _all_devices(machine)
        yield topology.link_table(topology.which())
    else:
        yield _title(machine)
        for sort in topology.sorts[:ROWS]:
            yield _one_node(topology, sort)
            yield topology.link_table(topology.within(sort.devices[0]))
        if len(topology.sorts) > ROWS:
            yield Text(f"\nand {len(topology.sorts) - ROWS} more sorts of nodes: --all shows them")
        yield topology.between_table()
    if machine.bindings():
        yield bindings(machine, everything)


def devices(machine: "Machine") -> Iterator[Group | Text]:
    """Tables of the devices, without tables of links. Nodes with the same devices share one table."""
    if machine.nodes == 1:
        yield _all_devices(machine)
        return
    topology = Topology(machine)
    yield _title(machine)
    for sort in topology.sorts[:ROWS]:
        yield _one_node(topology, sort)


def _title(machine: "Machine") -> Text:
    sizes = {"node": machine.nodes, "rank": machine.ranks, "device": len(machine.devices())}
    return Text(f"\n{machine.name}: {', '.join(count(number, noun) for noun, number in sizes.items())}", style="bold")


def _all_devices(machine: "Machine") -> Group:
    rows = [(d, each["name"], each["node"], each["rank"], *_memory(each)) for d, each in enumerate(machine.devices())]
    return table(str(_title(machine)).strip(), ["device", "name", "node", "rank", "memory MB", "GB/s"], rows, left=2)


def _one_node(topology: Topology, sort: Sort) -> Group:
    title = sort.name + (", each" if len(sort.nodes) > 1 else "")
    return table(title, ["device", "name", "rank", "memory MB", "GB/s"], topology.rows_of_node(sort.devices[0]), left=2)


def bindings(machine: "Machine", everything: bool = False) -> Group:
    found = machine.bindings()
    shown = found if everything else found[:ROWS]
    rows = [
        (
            b["rank"],
            b["host"],
            b["cores"],
            "-" if b["numa_node"] < 0 else b["numa_node"],
            b["network_card"] or "-",
            "yes" if b["bound"] else "no",
        )
        for b in shown
    ]
    more = len(found) - len(shown)
    title = f"ranks (and {more} more)" if more else "ranks"
    return table(title, ["rank", "host", "cores", "memory node", "network card", "bound"], rows, left=6)


def ranges(numbers: Sequence[int]) -> str:
    """Text for ascending numbers, such as `0-3,8`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def _memory(device: Device) -> tuple[str, str]:
    return megabytes(device["memory"]), rate(device["memory_gb_per_s"])


def _show(link: Link) -> str:
    return f"{link['kind']} {rate(link['gb_per_s']).removesuffix('.0')}{'*' if link['peer'] else ''}"


def link_summary(machine: "Machine") -> str:
    """Kinds of links between different devices, each with its slowest rate."""
    rates: dict[str, list[float]] = {}
    for link in Topology(machine).summary():
        rates.setdefault(link["kind"], []).append(link["gb_per_s"])
    shown = [f"{kind} {rate(min(r))} GB/s" if min(r) else kind for kind, r in rates.items()]
    return ", ".join(shown) or "none (one device)"
