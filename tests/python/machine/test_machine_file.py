"""Machine files, which describe machines that are not present."""

import re
from pathlib import Path

import pytest
from conftest import ROOT
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.machine.machine_file import MachineFile, load
from slipstream.machine.told import Link

TWO_BOXES = """\
name = "two boxes"
nodes = 2
ranks = 2

[device]
name = "V100"
memory_gb = 16
memory_gb_per_s = 900
groups = [2, 2]

[links.within]
kind = "nvlink"
gb_per_s = 50
peer = true

[links.between]
kind = "numa"
gb_per_s = 16

[links.network]
kind = "network"
gb_per_s = 12.5
"""


def read(tmp_path: Path, text: str = TWO_BOXES) -> MachineFile:
    path = tmp_path / "machine.toml"
    path.write_text(text)
    return load(path)


def links_of(machine: MachineFile) -> list[list[Link]]:
    """Matrix of links: row a, column b is the link from device a to device b."""
    devices = range(len(machine.devices()))
    return [[machine.link(a, b) for b in devices] for a in devices]


def test_machine_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff" + TWO_BOXES) == read(tmp_path)


def test_devices_are_dealt_to_nodes_and_ranks_in_order(tmp_path: Path) -> None:
    devices = read(tmp_path).devices()
    assert [d["node"] for d in devices] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [d["rank"] for d in devices] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [d["index"] for d in devices] == [0, 1] * 4
    assert {d["memory"] for d in devices} == {16_000_000_000}


def test_links_follow_groups_and_nodes(tmp_path: Path) -> None:
    links = links_of(read(tmp_path))
    assert [link["kind"] for link in links[1]] == ["nvlink", "same", "numa", "numa"] + ["network"] * 4
    assert [link["kind"] for link in links[6]] == ["network"] * 4 + ["numa", "numa", "same", "nvlink"]
    assert (links[0][0]["gb_per_s"], links[0][1]["gb_per_s"], links[0][7]["gb_per_s"]) == (450, 50, 12.5)
    assert links[0][1]["peer"] and not links[0][2]["peer"]


def test_ranks_left_out_are_one_per_device(tmp_path: Path) -> None:
    devices = read(tmp_path, TWO_BOXES.replace("ranks = 2\n", "")).devices()
    assert [d["rank"] for d in devices] == list(range(8))


def test_missing_link_is_refused(tmp_path: Path) -> None:
    with raises(CaseError, "not_found", file=tmp_path / "machine.toml", key="links.network"):
        read(tmp_path, TWO_BOXES.partition("[links.network]")[0])


def test_ranks_that_do_not_divide_the_devices_are_refused(tmp_path: Path) -> None:
    with raises(CaseError, "mismatch", key="ranks", given=3, devices=4):
        read(tmp_path, TWO_BOXES.replace("ranks = 2", "ranks = 3"))


@pytest.mark.parametrize(
    ("before", "after", "code", "facts"),
    [
        ("memory_gb =", "memry_gb =", "not_found", {"line": 7, "key": "device.memry_gb", "nearest": "memory_gb"}),
        ("memory_gb =", "memry_gb =", "not_found", {"key": "device.memory_gb"}),
        ("nodes = 2", "nodes = 0", "invalid_argument", {"key": "nodes", "given": 0, "allowed": ">= 1"}),
        ("nodes = 2", "nodes = ", "bad_file", {"line": 2}),
    ],
)
def test_fault_of_a_file_is_told_with_its_place(
    tmp_path: Path, before: str, after: str, code: str, facts: dict[str, object]
) -> None:
    with raises(CaseError, code, **facts, file=tmp_path / "machine.toml"):
        read(tmp_path, TWO_BOXES.replace(before, after))


