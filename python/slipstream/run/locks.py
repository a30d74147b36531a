"""Locks of folders: a file in a folder names the run that writes into it."""

import contextlib
import getpass
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from slipstream.base import processes
from slipstream.base.core import agree_on_error, core
from slipstream.base.errors import ErrorCode, Fault
from slipstream.case.case import CHECKPOINTS
from slipstream.results.record import now

FILE = "run.lock"
#: Flag PF_EXITING of proc_pid_stat(5): the process is ending and writes no more.
_EXITING = 0x4
#: Time in seconds to wait for the content of a new lock file, if creation and writing are not atomic.
_WRITING = 0.1


@dataclass(frozen=True)
class Owner:
    """The process that holds a lock, and its run."""

    case: str
    user: str
    host: str
    pid: int
    born: str  #: start time of the process in clock ticks, because process numbers are reused
    namespace: str  #: identifier of the PID namespace, of which each container has its own
    since: str

    @classmethod
    def this(cls, case: str) -> "Owner":
        """An Owner for this process, with a run of the named case."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = str(os.getuid())
        return cls(case, user, socket.gethostname(), os.getpid(), _born(os.getpid()), _namespace(), now())

    def is_near(self) -> bool:
        """Whether this process can see the owner: both have the same host and PID namespace."""
        return (self.host, self.namespace) == (socket.gethostname(), _namespace())

    def is_dead(self) -> bool:
        return self.is_near() and _born(self.pid) != self.born


def _born(pid: int) -> str:
    """Start time of a process; empty if it does not exist, is ending, or is a zombie."""
    try:
        # Fields of /proc/PID/stat from the process state on: the flags have index 6, and the start time has index 19.
        fields = processes.status(pid)
    except OSError:
        return ""
    return "" if fields[0] in "ZX" or int(fields[6]) & _EXITING else fields[19]


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _owner(path: Path) -> Owner | None:
    """Process that holds the lock file at a path; None if there is no readable lock."""
    try:
        return Owner(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return None


def problem(folder: Path, key: str) -> str:
    """Text on why a run may not write into a folder, which `key` of the case names; empty if it may. The lock of an
    output folder covers the checkpoints in it."""
    above = [folder.parent] if folder.name == CHECKPOINTS else []
    return next(filter(None, (_problem(place, key) for place in (folder, *above))), "")


def _problem(folder: Path, key: str) -> str:
    path = folder / FILE
    owner = _owner(path)
    if owner is None or owner.is_dead() or _is_mine(owner):
        return ""
    who = f"process {owner.pid} of {owner.user} on {owner.host}, since {owner.since}, case {owner.case}"
    if owner.is_near():
        said = f"{key}: {folder} is in use by a run ({who}); wait for it, end it, or choose another {key}"
    else:
        said = f"{key}: {folder} is in use by a run ({who}), as far as can be seen from {socket.gethostname()}; choose "
        said += f"another {key}, or, if that run is no more, remove {path}"
    lock = None if owner.is_near() else path
    facts = {"process": owner.pid, "user": owner.user, "host": owner.host, "case": owner.case, "lock": lock}
    return Fault(said, ErrorCode.LOCKED, key=key, file=folder, **facts)


def _is_mine(owner: Owner) -> bool:
    return owner.is_near() and owner.pid == os.getpid()


def _place(new: Path, path: Path) -> None:
    """Creates a lock file atomically. Raises FileExistsError if there is one."""
    try:
        os.link(new, path)  # the link makes the lock file appear with its content in one step
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links, so the file is created and then written.
        with path.open("x", encoding="utf-8") as file:
            file.write(new.read_text(encoding="utf-8"))


def _remove_dead(path: Path) -> None:
    """Removes the lock file of a dead process. It never removes the lock of a run that has taken over meanwhile."""
    aside = path.with_name(f".{FILE}.{os.getpid()}.dead")
    try:
        path.rename(aside)  # if several runs remove the lock file at once, the rename succeeds for only one of them
    except FileNotFoundError:
        return
    owner = _owner(aside)
    if owner and not owner.is_dead() and not _is_mine(owner):
        with contextlib.suppress(FileExistsError):
            _place(aside, path)
    aside.unlink(missing_ok=True)


class Locks:
    """Locks of the folders that a run uses; rank 0 holds them."""

    def __init__(self, case: str) -> None:
        self._case = case
        self._held: list[Path] = []

    def take(self, folder: Path, key: str) -> None:
        """Creates and locks a folder, unless it lies in a locked one. Collective; raises CaseError on all ranks if
        another run holds it, or if it cannot be created."""
        said = ""
        if core().rank() == 0:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                if not any(folder.absolute().is_relative_to(held.absolute().parent) for held in self._held):
                    said = problem(folder, key) or self._lock(folder, key)
            except OSError as error:
                text = f"{key}: cannot write to {folder}: {error.strerror or error}; choose another {key}"
                said = Fault(text, ErrorCode.IO, key=key, file=folder)
        agree_on_error(said)

    def _lock(self, folder: Path, key: str) -> str:
        path = folder / FILE
        new = folder / f".{FILE}.{os.getpid()}"
        try:
            new.write_text(json.dumps(asdict(Owner.this(self._case)), indent=1) + "\n", encoding="utf-8")
            for _ in range(2):
                try:
                    _place(new, path)
                except FileExistsError:
                    if _owner(path) is None:
                        time.sleep(_WRITING)
                    if said := problem(folder, key):
                        return said
                    _remove_dead(path)
                else:
                    self._held.append(path)
                    return ""
            return f"{key}: another run has just begun in {folder}; choose another {key}"
        finally:
            new.unlink(missing_ok=True)

    def release(self) -> None:
        """Releases the locks of all folders. Not collective."""
        for path in self._held:
            owner = _owner(path)
            if owner is None or _is_mine(owner):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
        self._held = []
