"""`slipstream doctor`: what it finds here, and what it would say of machines that are worse off."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from slipstream import doctor, doctor_host
from slipstream.doctor import Said
from slipstream.doctor_host import FINE, MEND, NOTE, Finding


def findings(cli: Cli, *words: str) -> dict[str, dict]:
    """By check; the exit code must be what the findings say."""
    result = cli("doctor", "--json", *words)
    said = json.loads(result.stdout)
    assert result.returncode == (1 if said["mend"] else 0), result.stderr
    assert said["mend"] == sum(finding["status"] == MEND for finding in said["findings"])
    return {finding["check"]: finding for finding in said["findings"]}


def test_doctor_examines_everything_that_an_exchange_needs(cli: Cli) -> None:
    found = findings(cli)
    assert {"MPI", "threads of MPI", "GPU-aware MPI", "launcher", "GPUs", "binding", "/dev/shm"} <= set(found)
    assert {"memory files", "locked memory", "copies between processes", "NCCL", "NVSHMEM"} <= set(found)
    assert found["memory of neighbours"]["status"] == NOTE


def test_two_ranks_map_each_others_memory(cli: Cli) -> None:
    found = findings(cli, "-n", "2")
    assert found["memory of neighbours"]["found"] == "mapped and read from the next rank"
    assert found["memory of neighbours"]["ranks"] == [0, 1]
    assert "2 ranks" in found["launcher"]["found"]


def test_table_ends_with_how_much_is_to_mend(cli: Cli) -> None:
    result = cli("doctor", "-n", "2")
    assert "from \\ to" in result.stdout
    assert result.stdout.strip().splitlines()[-1] == "nothing to mend" or result.returncode == 1


def test_json_holds_the_matrix_of_peers(cli: Cli) -> None:
    assert json.loads(cli("doctor", "--json", "-n", "2").stdout)["peers"] == [[True, True], [True, True]]


@pytest.mark.parametrize(("ranks", "status"), [(1, FINE), (10**9, MEND)])
def test_shared_memory_must_hold_all_ranks(tmp_path: Path, ranks: int, status: str) -> None:
    (finding,) = doctor_host.shared_memory(ranks, tmp_path)
    assert finding.status == status


def test_missing_shared_memory_is_to_mend(tmp_path: Path) -> None:
    (finding,) = doctor_host.shared_memory(1, tmp_path / "shm")
    assert finding.status == MEND and finding.remedy


@pytest.mark.parametrize(("fabric", "limit", "status"), [(True, 8, MEND), (False, 8, NOTE), (True, 80, FINE)])
def test_locked_memory_matters_to_infiniband(tmp_path: Path, fabric: bool, limit: int, status: str) -> None:
    if fabric:
        (tmp_path / "mlx5_0").touch()
    (finding,) = doctor_host.locked_memory(limit << 20, tmp_path)
    assert finding.status == status


@pytest.mark.parametrize(("level", "status"), [("0\n", FINE), ("1\n", NOTE), (None, FINE)])
def test_ptrace_scope_costs_a_copy(tmp_path: Path, level: str | None, status: str) -> None:
    path = tmp_path / "ptrace_scope"
    if level is not None:
        path.write_text(level)
    assert doctor_host.single_copy(path)[0].status == status


@pytest.mark.parametrize(("mine", "status"), [({2, 3}, FINE), ({8, 9}, NOTE)])
def test_cores_far_from_the_gpu_are_noted(tmp_path: Path, mine: set[int], status: str) -> None:
    folder = tmp_path / "bus/pci/devices/0000:4a:00.0"
    folder.mkdir(parents=True)
    (folder / "local_cpulist").write_text("0-3,6\n")
    (finding,) = doctor_host.binding(["00000000:4A:00.0"], tmp_path, mine)
    assert finding.status == status


def test_lists_of_cores_are_read() -> None:
    assert doctor_host.cores_of("0-2,7\n") == {0, 1, 2, 7}


def test_gpu_files_are_counted_without_the_control_files(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia11", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert doctor_host.gpu_files(tmp_path) == 2


def test_devices_without_peer_access_are_named() -> None:
    class Machine:
        def devices(self) -> list[dict]:
            return [{"node": 0}, {"node": 0}, {"node": 1}]

        def links(self) -> list[list[dict]]:
            return [[{"peer": a == b or (a, b) == (0, 1)} for b in range(3)] for a in range(3)]

    (finding,) = doctor.peers(Machine())
    assert finding.status == MEND and "from device 1 to 0" in finding.found


def test_equal_findings_of_several_ranks_become_one() -> None:
    a, b, c = (Finding(name, FINE, "") for name in "abc")
    other = Finding("b", MEND, "")
    assert doctor.merged([[a, b, c], [a, other, c]]) == [
        Said(a, [0, 1]),
        Said(b, [0]),
        Said(other, [1]),
        Said(c, [0, 1]),
    ]


def test_ranks_are_shown_as_ranges() -> None:
    assert doctor.ranks_text([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


def test_a_check_that_fails_is_a_finding() -> None:
    def broken() -> list[Finding]:
        raise OSError("no such thing")

    (finding,) = doctor.attempt(broken)
    assert (finding.check, finding.status) == ("broken", MEND) and "no such thing" in finding.found
