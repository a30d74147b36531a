"""Checks of the operating system for `slipstream doctor`. Paths are arguments, so that tests can pass their own."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from slipstream.base import routes

FINE, NOTE, MEND = "fine", "note", "mend"

MB = 1 << 20
#: Bytes of /dev/shm that each rank of a node needs for segments of Open MPI and buffers of NCCL.
SHM_NEEDED_PER_RANK = 16 * MB
#: Least limit of locked memory in bytes for registering the buffers of an InfiniBand card.
LOCKED_NEEDED = 64 * MB


@dataclass(frozen=True)
class Finding:
    """Result of a check of the machine. Its status is "fine", "note" (lowers speed or prevents an option) or "mend"
    (makes a route fail)."""

    check: str
    status: str
    found: str
    remedy: str = ""


def gpu_files(devices: Path = Path("/dev")) -> int:
    """Number of NVIDIA GPUs for which the kernel shows device files to this process."""
    return sum(path.name.removeprefix("nvidia").isdigit() for path in devices.glob("nvidia*"))


def cores_of(text: str) -> set[int]:
    """Numbers of CPU cores from a list as the Linux kernel writes it, such as `0-3,8`."""
    cores: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cores |= set(range(int(first), int(last or first) + 1))
    return cores


def binding(bus_ids: list[str], sys: Path = Path("/sys"), mine: set[int] | None = None) -> list[Finding]:
    """Compares the cores to which this process is bound with those near its GPUs."""
    mine = os.sched_getaffinity(0) if mine is None else mine
    if not bus_ids:
        return [Finding("binding", FINE, f"{len(mine)} cores, no GPU to be near")]
    near: set[int] = set()
    for bus_id in bus_ids:
        path = sys / "bus/pci/devices" / bus_id.lower()[-12:] / "local_cpulist"
        if path.exists():
            near |= cores_of(path.read_text())
    if not near:
        return [Finding("binding", NOTE, "the system does not tell which cores are near the GPUs", "")]
    if mine & near:
        return [Finding("binding", FINE, f"{len(mine & near)} of {len(mine)} cores are near the rank's GPUs")]
    remedy = "slipstream run binds by itself; bind own programs by mpiexec --map-by numa, or Grid(..., bind=True)"
    return [Finding("binding", NOTE, f"none of its {len(mine)} cores is near the rank's GPUs", remedy)]


def shared_memory(ranks: int, folder: Path = Path("/dev/shm")) -> list[Finding]:
    """Checks the size and the free space of /dev/shm."""
    remedy = (
        "docker run --shm-size=1g, or --ipc=host; elsewhere mount -o remount,size=50% /dev/shm; or remove old files"
    )
    try:
        stat = os.statvfs(folder)
    except OSError as error:
        return [Finding(str(folder), MEND, f"missing: {error.strerror}", "mount a tmpfs there")]
    size, free = stat.f_frsize * stat.f_blocks, stat.f_frsize * stat.f_bavail
    found = f"{free / MB:.0f} of {size / MB:.0f} MB free"
    needed = ranks * SHM_NEEDED_PER_RANK
    if free < needed:
        return [Finding(str(folder), MEND, f"{found}, MPI and NCCL want {needed / MB:.0f} MB", remedy)]
    return [Finding(str(folder), FINE, found)]


def memory_files() -> list[Finding]:
    """Checks whether the kernel supports memory files, which the host backend maps between processes."""
    try:
        file = os.memfd_create("slipstream-doctor", os.MFD_CLOEXEC)
        try:
            os.ftruncate(file, 4096)
            os.close(os.open(f"/proc/{os.getpid()}/fd/{file}", os.O_RDWR))
        finally:
            os.close(file)
    except OSError as error:
        off = " and ".join(routes.BY_PEER_ACCESS_BETWEEN_PROCESSES)
        remedy = f"the host backend's routes {off} need memfd_create and /proc: allow both in the container"
        return [Finding("memory files", MEND, f"{error.strerror}", remedy)]
    return [Finding("memory files", FINE, "made and opened through /proc")]


def locked_memory(limit: int | None = None, cards: Path = Path("/sys/class/infiniband")) -> list[Finding]:
    """Checks the limit of ulimit -l, which bounds the memory that a network card may register."""
    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] if limit is None else limit
    if soft == resource.RLIM_INFINITY:
        return [Finding("locked memory", FINE, "unlimited")]
    fabric = cards.is_dir() and any(cards.iterdir())
    status = FINE if soft >= LOCKED_NEEDED else MEND if fabric else NOTE
    remedy = "" if status == FINE else "ulimit -l unlimited (limits.conf, docker --ulimit memlock=-1) for InfiniBand"
    return [Finding("locked memory", status, f"at most {soft / MB:.1f} MB", remedy)]


def single_copy(scope: Path = Path("/proc/sys/kernel/yama/ptrace_scope")) -> list[Finding]:
    """Checks whether MPI may copy between processes with a single copy (CMA)."""
    try:
        level = int(scope.read_text())
    except OSError:
        level = 0
    if level == 0:
        return [Finding("copies between processes", FINE, "not restricted by ptrace_scope")]
    remedy = "MPI copies twice within a node: sysctl kernel.yama.ptrace_scope=0, docker --cap-add=SYS_PTRACE, or xpmem"
    return [Finding("copies between processes", NOTE, f"ptrace_scope is {level}", remedy)]


def loaded_file(name: str, maps: Path = Path("/proc/self/maps")) -> str:
    """Path of a library that this process has loaded, or its name where the system does not tell the path."""
    try:
        words = maps.read_text().split()
    except OSError:
        words = []
    return next((word for word in words if Path(word).name.startswith(name)), name)
