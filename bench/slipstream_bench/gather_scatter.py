"""`slipstream bench gather_scatter`: microseconds of a gather-scatter over all points of a cube of elements.

The minimum time is that of a copy at the copy rate of the same run. It reads all points (8 or 16 bytes each) and the
indices of points on element surfaces (4 bytes each).

With several devices there is also a row for each route alone (plus kernel, within a device). The row `host_packed`
copies shared values to the host, packs, sends by MPI, combines and copies them back, as the baseline of J. Wahlgren's
thesis (KTH, 2022).

`set-up` holds the seconds and the peak host memory of the set-up, without the given ids, per point with copies. On the
host backend this includes device memory.

`--calls N` adds rows by the protocol of Wahlgren 2022, figure 5.4. They hold the mean of N calls in a loop (1000 there)
with a single wait; `host_packed` makes a fiftieth of the calls. Rows compared with `host_packed` show the speed-up and
the published one: device buffers over host buffers.
"""

import argparse
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from rich.console import Console
from slipstream.base.core import as_case_error
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.routes import NAMES as ROUTES
from slipstream.machine import predict

from slipstream_bench import exchange_setups, exchange_tables, options, record
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import measure, need, number

ORDERS = (1, 3, 7, 11)
#: Number of elements along each axis of the cube shared by all devices, by backend.
ELEMENTS = {"host": 8, "cuda": 64}
BYTES = {"f32": 4, "f64": 8}
REPEATS = {"host": 5, "cuda": 30}
#: Ways in which shared values travel: a list of routes, or None if the host packs messages.
WAYS: dict[str, list[str] | None] = {
    "host_packed": None,
    **{name: [name, "kernel"] for name in reversed(ROUTES) if name != "kernel"},
    "colocated": ["colocated", "peer", "kernel"],
}
#: Published speed-up of gather-scatters by messages in device buffers over those in host buffers, by polynomial order:
#: minimum and maximum on 4 to 128 A100 GPUs. Order 1 was slower on 8 to 32 and faster on 4. Order 3 was slower on 64.
PUBLISHED = {1: (1 / 6.73, None), 3: (1 / 2.88, 4.06), 7: (1.34, 3.59), 11: (1.23, 3.65)}
#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset(
    {"time_us", "setup_s", "points", "shared_points", "sent_values", "gpoints_per_s", "copy_gbs", "share"}
    | {"setup_bytes_per_shared_point", "times_host_packed", "published_least", "published_most", "travels_by"}
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--orders", type=int, nargs="+", default=list(ORDERS), metavar="N", help="default: 1 3 7 11")
    parser.add_argument(
        "--elements", type=int, nargs="+", default=[], metavar="N", help="cubes of N^3 elements in total"
    )
    options.routes(parser)
    parser.add_argument(
        "--ways", nargs="*", choices=list(WAYS), metavar="WAY",
        help="also by a single way, host_packed or a route (default: all that are available between several devices, "
        "none where --routes is given)",
    )  # fmt: skip
    parser.add_argument(
        "--calls",
        type=int,
        metavar="N",
        help="add a row with the mean of N calls in a loop; N/50 calls if the host packs",
    )
    parser.add_argument("--components", type=int, default=1, help="values per point (default: 1)")
    options.precision(parser, "f64")
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints gather-scatters; rank 0 writes. Collective."""
    if min(arguments.orders) < 1 or max(arguments.orders) > 31:
        raise CaseError("bench gather_scatter: --orders are from 1 to 31", option="orders", limit="1 to 31")
    need("gather_scatter", 1, elements=arguments.elements, components=arguments.components, calls=arguments.calls)

    def rows(machine: Any, backend: str) -> Iterator[record.Row]:
        return _beside_host_packed(list(_all(arguments, machine, backend, console)))

    measure("gather_scatter", arguments, console, rows, COLUMNS, FIGURES)


def _beside_host_packed(rows: Sequence[record.Row]) -> Iterator[record.Row]:
    def what(row: record.Row) -> tuple[int, int, str]:
        return row["elements"], row["order"], row["clock"]

    packed = {what(row): row["time_us"] for row in rows if row["routes"] == "host_packed"}
    for row in rows:
        if what(row) in packed and row["routes"] != "host_packed":
            least, most = PUBLISHED.get(row["order"], (None, None))
            yield row | {
                "times_host_packed": record.digits(packed[what(row)] / row["time_us"]),
                "published_least": least and record.digits(least),
                "published_most": most,
            }
        else:
            yield row


def _all(arguments: argparse.Namespace, machine: Any, backend: str, console: Console) -> Iterator[record.Row]:
    several = len(machine.devices()) > 1
    if arguments.ways and not several:
        raise CaseError(
            "bench gather_scatter: --ways are those between several devices: name more with --devices or -n",
            ErrorCode.UNSUPPORTED,
            option="ways",
            devices=1,
        )
    found = list(_rows(arguments, machine, backend, options.routes_of(arguments), arguments.routes or "rules"))
    yield from found
    default = list(WAYS) if several and not arguments.routes else []
    ways = default if arguments.ways is None else list(dict.fromkeys(arguments.ways))
    if ways and not all(row["sent_values"] for row in found):
        console.print("ways are left out: all elements are on one device; use more elements")
        return
    for way in ways:
        routes = WAYS[way]
        try:
            exchange = {"routes": routes or []}
            yield from _rows(arguments, machine, backend, exchange, ",".join(routes or [way]), routes is None)
        except CaseError as error:
            if "no allowed route" not in str(error):
                raise
            console.print(f"{way}: left out: {exchange_tables.reasons(str(error))}", soft_wrap=True)


def _rows(
    arguments: argparse.Namespace,
    machine: Any,
    backend: str,
    exchange: dict[str, Any],
    name: str,
    host_packed: bool = False,
) -> Iterator[record.Row]:
    clocks = ("events", "host", "calls") if arguments.calls else ("events", "host")
    calls = max(1, (arguments.calls or 1) // (50 if host_packed else 1))
    for elements in arguments.elements or [ELEMENTS[backend]]:
        for order in arguments.orders:
            rate = predict.measure_memory(machine.devices())
            with as_case_error():
                found = timed().gather_scatter(
                    machine, elements, order, arguments.precision, arguments.components, exchange, host_packed,
                    clocks, REPEATS[backend], calls,
                )  # fmt: skip
            for clock, figures in zip(clocks, found, strict=True):
                yield _row(arguments, machine, name, elements, order, clock, calls, rate, figures)


def _row(
    arguments: argparse.Namespace,
    machine: Any,
    name: str,
    elements: int,
    order: int,
    clock: str,
    calls: int,
    rate: float,
    figures: dict[str, Any],
) -> record.Row:
    devices = len(machine.devices())
    points, shared = figures["points"], figures["shared_points"]
    moved = points * 2 * BYTES[arguments.precision] * arguments.components + 4 * shared
    least_us = moved / (rate * 1e9 * devices) * 1e6
    return {
        "ranks": machine.ranks,
        "devices": devices,
        "order": order,
        "elements": elements**3,
        "dtype": arguments.precision,
        "components": arguments.components,
        "routes": name,
        "clock": clock,
        **({"calls": calls} if clock == "calls" else {}),
        "points": int(points),
        "shared_points": int(shared),
        "sent_values": int(figures["sent_values"]),
        "travels_by": exchange_setups.travels_by(figures["routes"]),
        "time_us": record.digits(figures["time_us"]),
        "gpoints_per_s": record.digits(points * arguments.components / figures["time_us"] / 1e3),
        "copy_gbs": record.digits(rate),
        **record.share_of(least_us, figures["time_us"], moved / devices, machine.devices()),
        "setup_s": record.digits(figures["setup_s"]),
        "setup_bytes_per_shared_point": record.digits(figures["setup_bytes"] / shared)
        if figures["setup_bytes"] >= 0 and shared
        else None,
    }


def _published(row: record.Row) -> str:
    least, most = row.get("published_least"), row.get("published_most")
    return "-" if least is None else f"from {least:.3g}" if most is None else f"{least:.3g} to {most:.3g}"


COLUMNS = {
    "elements": lambda row: f"{round(row['elements'] ** (1 / 3))}^3",
    "order": lambda row: str(row["order"]),
    "10^6 points": number("points", factor=1e-6),
    "values sent": lambda row: str(row["sent_values"]),
    "routes": itemgetter("routes"),
    "clock": itemgetter("clock"),
    "us": number("time_us"),
    "Gpoint/s": number("gpoints_per_s", ".3g"),
    "% of the copy": number("share", ".3g", 100),
    "x host-packed": lambda row: f"{row['times_host_packed']:.3g}" if "times_host_packed" in row else "-",
    "published": _published,
    "set-up s": number("setup_s", ".3g"),
    "B a shared point": number("setup_bytes_per_shared_point", ".3g"),
}
