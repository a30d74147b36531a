"""The benchmarks of `slipstream bench`: the module that runs each, and the options that it takes.

A module has `command(arguments, console, folder)`, where folder is None if nothing is to be written.
"""

import argparse
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream.errors import CaseError


@dataclass(frozen=True)
class Benchmark:
    """Where a benchmark is, and its options beside those that all take."""

    module: str
    options: tuple[str, ...] = ()


BENCHMARKS: Mapping[str, Benchmark] = {
    "lbm": Benchmark(
        "bench",
        (
            "precision",
            "cells",
            "devices",
            "threads",
            "lattice",
            "collision",
            "streaming",
            "layout",
            "overlap",
            "experiment",
            "grid",
        ),
    ),
    "cavity": Benchmark("bench_cavity", ("precision", "cells")),
    "cases": Benchmark("bench_cases", ("names", "variant")),
    "copy": Benchmark("bench_copy", ("cells", "quick")),
    "pingpong": Benchmark("bench_pingpong", ("quick", "device_buffers", "label")),
    "allreduce": Benchmark("bench_allreduce", ("devices", "quick")),
    "placement": Benchmark("bench_placement", ("cells", "devices", "machine", "nodes", "radius", "quantities")),
    "exchange": Benchmark(
        "bench_exchange", ("devices", "sizes", "quantities", "radius", "alignment", "layout", "routes", "part", "quick")
    ),
}


#: Those of `bench lbm`: the module that runs each.
EXPERIMENTS: Mapping[str, str] = {
    "layout": "bench_lbm_experiments",
    "imbalance": "bench_lbm_experiments",
    "weak": "bench_lbm_experiments",
    "strong": "bench_lbm_experiments",
    "communication": "bench_lbm_communication",
    "frame": "bench_lbm_frame",
    "validation": "bench_lbm_validation",
    "io": "bench_lbm_io",
    "flagfield": "bench_lbm_solids",
    "simd": "bench_lbm_solids",
    "methods": "bench_lbm_methods",
}


@dataclass(frozen=True)
class Option:
    """An option that only some benchmarks take, and its value where it is not given."""

    default: Any
    help: str
    argument: Mapping[str, Any] = field(default_factory=dict)


OPTIONS: Mapping[str, Option] = {
    "precision": Option(
        None,
        "may be repeated; default: f32 and f64, of the cavity f32",
        {"choices": ["f16", "f32", "f64"], "action": "append"},
    ),
    "cells": Option(
        [],
        "cubes of N^3 cells a device, of the cavity in all; for the placement X Y Z in all",
        {"type": int, "nargs": "+", "metavar": "N"},
    ),
    "sizes": Option([], "cubes of N^3 cells a device", {"type": int, "nargs": "+", "metavar": "N"}),
    "machine": Option([], "machine files", {"nargs": "+", "metavar": "FILE"}),
    "nodes": Option(0, "nodes of the machine files", {"type": int}),
    "radius": Option(3, "halo width", {"type": int}),
    "alignment": Option(32, "bytes to a multiple of which the first interior cell of every row comes", {"type": int}),
    "quantities": Option(4, "f32 values a cell", {"type": int}),
    "routes": Option("", "+direct,-nvshmem: all routes with and without some; direct,kernel: only these"),
    "part": Option(
        ["all"], "what to measure", {"nargs": "+", "choices": ["must", "ladder", "schemes", "scaling", "all"]}
    ),
    "devices": Option(0, "devices a rank", {"type": int}),
    "threads": Option(0, "threads of host kernels; 0: all cores", {"type": int}),
    "lattice": Option("D3Q19", "", {"choices": ["D3Q19", "D3Q27"]}),
    "collision": Option("TRT", "", {"choices": ["SRT", "TRT", "MRT", "cumulant"]}),
    "streaming": Option("two", "two arrays of populations, or one", {"choices": ["two", "in_place"]}),
    "layout": Option(
        "auto",
        "of the fields in memory; with aos the exchange's quantities share one",
        {"choices": ["auto", "soa", "aos", "soa_z"]},
    ),
    "experiment": Option(
        None,
        "of Risso 2017 or Zheng 2023, as a rule 200 steps, the smallest of 10 times; and methods",
        {"choices": list(EXPERIMENTS)},
    ),
    "grid": Option(
        "",
        "2x2x1: devices along x, y and z; with --experiment communication 3x3x3: blocks, open at all sides, against "
        "periodic ones",
    ),
    "overlap": Option("auto", "", {"choices": ["auto", "on", "off"]}),
    "variant": Option(
        [], "variants to run in place of the cases, of those that have them", {"nargs": "+", "metavar": "NAME"}
    ),
    "quick": Option(False, "few small sizes", {"action": "store_true"}),
    "device_buffers": Option(False, "give MPI addresses in GPU memory", {"action": "store_true"}),
    "label": Option("", "name of the way MPI moves messages; or OMPI_MCA_pml"),
}


def _takers(option: str) -> str:
    """Benchmarks that take an option."""
    return ", ".join(name for name, benchmark in BENCHMARKS.items() if option in benchmark.options)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", choices=list(BENCHMARKS))
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of a case, or path of a case file or folder ({_takers('names')})"
    )
    parser.add_argument("--backend", choices=["auto", "host", "cuda"], default="auto")
    for name, option in OPTIONS.items():
        who = f"{option.help} ({_takers(name)})".strip()
        parser.add_argument(_flag(name), default=option.default, help=who, **option.argument)
    parser.add_argument("--folder", type=Path, default=Path("bench/results"), help="where the result file goes")
    parser.add_argument("--no-write", action="store_true", help="print only")


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _check_options(arguments: argparse.Namespace) -> None:
    taken = BENCHMARKS[arguments.benchmark].options
    for name, option in OPTIONS.items():
        if getattr(arguments, name) != option.default and name not in taken:
            raise CaseError(f"bench {arguments.benchmark} takes no {_flag(name)}: {_takers(name)} only")
    if arguments.names and "names" not in taken:
        raise CaseError(f"bench {arguments.benchmark} takes no names: {_takers('names')} only")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Runs the benchmark that the arguments name."""
    _check_options(arguments)
    module = importlib.import_module(f"slipstream.{BENCHMARKS[arguments.benchmark].module}")
    module.command(arguments, console, None if arguments.no_write else arguments.folder)
