"""What all benchmarks share: the choice that their options make, and the file that their rows go to."""

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
#: Draws a picture: its path, and the name of the machine.
Draw = Callable[[Path, str], None]

#: Columns that `write` adds to a row: what was measured on which card and when.
PROVENANCE = frozenset({"card", "commit", "date"})
#: A benchmark that writes what it has waits so long between.
SECONDS_BETWEEN_WRITES = 5.0
#: Columns of `share_of`, which are results of every benchmark.
SHARE = frozenset({"share", "in_cache"})
#: Bytes of the last cache, by words in a GPU's name.
GPU_CACHES = {"A100": 40 << 20, "H100": 50 << 20, "H200": 50 << 20}


def chosen(choice: type[Choice], arguments: Any) -> Choice:
    """A dataclass whose fields are named as the options that fill them."""
    return choice(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(choice)})


def digits(value: float) -> float:
    """Five of them: no measurement here has more."""
    return float(f"{value:.5g}")


def share_of(least: float, time: float, moved: float, devices: Sequence[Row]) -> Row:
    """Columns of a row: `share`, the least time over the measured one, and `in_cache` where a cache explains that
    it is above 1. `moved`: bytes that the least time counts, of a device."""
    share = digits(least / time)
    shared_by = len(devices) if devices[0]["backend"] == "host" else 1
    held = share > 1 and moved * shared_by <= cache_bytes(devices[0])
    return {"share": share, **({"in_cache": True} if held else {})}


def cache_bytes(device: Row) -> int:
    """The last cache of a GPU, or of the processor whose devices are emulated; 0: not known."""
    if device["backend"] != "host":
        return next((size for name, size in GPU_CACHES.items() if name in device["name"]), 0)
    sizes = [path.read_text().strip() for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max((int(size[:-1]) << 10 for size in sizes if size.endswith("K")), default=0)


def impossible(row: Row) -> bool:
    """Whether a row claims less than the least time, of bytes that no cache holds."""
    return (row.get("share") or 0) > 1 and not row.get("in_cache", False)


def possible(rows: Sequence[Row], figures: frozenset[str], console: Console) -> list[Row]:
    """Rows without those that are `impossible`, each of which is printed with the reason."""
    for row in filter(impossible, rows):
        inputs = ", ".join(f"{key} {value}" for key, value in row.items() if key not in figures | SHARE)
        why = "no cache holds its bytes, so the rate of a copy was measured too low"
        console.print(f"left out: share {row['share']:g}, but {why}: {inputs}", soft_wrap=True, highlight=False)
    return [row for row in rows if not impossible(row)]


def grid_of(per_device: int, counts: Sequence[int]) -> list[int]:
    """A grid that gives every device a cube, for a partition into counts[axis] parts."""
    return [per_device * count for count in counts]


def describe_machine(machine: Any) -> Row:
    """The `machine` of a result file; `card` is the model of its devices, or of the processor that stands in."""
    found, build = machine.devices(), core().build_info()
    card = _card(found)
    # Host names say nothing to a reader.
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
    """Ranks may share a GPU: it counts once, and the name says as how many devices it is used."""
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
    """Adds rows to the benchmark's file and draws its picture, whose name may have a suffix; says where they are. On
    rank 0, and unless nothing is to be written. Rows that claim less than their least time are left out."""
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
    """Rows as they are measured, which are in the benchmark's file within seconds: whoever ends the run early has
    them. On rank 0, and unless nothing is to be written."""
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
    """The result file of a benchmark on a machine. What is there already goes on: rows of the same inputs, all columns
    but `figures`, are replaced, others stay as they were measured, and so do the commands. `command`: what was typed,
    where that is not this process's own command line. Processes that write at once wait for each other."""
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
        # Who is killed here leaves the old file.
        new = path.with_name(path.name + ".new")
        new.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        new.replace(path)
    return path


def read(path: Path) -> dict[str, Any]:
    """A result file. Raises CaseError where it is none."""
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
    """Holds off other processes that ask for the same folder, for as long as it is entered."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _command() -> str:
    """As it would be typed again: where files go does not matter, and the ranks may be mpiexec's."""
    words, ranks = [word for word in sys.argv[1:] if not word.startswith("--folder=")], core().size()
    if "--folder" in words:
        at = words.index("--folder")
        words = words[:at] + words[at + 2 :]
    return shlex.join(["slipstream", *words, *(["-n", str(ranks)] if ranks > 1 else [])])


def slug(name: str) -> str:
    """A machine's name as a file's."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _inputs(row: Row, figures: frozenset[str]) -> str:
    hidden = figures | PROVENANCE | SHARE
    return json.dumps({key: value for key, value in row.items() if key not in hidden}, sort_keys=True)
