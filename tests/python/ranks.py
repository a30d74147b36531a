"""Runs Python programs on several ranks, for tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

#: Routes that need optional parts of a machine, such as a library or a GPU-aware MPI.
OPTIONAL = ("gpu_mpi", "nccl", "nvshmem")


def run_on(ranks: int, path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a Python program on `ranks` ranks. It may import modules of this folder and of the tests of exchanges and
    transforms.
    """
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
    """Skips with the reason why an optional route was refused."""
    refused = re.match(rf"no exchange: .*?not {route}: (.+?)(; not \w+: |\): )", said)
    if route in OPTIONAL and refused:
        pytest.skip(f"{route}: {refused[1]}")
