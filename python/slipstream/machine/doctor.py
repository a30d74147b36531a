"""`slipstream doctor`: what exchanges need from the machine, what is missing, and how to mend it.

Every rank examines its own process; the answers are gathered, and equal ones become one line.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from slipstream.base import routes, terminal
from slipstream.base.core import core, launched_size
from slipstream.base.errors import CaseError
from slipstream.machine import doctor_host, network, topology
from slipstream.machine.discovery import choose_backend
from slipstream.machine.doctor_host import FINE, MEND, NOTE, Finding

if TYPE_CHECKING:
    from slipstream._core import Machine

_COLOURS = {FINE: "green", NOTE: "yellow", MEND: "bold red"}


@dataclass(frozen=True)
class Said:
    """A result of a check of the machine, and the ranks that found it."""

    finding: Finding
    ranks: list[int]


def doctor(console: Console, as_json: bool) -> int:
    """Prints the results of all checks of the machine, from all ranks. Returns 1 if a route does not work until
    something is corrected, else 0. Collective."""
    machine = None
    try:
        machine = core().Machine.discover(choose_backend("auto"), bind=False)
        said = examine(machine)
    except CaseError as error:
        said = [Said(Finding("start", MEND, "the compiled part or MPI does not start", str(error)), [0])]
    mends = sum(one.finding.status == MEND for one in said)
    if as_json:
        findings = [asdict(one.finding) | {"ranks": one.ranks} for one in said]
        links = machine.links() if machine else []
        facts = {"findings": findings, "mend": mends, "peers": [[link["peer"] for link in row] for row in links]}
        if not console.quiet:
            print(json.dumps(facts, indent=2))
    else:
        _print(console, said)
        if machine and len(machine.devices()) > 1:
            for part in topology.tables(machine):
                console.print(part)
        console.print(f"\n{mends} to mend" if mends else "\nnothing to mend")
    return 1 if mends else 0


def examine(machine: "Machine") -> list[Said]:
    """Runs all checks of the machine on all ranks, and returns the same list on every rank. Collective."""
    comm = core().Communicator.world()
    checks: list[Callable[[], list[Finding]]] = [
        mpi,
        lambda: [gpu_mpi(core().mpi_facts()["gpu_aware"], machine.devices(), core().gpu_mpi_problem(machine))],
        lambda: launcher(comm.size),
        gpus,
        lambda: peers(machine),
        lambda: mapping(machine, comm.rank),
        lambda: doctor_host.binding(_bus_ids(machine, comm.rank)),
        lambda: [network_card(machine.bindings()[comm.rank]["network_card"], os.environ.get(network.VARIABLE))],
        lambda: doctor_host.shared_memory(_ranks_here(machine, comm.rank)),
        doctor_host.memory_files,
        doctor_host.locked_memory,
        doctor_host.single_copy,
        lambda: libraries(core().routes("host")),
    ]
    mine = [finding for check in checks for finding in attempt(check)]
    gathered = comm.all_gather(json.dumps([asdict(finding) for finding in mine]))
    return merged([[Finding(**found) for found in json.loads(text)] for text in gathered])


def attempt(check: Callable[[], list[Finding]]) -> list[Finding]:
    """Runs one check of the machine. An exception becomes a result, so that other checks still run."""
    try:
        return check()
    except (OSError, RuntimeError, ValueError) as error:
        name = getattr(check, "__name__", "check").strip("<>")
        return [Finding(name, MEND, f"the check itself failed: {error}", "report this line with your system's name")]


def merged(by_rank: list[list[Finding]]) -> list[Said]:
    """Merges equal results of several ranks into one, in the order of the checks."""
    ranks: dict[Finding, list[int]] = {}
    order: dict[str, int] = {}
    for rank, findings in enumerate(by_rank):
        for finding in findings:
            ranks.setdefault(finding, []).append(rank)
            order.setdefault(finding.check, len(order))
    return [Said(finding, ranks[finding]) for finding in sorted(ranks, key=lambda finding: order[finding.check])]


def mpi() -> list[Finding]:
    """Checks the MPI library and its thread level."""
    facts = core().mpi_facts()
    library = facts["library"].partition(",")[0].strip()
    found = [Finding("MPI", FINE, f"{library}, standard {facts['standard']}")]
    level = facts["threads"]
    if level == "single":
        remedy = "start MPI with MPI_Init_thread and at least MPI_THREAD_FUNNELED"
        found.append(Finding("threads of MPI", MEND, "MPI_THREAD_SINGLE, but streams run in threads", remedy))
    else:
        found.append(Finding("threads of MPI", FINE, level))
    return found


def gpu_mpi(says: bool | None, devices: Sequence[Mapping[str, Any]], problem: str) -> Finding:
    """Compares what MPI claims about device memory with a test message; `problem` is empty if it arrived."""
    name, staged = "GPU-aware MPI", "routes through host memory serve instead"
    claim = {None: "this MPI does not say", True: "says yes", False: "says no"}[says]
    if any(device["backend"] != "cuda" for device in devices):
        return Finding(name, NOTE, f"{claim}; no GPU here to prove it with", staged)
    if not problem:
        return Finding(name, FINE, "messages from GPU memory arrived as they were sent")
    if not says:
        return Finding(name, NOTE, problem, f"{staged}; an MPI built with CUDA (UCX) would say yes")
    remedy = f"{staged}; mend what MPI was built or started with: UCX with CUDA, its transports, the driver"
    return Finding(name, MEND, f"{claim}, but: {problem}", remedy)


def launcher(ranks: int) -> list[Finding]:
    """Checks whether the mpiexec on the PATH belongs to the MPI in use, and which launcher started this job."""
    path = shutil.which("mpiexec")
    if path is None:
        return [Finding("launcher", MEND, "no mpiexec on PATH", "install an MPI (Debian: openmpi-bin) or extend PATH")]
    asked = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=60)
    version = (asked.stdout.strip().splitlines() or [""])[0]
    mine = core().mpi_facts()["library"]
    opens = ["Open MPI" in version or "OpenRTE" in version or "PRRTE" in version, "Open MPI" in mine]
    if opens[0] != opens[1]:
        remedy = f"put the mpiexec of {mine.partition(',')[0]} first on PATH"
        return [Finding("launcher", MEND, f"{path} is of another MPI: {version}", remedy)]
    started = "not started by it" if launched_size() is None else terminal.count(ranks, "rank")
    return [Finding("launcher", FINE, f"{path}, {version}; {started}")]


def gpus() -> list[Finding]:
    """Checks the CUDA driver, the CUDA runtime and the GPUs."""
    module = core()
    present = doctor_host.gpu_files()
    if not module.build_info()["cuda"]:
        if not present:
            return [Finding("GPUs", NOTE, "none here, and this build has no CUDA", "virtual devices stand in for them")]
        found = f"{terminal.count(present, 'GPU')} here, but this build has no CUDA"
        return [
            Finding(
                "GPUs",
                MEND,
                found,
                "build with cmake --preset cuda, or pip install . -Ccmake.define.SLIPSTREAM_CUDA=ON",
            )
        ]
    versions = module.driver_versions("cuda")
    if not module.device_count("cuda"):
        if not present:
            return [Finding("GPUs", NOTE, f"none here ({versions})", "virtual devices stand in for them")]
        remedy = "nvidia-smi must list them: check the driver, CUDA_VISIBLE_DEVICES and the container's devices"
        return [Finding("GPUs", MEND, f"{terminal.count(present, 'GPU')} here, none usable ({versions})", remedy)]
    listed = [f"{device['index']}: {device['name']}" for device in module.device_facts("cuda")]
    return [Finding("CUDA", FINE, versions), Finding("GPUs", FINE, ", ".join(listed))]


def peers(machine: "Machine") -> list[Finding]:
    """Finds pairs of devices of one node whose kernels cannot reach each other's memory."""
    devices, links = machine.devices(), machine.links()
    pairs = [
        (a, b)
        for a, row in enumerate(links)
        for b in range(len(row))
        if a != b and devices[a]["node"] == devices[b]["node"]
    ]
    if not pairs:
        return [Finding("peer access", NOTE, "one device a node: nothing to reach", "")]
    without = [f"{a} to {b}" for a, b in pairs if not links[a][b]["peer"]]
    if not without:
        return [Finding("peer access", FINE, f"all {len(pairs)} pairs of devices of a node")]
    shown = ", ".join(without[:6]) + (", ..." if len(without) > 6 else "")
    off = " and ".join(routes.BY_PEER_ACCESS_WITHIN_PROCESS)
    remedy = (
        f"routes {off} are off there: see nvidia-smi topo -p2p r; in virtual machines and containers pass "
        "NVLink or the PCIe access control (ACS) settings through"
    )
    return [Finding("peer access", MEND, f"missing from device {shown}", remedy)]


