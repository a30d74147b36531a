"""`slipstream bench`: updates a second of an empty periodic box, beside the roof measured in the same run."""

import argparse
import fcntl
import importlib
import json
import math
import os
import re
import shlex
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream import engine, predict, report
from slipstream.case import Case, Source, parse
from slipstream.core import core
from slipstream.errors import CaseError

DEFAULT_CELLS = {"host": [64, 128], "cuda": [128, 256, 512]}
#: Seconds that the steps of one measurement last, in so many parts: before each the roof is measured, which drifts
#: where others use the machine, too. Rates are the medians, the share of the roof is the median of the pairs' shares.
DURATION = 2.0
PAIRS = 7


@dataclass(frozen=True)
class Choice:
    """What to measure."""

    backend: str
    precisions: Sequence[str]
    cells: Sequence[int]
    devices: int
    threads: int
    lattice: str
    collision: str
    streaming: str
    layout: str
    overlap: str
    grid: str = ""  #: devices along x, y and z, as 2x2x1; as the machine is partitioned where it is left out


def _case(choice: Choice, cells: Sequence[int], precision: str, nodes: int = 1) -> Case:
    data = {
        "grid": {"cells": list(cells), "periodic": [True, True, True]},
        "lbm": {
            "precision": precision,
            "lattice": choice.lattice,
            "collision": choice.collision,
            "streaming": choice.streaming,
            "layout": choice.layout,
        },
        "physics": {"viscosity": 0.05, "lid_speed": 0.05},
        "run": {"steps": 1},
        "machine": {"backend": choice.backend, "devices_per_rank": choice.devices, "threads": choice.threads},
        "exchange": {"overlap": choice.overlap},
    }
    if choice.grid:
        data["exchange"]["device_grid" if nodes == 1 else "node_grid"] = list(parse_grid(choice.grid))
    return parse(data, Source("bench"))


def parse_grid(text: str, least: int = 1) -> tuple[int, int, int]:
    """`2x2x1`; Raises CaseError unless there are three numbers, each of `least` or more."""
    match = re.fullmatch(r"(\d+)x(\d+)x(\d+)", text)
    x, y, z = (int(n) for n in match.groups()) if match else (0, 0, 0)
    if min(x, y, z) < least:
        raise CaseError(f"bench lbm: --grid {text}: takes three numbers from {least}, as {least}x{least}x{least}")
    return x, y, z


def grid_of(per_device: int, counts: Sequence[int]) -> list[int]:
    """A grid that gives every device a cube, for a partition into counts[axis] parts."""
    return [per_device * count for count in counts]


def _counts(plan: dict[str, Any]) -> list[int]:
    return [n * d for n, d in zip(plan["partition"]["nodes"], plan["partition"]["devices"], strict=True)]


def _timed(lbm: Any, steps: int) -> float:
    """Seconds of these steps: barrier, steps, wait, by rank 0's clock. Collective."""
    module = core()
    module.barrier()
    began = time.perf_counter()
    lbm.advance(steps)
    module.barrier()
    return float(module.broadcast(repr(time.perf_counter() - began), 0))


