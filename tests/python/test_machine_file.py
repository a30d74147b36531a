"""Machine files: machines that are not there."""

from pathlib import Path

import pytest
from conftest import ROOT
from slipstream.errors import CaseError
from slipstream.machine_file import MachineFile, load

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


def test_devices_are_dealt_to_nodes_and_ranks_in_order(tmp_path: Path) -> None:
    devices = read(tmp_path).devices()
    assert [d["node"] for d in devices] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [d["rank"] for d in devices] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [d["index"] for d in devices] == [0, 1] * 4
    assert {d["memory"] for d in devices} == {16_000_000_000}


def test_links_follow_groups_and_nodes(tmp_path: Path) -> None:
    links = read(tmp_path).links_matrix()
    assert [link["kind"] for link in links[1]] == ["nvlink", "same", "numa", "numa"] + ["network"] * 4
    assert [link["kind"] for link in links[6]] == ["network"] * 4 + ["numa", "numa", "same", "nvlink"]
    assert (links[0][0]["gb_per_s"], links[0][1]["gb_per_s"], links[0][7]["gb_per_s"]) == (450, 50, 12.5)
    assert links[0][1]["peer"] and not links[0][2]["peer"]


def test_ranks_left_out_are_one_per_device(tmp_path: Path) -> None:
    devices = read(tmp_path, TWO_BOXES.replace("ranks = 2\n", "")).devices()
    assert [d["rank"] for d in devices] == list(range(8))


def test_missing_link_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"\[links.network\] is missing"):
        read(tmp_path, TWO_BOXES.partition("[links.network]")[0])


def test_ranks_that_do_not_divide_the_devices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="4 devices of a node cannot be dealt to 3 ranks"):
        read(tmp_path, TWO_BOXES.replace("ranks = 2", "ranks = 3"))


def test_unknown_key_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"machine.toml:7: device.memry_gb"):
        read(tmp_path, TWO_BOXES.replace("memory_gb =", "memry_gb ="))


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "machines").glob("*.toml")))
def test_shipped_machine_is_good(name: str) -> None:
    assert load(ROOT / "machines" / name).devices()
