"""`slipstream bench exchange`: halos of several quantities by size, routes, packing and number of devices."""

import argparse
import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from slipstream.base import terminal
from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError
from slipstream.base.routes import NAMES as ROUTES
from slipstream.machine import discovery, predict

from slipstream_bench import exchange_setups, exchange_tables, options, record
from slipstream_bench.exchange_setups import PARTS, Scale, Setup
from slipstream_bench.record import Row
from slipstream_bench.timed import timed

#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {
        "time_us",
        "begin_us",
        "begin_end_us",
        "warm_setup_s",
        "setup_s",  # time of the exchange's constructor only; rows of earlier versions have it
        "link_mb",
        "gbs",
        "link_gbs",
        "least_us",
        "copy_gbs",
        "share",
        "travels_by",
        "at_most_us",
        "stencil_us",
        "replayed",
        "published",
        "here",
    }
)
#: Number of exchanges per median: usual, for slow exchanges within the time limit, and with --quick.
REPEATS, FEWEST, QUICK_REPEATS = 100, 10, 3
#: Time limit for measuring one result, in seconds. Sizes for which a time to reach is known have none.
BUDGET = 0.15
#: Bytes of a value by number format.
_BYTES = {"f32": 4, "f64": 8}
#: Fraction of a device's memory that the exchanged fields may use.
SHARE = 0.8


@dataclass(frozen=True)
class Choice:
    """Options of `slipstream bench exchange`."""

    backend: str
    devices: int  #: number of devices per rank
    sizes: Sequence[int]  #: numbers of cells along the side of a device's cube; default: depends on the backend
    quantities: int
    radius: int
    alignment: int  #: alignment in bytes of the first interior cell of every row
    dtype: str  #: number format of the values that each cell exchanges
    coding: str  #: coding of the values in messages
    throttle: str  #: rate and latency of a simulated network, as in the key exchange.throttle
    layout: str  #: layout of the fields; aos: all in one field; auto: on GPUs rows along z if x is cut and z is not
    routes: str  #: allowed routes, such as +direct,-staged; default: all routes of this build
    part: Sequence[str]
    quick: bool

    def scale(self, backend: str) -> Scale:
        scale = exchange_setups.QUICK if self.quick else exchange_setups.SCALES[backend]
        if not self.sizes:
            return scale
        return Scale(tuple(sorted(self.sizes)), max(self.sizes), (2 * max(self.sizes),))


class Refused(Exception):
    """Raised if an exchange cannot be measured as planned: no allowed route connects two devices, or no message travels
    by the route to be timed."""


