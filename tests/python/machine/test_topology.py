"""`slipstream topo` shows equal nodes once, for any number of them."""

from pathlib import Path

import pytest
from conftest import ROOT, Cli, words
from slipstream.machine import discovery, topology
from test_machine_file import TWO_BOXES, links_of, read

FRONTIER = ROOT / "machines" / "frontier.toml"


def copy_with_nodes(source: Path, folder: Path, nodes: int) -> Path:
    path = folder / "machine.toml"
    path.write_text(source.read_text().replace("nodes = 2\n", f"nodes = {nodes}\n"))
    return path


def test_thousands_of_devices_fit_on_a_page(cli: Cli, tmp_path: Path) -> None:
    result = cli("topo", "--machine", str(copy_with_nodes(FRONTIER, tmp_path, 400)))
    assert result.returncode == 0, result.stderr
    said = words(result.stdout)
    assert "frontier: 400 nodes, 3200 ranks, 3200 devices" in said
    assert "nodes 0-399, each" in said
    assert f"nodes 0-399 nodes 0-399 network 12.5 {3200 * 3192}" in said
    assert len(result.stdout.splitlines()) < 40


def test_one_node_stands_for_all_with_its_own_links(cli: Cli) -> None:
    shown = words(cli("topo", "--machine", str(FRONTIER)).stdout)
    assert "0 . nvlink 200* nvlink 50* nvlink 50* nvlink 50* nvlink 50* nvlink 100* nvlink 50* 1" in shown
    assert "8 AMD" not in shown


def test_all_devices_are_shown_on_demand(cli: Cli) -> None:
    shown = words(cli("topo", "--all", "--machine", str(FRONTIER)).stdout)
    assert "from \\ to" in shown
    assert "15 AMD MI250X GCD 1 15 64000" in shown


def test_a_single_node_is_shown_whole(cli: Cli) -> None:
    machine = str(ROOT / "machines" / "h200x4.toml")
    assert cli("topo", "--machine", machine).stdout == cli("topo", "--all", "--machine", machine).stdout


class Mixed:
    """A machine of three nodes with two devices each; the last node has another link."""

    nodes, ranks, name = 3, 3, "mixed"
    kinds = ("same", "nvlink", "numa", "network")

    def devices(self) -> list[dict[str, object]]:
        return [
            {"node": d // 2, "rank": d // 2, "name": "V100", "memory": 16e9, "memory_gb_per_s": 900.0} for d in range(6)
        ]

    def link_classes(self) -> dict[str, object]:
        return {
            "links": [{"kind": kind, "gb_per_s": 1.0, "peer": False} for kind in self.kinds],
            "within": [[[0, 1], [1, 0]], [[0, 2], [2, 0]]],
            "kind": [0, 0, 1],
            "between": [[3]],
            "group": [0] * 6,
        }


def test_nodes_that_differ_are_told_apart() -> None:
    found = topology.Topology(Mixed())
    assert [sort.name for sort in found.sorts] == ["nodes 0-1", "node 2"]
    between = {(a.name, b.name): list(found.between(a, b)) for a in found.sorts for b in found.sorts}
    numbers = {pair: [(link["kind"], number) for link, number in links] for pair, links in between.items()}
    assert numbers == {
        ("nodes 0-1", "nodes 0-1"): [("network", 8)],
        ("nodes 0-1", "node 2"): [("network", 8)],
        ("node 2", "nodes 0-1"): [("network", 8)],
        ("node 2", "node 2"): [],
    }


def test_links_of_a_described_machine_come_back_as_they_went_in(tmp_path: Path) -> None:
    described = read(tmp_path, TWO_BOXES)
    machine = discovery.describe(described)
    found = topology.Topology(machine)
    links = [[found.links[w] for w in row] for row in found.which()]
    assert links == machine.links() == links_of(described)


@pytest.mark.parametrize(("numbers", "shown"), [([0], "0"), ([0, 1, 2, 3, 8], "0-3,8"), ([1, 3, 4], "1,3-4")])
def test_ranges_are_short(numbers: list[int], shown: str) -> None:
    assert topology.ranges(numbers) == shown
