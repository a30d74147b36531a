"""`-n RANKS`: the program starts itself again through mpiexec."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

from slipstream.core import launched_size
from slipstream.errors import CaseError

#: Tells rank 0 behind mpiexec's pipe how wide the terminal at the other end is.
TERMINAL_WIDTH = "SLIPSTREAM_TERMINAL_WIDTH"


def check_launcher(ranks: int) -> str:
    """Path of mpiexec, or a CaseError that says why there can be no `ranks` ranks."""
    if ranks < 1:
        raise CaseError(f"-n {ranks}: at least one rank is needed")
    if launched_size() is not None:
        raise CaseError(f"-n {ranks} inside mpiexec: give the number of ranks to one of the two")
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        raise CaseError(
            f"-n {ranks} needs mpiexec, which is not on PATH; install an MPI (Debian: apt-get install openmpi-bin), or "
            "leave -n away: one rank can drive several devices (machine.devices_per_rank)"
        )
    return mpiexec


#: What Python shall run.
SLIPSTREAM = ("-m", "slipstream")


def command(
    mpiexec: str, ranks: int, arguments: Sequence[str], open_mpi: bool, program: Sequence[str] = SLIPSTREAM
) -> list[str]:
    """The command line that runs slipstream, or another program of Python's, with `arguments` on `ranks` ranks."""
    flags = ["--quiet", "--oversubscribe", "--bind-to", "none"] if open_mpi else []
    return [mpiexec, "-n", str(ranks), *flags, sys.executable, *program, *arguments]


def environment(open_mpi: bool) -> dict[str, str]:
    """The environment of the ranks: Open MPI wants root to say twice that it means it."""
    result = dict(os.environ)
    if open_mpi and os.geteuid() == 0:
        result |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if sys.stdout.isatty():
        result[TERMINAL_WIDTH] = str(shutil.get_terminal_size().columns)
    return result


def start(ranks: int, arguments: Sequence[str], program: Sequence[str] = SLIPSTREAM) -> int:
    """Runs slipstream, or another program of Python's, on `ranks` ranks and returns their exit code."""
    mpiexec = check_launcher(ranks)
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    open_mpi = "Open MPI" in version or "OpenRTE" in version
    sys.stdout.flush()
    with subprocess.Popen(command(mpiexec, ranks, arguments, open_mpi, program), env=environment(open_mpi)) as job:
        # mpiexec would kill its ranks a second after SIGTERM; SIGUSR1 it hands on, and a run then ends in its own time.
        requests = (signal.SIGTERM, signal.SIGUSR1)
        before = [signal.signal(number, lambda *_: job.send_signal(signal.SIGUSR1)) for number in requests]
        try:
            return job.wait()
        except BaseException:
            job.kill()
            raise
        finally:
            for number, handler in zip(requests, before, strict=True):
                signal.signal(number, handler)
