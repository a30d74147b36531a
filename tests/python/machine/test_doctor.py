"""`slipstream doctor`: its findings here and on simulated worse machines."""

import json
from pathlib import Path

import pytest
import slipstream._core as core
from conftest import Cli
from ranks import run_on
from slipstream.machine import doctor, doctor_host
from slipstream.machine.doctor import Said
from slipstream.machine.doctor_host import FINE, MEND, NOTE, Finding


def findings(cli: Cli, *words: str) -> dict[str, dict]:
    """Findings of `slipstream doctor`, by check. Also compares the exit code with them."""
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


MAPPED_ON_TWO = """
import sys
import slipstream._core as module
for indices in ([0], [0, 1], [0, 1, 2][: 1 + 2 * module.rank()], [0, -1]):
    sys.stdout.write(f"{module.map_neighbour('host', indices)!r}\\n")
"""


def test_every_device_of_a_rank_maps_memory_of_the_next(tmp_path: Path) -> None:
    path = tmp_path / "mapped.py"
    path.write_text(MAPPED_ON_TWO)
    result = run_on(2, path)
    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    assert said.count("''") == 6 and len(said) == 8, said
    assert all("negative device" in line for line in said if line != "''")


@pytest.mark.skipif(core.build_info()["cuda"], reason="asks a build without CUDA")
def test_libraries_are_what_the_engine_can_use(cli: Cli) -> None:
    found = findings(cli)
    for name in ("NCCL", "NVSHMEM"):
        assert found[name]["status"] == NOTE and found[name]["found"].startswith(f"this build has no {name}")


def test_a_library_that_is_loaded_is_shown_by_its_file(tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    maps.write_text("7f00-7f10 r-xp 00000000 08:01 42 /lib/libc.so.6\n7f20-7f30 r-xp 0 08:01 43 /opt/libnccl.so.2.28\n")
    assert doctor_host.loaded_file("libnccl.so", maps) == "/opt/libnccl.so.2.28"
    assert doctor_host.loaded_file("libnvshmem_host.so", maps) == "libnvshmem_host.so"
    nccl, nvshmem = doctor.libraries(
        [
            {"name": "nccl", "library": "libnccl.so", "library_missing": ""},
            {"name": "staged", "library": None, "library_missing": ""},
            {"name": "nvshmem", "library": "libnvshmem_host.so", "library_missing": "no library could be loaded"},
        ]
    )
    assert (nccl.check, nccl.status) == ("NCCL", FINE)
    assert (nvshmem.found, nvshmem.status) == ("no library could be loaded", NOTE)
    assert "SLIPSTREAM_NVSHMEM_FILE" in nvshmem.remedy


@pytest.mark.parametrize(
    ("says", "backend", "problem", "status"),
    [
        (True, "cuda", "", FINE),
        (True, "cuda", "the MPI library crashed", MEND),
        (None, "cuda", "it does not say", NOTE),
        (False, "cuda", "it says no", NOTE),
        (True, "host", "", NOTE),
        (None, "host", "", NOTE),
    ],
)
def test_gpu_aware_mpi_is_believed_after_a_proof(says: bool | None, backend: str, problem: str, status: str) -> None:
    finding = doctor.gpu_mpi(says, [{"backend": backend}], problem)
    assert finding.status == status and (finding.remedy or status == FINE)
    assert problem in finding.found


def test_table_holds_no_markup(cli: Cli) -> None:
    shown = cli("doctor").stdout
    assert any(line.split()[:2] == ["fine", "MPI"] for line in shown.splitlines())
    assert "[/]" not in shown and "[green]" not in shown and "\\[" not in shown


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


def test_a_check_that_fails_is_a_finding() -> None:
    def broken() -> list[Finding]:
        raise OSError("no such thing")

    (finding,) = doctor.attempt(broken)
    assert (finding.check, finding.status) == ("broken", MEND) and "no such thing" in finding.found
