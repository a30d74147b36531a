"""The host program's environment, signal handlers and CPU affinity stay unchanged, and its threads may run
concurrently.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PICTURE = """
import ctypes, os
def picture():
    entries = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    found, n = {}, 0
    while entries[n]:
        name, _, value = entries[n].partition(b"=")
        found[name], n = value, n + 1
    with open("/proc/self/status") as file:
        status = dict(line.split(":\\t") for line in file if line.startswith(("SigIgn", "SigCgt", "Cpus_allowed:")))
    own = 3 << 31  # signals 32 and 33 are the C library's, for the first thread that is started
    for name in ("SigIgn", "SigCgt"):
        status[name] = int(status[name], 16) & ~own
    found |= status
    return found
before = picture()
"""

EXCHANGE = """
import sys, numpy as np, slipstream as slip
grid = slip.Grid((8, 6, 5), periodic=(True,) * 3, backend="host")
u = [np.zeros(grid.array_shape(1, block=block), np.float32) for block in range(len(grid.local))]
halo = slip.Exchange(grid, {"u": u})
halo.run()
del halo
"""

SIMULATION = """
import sys
from slipstream.lbm import Simulation
flow = Simulation((8, 8, 8), viscosity=0.1)
flow.run(steps=1, quiet=True)
"""

COMPARED = """
after = picture()
sys.stdout.write(repr({key: (before.get(key), after.get(key)) for key in before | after
                       if before.get(key) != after.get(key)}) + "\\n")
"""


def run(folder: Path, script: str, ranks: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    path = folder / "script.py"
    path.write_text(script)
    search = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    launcher = ["mpiexec", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"] if ranks else []
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if ranks else {}
    return subprocess.run(
        [*launcher, sys.executable, str(path)],
        env=os.environ | root | {"PYTHONPATH": search} | environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("ranks", [0, 2], ids=["alone", "two ranks"])
@pytest.mark.parametrize("work", [EXCHANGE, SIMULATION], ids=["exchange", "simulation"])
def test_a_script_finds_its_process_as_it_was(tmp_path: Path, work: str, ranks: int) -> None:
    result = run(tmp_path, PICTURE + work + COMPARED, ranks)
    assert result.stdout == "{}\n" * max(ranks, 1), result.stdout + result.stderr


READS = """
import ctypes
from slipstream.cli import main
main.main(["info", "routes"])
get = ctypes.CDLL(None).getenv
get.restype = ctypes.c_char_p
print([get(name) for name in (b"NCCL_NVLS_ENABLE", b"NVSHMEM_DISABLE_NVLS", b"CUDA_DEVICE_MAX_CONNECTIONS")])
"""


def test_the_command_line_sets_what_the_user_left_open(tmp_path: Path) -> None:
    names = {"NVSHMEM_DISABLE_NVLS": None, "CUDA_DEVICE_MAX_CONNECTIONS": None}
    clear = f"import os\nfor name in {list(names)}: os.environ.pop(name, None)\n"
    result = run(tmp_path, clear + READS, NCCL_NVLS_ENABLE="2")
    assert result.stdout.splitlines()[-1:] == ["[b'2', b'1', b'32']"], result.stderr


THREADS = """
import ctypes, sys, threading
from slipstream import _core
with open("/proc/self/maps") as file:
    path = next(line.split()[-1] for line in file if "/libmpi.so" in line)
mpi, level = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL), ctypes.c_int()
if not hasattr(mpi, "ompi_mpi_comm_self"):
    sys.exit(77)
mpi.MPI_Init_thread(None, None, LEVEL, ctypes.byref(level))
handles = []
for _ in range(2):
    mine = ctypes.c_void_p()
    mpi.MPI_Comm_dup(ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_self")), ctypes.byref(mine))
    handles.append(mpi.MPI_Comm_c2f(mine))
found = []
def work(handle):
    try:
        for _ in range(5000):
            _core.Communicator.from_handle(handle)
        found.append("done")
    except RuntimeError as error:
        found.append(str(error))
threads = [threading.Thread(target=work, args=(handle,)) for handle in handles]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.stdout.write(f"{level.value} {found}\\n")
mpi.MPI_Finalize()
"""


@pytest.mark.parametrize("level", [1, 3], ids=["funneled", "multiple"])
def test_threads_make_and_drop_communicators_where_mpi_allows_it(tmp_path: Path, level: int) -> None:
    result = run(tmp_path, THREADS.replace("LEVEL", str(level)))
    if result.returncode == 77:
        pytest.skip("asks Open MPI for communicators without mpi4py")
    assert result.returncode == 0, result.stderr
    provided, _, found = result.stdout.partition(" ")
    if int(provided) == 3:
        assert found == "['done', 'done']\n"
    else:
        assert found.count("call from the thread that started MPI") == 2


ENDS_IN_A_THREAD = """
import threading, time, slipstream as slip
from slipstream import _core
comm = slip.world()
comm.barrier()
if comm.rank == 1:
    threading.Thread(target=_core.abort, args=(7,)).start()
time.sleep(90)
"""


def test_a_thread_that_may_not_call_mpi_ends_the_job(tmp_path: Path) -> None:
    result = run(tmp_path, ENDS_IN_A_THREAD, 2)
    assert result.returncode == 7, result.stderr
