"""A rank that is stopped or killed in the middle of an exchange: the other one says whom it waited for, and ends."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

WAIT_LIMIT = 2

# The survivor leaves without MPI_Finalize, which would wait for the other one.
SCRIPT = f"""
import os, signal, sys, numpy as np, slipstream as ss
route, how = sys.argv[1:]
grid = ss.Grid((8, 6, 5), periodic=(True,) * 3, backend="host")
arrays = [np.zeros(grid.array_shape(1, block=block), np.float32) for block in range(len(grid.local))]
halo = ss.Exchange(grid, {{"u": arrays}}, routes=["kernel", route], wait_limit={WAIT_LIMIT})
halo.run()
if grid.comm.rank == 1:
    os.kill(os.getpid(), getattr(signal, how))
try:
    halo.run()
    os.write(1, b"no error\\n")
except TimeoutError as error:
    os.write(1, f"{{error}}\\n".encode())
os._exit(3)
"""


def run_on_two(folder: Path, route: str, how: str, *launcher: str) -> subprocess.CompletedProcess[str]:
    path = folder / "stopped.py"
    path.write_text(SCRIPT)
    command = ["mpiexec", *launcher, "-n", "2", "--oversubscribe", "--bind-to", "none"]
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    search = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [*command, sys.executable, str(path), route, how],
        env=os.environ | environment | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def names_both(text: str) -> bool:
    waited = "device 0 on rank 0 waited" in text and "device 1 on rank 1" in text
    return waited and text.startswith("exchange 2:") and f" {WAIT_LIMIT}" in text


@pytest.mark.parametrize("route", ["direct", "colocated", "staged"])
def test_a_stopped_rank_is_named_by_the_other(tmp_path: Path, route: str) -> None:
    result = run_on_two(tmp_path, route, "SIGSTOP")
    assert names_both(result.stdout), result.stdout + result.stderr
    assert result.returncode == 3


def lets_others_live() -> bool:
    """Open MPI 4 keeps the job alive on demand; others end it with its first rank."""
    launcher = shutil.which("mpiexec")
    if not launcher:
        return False
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
    return "(Open MPI) 4." in version or "(OpenRTE) 4." in version


@pytest.mark.skipif(not lets_others_live(), reason="this launcher ends all ranks when one is killed")
@pytest.mark.parametrize("route", ["direct", "staged"])
def test_a_killed_rank_is_named_by_the_other(tmp_path: Path, route: str) -> None:
    result = run_on_two(tmp_path, route, "SIGKILL", "--enable-recovery")
    assert names_both(result.stdout), result.stdout + result.stderr
