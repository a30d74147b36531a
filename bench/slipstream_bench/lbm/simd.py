"""`slipstream bench lbm_simd`: flags compared one by one and four at a time (Zheng 2023, 1.3)."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.machine import discovery

from slipstream_bench import options, record
from slipstream_bench.lbm import solids
from slipstream_bench.lbm.solids import PAPER_CELLS, PAPER_SHARE, case_of, measure, number
from slipstream_bench.record import Row
from slipstream_bench.timed import timed

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"repeats", "time_ms", "mlups", "mflups", "steps_per_second", "bytes_per_fluid_cell", "ratio", "paper_ratio"}
)
#: Published speed-up by comparing four cell flags at once, for two toy kernels and the lattice Boltzmann step. It is
#: the time with single comparisons over that with words of four (tables 1.7, 1.8 and 1.13 of Zheng 2023).
PAPER_SIMD = {"outside": 20.707 / 20.719, "inside": 3.577 / 2.104, "step": 699.908 / 702.689}
#: Numbers of words and loop iterations of the toy kernels; on a GPU those of Zheng 2023.
TOY = {"host": (64 * 1024, 200), "cuda": (1024 * 1024, 100_000)}


@dataclass(frozen=True)
class Choice(solids.Choice):
    """Options of `slipstream bench lbm_simd`."""

    cells: int | None  #: number of cells along the side of the cube; None: the grid of Zheng 2023


def simd(choice: Choice, backend: str) -> list[Row]:
    """Measures flags of cells compared one by one and four at a time, in toy kernels and in the step."""
    words, rounds = TOY[backend]
    rows: list[Row] = []
    for kernel in ("outside", "inside"):
        sums = []
        for four in (False, True):
            times = [timed().flag_toy(backend, kernel == "inside", four, words, rounds) for _ in range(3)]
            sums.append(times[0][1])
            row = {"ranks": 1, "devices": 1, "experiment": "simd", "kernel": kernel, "test": _test(four)}
            row |= {"words": words, "rounds": rounds, "clock": "events"}
            rows.append(row | {"time_ms": record.digits(min(t for t, _ in times))})
        if sums[0] != sums[1]:
            raise CaseError(
                f"bench lbm_simd: both tests must compute the same, not {sums[0]} and {sums[1]}", ErrorCode.INTERNAL
            )
    cells = PAPER_CELLS if choice.cells is None else (choice.cells,) * 3
    mask = solids.solids(cells, PAPER_SHARE)
    for four in (False, True):
        step = measure("simd", choice, cells, mask, "flags", by_word=four)
        rows.append(step | {"kernel": "step", "test": _test(four)})
    for plain, four_row in zip(rows[::2], rows[1::2], strict=True):
        plain["ratio"], plain["paper_ratio"] = 1.0, None
        four_row["ratio"] = record.digits(plain["time_ms"] / four_row["time_ms"])
        four_row["paper_ratio"] = record.digits(PAPER_SIMD[four_row["kernel"]])
    return rows


def _test(four: bool) -> str:
    return "four flags a word" if four else "plain"


def _table(choice: Choice, machine: str, rows: Sequence[Row]) -> Any:
    shown = [
        (row["kernel"], row["test"], number(row["time_ms"]), number(row["ratio"], ".3f"),
         number(row["paper_ratio"], ".3f"))
        for row in rows
    ]  # fmt: skip
    columns = ["if", "test", "ms", "speed-up", "Zheng's"]
    return terminal.table(f"flags by word on {machine}, {choice.precision}", columns, shown, left=2)


def add_options(parser: argparse.ArgumentParser) -> None:
    options.precision(parser, "f64", ("f16", "f32", "f64"))
    options.one_cube(parser)
    options.threads(parser)
    options.method(parser)
    options.streaming(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Times tests of the flags that mark solid cells, one by one and four at a time. Prints the times and writes them
    to a result file. It runs on one rank with one device.
    """
    choice = record.chosen(Choice, arguments)
    solids.check_ranks("lbm_simd")
    backend = discovery.choose_backend(choice.backend)
    if backend == "cuda" and choice.precision != "f64":
        raise CaseError(
            "bench lbm_simd: on GPUs f32 and f16 step by groups of cells, which look at all of their flags at once; "
            "take --precision f64",
            ErrorCode.UNSUPPORTED,
            option="precision",
        )
    machine = discovery.discover(case_of(choice, PAPER_CELLS, "dense").machine)
    rows = simd(choice, backend)
    console.print(_table(choice, machine.name, rows))
    record.keep(arguments.folder, "lbm_simd", record.describe_machine(machine), rows, FIGURES, console)
