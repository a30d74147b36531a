"""The network card of a rank: when it is chosen, what the user sees of it, and that the user's own choice stays."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import slipstream._core as module
from slipstream.base import core
from slipstream.case.reader import machine_given
from slipstream.cli import commands, parser
from slipstream.machine import doctor, network
from slipstream.machine.discovery import MachineTable
from slipstream.machine.doctor_host import FINE, NOTE

#: The variables of Open MPI on the third of four ranks, two a node.
LAUNCHED = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
}


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("OMPI_COMM_WORLD", "PMI"))]:
        monkeypatch.delenv(name)
    for name, value in LAUNCHED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(network.VARIABLE, "")
    monkeypatch.delenv(network.VARIABLE)
    monkeypatch.setattr(network, "_bound", False)


def module_with(cards: str, gpu: bool = True) -> tuple[SimpleNamespace, list[tuple]]:
    """Imitates a compiled module that finds the given cards. Also returns the list of ranks that asked it."""
    asked: list[tuple] = []

    def network_cards(backend: str, devices_per_rank: int, place: int, ranks: int) -> str:
        asked.append((backend, devices_per_rank, place, ranks))
        return cards

    found = SimpleNamespace(network_cards=network_cards)
    return SimpleNamespace(available=lambda backend: backend == "cuda" and gpu, Machine=found), asked


def machine_of(nodes: int) -> SimpleNamespace:
    return SimpleNamespace(nodes=nodes)


def test_a_rank_takes_the_nearest_card_and_says_so() -> None:
    found, asked = module_with("mlx5_0:1,mlx5_1:1")
    network.bind(MachineTable(devices_per_rank=3), found)
    assert asked == [("cuda", 3, 0, 2)]
    assert os.environ[network.VARIABLE] == "mlx5_0:1,mlx5_1:1"
    assert network.row(machine_of(2)) == [("network", "mlx5_0:1,mlx5_1:1 for rank 0, nearest its GPUs")]
    assert network.row(machine_of(1)) == []


def test_the_card_that_the_user_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(network.VARIABLE, "mlx5_7:1")
    found, asked = module_with("mlx5_0:1")
    network.bind(MachineTable(), found)
    assert asked == [] and os.environ[network.VARIABLE] == "mlx5_7:1"
    assert network.row(machine_of(2)) == [("network", f"mlx5_7:1 for rank 0, as {network.VARIABLE} was set")]


@pytest.mark.parametrize(
    ("keys", "cards", "gpu", "variables"),
    [
        pytest.param({"bind": False}, "mlx5_0:1", True, {}, id="turned off"),
        pytest.param({"backend": "host"}, "mlx5_0:1", True, {}, id="on the host"),
        pytest.param({}, "mlx5_0:1", False, {}, id="no GPU"),
        pytest.param({}, "", True, {}, id="no card"),
        pytest.param({}, "eth0", True, {}, id="Ethernet"),
        pytest.param({}, "mlx5_0:1", True, {"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, id="one node"),
        pytest.param({}, "mlx5_0:1", True, {"OMPI_COMM_WORLD_LOCAL_RANK": ""}, id="place not told"),
    ],
)
def test_nothing_is_set_where_no_card_is_to_be_chosen(
    keys: dict, cards: str, gpu: bool, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    network.bind(MachineTable(**keys), module_with(cards, gpu)[0])
    assert network.VARIABLE not in os.environ
    assert network.row(machine_of(2)) == []


def test_a_machine_without_gpus_has_no_cards_for_them() -> None:
    assert module.Machine.network_cards("host", 0, 0, 1) == ""


@pytest.mark.parametrize(
    ("nearest", "given", "status", "said"),
    [
        ("mlx5_0:1", None, FINE, "mlx5_0:1"),
        ("mlx5_0:1", "mlx5_7:1", FINE, "mlx5_7:1"),
        ("eth0", None, NOTE, "eth0"),
        ("", None, NOTE, "none"),
    ],
)
def test_doctor_names_the_card(nearest: str, given: str | None, status: str, said: str) -> None:
    finding = doctor.network_card(nearest, given)
    assert finding.status == status and said in finding.found


CASE = """
[case]
name = "a"
[machine]
devices_per_rank = 2
[variants.apart]
machine.bind = false
"""


def test_the_table_of_the_machine_is_read_before_mpi_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.toml"
    path.write_text(CASE)
    table = machine_given(path, ["machine.backend='host'"], "apart")
    assert table is not None
    assert (table.devices_per_rank, table.bind, table.backend) == (2, False, "host")
    assert machine_given(path, ["machine.bind=7"], None) is None
    asked: list = []
    monkeypatch.setattr(core, "before_mpi", asked.append)
    commands.bind_before_mpi(parser.parse(["run", str(path)]))
    commands.bind_before_mpi(parser.parse(["bench", "exchange", "--devices", "2", "--backend", "host"]))
    commands.bind_before_mpi(parser.parse(["topo"]))
    assert [act.args[0].devices_per_rank for act in asked] == [2, 2]
    assert [act.args[0].backend for act in asked] == ["auto", "host"]