class Meter:
    """Measures halo exchanges on one machine. All methods are collective."""

    def __init__(self, machine: Any, choice: Choice) -> None:
        self.machine, self.choice = machine, choice
        self.devices = machine.devices()
        self.grid = exchange_setups.device_grid(len(self.devices))
        with as_case_error():
            self.rates = core().measure_rates(machine)
        # With one device no bytes cross a link, so the copy rate of its memory gives the least time.
        self.copy_gbs = record.digits(predict.measure_memory(self.devices)) if len(self.devices) == 1 else None

    def fits(self, setup: Setup) -> bool:
        cells = 1
        for n in setup.largest_block:
            cells *= n + 2 * self.choice.radius
        return _BYTES[self.choice.dtype] * self.choice.quantities * cells < SHARE * min(
            device["memory"] for device in self.devices
        )

    def rows(self, setup: Setup) -> list[Row]:
        """Measures a halo exchange by the host clock, device events or both, as `setup` lists. Returns a row of
        results per clock. Raises Refused."""
        exchange = self._open(setup)
        messages = list(exchange.messages())
        figures = self._traffic(messages) | {
            "copy_gbs": self.copy_gbs,
            "replayed": exchange.capturable,
        }
        if setup.named_for and setup.named_for not in figures["travels_by"].split("+"):
            raise Refused(f"no message travels by {setup.named_for} here: {figures['travels_by']} would be measured")
        floor = self._floor_us(messages, figures)
        repeats = self._repeats(exchange, setup)
        if setup.part == "must":
            figures["begin_us"] = record.digits(exchange.begin_us(repeats))
            figures["begin_end_us"] = record.digits(exchange.begin_end_us(repeats))
            figures["warm_setup_s"] = record.digits(_warm_setup_seconds(exchange))
        found = []
        for clock in setup.clocks:
            us = exchange.events_us(repeats) if clock == "events" else exchange.host_us(repeats)
            found.append(
                self._inputs(setup, clock) | {"layout": exchange.layout, "time_us": record.digits(us)} | figures
            )
            found[-1]["gbs"] = record.digits(figures["link_mb"] / us * 1e3)
            moved = sum(message["bytes"] for message in messages)
            found[-1] |= record.share_of(floor, us, moved, self.devices)
            found[-1] |= self._goals(setup, clock)
        return found

    def _open(self, setup: Setup) -> Any:
        choice = self.choice
        # With several nodes the rules of partition choose the grid of devices, node by node.
        grid = setup.grid if self.machine.nodes == 1 else (0, 0, 0)
        options = {"routes": list(setup.routes), "throttle": choice.throttle, **setup.knobs}
        cells, periodic = setup.cells, (True, True, True)
        try:
            return timed().Exchange(
                self.machine,
                cells,
                choice.quantities,
                choice.dtype,
                choice.radius,
                periodic,
                grid,
                choice.alignment,
                choice.layout,
                choice.coding,
                options,
            )
        except RuntimeError as error:
            if "no allowed route" in str(error):
                raise Refused(exchange_tables.reasons(str(error))) from None
            raise

    def _repeats(self, exchange: Any, setup: Setup) -> int:
        if self.choice.quick:
            return QUICK_REPEATS
        if setup.part == "must":
            return REPEATS
        probe = exchange.host_us(QUICK_REPEATS)
        return max(FEWEST, min(REPEATS, int(1e6 * BUDGET / probe)))

    def _traffic(self, messages: Iterable[Row]) -> Row:
        """For the device that sends most: bytes to other devices, and the minimum time at its link rates."""
        mine = {d: [0.0, 0.0] for d, device in enumerate(self.devices) if device["rank"] == core().rank()}
        routes, slowest = set(), float("inf")
        for message in messages:
            source, target = message["source"], message["target"]
            routes.add(message["route"])
            if source in mine and source != target:
                rate = self.rates[source * len(self.devices) + target]
                slowest = min(slowest, rate)
                mine[source][0] += message["bytes"]
                mine[source][1] += message["bytes"] / rate * 1e-3
        found = _of_all_ranks([max(b for b, _ in mine.values()), max(t for _, t in mine.values()), slowest, [*routes]])
        rate = min(entry[2] for entry in found)
        return {
            "travels_by": "+".join(name for name in ROUTES if any(name in entry[3] for entry in found)),
            "link_mb": record.digits(max(entry[0] for entry in found) / 1e6),
            "link_gbs": record.digits(rate) if rate < float("inf") else None,
            "least_us": record.digits(max(entry[1] for entry in found)),
        }

    def _floor_us(self, messages: Iterable[Row], figures: Row) -> float:
        """Minimum time of the bytes at the rates of the links, or at the copy rate of the only device."""
        if self.copy_gbs is None:
            return figures["least_us"]
        return 2 * sum(message["bytes"] for message in messages) / self.copy_gbs * 1e-3

    def _inputs(self, setup: Setup, clock: str) -> Row:
        return {
            "ranks": self.machine.ranks,
            "devices": len(self.devices),
            "backend": self.devices[0]["backend"],
            "part": setup.part,
            **setup.inputs,
            "cells": list(setup.cells),
            "cells_per_device": list(setup.largest_block),
            "quantities": self.choice.quantities,
            "dtype": self.choice.dtype,
            **({} if self.choice.coding == "raw" else {"coding": self.choice.coding}),
            **({} if self.choice.throttle == "none" else {"throttle": self.choice.throttle}),
            "radius": self.choice.radius,
            "alignment": self.choice.alignment,
            "periodic": True,
            "clock": clock,
        }

    def _goals(self, setup: Setup, clock: str) -> Row:
        if setup.part != "must":
            return {}
        choice = self.choice
        asked = (choice.quantities, choice.radius, choice.dtype, choice.coding, choice.throttle)
        usual = asked == (4, 3, "f32", "raw", "none")
        comparable = usual and self._on_h200()
        ranks = self.machine.ranks
        return {
            "at_most_us": exchange_setups.at_most_us(setup, ranks, clock) if comparable else None,
            "stencil_us": exchange_setups.stencil_us(setup, ranks, clock) if comparable else None,
        }

    def _on_h200(self) -> bool:
        """Whether all GPUs are H200, for which the target times and those of the library cwpearson/stencil hold."""
        return all("H200" in device["name"] for device in self.devices)


def _warm_setup_seconds(exchange: Any) -> float:
    """Seconds of a set-up of an exchange with a separate cache, which the tuner fills first."""
    with tempfile.TemporaryDirectory(prefix="slipstream-tuned-") as folder:
        return exchange.warm_setup_seconds(core().broadcast(folder, 0))


def _of_all_ranks(value: Any) -> list[Any]:
    """Collects a value of each rank on all ranks. Collective."""
    text = json.dumps(value)
    return [json.loads(core().broadcast(text, rank)) for rank in range(core().size())]


def _discover(backend: str, devices: int) -> Any:
    """Discovers the machine. An emulated one of a single rank gets two devices, so that messages exist."""
    if backend == "host" and core().size() == 1 and devices == 0:
        devices = 2
    with as_case_error():
        return core().Machine.discover(backend, devices_per_rank=devices)