def mapping(machine: "Machine", rank: int) -> list[Finding]:
    """Maps memory of the node's next rank into this process, on all devices, and reads the values that it wrote.
    Collective."""
    mine = [device for device in machine.devices() if device["rank"] == rank]
    backend = mine[0]["backend"] if mine else choose_backend("auto")
    problem = core().map_neighbour(backend, [device["index"] for device in mine] or [0])
    name = "memory of neighbours"
    if problem is None:
        return [Finding(name, NOTE, "one rank on this node: nothing to map", "try mpiexec -n 2 slipstream doctor")]
    if problem:
        off = " and ".join(routes.BY_PEER_ACCESS_BETWEEN_PROCESSES)
        remedy = (
            f"routes {off} fail between ranks: containers need one shared PID and IPC namespace "
            "(docker --ipc=host --pid=host), CUDA IPC a bare-metal or passed-through GPU"
        )
        return [Finding(name, MEND, problem, remedy)]
    devices = f" by {len(mine)} devices" if len(mine) > 1 else ""
    return [Finding(name, FINE, f"mapped and read from the next rank{devices}")]


def network_card(nearest: str, given: str | None) -> Finding:
    """Result on the network card of this rank; `given` is the card that the user chose."""
    name = "network card"
    if given is not None:
        return Finding(name, FINE, f"{network.VARIABLE}={given} as you set it; the nearest is {nearest or 'not known'}")
    if network.is_fabric(nearest):
        remedy = f"slipstream run gives it to UCX on several nodes; own programs set {network.VARIABLE}={nearest}"
        return Finding(name, FINE, f"{nearest}, nearest to this rank", remedy)
    return Finding(name, NOTE, f"no InfiniBand port is up; the nearest other card: {nearest or 'none'}", "")


