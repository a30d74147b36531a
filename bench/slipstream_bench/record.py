"""Common parts of all benchmarks: options as dataclasses, and result files."""

import dataclasses
import fcntl
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.machine import topology

Row = dict[str, Any]
Choice = TypeVar("Choice")
#: Function that draws a picture, given its path and the name of the machine.
Draw = Callable[[Path, str], None]

#: Columns that `write` adds to a row: card, commit and date of the measurement.
PROVENANCE = frozenset({"card", "commit", "date"})
#: Minimum time in seconds between intermediate writes of a benchmark.
SECONDS_BETWEEN_WRITES = 5.0
#: Result columns of all benchmarks. `share` is the least time that memory bandwidth allows over the measured one.
#: `in_cache` says whether data in a cache explain a share above 1.
SHARE = frozenset({"share", "in_cache"})
#: Bytes of the last-level cache of GPUs, by words in their name.
GPU_CACHES = {"A100": 40 << 20, "H100": 50 << 20, "H200": 50 << 20}


def chosen(choice: type[Choice], arguments: Any) -> Choice:
    """Makes a dataclass of options, whose fields have the names of command-line options."""
    return choice(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(choice)})


def digits(value: float) -> float:
    """Rounds to five digits, because no measurement of these benchmarks is more exact."""
    return float(f"{value:.5g}")


def share_of(least: float, time: float, moved: float, devices: Sequence[Row]) -> Row:
    """Columns of a row: `share`, the minimum time over the measured one, and `in_cache` if a cache explains a share
    above 1. `moved`: bytes per device in the minimum time.
    """
    share = digits(least / time)
    shared_by = len(devices) if devices[0]["backend"] == "host" else 1
    held = share > 1 and moved * shared_by <= cache_bytes(devices[0])
    return {"share": share, **({"in_cache": True} if held else {})}


