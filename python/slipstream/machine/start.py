"""`-n RANKS`: the program starts itself again through mpiexec."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from slipstream.base import processes
from slipstream.base.core import launched_size
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.terminal import TERMINAL_WIDTH
from slipstream.machine.launcher_words import Words
from slipstream.machine.pipe import Output

#: Environment variable with the path of a file that tells ranks which signal asks them to end.
ASKED_BY = "SLIPSTREAM_ASKED_BY"


def check_launcher(ranks: int) -> str:
    """Path of mpiexec. Raises CaseError with the reason if `ranks` ranks cannot be started."""
    if ranks < 1:
        raise CaseError(f"-n {ranks}: at least one rank is needed", key="-n", given=ranks, allowed=">= 1")
    if launched_size() is not None:
        raise CaseError(
            f"-n {ranks} inside mpiexec: give the number of ranks to one of the two",
            ErrorCode.WRONG_STATE,
            key="-n",
            given=ranks,
        )
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        raise CaseError(
            f"-n {ranks} needs mpiexec, which is not on PATH; install an MPI (Debian: apt-get install openmpi-bin), or "
            "leave -n away: one rank can drive several devices (machine.devices_per_rank)",
            ErrorCode.UNAVAILABLE,
            key="-n",
            given=ranks,
            needed="mpiexec",
        )
    return mpiexec


#: Arguments of the Python interpreter that start Slipstream's command line.
SLIPSTREAM = ("-m", "slipstream")


def command(
    mpiexec: str, ranks: int, arguments: Sequence[str], open_mpi: bool, program: Sequence[str] = SLIPSTREAM
) -> list[str]:
    """The command line that runs slipstream, or another Python program, with `arguments` on `ranks` ranks."""
    flags = ["--oversubscribe", "--bind-to", "none"] if open_mpi else []
    return [mpiexec, "-n", str(ranks), *flags, sys.executable, *program, *arguments]


def environment(open_mpi: bool) -> dict[str, str]:
    """The environment of the ranks: Open MPI needs two variables to run as root."""
    result = dict(os.environ)
    if open_mpi and os.geteuid() == 0:
        result |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if sys.stdout.isatty():
        result[TERMINAL_WIDTH] = str(shutil.get_terminal_size().columns)
    return result


def asked_by(heard: str) -> str:
    """The signal that the user sent, which the launcher may have replaced by `heard`, the signal that this rank got."""
    path = os.environ.get(ASKED_BY)
    if heard != "SIGUSR1" or path is None:
        return heard
    try:
        return Path(path).read_text(encoding="utf-8") or heard
    except OSError:
        # The file with the user's signal is not visible on this node, or the signal was sent to this rank alone.
        return heard


#: Signals that ask a run to end.
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)


def _children(process: int) -> list[int]:
    """Ids of child processes: those of a launcher are its ranks on this node. Empty if the system does not tell."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the child process may have ended meanwhile
            if int(processes.status(int(path.name))[1]) == process:
                found.append(int(path.name))
    return found


class _Requests:
    """Forwards signals to the ranks while a launcher runs. The launcher has a process group of its own: otherwise
    Ctrl-C would reach it, too, and it would kill its ranks.

    A first signal reaches the ranks as SIGUSR1, and they end cleanly. A second one of its kind kills all.
    """

    def __init__(self, job: "subprocess.Popen[bytes]", ranks: int, note: Path) -> None:
        self._job, self._ranks, self._note = job, ranks, note
        self.first: signal.Signals | None = None
        self.at_once = False
        self._seen: set[int] = set()
        self._before = {}
        for number in SIGNALS:
            # A run in the background or under nohup must ignore the signals that its parent ignores.
            if number in (signal.SIGINT, signal.SIGHUP) and signal.getsignal(number) == signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if number in self._seen and number != signal.SIGUSR1:
            self.at_once = True
            self._job.terminate()
            return
        self._seen.add(number)
        self.first = self.first or signal.Signals(number)
        self._note.write_text(self.first.name, encoding="utf-8")
        # Not all launchers forward signals. Ranks get them directly if all are on this node; ranks on other nodes
        # depend on the launcher.
        started = _children(self._job.pid)
        for process in started if len(started) == self._ranks else [self._job.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGUSR1)

    def forget(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _with_its_parent() -> Callable[[], None]:
    """Returns a function that the launcher calls before exec. The kernel then sends it SIGTERM when this process
    dies."""
    control = getattr(ctypes.CDLL(None), "prctl", None)

    def ask() -> None:
        if control:
            control(1, signal.SIGTERM)  # 1 is the option PR_SET_PDEATHSIG: a signal at the parent's death

    return ask


def start(ranks: int, arguments: Sequence[str], program: Sequence[str] = SLIPSTREAM) -> int:
    """Runs slipstream, or another Python program, on `ranks` ranks and returns their exit code."""
    mpiexec = check_launcher(ranks)
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    open_mpi = "Open MPI" in version or "OpenRTE" in version
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="slipstream-") as folder:
        note = Path(folder) / "asked-by"
        with subprocess.Popen(
            command(mpiexec, ranks, arguments, open_mpi, program),
            env=environment(open_mpi) | {ASKED_BY: str(note)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=_with_its_parent(),  # noqa: PLW1509
        ) as job:
            requests, output, words = _Requests(job, ranks, note), Output(job.stdout), Words(job.stderr)
            try:
                code = job.wait()
            except BaseException:
                job.terminate()
                raise
            finally:
                requests.forget()
                output.wait()
                words.wait()
    if requests.first and (requests.at_once or code == 128 + signal.SIGUSR1):
        # SIGUSR1 kills ranks that have not begun a run. The MPI launcher then exits with 128 + the signal's number.
        print(f"slipstream: ended at once by {requests.first.name}", file=sys.stderr, flush=True)
        return 128 + requests.first
    if said := words.end_of_a_rank(code):
        print(f"slipstream: error: {said}", file=sys.stderr, flush=True)
    return code if code >= 0 else 128 - code
