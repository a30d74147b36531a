"""`slipstream bench copy`: copy times between a device, its host and a peer, by size, engine and shape."""

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.machine import discovery

from slipstream_bench import curves, options, record
from slipstream_bench.record import Row
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import need

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"time_us", "gbs", "here", "copy_us", "work_us", "hidden"})

#: Bytes of the largest contiguous copy, and of all rows together in a copy of rows with gaps between them.
MOST, ROWS_IN_ALL = 256 << 20, 16 << 20
#: Default number of cells along the side of the cube whose faces are copied, by backend.
CELLS = {"host": 128, "cuda": 512}
#: Number of thread blocks that saturates the host link according to Ravikumar et al.
FEW_TEAMS = 16

ENGINE = ("host_to_device", "device_to_host", "host_both_ways", "device_to_device")
PAGEABLE = ("pageable_to_device", "device_to_pageable")
PEER = ("device_to_peer", "peer_both_ways")
KERNEL = ("stores_to_host", "loads_from_host")

RAVIKUMAR = (
    "Ravikumar, Appelhans, Yeung: Fine grained asynchronism for pseudo-spectral codes, OpenPOWER ADG workshop, 2018"
)
WAHLGREN = "Wahlgren: Using GPU-aware message passing to accelerate high-fidelity fluid simulations, 2022, 5.2.1"


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench copy`."""

    backend: str
    cells: int | None  #: cells along the side of the cube whose faces are copied; None: depends on the backend
    quick: bool


@dataclass(frozen=True)
class _Bench:
    """A device with its buffers, and the columns common to all its rows."""

    handle: Any
    backend: str
    peer: bool
    teams: tuple[int, ...]
    quick: bool

    def rows(self, inputs: Row, peer: bool, timed: Row, count: int) -> list[Row]:
        """Makes two rows: single copies by the host's clock, and back-to-back copies by the device's clock."""
        base = {"ranks": 1, "devices": 2 if peer else 1, "backend": self.backend, **inputs}
        times = {"host": timed["single_us"], "events": timed["back_to_back_us"]}
        return [
            {**base, "clock": clock, "time_us": record.digits(us), "gbs": record.digits(count / us * 1e-3)}
            for clock, us in times.items()
        ]


def sizes(quick: bool) -> list[int]:
    return [8, 4096, 1 << 18] if quick else [8 * 4**k for k in range(12)] + [128 << 20, MOST]


def _plain(b: _Bench) -> Iterable[Row]:
    ways = [(what, 0) for what in (*ENGINE, *PAGEABLE, *(PEER if b.peer else ()))]
    kernels = (*KERNEL, *(("stores_to_peer",) if b.peer else ()))
    ways += [(what, teams) for what in kernels for teams in b.teams]
    for what, teams in ways:
        for count in sizes(b.quick):
            timed = b.handle.plain(what, count, teams)
            moved = 2 * count if what.endswith("both_ways") else count
            yield from b.rows({"what": what, "bytes": count, "teams": teams}, "peer" in what, timed, moved)


def _region(b: _Bench, name: str, region: Row, directions: Iterable[str]) -> Iterable[Row]:
    extent = region["extent"]
    count = extent[0] * extent[1] * extent[2]
    methods = [("copy_box", 0)] + [(m, teams) for m in ("pack_and_copy", "zero_copy") for teams in b.teams]
    for direction in directions:
        for method, teams in methods:
            timed = b.handle.strided(method, direction, **region, teams=teams or 1)
            inputs = {
                "what": name,
                "direction": direction,
                "method": method,
                "bytes": count,
                "teams": teams,
                "extent": list(extent),
                "row_pitch": region["row_pitch"],
                "plane_pitch": region["plane_pitch"],
            }
            yield from b.rows(inputs, "peer" in direction, timed, count)


def _faces(b: _Bench, cells: int) -> Iterable[Row]:
    """Copies the three kinds of faces of a cube with three ghost layers, for one f32 quantity."""
    directions = ["device_to_host", "host_to_device"] + (["device_to_peer"] if b.peer else [])
    for name, region in timed().faces(cells, 3).items():
        yield from _region(b, name, {**region, "extent": tuple(region["extent"])}, directions)


def widths(quick: bool) -> list[int]:
    return [16, 4096] if quick else [16 * 4**k for k in range(9)]


def _widths(b: _Bench) -> Iterable[Row]:
    """Copies rows of every width, with equal gaps, to find where the copy engine becomes faster than zero-copy."""
    total = 1 << 18 if b.quick else ROWS_IN_ALL
    for width in widths(b.quick):
        region = {
            "extent": (width, total // width, 1),
            "row_pitch": 2 * width,
            "plane_pitch": 2 * total,
            "offset": 0,
        }
        yield from _region(b, "rows", region, ["device_to_host", "host_to_device"])


#: Numbers of small copies in a measurement, and the size of each in bytes.
PIECES = (1, 8, 64, 512, 4096)
PIECE_BYTES = (8, 64, 512, 4096, 32768)


def _pieces(b: _Bench) -> Iterable[Row]:
    """Makes many small copies: one by one by the copy engine, or in one kernel launch."""
    counts, sizes_ = ((8, 64), (64, 1024)) if b.quick else (PIECES, PIECE_BYTES)
    for direction in ("device_to_device", "device_to_host", *(("device_to_peer",) if b.peer else ())):
        for method in ("one_by_one", "one_launch"):
            for size in sizes_:
                for count in counts:
                    timed = b.handle.pieces(method, direction, count, size)
                    inputs = {
                        "what": "pieces",
                        "direction": direction,
                        "method": method,
                        "bytes": count * size,
                        "teams": 0,
                        "pieces": count,
                        "piece_bytes": size,
                    }
                    yield from b.rows(inputs, "peer" in direction, timed, count * size)


def _concurrent_work(b: _Bench) -> Iterable[Row]:
    """Makes copies concurrent with device work, and measures the fraction of the shorter of both that is hidden."""
    ways = [(what, 0) for what in ("host_to_device", "device_to_host", "device_to_device")]
    ways += [("device_to_peer", 0)] if b.peer else []
    ways += [("stores_to_host", FEW_TEAMS)]
    for what, teams in ways:
        for work in ("arithmetic", "memory"):
            for count in (1 << 18,) if b.quick else (1 << 20, 16 << 20, 128 << 20):
                timed = b.handle.beside(what, count, teams, work)
                copied, worked, both = (timed[key] for key in ("copy_us", "work_us", "both_us"))
                yield {
                    "ranks": 1,
                    "devices": 2 if "peer" in what else 1,
                    "backend": b.backend,
                    "what": "beside work",
                    "way": what,
                    "work": work,
                    "bytes": count,
                    "teams": teams,
                    "clock": "events",
                    "time_us": record.digits(both),
                    "gbs": record.digits(count / both * 1e-3),
                    "copy_us": record.digits(copied),
                    "work_us": record.digits(worked),
                    "hidden": record.digits((copied + worked - both) / min(copied, worked)),
                }


def _pick(rows: Iterable[Row], **inputs: Any) -> list[Row]:
    return [row for row in rows if all(row.get(key) == value for key, value in inputs.items())]


def crossover(rows: list[Row], direction: str) -> int | None:
    """Smallest width of rows from which the copy engine is never slower than a kernel with few thread blocks; None if
    there is none."""
    times: dict[str, dict[int, float]] = {}
    for method, teams in (("copy_box", 0), ("zero_copy", FEW_TEAMS)):
        found = _pick(rows, what="rows", direction=direction, method=method, teams=teams, clock="events")
        times[method] = {row["extent"][0]: row["time_us"] for row in found}
    result = None
    for width in sorted(times["copy_box"], reverse=True):
        if times["copy_box"][width] > times["zero_copy"][width]:
            break
        result = width
    return result


def _share_of_few_teams(rows: list[Row], what: str) -> float | None:
    """Rate of the largest copy by few thread blocks, in percent of that by many."""
    found = _pick(rows, what=what, clock="events")
    if not found:
        return None
    largest = max(row["bytes"] for row in found)
    rates = {row["teams"]: row["gbs"] for row in found if row["bytes"] == largest}
    return 100 * rates[FEW_TEAMS] / max(rates.values())


def _single_copies(rows: list[Row]) -> tuple[float, float]:
    times = [
        row["time_us"]
        for what in ("host_to_device", "device_to_host")
        for row in _pick(rows, what=what, clock="host")
        if row["bytes"] <= 4096
    ]
    return min(times), max(times)


def findings(rows: list[Row]) -> list[Row]:
    """Rows with published findings on copies, each beside the same comparison computed from the measured rows."""
    measured = [row["extent"][0] for row in _pick(rows, what="rows")]
    narrowest, widest = min(measured), max(measured)
    asked = []
    for direction, words in (("device_to_host", "to the host"), ("host_to_device", "from the host")):
        width = crossover(rows, direction)
        here = f"below {curves.size(width)}" if width else f"up to {curves.size(widest)} and beyond"
        here = f"not at {curves.size(narrowest)} or more" if width == narrowest else here
        asked.append((f"zero-copy beats strided copies for rows, {words}", "below 10 KB (18432^3)", RAVIKUMAR, here))
    for what, words in (("stores_to_host", "stores"), ("loads_from_host", "loads")):
        share = _share_of_few_teams(rows, what)
        if share is not None:
            question = f"rate of {FEW_TEAMS} teams, zero-copy {words}"
            asked.append((question, "the most that the link gives (V100)", RAVIKUMAR, f"{share:.0f} % of the most"))
    low, high = _single_copies(rows)
    asked.append(
        (
            "a single copy of at most 4 KB, host and device",
            "5.5 to 7.5 us (A100)",
            WAHLGREN,
            f"{low:.2f} to {high:.2f} us",
        )
    )
    return [
        {"ranks": 1, "devices": 1, "backend": rows[0]["backend"], "what": "finding", "question": question,
         "published": published, "source": source, "here": here}
        for question, published, source, here in asked
    ]  # fmt: skip


def _label(row: Row) -> str:
    name = " ".join(row.get("method", row["what"]).split("_"))
    return f"{name}, {row['teams']} teams" if row["teams"] else name


def _print(console: Console, machine: str, rows: list[Row]) -> None:
    def both(row: Row) -> tuple[str, str, str]:
        inputs = {key: value for key, value in row.items() if key not in FIGURES and key != "clock"}
        device = _pick(rows, **inputs, clock="events")[0]
        return f"{row['time_us']:.2f}", f"{device['time_us']:.2f}", f"{device['gbs']:.2f}"

    single = _pick(rows, clock="host")
    plain = [(_label(row), curves.size(row["bytes"]), *both(row)) for row in single if "method" not in row]
    pieces = [
        (row["direction"].replace("_", " "), _label(row), row["pieces"], curves.size(row["piece_bytes"]), *both(row))
        for row in _pick(single, what="pieces")
    ]
    beside = [
        (
            row["way"].replace("_", " "),
            row["work"],
            curves.size(row["bytes"]),
            *(f"{row[key]:.2f}" for key in ("copy_us", "work_us", "time_us")),
            f"{100 * row['hidden']:.0f}",
        )
        for row in _pick(rows, what="beside work")
    ]
    columns = ["single us", "back to back us", "GB/s"]
    console.print(terminal.table(f"copies on {machine}", ["copy", "size", *columns], plain))
    strided = [
        (row["what"], row["direction"].replace("_", " "), _label(row), "x".join(map(str, row["extent"])), *both(row))
        for row in single
        if "extent" in row
    ]
    heads = ["region", "direction", "method", "bytes x rows x planes", *columns]
    console.print(terminal.table("strided regions of pitched device memory", heads, strided, left=4))
    heads = ["direction", "method", "pieces", "of", *columns]
    console.print(terminal.table("many small copies", heads, pieces, left=2))
    heads = ["copy", "beside", "size", "copy us", "work us", "both us", "% hidden"]
    console.print(terminal.table("copies while the device works", heads, beside, left=2))
    found = [(row["question"], row["published"], row["here"], row["source"]) for row in _pick(rows, what="finding")]
    console.print(terminal.table("compared with published figures", ["", "published", "here", "source"], found, left=4))


def picture(path: Path, machine: str, rows: list[Row]) -> None:
    """Draws the time of single copies and the back-to-back rate by size, and the rate of rows by width."""

    def curve(select: Callable[[Row], bool], x: Callable[[Row], int], y: str) -> list[curves.Curve]:
        lines: dict[str, list[Row]] = {}
        for row in filter(select, rows):
            lines.setdefault(_label(row), []).append(row)
        result = []
        for label, line in lines.items():
            ordered = sorted(line, key=x)
            result.append(curves.Curve(label, [x(r) for r in ordered], [r[y] for r in ordered], bool(line[0]["teams"])))
        return result

    def plain(clock: str) -> Callable[[Row], bool]:
        return lambda row: row.get("clock") == clock and "method" not in row and "way" not in row

    def strided(direction: str) -> Callable[[Row], bool]:
        return lambda row: row["what"] == "rows" and row["direction"] == direction and row["clock"] == "events"

    panels = [
        curves.Panel("single, synchronised", "us", curve(plain("host"), lambda row: row["bytes"], "time_us")),
        curves.Panel("back to back", "GB/s", curve(plain("events"), lambda row: row["bytes"], "gbs")),
    ]
    for direction in ("device_to_host", "host_to_device"):
        rates = curve(strided(direction), lambda row: row["extent"][0], "gbs")
        panels.append(curves.Panel(f"rows, {direction.replace('_', ' ')}", "GB/s", rates, "bytes a row"))
    for direction in ("device_to_device", "device_to_host"):
        chosen = {"what": "pieces", "direction": direction, "clock": "events", "piece_bytes": PIECE_BYTES[1]}
        times = curve(lambda row: bool(_pick([row], **chosen)), lambda row: row["pieces"], "time_us")  # noqa: B023
        title = f"pieces of {PIECE_BYTES[1]} B, {direction.replace('_', ' ')}"
        panels.append(curves.Panel(title, "us", times, "pieces", counts=True))
    curves.draw(path, f"Copies on {machine}", panels)


def add_options(parser: argparse.ArgumentParser) -> None:
    options.one_cube(parser, "a cube of N^3 cells whose faces are copied")
    options.quick(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures copies, prints and writes; uses one rank, its first device and, if present, the next."""
    module, choice = core(), record.chosen(Choice, arguments)
    if module.size() > 1:
        raise CaseError(
            "bench copy measures one device and its peer from one rank: start it without -n",
            ErrorCode.UNSUPPORTED,
            ranks=module.size(),
            limit=1,
        )
    backend = discovery.choose_backend(choice.backend)
    machine = module.Machine.discover(backend, devices_per_rank=2 if backend == "host" else 0)
    devices = machine.devices()
    peer = len(devices) > 1 and machine.links()[0][1]["peer"]
    first, second = devices[0]["index"], devices[1]["index"] if peer else -1
    cells = choice.cells if choice.cells is not None else 32 if choice.quick else CELLS[backend]
    need("copy", 4, cells=cells)
    most = max(1 << 18, 3 * 4 * cells * cells) if choice.quick else max(MOST, 3 * 4 * cells * cells)
    teams = tuple(sorted({FEW_TEAMS, timed().all_teams(backend, first)}))
    handle = timed().CopyBench(backend, first, second, most, 0.001 if choice.quick else 0.006)
    b = _Bench(handle, backend, peer, teams, choice.quick)
    rows = [*_plain(b), *_faces(b, cells), *_widths(b), *_pieces(b), *_concurrent_work(b)]
    rows += findings(rows)
    _print(console, machine.name, rows)
    described = record.describe_machine(machine)
    record.keep(
        arguments.folder, "copy", described, rows, FIGURES, console, lambda path, name: picture(path, name, rows)
    )