class _Session:
    """One run of `slipstream bench exchange`: options, machine and console."""

    def __init__(self, choice: Choice, console: Console) -> None:
        self.choice, self.console = choice, console
        backend = discovery.choose_backend(choice.backend)
        # A route that is missing on one rank is unavailable to all ranks.
        self.missing = {
            route["name"]: route["missing"]
            for routes in _of_all_ranks(core().routes(backend))
            for route in routes
            if route["missing"]
        }
        here = [name for name in ROUTES if name not in self.missing]
        self.allowed = exchange_setups.parse_routes(choice.routes, here)
        self.scale = choice.scale(backend)
        if choice.radius < 1 or choice.quantities < 1:
            raise CaseError("bench exchange: --radius and --quantities count from 1", option="radius", limit=1)
        if min(self.scale.sizes) < choice.radius:
            raise CaseError(
                f"bench exchange: --sizes needs {choice.radius} or more, the width of the halo",
                option="sizes",
                limit=choice.radius,
            )
        self.meter = Meter(_discover(backend, choice.devices), choice)

    def measure(self, meter: Meter, setups: Iterable[Setup]) -> Iterator[Row]:
        """Measures exchanges that differ only in size: if one is refused, so are all."""
        for setup in setups:
            if not meter.fits(setup):
                self.console.print(
                    f"left out: {terminal.show_extent(setup.cells)} needs more than {SHARE:.0%} of memory"
                )
                continue
            try:
                yield from meter.rows(setup)
            except Refused as refused:
                what = " ".join(str(setup.inputs[key]) for key in ("scheme", "base", "rung") if key in setup.inputs)
                self.console.print(f"refused: {what or '+'.join(setup.routes)}: {refused}")
                return

    def rows(self, part: str) -> Iterator[Row]:
        meter, routes, name = self.meter, self.allowed, self.choice.routes or "all"
        ranks, nodes = meter.machine.ranks, meter.machine.nodes
        if part == "must":
            for setup in exchange_setups.must(self.scale, meter.grid, routes, name):
                yield from self.measure(meter, [setup])
        elif part == "ladder":
            for setups in exchange_setups.ladder(self.scale, meter.grid, nodes, ranks, routes):
                yield from self.measure(meter, setups)
        elif part == "schemes":
            for setups in exchange_setups.schemes(self.scale, meter.grid, routes):
                yield from self.measure(meter, setups)
        else:
            for some in self._counts():
                for setup in exchange_setups.scaling(self.scale, some.grid, routes, name):
                    yield from self.measure(some, [setup])

    def _counts(self) -> Iterator[Meter]:
        """Numbers of devices to measure: a single rank measures 1, 2, 4, ... of its devices; several ranks measure all
        of theirs.
        """
        devices = len(self.meter.devices)
        if core().size() == 1:
            count = 1
            while count < devices:
                backend = self.meter.devices[0]["backend"]
                yield Meter(core().Machine.discover(backend, devices_per_rank=count), self.choice)
                count *= 2
        yield self.meter

    def left_out(self) -> dict[str, str]:
        """Routes that the benchmark would measure but that are unavailable here, each with the reason."""
        wanted = (*exchange_setups.BASES, *exchange_setups.LIBRARIES)
        return {name: self.missing[name] for name in wanted if name in self.missing}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--part", nargs="+", choices=[*PARTS, "all"], default=["all"], help="what to measure")
    options.sizes(parser, "cubes of N^3 cells a device")
    options.devices(parser)
    options.halo(parser)
    parser.add_argument("--alignment", type=int, default=32,
                        help="alignment in bytes of the first interior cell of each row")  # fmt: skip
    parser.add_argument("--layout", choices=["auto", "soa", "aos", "soa_z"], default="auto",
                        help="memory layout of the fields; aos: all quantities in one field")  # fmt: skip
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32", help="type of the quantities (default: f32)")
    options.coding(parser)
    options.throttle(parser)
    options.routes(parser)
    options.quick(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints halo exchanges; rank 0 writes a table and pictures. Collective."""
    began = time.perf_counter()
    choice, folder = record.chosen(Choice, arguments), arguments.folder
    session = _Session(choice, console)
    parts = [part for part in PARTS if part in choice.part or "all" in choice.part]
    if "ladder" in parts or "schemes" in parts:
        for name, why in session.left_out().items():
            console.print(f"refused: {name}: {why}")
    described = record.describe_machine(session.meter.machine)
    rows: list[Row] = []
    path: Path | None = None

    def keep(new: list[Row]) -> list[Row]:
        """Stores new rows of results. Returns those of this run and, if a file is written, of earlier runs."""
        nonlocal path
        rows.extend(new)
        if folder is None or core().rank() != 0:
            return rows
        path = record.write(folder, "exchange", described, core().build_info()["commit"], new, FIGURES)
        return record.read(path)["rows"]

    everything = rows
    for part in parts:
        # Results are written after each part, so that a later failure loses none.
        measured = record.possible([*session.rows(part)], FIGURES, console)
        everything = keep(exchange_tables.findings(measured, keep(measured)))
    exchange_tables.show(console, described["name"], rows, everything)
    if path:
        pictures = exchange_tables.pictures(path, described["name"], everything)
        console.print(f"written: {', '.join(map(str, [path, *pictures]))}")
    console.print(f"{time.perf_counter() - began:.0f} s")
