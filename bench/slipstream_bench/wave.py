"""`slipstream bench wave`: a wave on two ranks with messages of doubles, floats cast in flight, or zfp (Zheng 2023,
2.2.1).

A wave on a plane is cut into two halves of ncell cells: nhalo along the cut and 2 to 16 across it. In each step each
rank sends its nhalo values at the cut and uses the received ones. The initial state is a standing wave with a known
solution; the run fails if the result deviates. The published tables are for two nodes. Here both ranks are on one
machine, and messages pass through its fast memory; floats gain more on a network. --throttle simulates a slower link.

The picture shows the wave at its beginning and end on both ranks (figure 2.2). Rows of small messages show bytes
(figure 2.3). Other rows show packing times, raw and by zfp, on a GPU if available (figure 2.4).
"""

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import as_case_error, core, part
from slipstream.base.errors import CaseError, ErrorCode, RunError
from slipstream.exchange.grid import Grid
from slipstream.exchange.halo import Exchange
from slipstream.machine import discovery
from slipstream.pictures.style import save, styled

from slipstream_bench import options, record
from slipstream_bench.timed import timed

#: Published run times in seconds of a wave on N cells over N steps, with messages of floats and doubles (Zheng 2023,
#: tables 2.4 to 2.6). The value 0.00175 in table 2.5 is probably 0.0175.
#: Keys: threads, N, and N over the number of sent values.
PUBLISHED: dict[int, dict[int, dict[int, tuple[float, float]]]] = {
    1: {
        100000: {2: (261.982, 264.587), 4: (252.67, 257.162), 8: (249.412, 249.817), 16: (247.153, 247.339)},
        10000: {2: (2.54108, 2.74232), 4: (2.41549, 2.80097), 8: (2.37467, 2.55179), 16: (2.34761, 2.47443)},
        1000: {2: (0.0299569, 0.0375347), 4: (0.0289351, 0.0337446), 8: (0.028591, 0.0305071),
               16: (0.0278682, 0.0312777)},
    },
    4: {
        100000: {2: (114.888, 116.297), 4: (108.691, 111.183), 8: (107.47, 109.169), 16: (105.283, 106.481)},
        10000: {2: (1.18867, 1.15762), 4: (1.08312, 1.11132), 8: (1.05376, 1.0832), 16: (1.04873, 1.06448)},
        1000: {2: (0.0177266, 0.00175192), 4: (0.0172013, 0.0171973), 8: (0.0165005, 0.0163586),
               16: (0.0156856, 0.0162979)},
    },
    64: {
        100000: {2: (16.2163, 16.4481), 4: (14.3357, 14.8465), 8: (13.7941, 14.5594), 16: (13.481, 13.837)},
        10000: {2: (0.504733, 0.454218), 4: (0.465676, 0.461985), 8: (0.45871, 0.511093), 16: (0.487557, 0.577424)},
        1000: {2: (0.0392923, 0.0391511), 4: (0.0389243, 0.0394692), 8: (0.0384033, 0.0385646),
               16: (0.0388547, 0.0399244)},
    },
}  # fmt: skip
#: Published seconds of waiting for a message of this many values, as floats and as doubles (Zheng 2023, table 2.3).
WAITS = {100000: (0.000135, 0.000234), 1000000: (0.001133, 0.001861), 10000000: (0.010961, 0.019268),
         100000000: (0.109485, 0.189590)}  # fmt: skip
#: Published bytes of one double in flight, raw and by zfp (Zheng 2023, figure 2.3), and microseconds of packing and
#: unpacking (2.4).
PUBLISHED_BYTES = {"double": 8, "zfp": 16}
PUBLISHED_PACK = {"encode": 5.21, "decode": 5.06}
SMALL = (1, 2, 4, 8, 16, 64, 256, 4096)
SHARES = (2, 4, 8, 16)
#: Sides in cells of the cubes whose boundary layers are packed.
PACKED = (32, 64, 128)
CODINGS = {"float": "cast", "double": "raw", "zfp": "zfp, rate 32"}
#: Largest allowed error of the final wave by number format in messages; the wave has height 1.
ALLOWED = {"float": 1e-5, "double": 1e-9, "zfp": 1e-5}
#: Upper limit of measured steps; times are scaled to as many steps as cells, as in Zheng 2023.
MOST_STEPS = 1000
TIME_STEP = 0.5
FIGURES = frozenset({"step_us", "time_s", "wait_us", "wire_bytes", "pack_us"})