def _pairs(lbm: Any, devices: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """PAIRS of the seconds of a step and of the roof measured right before it, after a warm-up. Collective."""
    steps, least = 2, DURATION / PAIRS
    while (seconds := _timed(lbm, steps)) < least:
        steps = max(2 * steps, min(8 * steps, int(1.2 * least * steps / max(seconds, 1e-6))))
    return [(predict.measure_memory(devices), _timed(lbm, steps) / steps) for _ in range(PAIRS)]


def _row(choice: Choice, machine: Any, cells: int, precision: str) -> dict[str, Any]:
    devices = len(machine.devices())
    # The partition of a cube of cubes says how many devices lie along each axis.
    cube = _case(choice, [cells] * 3, precision, machine.nodes)
    counts = _counts(engine.prepare(cube, machine, check_memory=False).plan)
    case = _case(choice, grid_of(cells, counts), precision, machine.nodes)
    setup = engine.prepare(case, machine)
    roofs, seconds = zip(*_pairs(engine.solver(setup), machine.devices()), strict=True)
    rate = case.cell_count / statistics.median(seconds) / 1e6
    bytes_a_step = case.cell_count * setup.plan["bytes_per_cell"]
    percents = [100 * bytes_a_step / s / (1e9 * roof * devices) for roof, s in zip(roofs, seconds, strict=True)]
    return {
        "ranks": machine.ranks,
        "devices": devices,
        "split": counts,
        "cells_per_device": [cells] * 3,
        "lattice": choice.lattice,
        "collision": choice.collision,
        "storage": precision,
        "arithmetic": "f64" if precision == "f64" else "f32",
        "streaming": choice.streaming,
        "layout": setup.plan["layout"],
        "overlap": choice.overlap,
        "periodic": True,
        "clock": "host",
        "mlups": digits(rate),
        "gbs": digits(rate * setup.plan["bytes_per_cell"] / 1e3),
        "roof_gbs": digits(statistics.median(roofs) * devices),
        "percent_of_roof": digits(statistics.median(percents)),
        "least_percent": digits(min(percents)),
        "most_percent": digits(max(percents)),
    }


def digits(value: float) -> float:
    """Five of them: no measurement here has more."""
    return float(f"{value:.5g}")


def _machine_name(machine: Any) -> str:
    """Number and model of the GPUs, or the processor's model and its threads: host names say nothing to a reader."""
    count, first = len(machine.devices()), machine.devices()[0]
    if first["backend"] != "host":
        return f"{count} x {first['name']}" if count > 1 else str(first["name"])
    models = [line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return f"{models[0] if models else 'unknown processor'}, {core().host_threads()} threads"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def describe_machine(machine: Any, build: dict[str, Any]) -> dict[str, Any]:
    """The `machine` of a result file."""
    found = machine.devices()
    return {
        "name": _machine_name(machine),
        "devices": [entry["name"] for entry in found],
        "links": report.link_summary(machine),
        "memory_gb_per_s": found[0]["memory_gb_per_s"],
        "threads": core().host_threads(),
        "mpi": build["mpi"],
        "compiler": build["compiler"],
        **{key: build[key] for key in ("driver", "cuda_version") if key in build},
    }


#: Columns that `write` adds to a row.
PROVENANCE = frozenset({"commit", "date"})
#: Columns of a row that are results and not inputs.
FIGURES = frozenset({"mlups", "gbs", "roof_gbs", "percent_of_roof", "least_percent", "most_percent"})


def write(
    folder: Path,
    benchmark: str,
    machine: dict[str, Any],
    commit: str,
    rows: list[dict[str, Any]],
    figures: frozenset[str] = FIGURES,
    command: str = "",
) -> Path:
    """One result file, named for the machine and day, that goes on with the machine's newest: rows of the same inputs,
    all columns but `figures`, are replaced, others stay as they were measured, and so do the commands. `command`: what
    was typed, where that is not this process's own command line. Processes that write at once wait for each other."""
    today = date.today().isoformat()
    name = slug(machine["name"])
    path = folder / benchmark / f"{name}-{today}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    measured = [row | {"commit": commit, "date": today} for row in rows]
    with _locked(path.parent):
        earlier = sorted(path.parent.glob(f"{name}-????-??-??.json"))
        before = json.loads(earlier[-1].read_text(encoding="utf-8")) if earlier else {"rows": [], "command": ""}
        result = {
            "benchmark": benchmark,
            "machine": machine,
            "commit": commit,
            "date": today,
            "command": "; ".join(dict.fromkeys([*filter(None, before["command"].split("; ")), command or _command()])),
            "rows": [*{_inputs(row, figures): row for row in [*before["rows"], *measured]}.values()],
        }
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return path


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
    words, ranks = sys.argv[1:], core().size()
    if "--folder" in words:
        at = words.index("--folder")
        words = words[:at] + words[at + 2 :]
    return shlex.join(["slipstream", *words, *(["-n", str(ranks)] if ranks > 1 else [])])


def slug(name: str) -> str:
    """A machine's name as a part of a file's."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _inputs(row: dict[str, Any], figures: frozenset[str]) -> str:
    hidden = figures | PROVENANCE
    return json.dumps({key: value for key, value in row.items() if key not in hidden}, sort_keys=True)


def bench_lbm(choice: Choice, console: Console, folder: Path | None) -> None:
    """Measures, prints and, on rank 0, writes. Collective."""
    module = core()
    backend = engine.choose_backend(choice.backend)
    cells = choice.cells or DEFAULT_CELLS[backend]
    if any(n < 4 for n in cells):
        raise CaseError("bench lbm: --cells needs 4 or more")
    machine = engine.discover(_case(replace(choice, grid=""), [cells[0]] * 3, "f32"))
    if choice.grid and math.prod(parse_grid(choice.grid)) != len(machine.devices()):
        raise CaseError(f"bench lbm: --grid {choice.grid}: there are {len(machine.devices())} devices")
    rows = []
    for precision in choice.precisions:
        for n in cells:
            rows.append(_row(choice, machine, n, precision))
    shown = [
        (f"{row['cells_per_device'][0]}^3", row["storage"], " x ".join(map(str, row["split"])),
         f"{row['mlups']:.0f}", f"{row['gbs']:.1f}", f"{row['roof_gbs']:.1f}", f"{row['percent_of_roof']:.0f}",
         f"{row['least_percent']:.0f} to {row['most_percent']:.0f}")
        for row in rows
    ]  # fmt: skip
    columns = ["cells a device", "precision", "devices", "MLUPS", "GB/s", "roof GB/s", "% of roof", "of all pairs"]
    arrays = ", in place" if choice.streaming == "in_place" else ""
    title = f"lattice Boltzmann {choice.lattice} {choice.collision}{arrays} on {machine.name}"
    console.print(report.table(title, columns, shown, left=2))
    if folder is not None and module.rank() == 0:
        build = module.build_info()
        console.print(f"written: {write(folder, 'lbm', describe_machine(machine, build), build['commit'], rows)}")


def _solids(arguments: argparse.Namespace, console: Console, folder: Path | None) -> None:
    from slipstream import bench_lbm_solids as solids

    choice = solids.Choice(
        arguments.experiment,
        arguments.backend,
        arguments.threads,
        arguments.cells,
        arguments.lattice,
        arguments.collision,
        (arguments.precision or ["f64" if arguments.experiment == "simd" else "f32"])[0],
        arguments.streaming,
    )
    solids.run(choice, console, folder)


def _experiment(arguments: argparse.Namespace, console: Console, folder: Path | None) -> None:
    from slipstream import bench_lbm_experiments as experiments
    from slipstream import benchmarks

    if arguments.layout != "auto":
        raise CaseError("bench lbm --experiment takes no --layout: `layout` measures soa and aos, the others auto")
    if len(arguments.precision or []) > 1:
        raise CaseError("bench lbm --experiment takes one --precision")
    if arguments.experiment in ("flagfield", "simd"):
        return _solids(arguments, console, folder)
    choice = experiments.Choice(
        arguments.experiment,
        arguments.backend,
        arguments.devices,
        arguments.threads,
        arguments.cells,
        arguments.lattice,
        arguments.collision,
        (arguments.precision or ["f32" if arguments.experiment == "methods" else "f64"])[0],
        arguments.overlap,
        arguments.grid,
    )
    if arguments.grid and arguments.experiment != "communication":
        raise CaseError("bench lbm: of the experiments, --grid belongs to communication")
    importlib.import_module(f"slipstream.{benchmarks.EXPERIMENTS[arguments.experiment]}").run(choice, console, folder)


def command(arguments: argparse.Namespace, console: Console, folder: Path | None) -> None:
    if arguments.experiment:
        return _experiment(arguments, console, folder)
    choice = Choice(
        arguments.backend,
        arguments.precision or ["f32", "f64"],
        arguments.cells,
        arguments.devices,
        arguments.threads,
        arguments.lattice,
        arguments.collision,
        arguments.streaming,
        arguments.layout,
        arguments.overlap,
        arguments.grid,
    )
    bench_lbm(choice, console, folder)