SHIPPED = sorted(path.name for path in (ROOT / "machines").glob("*.toml"))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_machine_is_good(name: str) -> None:
    assert load(ROOT / "machines" / name).devices()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_size_and_rate_of_a_shipped_machine_says_where_it_is_from(name: str) -> None:
    text = (ROOT / "machines" / name).read_text()
    figures = [line for line in text.splitlines() if re.match(r"\w*(memory_gb|gb_per_s) *=", line)]
    assert len(figures) > 3
    assert [line for line in figures if "#" not in line] == []
    cited = set(re.findall(r"\[([A-Z])\]", text.partition("name =")[2]))
    listed = set(re.findall(r"\[([A-Z])\]", text.partition("name =")[0]))
    assert cited == listed


SHARED = """\
name = "shared"
nodes = 3

[device]
name = "V100"
memory_gb = 16
memory_gb_per_s = 900
groups = [3, 3]

[host]
memory_gb = 512
gb_per_s = 50

[links.within]
kind = "nvlink"
gb_per_s = 50
peer = true

[links.between]
kind = "numa"
gb_per_s = 50
per_group_gb_per_s = 64
through_host = true

[links.network]
kind = "network"
gb_per_s = 23
per_node_gb_per_s = 23
through_host = true

[[links.pairs]]
devices = [1, 5]
kind = "pcie_switch"
gb_per_s = 13
"""


def test_what_a_group_or_a_node_shares_is_dealt_to_its_devices(tmp_path: Path) -> None:
    links = links_of(read(tmp_path, SHARED))
    assert links[0][1]["gb_per_s"] == 50
    assert links[0][3]["gb_per_s"] == pytest.approx(64 / 3)
    assert links[0][6]["gb_per_s"] == pytest.approx(23 / 6)


def test_a_pair_may_be_joined_otherwise_on_every_node(tmp_path: Path) -> None:
    links = links_of(read(tmp_path, SHARED))
    assert [links[a][b]["kind"] for a, b in ((1, 5), (5, 1), (13, 17), (1, 11))] == ["pcie_switch"] * 3 + ["network"]


@pytest.mark.parametrize(
    ("old", "new", "code", "facts"),
    [
        ("gb_per_s = 50\n\n[links.within]", "\n[links.within]", "not_found", {"key": "host.gb_per_s"}),
        ("devices = [1, 5]", "devices = [1, 6]", "invalid_argument", {"given": "[1, 6]", "allowed": "0 to 5"}),
        ("devices = [1, 5]", "devices = [2, 2]", "invalid_argument", {"given": "[2, 2]", "allowed": "0 to 5"}),
        ("devices = [1, 5]", "devices = [1]", "invalid_argument", {"key": "links.pairs[0].devices", "given": "[1]"}),
        (
            "per_node_gb_per_s = 23",
            "per_node_gb_per_s = -1",
            "invalid_argument",
            {"key": "links.network.per_node_gb_per_s", "given": -1, "allowed": "> 0.0"},
        ),
    ],
)
def test_wrong_shared_links_are_refused(
    tmp_path: Path, old: str, new: str, code: str, facts: dict[str, object]
) -> None:
    assert old in SHARED
    with raises(CaseError, code, **facts):
        read(tmp_path, SHARED.replace(old, new))


def test_a_pair_named_twice_is_refused(tmp_path: Path) -> None:
    again = SHARED + SHARED[SHARED.index("[[links.pairs]]") :].replace("[1, 5]", "[5, 1]")
    with raises(CaseError, "invalid_argument", key="links.pairs", given="[5, 1]", twice="yes"):
        read(tmp_path, again)


@pytest.mark.parametrize("name", ["summit", "frontier", "alvis", "dgx-h200"])
def test_every_figure_of_a_known_machine_has_a_source(name: str) -> None:
    """Each rate and memory size names its source in a comment, or tells what it is derived from."""
    lines = (ROOT / "machines" / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    figures = [line for line in lines if "gb" in line.split("=")[0] and "=" in line]
    assert figures and [line for line in figures if "#" not in line] == []
