"""Ranks of one host in separate PID namespaces, as in containers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PROGRAM = """
import sys
import numpy as np
import slipstream as slip
from arrays import grid_of, numbered, wrapped

grid = grid_of(devices_per_rank=1)
arrays = numbered(grid, 1)
halo = slip.Exchange(grid, {"u": arrays}, wait_limit=20)
for _ in range(3):
    halo.run()
right = all(np.array_equal(array, wrapped(grid, 1, block)) for block, array in enumerate(arrays))
routes = {message.route for message in halo.messages() if message.source != message.target}
mapped = sorted(routes & {"direct", "colocated"})
nodes = len({device["node"] for device in grid.machine.devices()})
sys.stdout.write(f"right {right}, by mapped memory {mapped}, nodes {nodes}\\n")
halo.close()
"""

APART = ("unshare", "--pid", "--fork", "--mount-proc")


def test_ranks_with_process_numbers_of_their_own_get_their_neighbours_values(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run([*APART, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this host lets no process have a PID namespace of its own")
    path = tmp_path / "halo.py"
    path.write_text(PROGRAM)
    # Open MPI's shared-memory transport is off, because it identifies processes by their numbers, too.
    command = ["mpiexec", "--mca", "btl", "tcp,self", "-n", "2", "--oversubscribe", "--bind-to", "none", *APART]
    tests = Path(__file__).parents[1]
    search = os.pathsep.join([str(ROOT / "python"), str(tests), os.environ.get("PYTHONPATH", "")])
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PYTHONPATH": search}
    result = subprocess.run(
        [*command, sys.executable, str(path)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["right True, by mapped memory [], nodes 2"] * 2
