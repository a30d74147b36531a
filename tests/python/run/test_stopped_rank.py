"""A rank is stopped or killed during an exchange: the other names it and ends."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import slipstream._core as core
from conftest import ROOT
from ranks import skip_where_missing

WAIT_LIMIT = 2

# The survivor exits without MPI_Finalize, which would wait for the other rank. On GPUs check() or the next call reports
# the device's error; check() repeats it.
SCRIPT = f"""
import os, signal, sys, numpy as np, slipstream as slip
backend, route, how = sys.argv[1:]
grid = slip.Grid((8, 6, 5), periodic=(True,) * 3, backend=backend, devices_per_rank=1)
arrays = [np.zeros(grid.array_shape(1, block=block), np.float32) for block in range(len(grid.local))]
wait = lambda: None
if backend == "cuda":
    sys.path.insert(0, {str(Path(__file__).parents[1])!r})
    from arrays import GpuArray, runtime
    runtime().cudaSetDevice(grid.local[0].device_index)
    arrays = [GpuArray(array) for array in arrays]
    wait = runtime().cudaDeviceSynchronize
try:
    halo = slip.Exchange(grid, {{"u": arrays}}, routes=["kernel", route], wait_limit={WAIT_LIMIT})
except RuntimeError as error:
    os.write(1, f"no exchange: {{error}}\\n".encode())
    os._exit(4)
halo.run()
wait()
if grid.comm.rank == 1:
    os.kill(os.getpid(), getattr(signal, how))
    os._exit(3)  # where the launcher lets it go on, to end it
again = halo.check if route in ("direct", "colocated") else halo.run
try:
    halo.run()
    wait()
    again()
    os.write(1, b"no error\\n")
except TimeoutError as error:
    os.write(1, f"{{error}}\\n".encode())
if again == halo.check:
    try:
        again()
        os.write(1, b"no error any more\\n")
    except TimeoutError:
        pass
os._exit(3)
"""

# Arguments for two nodes of two ranks; the launcher ends all ranks with the first that exits.
ON_NODES = f"""
import os, signal, time, numpy as np, slipstream as slip
grid = slip.Grid((8, 8, 8), periodic=(True,) * 3, backend="host", ranks_per_node=2)
arrays = [np.zeros(grid.array_shape(1, block=block), np.float32) for block in range(len(grid.local))]
routes = ["kernel", "staged"]
halo = slip.Exchange(grid, {{"u": arrays}}, routes=routes, grouping="nodes", wait_limit={WAIT_LIMIT})
halo.run()
if grid.comm.rank == 3:
    os.kill(os.getpid(), signal.SIGSTOP)
try:
    halo.run()
    os.write(1, b"no error\\n")
except TimeoutError as error:
    os.write(1, f"{{error}}\\n".encode())
time.sleep(1)
os._exit(3)
"""


def run_on_two(
    folder: Path, route: str, how: str, *launcher: str, backend: str = "host"
) -> subprocess.CompletedProcess[str]:
    return run_on(2, folder, SCRIPT, backend, route, how, launcher=launcher)


def run_on(
    ranks: int, folder: Path, script: str, *arguments: str, launcher: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    path = folder / "stopped.py"
    path.write_text(script)
    command = ["mpiexec", *launcher, "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    search = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [*command, sys.executable, str(path), *arguments],
        env=os.environ | environment | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def names_both(text: str) -> bool:
    waited = "device 0 on rank 0 waited" in text and "device 1 on rank 1" in text
    return waited and text.startswith("exchange 2 of u:") and f" {WAIT_LIMIT}" in text and "no error" not in text


@pytest.mark.parametrize("route", ["direct", "colocated", "gpu_mpi", "staged"])
def test_a_stopped_rank_is_named_by_the_other(tmp_path: Path, route: str) -> None:
    result = run_on_two(tmp_path, route, "SIGSTOP")
    assert names_both(result.stdout), result.stdout + result.stderr
    assert result.returncode == 3


needs_two_gpus = pytest.mark.skipif(
    not core.available("cuda") or core.device_count("cuda") < 2, reason="needs two GPUs and a CUDA build"
)


@needs_two_gpus
@pytest.mark.parametrize("route", ["direct", "colocated", "gpu_mpi", "nccl", "nvshmem", "staged"])
def test_a_stopped_rank_is_named_on_gpus(tmp_path: Path, route: str) -> None:
    result = run_on_two(tmp_path, route, "SIGSTOP", backend="cuda")
    skip_where_missing(route, result.stdout)
    assert names_both(result.stdout), result.stdout + result.stderr
    assert result.returncode == 3


def test_a_stopped_rank_is_named_by_its_node_and_by_the_other(tmp_path: Path) -> None:
    result = run_on(4, tmp_path, ON_NODES)
    told = sorted(line.split(": ", 1)[1] for line in result.stdout.splitlines())
    assert len(told) == 3, result.stdout + result.stderr
    for rank, line in enumerate(told):
        assert line.startswith(f"device {rank} on rank {rank} waited for"), line
        assert "rank 3" in line or "ranks 2 and 3" in line, line
    assert "device 3 on rank 3" in told[2], told[2]


def lets_others_live() -> bool:
    """Options of Open MPI 4, which can keep the job alive; other launchers end it with the first rank."""
    launcher = shutil.which("mpiexec")
    if not launcher:
        return False
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
    return "(Open MPI) 4." in version or "(OpenRTE) 4." in version


needs_survivors = pytest.mark.skipif(not lets_others_live(), reason="this launcher ends all ranks when one is killed")


@needs_survivors
@pytest.mark.parametrize("route", ["direct", "gpu_mpi", "staged"])
def test_a_killed_rank_is_named_by_the_other(tmp_path: Path, route: str) -> None:
    result = run_on_two(tmp_path, route, "SIGKILL", "--enable-recovery")
    assert names_both(result.stdout), result.stdout + result.stderr


@needs_two_gpus
@needs_survivors
@pytest.mark.parametrize("route", ["direct", "gpu_mpi", "nvshmem", "staged"])
def test_a_killed_rank_is_named_on_gpus(tmp_path: Path, route: str) -> None:
    result = run_on_two(tmp_path, route, "SIGKILL", "--enable-recovery", backend="cuda")
    skip_where_missing(route, result.stdout)
    assert names_both(result.stdout), result.stdout + result.stderr