def cache_bytes(device: Row) -> int:
    """Last-level cache of a GPU, or of the processor for emulated devices; 0 if unknown."""
    if device["backend"] != "host":
        return next((size for name, size in GPU_CACHES.items() if name in device["name"]), 0)
    sizes = [path.read_text().strip() for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max((int(size[:-1]) << 10 for size in sizes if size.endswith("K")), default=0)


def impossible(row: Row) -> bool:
    """Whether a row is faster than its minimum time, although its bytes exceed all caches."""
    return (row.get("share") or 0) > 1 and not row.get("in_cache", False)


def possible(rows: Sequence[Row], figures: frozenset[str], console: Console) -> list[Row]:
    """Benchmark rows whose time is not below the least that the bandwidth of memory allows. Prints the other rows, with
    the reason.
    """
    for row in filter(impossible, rows):
        inputs = ", ".join(f"{key} {value}" for key, value in row.items() if key not in figures | SHARE)
        why = "no cache holds its bytes, so the rate of a copy was measured too low"
        console.print(f"left out: share {row['share']:g}, but {why}: {inputs}", soft_wrap=True, highlight=False)
    return [row for row in rows if not impossible(row)]


def grid_of(per_device: int, counts: Sequence[int]) -> list[int]:
    """Extent of a grid that gives each device one cube, for a partition into counts[axis] parts."""
    return [per_device * count for count in counts]


def describe_machine(machine: Any) -> Row:
    """The entry `machine` of a result file. `card`: model of its devices, or of the processor that emulates them."""
    found, build = machine.devices(), core().build_info()
    card = _card(found)
    # Names of hosts are left out, because they mean nothing to readers.
    on_host = found[0]["backend"] == "host"
    name = f"{card}, {core().host_threads()} threads" if on_host else name_of_gpus(card, found)
    return {
        "name": name,
        "card": card,
        "devices": [entry["name"] for entry in found],
        "links": topology.link_summary(machine),
        "memory_gb_per_s": found[0]["memory_gb_per_s"],
        "threads": core().host_threads(),
        "mpi": build["mpi"],
        "compiler": build["compiler"],
        **{key: build[key] for key in ("driver", "cuda_version") if key in build},
    }


def name_of_gpus(card: str, devices: list[Row]) -> str:
    """Name of the GPUs of a machine for result files. Ranks may share a GPU; it counts once, and the name states as how
    many devices it acts."""
    count = len({(entry["node"], entry["uuid"]) for entry in devices})
    several = f"{count} x {card}" if count > 1 else card
    return several if count == len(devices) else f"{several} as {len(devices)} devices"


def _card(devices: list[Row]) -> str:
    if devices[0]["backend"] != "host":
        return str(devices[0]["name"])
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor")


def keep(
    folder: Path | None,
    benchmark: str,
    machine: Row,
    rows: list[Row],
    figures: frozenset[str],
    console: Console,
    draw: Draw | None = None,
    suffix: str = "",
) -> Path | None:
    """Adds rows to the benchmark's file, draws its picture, whose name may have a suffix, and prints their paths. Rank
    0 does this, unless output is off. Omits rows whose time is below the least that memory bandwidth allows.
    """
    if folder is None or core().rank() != 0:
        return None
    rows = possible(rows, figures, console)
    path = write(folder, benchmark, machine, core().build_info()["commit"], rows, figures)
    written = [path]
    if draw:
        written.append(path.with_name(f"{path.stem}{suffix}.png"))
        draw(written[1], machine["name"])
    console.print(f"written: {', '.join(map(str, written))}", soft_wrap=True)
    return path


def kept_on_the_way(
    folder: Path | None, benchmark: str, machine: Row, rows: Iterable[Row], figures: frozenset[str]
) -> Iterator[Row]:
    """Yields rows as they are measured and writes them to the benchmark's file every few seconds, so that an
    interrupted run keeps them. Rank 0 writes, unless output is off."""
    waiting: list[Row] = []
    last = time.perf_counter()
    for row in rows:
        if not impossible(row):
            waiting.append(row)
        late = time.perf_counter() - last > SECONDS_BETWEEN_WRITES
        if folder is not None and core().rank() == 0 and waiting and late:
            write(folder, benchmark, machine, core().build_info()["commit"], waiting, figures)
            waiting, last = [], time.perf_counter()
        yield row


def write(
    folder: Path,
    benchmark: str,
    machine: Row,
    commit: str,
    rows: list[Row],
    figures: frozenset[str],
    command: str = "",
) -> Path:
    """Writes the result file of a benchmark on a machine and merges it with existing rows. Rows with the same inputs
    (all columns but `figures`) are replaced; others and their commands are kept. `command`: if it differs from this
    process's command line. Concurrent processes wait for each other.
    """
    today = date.today().isoformat()
    path = folder / benchmark / f"{slug(machine['name'])}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    origin = {"card": machine.get("card", machine["name"]), "commit": commit, "date": today}
    with _locked(path.parent):
        before = read(path) if path.exists() else {"rows": [], "command": ""}
        result = {
            "benchmark": benchmark,
            "machine": machine,
            "commit": commit,
            "date": today,
            "command": "; ".join(dict.fromkeys([*filter(None, before["command"].split("; ")), command or _command()])),
            "rows": [*{_inputs(row, figures): row for row in [*before["rows"], *(r | origin for r in rows)]}.values()],
        }
        # A new file replaces the old one, so that the old one survives if this process is killed.
        new = path.with_name(path.name + ".new")
        new.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        new.replace(path)
    return path


def read(path: Path) -> dict[str, Any]:
    """Reads a result file of a benchmark. Raises CaseError if it is invalid."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(result["rows"], list) and isinstance(result["command"], str):
            return result
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        pass
    raise CaseError(
        f"{path} is no result file of a benchmark, so that no rows can join it: move it away",
        ErrorCode.BAD_FILE,
        file=path,
    )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Locks a folder against other processes within the block."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _command() -> str:
    """Command line to repeat the run, without output paths; ranks may come from mpiexec."""
    words, ranks = [word for word in sys.argv[1:] if not word.startswith("--folder=")], core().size()
    if "--folder" in words:
        at = words.index("--folder")
        words = words[:at] + words[at + 2 :]
    return shlex.join(["slipstream", *words, *(["-n", str(ranks)] if ranks > 1 else [])])


def slug(name: str) -> str:
    """Converts the name of a machine to the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _inputs(row: Row, figures: frozenset[str]) -> str:
    hidden = figures | PROVENANCE | SHARE
    return json.dumps({key: value for key, value in row.items() if key not in hidden}, sort_keys=True)