def libraries(of_engine: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Checks the libraries of routes that need one, which are optional."""
    found = []
    for route in of_engine:
        name, file, missing = route["name"], route["library"], route["library_missing"]
        if missing:
            remedy = f"optional, for the route {name}: a CUDA build with its header, and SLIPSTREAM_{name.upper()}_FILE"
            found.append(Finding(name.upper(), NOTE, missing, f"{remedy} names the library"))
        elif file:
            found.append(Finding(name.upper(), FINE, doctor_host.loaded_file(file)))
    return found


def _bus_ids(machine: "Machine", rank: int) -> list[str]:
    """PCI addresses of this rank's GPUs."""
    here = [device for device in machine.devices() if device["rank"] == rank and device["backend"] == "cuda"]
    if not here:
        return []
    facts = {device["index"]: device["bus_id"] for device in core().device_facts("cuda")}
    return [facts[device["index"]] for device in here]


def _ranks_here(machine: "Machine", rank: int) -> int:
    """Number of ranks on this rank's node."""
    hosts = {binding["rank"]: binding["host"] for binding in machine.bindings()}
    return sum(host == hosts.get(rank) for host in hosts.values()) or 1


def _print(console: Console, said: list[Said]) -> None:
    ranks = {rank for one in said for rank in one.ranks}
    several = len(ranks) > 1
    columns = ["", "what", "found", "what to do"] + (["ranks"] if several else [])
    rows = []
    for one in said:
        finding = one.finding
        status = Text(finding.status, style=_COLOURS[finding.status])
        ranks_text = "all" if len(one.ranks) == len(ranks) else topology.ranges(sorted(one.ranks)).replace(",", ", ")
        rows.append([status, finding.check, finding.found, finding.remedy, *([ranks_text] if several else [])])
    console.print(terminal.table("what exchanges need here", columns, rows, left=len(columns)))
