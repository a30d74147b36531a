"""An uncaught exception on one rank ends the job at once, with a message and an error status."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

START = """
import sys, numpy as np, slipstream as slip
grid = slip.Grid((8, 6, 5), periodic=(True,) * 3, backend="host")
arrays = [np.zeros(grid.array_shape(1, block=block), np.float32) for block in range(len(grid.local))]
halo = slip.Exchange(grid, {"u": arrays}, routes=["kernel", "staged"], wait_limit=WAIT_LIMIT)
halo.run()
"""


def run(
    folder: Path, ranks: int, script: str, wait_limit: float = 600, before: str = ""
) -> subprocess.CompletedProcess[str]:
    path = folder / "script.py"
    path.write_text((before + START + script).replace("WAIT_LIMIT", str(wait_limit)))
    search = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    # The timeout is far shorter than any wait for another rank, and far longer than the work.
    return subprocess.run(
        ["mpiexec", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", sys.executable, str(path)],
        env=os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


FAILS = "if grid.comm.rank == 1: print('before'); raise ValueError('a rank has had enough')\n"


@pytest.mark.parametrize("waiting", ["grid.comm.barrier()", "halo.run()", "pass"], ids=["barrier", "exchange", "end"])
def test_ends_the_ranks_that_wait_for_it(tmp_path: Path, waiting: str) -> None:
    result = run(tmp_path, 2, FAILS + waiting)
    assert result.returncode == 1
    assert "ValueError: a rank has had enough" in result.stderr
    assert "slipstream: rank 1 " in result.stderr
    assert "before" in result.stdout


def test_that_a_late_rank_causes_ends_that_rank_too(tmp_path: Path) -> None:
    script = "import time\nhalo.run() if grid.comm.rank == 0 else time.sleep(90)\n"
    result = run(tmp_path, 2, script, wait_limit=1)
    assert result.returncode == 1
    assert "TimeoutError: " in result.stderr and "slipstream: rank 0 " in result.stderr


def test_is_shown_by_a_hook_that_was_there_before(tmp_path: Path) -> None:
    hook = "import sys\nsys.excepthook = lambda kind, error, trace: print('my own words:', error, file=sys.stderr)\n"
    result = run(tmp_path, 2, FAILS + "grid.comm.barrier()", before=hook)
    assert result.returncode == 1
    assert "my own words: a rank has had enough" in result.stderr and "Traceback" not in result.stderr
    assert "slipstream: rank 1 " in result.stderr


def test_of_the_only_rank_is_left_to_python(tmp_path: Path) -> None:
    result = run(tmp_path, 1, "raise ValueError('alone')")
    assert result.returncode == 1
    assert "ValueError: alone" in result.stderr
    assert "slipstream:" not in result.stderr


def test_in_the_command_line_ends_the_ranks_that_wait_for_it(tmp_path: Path, small: Path) -> None:
    script = f"""
from slipstream.cli import main
from slipstream.run import run
def fails(*words):
    if grid.comm.rank == 1:
        raise RuntimeError("a rank has had enough")
    grid.comm.barrier()
run.run = fails
sys.exit(main.main(["run", "{small}"]))
"""
    result = run(tmp_path, 2, script)
    assert result.returncode == 1
    assert "slipstream: error on rank 1: a rank has had enough" in result.stderr and "Traceback" not in result.stderr
