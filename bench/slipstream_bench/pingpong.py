"""`slipstream bench pingpong`: half of a message's round trip, by every route and by MPI alone."""

import argparse
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.routes import DRIVEN_BY_HOST
from slipstream.machine import discovery

from slipstream_bench import curves, options, record
from slipstream_bench.record import Row
from slipstream_bench.timed import timed

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"time_us", "gbs", "here", "latency_us"})

WAHLGREN = "Wahlgren: Using GPU-aware message passing to accelerate high-fidelity fluid simulations, 2022, 5.2.1"


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench pingpong`."""

    backend: str
    device_buffers: bool  #: whether MPI gets addresses in GPU memory, if it claims to support them
    label: str  #: name of MPI's transport; default: OMPI_MCA_pml
    quick: bool
    throttle: str  #: rate and latency of a simulated network, for routes; or none


def sizes(quick: bool, coarse: bool = False) -> list[int]:
    """Sizes of messages in bytes: powers of two as in the OSU benchmark, or every second of them."""
    if quick:
        return [8, 8192, 1 << 18]
    return [2**k for k in range(3, 27, 2 if coarse else 1)]


def pairs(machine: Any) -> list[tuple[str, int, int]]:
    """Pairs of devices: the first device with itself, with the next one, and with the first of another node."""
    nodes = [device["node"] for device in machine.devices()]
    found = [("one device", 0, 0)]
    if len(nodes) > 1 and nodes[1] == nodes[0]:
        found.append(("one node", 0, 1))
    away = next((index for index, node in enumerate(nodes) if node != nodes[0]), None)
    return found + ([("two nodes", 0, away)] if away is not None else [])


def _why(route: str, refusal: str) -> str:
    """Why one message route cannot connect two devices, from an error text with the reasons of all routes."""
    own = re.search(rf"not {route}: ([^;)]+)", refusal)
    return own[1] if own else refusal


def _gbs(count: int, us: float) -> float:
    return record.digits(count / us * 1e-3)


def _routes(
    machine: Any, backend: str, pair: tuple[str, int, int], choice: Choice, budget: float
) -> tuple[list[Row], dict[str, str]]:
    """Measures round trips by each route that supports the pair, and lists the reasons of other routes. Collective."""
    module, (where, a, b) = core(), pair
    rows: list[Row] = []
    refused: dict[str, str] = {}
    for route in (entry["name"] for entry in module.routes(backend)):
        if choice.throttle != "none" and route not in DRIVEN_BY_HOST:
            refused[route] = (
                f"a throttle slows {' and '.join(sorted(DRIVEN_BY_HOST))} alone, whose messages the host sends"
            )
            continue
        messages = timed().RoutePingPongs(machine, a, b, route, choice.throttle)
        if messages.refused:
            refused[route] = _why(route, messages.refused)
            continue
        for count in sizes(choice.quick, coarse=a == b):
            times = messages.time(count, budget)
            base = {"ranks": machine.ranks, "devices": len({a, b}), "backend": backend, "path": "route", "name": route,
                    "pair": where, "memory": "host" if backend == "host" else "device", "bytes": count}  # fmt: skip
            if choice.throttle != "none":
                base["throttle"] = choice.throttle
            for clock, us in zip(("host", "events"), times, strict=True):
                rows.append(base | {"clock": clock, "time_us": record.digits(us), "gbs": _gbs(count, us)})
        if choice.throttle != "none":
            rows.append(kept(rows, route, where, choice.throttle))
    return rows, refused


def kept(rows: list[Row], route: str, pair: str, throttle: str) -> Row:
    """Effect of a simulated network (`throttle`: rate and latency) on single messages: the latency from the shortest
    message, the rate from the two longest."""
    module = core()
    times = {
        row["bytes"]: row["time_us"]
        for row in rows
        if row.get("clock") == "host" and (row["name"], row["pair"]) == (route, pair)
    }
    shortest, (shorter, longest) = min(times), sorted(times)[-2:]
    given_us = module.throttled_seconds(throttle, 0) * 1e6
    per_us = longest / (module.throttled_seconds(throttle, longest) * 1e6 - given_us)
    first = next(row for row in rows if (row["name"], row["pair"]) == (route, pair))
    return {key: first[key] for key in ("ranks", "devices", "backend", "name", "pair", "memory", "throttle")} | {
        "path": "throttle",
        "given_gbs": record.digits(per_us * 1e-3),
        "given_us": record.digits(given_us),
        "gbs": _gbs(longest - shorter, times[longest] - times[shorter]),
        "latency_us": record.digits(times[shortest] - shortest / per_us),
    }


def _memories(backend: str, device_buffers: bool) -> list[str]:
    """Kinds of memory that MPI sends from. Errors are raised collectively."""
    if backend == "host":
        if device_buffers:
            raise CaseError(
                "bench pingpong: --device-buffers needs the cuda backend; host buffers are measured anyway",
                ErrorCode.UNSUPPORTED,
                option="device_buffers",
                other="backend",
            )
        return ["host"]
    if not device_buffers:
        return ["host", "staged"]
    if (aware := timed().mpi_gpu_aware()) is not True:
        says = "claims not to support" if aware is False else "does not say whether it supports"
        raise CaseError(
            f"bench pingpong: --device-buffers: {core().build_info()['mpi']} {says} addresses in GPU memory; "
            "load an MPI built for GPUs, or leave the option out",
            ErrorCode.UNAVAILABLE,
            option="device_buffers",
        )
    return ["host", "staged", "device"]


def _mpi(machine: Any, backend: str, pair: tuple[str, int, int], choice: Choice, budget: float) -> Iterable[Row]:
    """Measures round trips by MPI_Send and MPI_Recv. Collective."""
    module, (where, a, b) = core(), pair
    pml = choice.label or os.environ.get("OMPI_MCA_pml", "default")
    for memory in _memories(backend, choice.device_buffers):
        for count in sizes(choice.quick):
            us = timed().mpi_pingpong(machine, a, b, count, memory, budget)
            yield {
                "ranks": machine.ranks,
                "devices": 2,
                "backend": backend,
                "path": "mpi",
                "name": f"MPI {memory}",
                "pair": where,
                "memory": memory,
                "bytes": count,
                "mpi": module.build_info()["mpi"],
                "pml": pml,
                "clock": "host",
                "time_us": record.digits(us),
                "gbs": _gbs(count, us),
            }


def _times(rows: Iterable[Row], memory: str, pair: str) -> dict[int, float]:
    return {
        row["bytes"]: row["time_us"]
        for row in rows
        if row["path"] == "mpi" and row["memory"] == memory and row["pair"] == pair
    }


def losing_bands(device: dict[int, float], other: dict[int, float]) -> list[tuple[int, int]]:
    """First and last message size in bytes of each range in which MPI with device buffers is slower than another way.
    `device` and `other` have the times of both by message size."""
    bands: list[tuple[int, int]] = []
    begun = last = None
    for count in sorted(device.keys() & other.keys()):
        if device[count] > other[count]:
            begun, last = begun or count, count
        elif begun is not None:
            bands.append((begun, last or begun))
            begun = None
    return bands if begun is None else [*bands, (begun, last or begun)]


def bands_text(bands: list[tuple[int, int]]) -> str:
    return ", ".join(f"{curves.size(low)} to {curves.size(high)}" for low, high in bands) or "at no size"


def findings(rows: list[Row]) -> list[Row]:
    """Message sizes at which MPI from device buffers is slower than from host buffers, without and with copies between
    device and host. Puts beside them Wahlgren's published results within and between nodes of four A100."""
    result = []
    for pair in dict.fromkeys(row["pair"] for row in rows if row["path"] == "mpi"):
        device, host, staged = (_times(rows, memory, pair) for memory in ("device", "host", "staged"))
        if not device:
            continue
        slow = "host buffers faster at most sizes" if pair == "two nodes" else "a band around 8 KB; not above 1 MB"
        asked = [
            ("sizes at which device buffers lose against host buffers", slow, bands_text(losing_bands(device, host))),
            ("and against host buffers with the copies", "-", bands_text(losing_bands(device, staged))),
        ]
        if pair == "one node" and {8192, 1 << 18} <= device.keys():
            ratio = device[8192] / device[1 << 18]
            asked.append(("time of 8 KB over that of 256 KB, device buffers", "above 1", f"{ratio:.3g}"))
        first = next(row for row in rows if row["path"] == "mpi" and row["pair"] == pair)
        result += [
            {"ranks": first["ranks"], "devices": 2, "backend": first["backend"], "path": "finding", "pair": pair,
             "mpi": first["mpi"], "pml": first["pml"], "question": question, "published": published,
             "source": WAHLGREN, "here": here}
            for question, published, here in asked
        ]  # fmt: skip
    return result


def _print(console: Console, title: str, rows: list[Row]) -> None:
    """Prints one table per pair and clock, with one line per size and one column per route."""
    timed = [row for row in rows if "clock" in row]
    for pair, clock in dict.fromkeys((row["pair"], row["clock"]) for row in timed):
        chosen = [row for row in timed if (row["pair"], row["clock"]) == (pair, clock)]
        names = list(dict.fromkeys(row["name"] for row in chosen))
        time = {(row["bytes"], row["name"]): f"{row['time_us']:.2f}" for row in chosen}
        lines = [
            (curves.size(count), *(time.get((count, name), "-") for name in names))
            for count in sorted({row["bytes"] for row in chosen})
        ]
        how = "the host waits for each" if clock == "host" else "back to back on the devices"
        console.print(terminal.table(f"{title}, {pair}: us per message, {how}", ["size", *names], lines))
    slowed = [
        (row["pair"], row["name"], f"{row['given_gbs']:g}", f"{row['gbs']:g}", f"{row['gbs'] / row['given_gbs']:.3f}",
         f"{row['given_us']:g}", f"{row['latency_us']:g}",
         f"{row['latency_us'] / row['given_us']:.3f}" if row["given_us"] else "-")
        for row in rows
        if row["path"] == "throttle"
    ]  # fmt: skip
    if slowed:
        heads = ["pair", "route", "given GB/s", "GB/s", "of it", "given us", "us", "of it"]
        console.print(terminal.table("what messages show of the throttle", heads, slowed, left=2))
    found = [
        (row["pair"], row["question"], row["published"], row["here"], row["source"])
        for row in rows
        if row["path"] == "finding"
    ]
    if found:
        heads = ["pair", "", "published", "here", "source"]
        console.print(terminal.table("device buffers of MPI, compared with published figures", heads, found, left=5))


def picture(path: Path, machine: str, rows: list[Row]) -> None:
    """Draws time and rate by size of messages, for each pair of devices; single messages by the host's clock."""

    def label(row: Row) -> str:
        return f"{row['name']}, {row['pml']}" if row["path"] == "mpi" else f"{row['name']}, {row['ranks']} ranks"

    chosen = [row for row in rows if row.get("clock") == "host"]
    panels = []
    for pair in dict.fromkeys(row["pair"] for row in chosen):
        for key, unit in (("time_us", "us"), ("gbs", "GB/s")):
            lines: dict[str, list[Row]] = {}
            for row in sorted((row for row in chosen if row["pair"] == pair), key=lambda row: row["bytes"]):
                lines.setdefault(label(row), []).append(row)
            panels.append(
                curves.Panel(
                    pair,
                    unit,
                    [
                        curves.Curve(name, [r["bytes"] for r in line], [r[key] for r in line], line[0]["path"] == "mpi")
                        for name, line in lines.items()
                    ],
                )
            )
    curves.draw(path, f"A message one way on {machine}", panels)


def _devices_a_rank(backend: str) -> int:
    """Number of devices a rank: a single rank drives two; several ranks drive one each."""
    module = core()
    if module.size() > 1:
        return 1
    return 2 if backend == "host" else min(2, module.device_count("cuda"))


def add_options(parser: argparse.ArgumentParser) -> None:
    options.quick(parser)
    options.throttle(parser)
    parser.add_argument("--device-buffers", action="store_true", help="give MPI addresses in GPU memory")
    parser.add_argument("--label", default="", help="name of MPI's transport; default: OMPI_MCA_pml")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints round trips; rank 0 writes. Collective."""
    module, choice = core(), record.chosen(Choice, arguments)
    backend = discovery.choose_backend(choice.backend)
    machine = module.Machine.discover(backend, devices_per_rank=_devices_a_rank(backend))
    rank_of = [device["rank"] for device in machine.devices()]
    budget = 0.002 if choice.quick else 0.008
    if module.size() > 1:
        _memories(backend, choice.device_buffers)  # raises errors of the options before any measurement
    elif choice.device_buffers:
        raise CaseError(
            "bench pingpong: --device-buffers is for MPI, which needs two ranks: start with -n 2",
            ErrorCode.UNSUPPORTED,
            option="device_buffers",
            limit=2,
        )
    rows: list[Row] = []
    for pair in pairs(machine):
        measured, refused = _routes(machine, backend, pair, choice, budget)
        rows += measured
        for route, why in refused.items():
            console.print(f"{pair[0]}: no {route}: {why}")
        if rank_of[pair[1]] != rank_of[pair[2]]:
            rows += _mpi(machine, backend, pair, choice, budget)
    if module.size() == 1:
        console.print("MPI alone is measured between two ranks: start with -n 2")
    rows += findings(rows)
    _print(console, machine.name, rows)

    def draw(path: Path, name: str) -> None:
        # The picture includes rows of earlier runs with other MPIs or numbers of ranks.
        picture(path, name, record.read(path.with_suffix(".json"))["rows"])

    record.keep(arguments.folder, "pingpong", record.describe_machine(machine), rows, FIGURES, console, draw)
