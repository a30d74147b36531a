"""Python programs on several ranks, for tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

#: Served by what a machine may lack: a library, or an MPI that takes GPU memory.
OPTIONAL = ("gpu_mpi", "nccl", "nvshmem")


def run_on(ranks: int, path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python program on so many ranks; it may import what lies here and the tests of exchanges and transforms."""
    command = ["mpiexec", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", sys.executable, str(path)]
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    tests = Path(__file__).parent
    places = [ROOT / "python", tests, tests / "exchange", tests / "fft"]
    search = os.pathsep.join([*map(str, places), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [*command, *arguments],
        env=os.environ | environment | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def skip_where_missing(route: str, said: str) -> None:
    """Skips with the reason for which an optional route was refused."""
    refused = re.match(rf"no exchange: .*?not {route}: (.+?)(; not \w+: |\): )", said)
    if route in OPTIONAL and refused:
        pytest.skip(f"{route}: {refused[1]}")
