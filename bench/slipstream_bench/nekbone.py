"""`slipstream bench nekbone`: one conjugate gradient iteration for Poisson's equation on spectral elements.

The minimum time is that of the bytes per point at the copy rate of the same run. The operator has 64 B (16 with affine
or trilinear factors), the gather-scatter 18 B and the vectors 80 B.

`--sums device`: sums stay on the devices, and the host reads each residual during the next iteration. `host`: the host
fetches partial sums, adds them over all ranks by MPI, and returns the sum.

`--components 3`: three right sides in one solve, with common operator and preconditioner. Stored factors count once.

`--trace FOLDER` records iterations instead, one file per rank. It prints the exposed time of the gather-scatter: on
each device from the end of the interior elements to the end of the sums.
"""

import argparse
import itertools
import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from slipstream.base.core import as_case_error, core

from slipstream_bench import axhelm, options, whole_machine
from slipstream_bench.timed import timed

ITERATIONS = {"host": 5, "cuda": 400}
SUMS = ("device", "host")
#: Number of iterations of conjugate gradients that a trace holds.
TRACED = 20
_BYTES = {"stored": 64 + 18 + 80, "trilinear": 16 + 18 + 80, "affine": 16 + 18 + 80}


def add_options(parser: argparse.ArgumentParser) -> None:
    axhelm.options_of_elements(parser, orders=(3, 7, 11))
    options.routes(parser)
    parser.add_argument("--sums", choices=SUMS, nargs="+", default=["device"], help="default: device")
    parser.add_argument(
        "--components", type=int, nargs="+", default=[1], metavar="N", help="right sides per solve; default: 1"
    )
    parser.add_argument(
        "--overlap", choices=("on", "off"), default="on", help="sums concurrent with the computation of elements (on)"
    )
    parser.add_argument(
        "--trace", type=Path, metavar="FOLDER", help=f"record {TRACED} iterations of the first order, size and kind"
    )
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures or traces conjugate gradients, and prints; rank 0 writes. Collective."""

    if arguments.trace:
        return _trace(arguments, console)

    def time_by(sums: str, components: int) -> axhelm.Time:
        def time_us(machine: Any, elements: tuple[int, int, int], order: int, factors: str, repeats: int) -> float:
            iterations = ITERATIONS[machine.devices()[0]["backend"]]
            exchange = options.routes_of(arguments)
            return float(
                timed().nekbone(
                    machine, elements, order, factors, exchange, iterations, max(5, repeats // 6),
                    arguments.overlap == "on", sums, components,
                )
            )  # fmt: skip

        return time_us

    ways = [
        ({"sums": sums, "overlap": arguments.overlap, "components": components}, time_by(sums, components))
        for sums, components in itertools.product(arguments.sums, arguments.components)
    ]
    axhelm.measure(arguments, console, "nekbone", "host", ways, _BYTES)


def _trace(arguments: argparse.Namespace, console: Console) -> None:
    """Writes traces of the last solution on all ranks, and prints how long sums delay each device. Collective."""
    module, folder = core(), arguments.trace
    axhelm.check("nekbone", arguments)
    backend, machine = whole_machine.discover(arguments)
    order, factors = arguments.orders[0], arguments.factors[0]
    n = (arguments.elements or [axhelm.ELEMENTS[backend]])[0]
    elements = (n, n, n * len(machine.devices()))
    trace = module.Trace()
    with as_case_error():
        timed().trace_nekbone(
            machine, elements, order, factors, options.routes_of(arguments), TRACED, arguments.overlap == "on",
            arguments.sums[0], trace,
        )  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        trace.write(str(folder))
    path = folder / f"rank{module.rank()}.json"
    whole = json.loads(path.read_text())
    whole["traceEvents"] = last_solution(whole["traceEvents"])
    path.write_text(json.dumps(whole, separators=(",", ":")) + "\n")
    mine = {"exposed": exposed(whole["traceEvents"]), "waits": waits(whole["traceEvents"])}
    found = [json.loads(text) for text in module.Communicator.world().all_gather(json.dumps(mine))]
    size = f"order {order}, {n**3} elements a device, {factors} factors, sums: {arguments.sums[0]}"
    console.print(f"{TRACED} iterations of conjugate gradients, {size}")
    for device, operators in sorted((name, sums) for rank in found for name, sums in rank["exposed"].items()):
        spent = [statistics.median(times) for times in zip(*operators, strict=True)]
        console.print(
            f"{device}: gather-scatter exposed for {spent[0]:.3g} us, {spent[1]:.3g} of them by messages; "
            f"local sums {spent[2]:.3g} us (medians of {len(operators)} operators)"
        )
    console.print(f"the host waited {max(rank['waits'] for rank in found)} times")
    console.print(f"{folder}: one file per rank, for chrome://tracing and `slipstream trace`")


def last_solution(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events of a trace from the start of the last solution on, with the names of its rows."""
    began = max(event["ts"] for event in events if event["name"] == "conjugate gradients")
    return [event for event in events if event["ph"] == "M" or event["ts"] >= began]


class Sums(NamedTuple):
    """Times in microseconds by which one gather-scatter delays the work of its device."""

    #: Time from the last element's work to the local sums, in which the device is idle.
    idle: float
    #: Time from the last element's work to the arrival of the last message.
    late: float
    #: Time of the local sums, which delay the next kernel.
    local: float


def exposed(events: list[dict[str, Any]]) -> dict[str, list[Sums]]:
    """Delays by the gather-scatter of each operator in a trace, by device."""
    rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    found: dict[str, list[Sums]] = {}
    for name in rows.values():
        device = name.removesuffix(" solver")
        if device == name:
            continue
        computed, received = 0.0, 0.0
        for event in sorted((e for e in events if e["ph"] == "X"), key=lambda e: e["ts"]):
            row, start = rows[event["tid"]], event["ts"]
            if row == f"{device} exchange" and event["name"] == "receive":
                received = start + event["dur"]
            elif row == name and event["name"].startswith("end of sums"):
                # In a trace of the host backend, the bar of the sums also covers the wait for the last message.
                begun, end = max(start, received), start + event["dur"]
                sums = Sums(begun - computed, max(0.0, received - computed), end - begun)
                found.setdefault(device, []).append(sums)
                computed = end
            elif row == name:
                computed = start + event["dur"]
    return found


def waits(events: list[dict[str, Any]]) -> int:
    """Number of times that the host waits for a device in a trace."""
    return sum(event["ph"] == "X" and event.get("cat") == "wait" and event["tid"] == _host(events) for event in events)


def _host(events: list[dict[str, Any]]) -> int:
    return next(event["tid"] for event in events if event["name"] == "thread_name" and event["args"]["name"] == "host")
