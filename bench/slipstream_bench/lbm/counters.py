"""Hardware counters of a step around solid cells by Nsight Compute, for tables 1.1 to 1.5 of Zheng (2023).

`ncu` must start the profiled program. This module therefore starts itself under it on one GPU, and reads the resulting
table.
"""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.lbm import running
from slipstream.machine import discovery
from slipstream.run import engine

from slipstream_bench import record
from slipstream_bench.lbm import solids
from slipstream_bench.record import Row

#: Metrics of Nsight Compute by column: name of the metric, and factor that converts it to the column's unit.
METRICS: Mapping[str, tuple[str, float]] = {
    "compute_percent": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", 1.0),
    "memory_percent": ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 1.0),
    "l1_percent": ("l1tex__throughput.avg.pct_of_peak_sustained_active", 1.0),
    "l2_percent": ("lts__throughput.avg.pct_of_peak_sustained_elapsed", 1.0),
    "dram_percent": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 1.0),
    "duration_us": ("gpu__time_duration.sum", 1e-3),
    "cycles": ("sm__cycles_elapsed.max", 1.0),
    "l1_load_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1.0),
    "l1_store_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 1.0),
    "local_load_requests": ("l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", 1.0),
    "l2_read_sectors": ("lts__t_sectors_op_read.sum", 1.0),
    "l2_write_sectors": ("lts__t_sectors_op_write.sum", 1.0),
    "dram_read_bytes": ("dram__bytes_read.sum", 1.0),
    "dram_write_bytes": ("dram__bytes_write.sum", 1.0),
}
#: Number of time steps that a run with each treatment of solid cells makes. The last one is profiled.
STEPS = 2
TIMEOUT_S = 300


def profiler() -> str | None:
    return shutil.which("ncu")


def measure(choice: Any, cells: Sequence[int], share: float, ways: Sequence[str]) -> list[Row]:
    """Measures a row of counters per treatment of solid cells. Raises CaseError if the profiler cannot count."""
    inputs = asdict(record.chosen(solids.Choice, choice))
    work = json.dumps({"choice": inputs, "cells": list(cells), "share": share, "ways": list(ways)})
    metrics = ",".join(name for name, _ in METRICS.values())
    command = [profiler() or "ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--metrics", metrics,
               "--kernel-name-base", "demangled", "--kernel-name", "regex:StreamCollide",
               sys.executable, "-m", "slipstream_bench.lbm.counters", work]  # fmt: skip
    try:
        # The subprocess must find the benchmarks' package, so it gets the search path of this process.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise CaseError(
            f"bench lbm_flagfield: ncu did not end within {TIMEOUT_S} s", ErrorCode.TIMEOUT, limit=TIMEOUT_S
        ) from None
    launches = _read(ended.stdout)
    if ended.returncode != 0 or len(launches) != STEPS * len(ways):
        said = " ".join((ended.stdout + ended.stderr).split())[-400:]
        raise CaseError(
            f"bench lbm_flagfield: ncu counted {len(launches)} of {STEPS * len(ways)} steps and ended with "
            f"{ended.returncode}; it may need the right to read the GPU's counters. It said: {said}",
            ErrorCode.UNAVAILABLE,
            found=len(launches),
            limit=STEPS * len(ways),
        )
    return [{"solids": way} | launches[STEPS * n + STEPS - 1] for n, way in enumerate(ways)]


def _read(text: str) -> list[Row]:
    """Launches of kernels with their metrics, from the table that the profiler ncu prints, with a line per launch and
    metric."""
    start = text.find('"ID"')
    if start < 0:
        return []
    columns = {metric: (name, unit) for name, (metric, unit) in METRICS.items()}
    found: dict[str, Row] = {}
    for line in csv.DictReader(io.StringIO(text[start:])):
        if line["Metric Name"] not in columns:
            continue
        name, unit = columns[line["Metric Name"]]
        value = float(line["Metric Value"].replace(",", "")) * unit
        found.setdefault(line["ID"], {})[name] = record.digits(value)
    return [found[key] for key in sorted(found, key=int)]


def _steps(work: Mapping[str, Any]) -> None:
    """Runs a few steps, launched one by one, in the process that ncu profiles."""
    choice = solids.Choice(**work["choice"])
    cells = tuple(work["cells"])
    mask = solids.solids(cells, work["share"])
    for way in work["ways"]:
        case = solids.case_of(choice, cells, way)
        lbm = running.compiled(engine.prepare(case, discovery.discover(case.machine)))
        lbm.set_solid(mask)
        for _ in range(STEPS):
            lbm.advance(1)


if __name__ == "__main__":
    _steps(json.loads(sys.argv[1]))