def add_options(parser: argparse.ArgumentParser) -> None:
    options.cells(parser, "cells a rank (default: 1000 10000 100000)")
    parser.add_argument(
        "--lengths", type=int, nargs="*", default=sorted(WAITS), metavar="N",
        help="values per message (default: 1e5 to 1e8)"
    )  # fmt: skip
    parser.add_argument(
        "--throttle", default="none", metavar="'R GB/s, L us'", help="simulated network, as exchange.throttle"
    )
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1, 4, 0], metavar="N",
        help="threads of each rank's host kernels; 0: all its cores (default: 1 4 0)"
    )  # fmt: skip


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints waves; rank 0 writes. Collective."""
    if core().size() != 2:
        raise CaseError(
            f"bench wave: it takes two ranks, -n 2; there are {core().size()}",
            ErrorCode.UNSUPPORTED,
            ranks=core().size(),
            limit=2,
        )
    if any(n < 16 for n in [*arguments.cells, *arguments.lengths]):
        raise CaseError("bench wave: --cells and --lengths are 16 or more", option="cells", limit=16)
    if any(n < 0 for n in arguments.threads):
        raise CaseError("bench wave: --threads are 0 or more", option="threads", limit=0)
    machine = record.describe_machine(
        discovery.discover(discovery.MachineTable(backend="host", devices_per_rank=1, threads=0))
    )
    steps = {
        n: list(_steps(arguments, n)) for n in dict.fromkeys(n or core().host_threads() for n in arguments.threads)
    }
    core().set_host_threads(0)
    waits = list(_waits(arguments))
    sizes, packs = list(_sizes()), list(_packs())
    for threads, rows in steps.items():
        console.print(_table_of_steps(threads, rows))
    if waits:
        console.print(_table_of_waits(waits))
    console.print(_table_of_sizes(sizes))
    console.print(_table_of_packs(packs))
    console.print(
        "Both ranks are of this machine: messages go through its memory. The published ones crossed a network."
    )
    shapes = Wave(50, 8, "raw", "none").shapes(30)
    rows = [*itertools.chain(*steps.values()), *waits, *sizes, *packs]
    record.keep(arguments.folder, "wave", machine, rows, FIGURES, console, lambda path, _: _picture(path, shapes))


def _exchange(values: int, coding: str, throttle: str) -> Exchange:
    """Makes an exchange in a ring of two ranks, each of which sends this many values."""
    grid = Grid((2 * values, 1), periodic=(True, False), backend="host", devices_per_rank=1)
    array = np.random.default_rng(grid.comm.rank).random(grid.array_shape((values, 0)))
    slow = {} if throttle == "none" else {"throttle": throttle}
    with as_case_error():
        return Exchange(
            grid, {"u": array}, (values, 0), low=(values, 0), high=(0, 0), coding=coding, routes="staged,kernel", **slow
        )


class Wave:
    """A standing wave on a plane, zero at its sides, cut across its second axis. Collective."""

    def __init__(self, nhalo: int, share: int, coding: str, throttle: str) -> None:
        self._cells = (nhalo, 2 * share)
        machine = core().Machine.discover("host", devices_per_rank=1)
        wave = {"cells": (*self._cells, 1), "equation": "wave", "precision": "f64", "time_step": TIME_STEP}
        how = {"device_grid": (1, 2, 1), "routes": ["staged", "kernel"], "coding": coding, "throttle": throttle}
        with as_case_error():
            self.engine = part("stencil").Stencil(machine, wave | how)
        self.engine.start_from(self._at(0), self._at(-1))

    def _at(self, step: int) -> Callable[[Sequence[int], Sequence[int]], np.ndarray]:
        # Along the boundary between the two blocks the wave is antisymmetric, so that ghost values in reverse order are
        # detected.
        k = [np.pi * mode / (n + 1) for mode, n in zip((2, 1), self._cells, strict=True)]
        turn = np.arccos(1 - 2 * TIME_STEP**2 * sum(np.sin(one / 2) ** 2 for one in k))

        def values(low: Sequence[int], high: Sequence[int]) -> np.ndarray:
            x, y = (np.sin(one * (np.arange(low[a], high[a]) + 1)) for a, one in enumerate(k))
            return np.ascontiguousarray((np.cos(turn * step) * y[:, None] * x)[None])

        return values

    def shapes(self, steps: int) -> list[np.ndarray]:
        """Values of the wave now, and after more steps, on rank 0. Collective."""
        found = []
        for count in (0, steps):
            self.engine.advance(count)
            u = self.engine.gather("u", (0, 0, 0), (*self._cells, 1))
            found += [] if u is None else [np.asarray(u)[0, ..., 0]]
        return found

    def off(self) -> float:
        """Largest deviation of the wave from the exact standing wave."""
        low, high = (0, 0, 0), (*self._cells, 1)
        u = self.engine.gather("u", low, high)
        here = 0.0 if u is None else float(np.abs(u[..., 0] - self._at(self.engine.step)(low, high)).max())
        return _largest(here)


def _largest(number: float) -> float:
    """Maximum of a number over the two ranks. Collective."""
    return max(float(text) for text in core().Communicator.world().all_gather(repr(number)))


def _steps(arguments: argparse.Namespace, threads: int) -> Iterator[record.Row]:
    core().set_host_threads(0)
    published = PUBLISHED.get(64 if threads == core().host_threads() and threads > 4 else threads, {})
    core().set_host_threads(threads)
    for cells in arguments.cells or (1000, 10000, 100000):
        for share in SHARES:
            theirs = dict(zip(CODINGS, published.get(cells, {}).get(share, ()), strict=False))
            for name, coding in CODINGS.items():
                wave, count = Wave(cells // share, share, coding, arguments.throttle), min(cells, MOST_STEPS)
                wave.engine.advance(10)
                core().barrier()
                start = time.perf_counter()
                wave.engine.advance(count)
                spent = _largest(time.perf_counter() - start) / count
                if (off := wave.off()) > ALLOWED[name]:
                    raise RunError(f"bench wave: with {name} messages the wave is off by {off:.3g} after {count} steps")
                yield {
                    "ranks": 2,
                    "devices": 2,
                    "experiment": "steps",
                    "threads": threads,
                    "ncell": cells,
                    "nhalo": cells // share,
                    "message": name,
                    "throttle": arguments.throttle,
                    "clock": "host",
                    "steps": count,
                    "step_us": record.digits(spent * 1e6),
                    "time_s": record.digits(spent * cells),
                    "published_s": theirs.get(name),
                }


def _waits(arguments: argparse.Namespace) -> Iterator[record.Row]:
    for length in arguments.lengths:
        theirs = dict(zip(CODINGS, WAITS.get(length, ()), strict=False))
        for name, coding in CODINGS.items():
            exchange = _exchange(length, coding, arguments.throttle)
            times = []
            for _ in range(6):
                core().barrier()
                start = time.perf_counter()
                exchange.begin()
                exchange.end()
                times.append(_largest(time.perf_counter() - start))
            exchange.close()
            yield {
                "ranks": 2,
                "devices": 2,
                "experiment": "waits",
                "values": length,
                "message": name,
                "throttle": arguments.throttle,
                "clock": "host",
                "wait_us": record.digits(min(times) * 1e6),
                "published_us": record.digits(theirs[name] * 1e6) if name in theirs else None,
            }


def _sizes() -> Iterator[record.Row]:
    """Rows on the time of messages by size. Messages of few values travel raw if a coding would not make them
    smaller."""
    for values in SMALL:
        for name in PUBLISHED_BYTES:
            exchange = _exchange(values, CODINGS[name], "none")
            sent = max(message.bytes for message in exchange.messages() if message.source != message.target)
            exchange.close()
            yield {
                "ranks": 2,
                "devices": 2,
                "experiment": "sizes",
                "values": values,
                "message": name,
                "raw_bytes": 8 * values,
                "wire_bytes": sent,
                "published_bytes": PUBLISHED_BYTES[name] if values == 1 else None,
            }


def _packs() -> Iterator[record.Row]:
    """Measures how long messages of several sizes take to encode and decode, and yields a row of results for each. Both
    ranks measure concurrently, each on its first device. Collective."""
    backend = "cuda" if core().device_count("cuda") else "host"
    for cells, name in itertools.product(PACKED, ("double", "zfp")):
        bench = timed().Coding(backend, "halo", cells, 1, "f64", CODINGS[name])
        for direction, us in (("encode", bench.encode_us(20)), ("decode", bench.decode_us(20))):
            yield {
                "ranks": 2,
                "devices": 2,
                "backend": backend,
                "experiment": "packs",
                "cells": cells,
                "message": name,
                "direction": direction,
                "clock": "events",
                "pack_us": record.digits(us),
                "published_us": PUBLISHED_PACK[direction],
            }


def _groups(rows: Sequence[record.Row]) -> Iterator[Sequence[record.Row]]:
    """Splits result rows into groups of one message size. Each group has a row for each coding of the message: float,
    double and zfp."""
    return (rows[at : at + len(CODINGS)] for at in range(0, len(rows), len(CODINGS)))


def _cells(group: Sequence[record.Row], time: str, published: str) -> tuple[str, ...]:
    """Cells of a table line: measured times with messages as floats, doubles and by zfp, and ratios of doubles to the
    other two. Published times follow; there are none for zfp."""
    single, double, planes = (row[time] for row in group)
    return (
        *(f"{t:.4g}" for t in (single, double, planes)),
        f"{double / single:.3f}",
        f"{double / planes:.3f}",
        *("-" if row[published] is None else f"{row[published]:.4g}" for row in group[:2]),
    )


def _columns(unit: str) -> list[str]:
    ours = [f"{name}, {unit}" for name in CODINGS]
    return [*ours, "double / float", "double / zfp", f"published: float, {unit}", f"double, {unit}"]


def _table_of_steps(threads: int, rows: Sequence[record.Row]) -> Any:
    shown = [
        (group[0]["ncell"], f"ncell/{group[0]['ncell'] // group[0]['nhalo']}", *_cells(group, "time_s", "published_s"))
        for group in _groups(rows)
    ]  # fmt: skip
    title = f"a wave on two ranks, ncell steps, of which {MOST_STEPS} at most were measured; threads a rank: {threads}"
    return terminal.table(title, ["ncell", "nhalo", *_columns("s")], shown)


def _table_of_waits(rows: Sequence[record.Row]) -> Any:
    shown = [(group[0]["values"], *_cells(group, "wait_us", "published_us")) for group in _groups(rows)]
    return terminal.table("waits for messages", ["values", *_columns("us")], shown)


def _table_of_sizes(rows: Sequence[record.Row]) -> Any:
    shown = [
        (raw["values"], raw["raw_bytes"], *(row["wire_bytes"] for row in (raw, coded)),
         *("-" if row["published_bytes"] is None else row["published_bytes"] for row in (raw, coded)))
        for raw, coded in zip(rows[::2], rows[1::2], strict=True)
    ]  # fmt: skip
    heads = ["values", "bytes", "raw on the wire", "zfp on the wire", "published: raw", "zfp"]
    return terminal.table("bytes of small messages", heads, shown)


def _table_of_packs(rows: Sequence[record.Row]) -> Any:
    shown = [
        (f"{r['cells']}^3", r["message"], r["direction"], f"{r['pack_us']:.3g}", f"{r['published_us']:.3g}")
        for r in rows
    ]
    heads = ["boundary of", "message", "direction", "us", "published, us"]
    return terminal.table(f"packing on {rows[0]['backend']}", heads, shown, left=3)


def _picture(path: Path, shapes: Sequence[np.ndarray]) -> None:
    """Draws the wave at the beginning and the end (rows), on both ranks (columns)."""
    with styled(grid=False):
        figure, axes = plt.subplots(2, 2, figsize=(7, 4), sharex=True, sharey=True, layout="constrained")
        for across, when, shape in zip(axes, ("begin", "end"), shapes, strict=True):
            for rank, half in enumerate(np.split(shape, 2)):
                across[rank].imshow(half, origin="lower", aspect="auto", vmin=-1, vmax=1, cmap="RdBu_r")
                across[rank].set_title(f"{when}, rank {rank}")
        save(figure, path)
