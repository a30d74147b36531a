"""`slipstream bench nekbone`: an iteration of conjugate gradients for Poisson's equation on spectral elements.

The least time is that of the bytes that a point needs, at the rate that a copy has in the same run: those of the
operator (64 B, with affine or trilinear factors 16), of the gather-scatter (18 B) and of the vectors (80 B).

`--sums host`: the host waits for the sums of each iteration, as it must where coefficients are computed there;
`device`: it only queues.
"""

import argparse
from typing import Any

from rich.console import Console

from slipstream.base.core import core
from slipstream.bench import axhelm, options

ITERATIONS = {"host": 5, "cuda": 100}
SUMS = ("device", "host")
_BYTES = {"stored": 64 + 18 + 80, "trilinear": 16 + 18 + 80, "affine": 16 + 18 + 80}


def add_options(parser: argparse.ArgumentParser) -> None:
    axhelm.options_of_elements(parser, orders=(3, 7, 11))
    options.routes(parser)
    parser.add_argument("--sums", choices=SUMS, nargs="+", default=["device"], help="default: device")
    parser.add_argument(
        "--overlap", choices=("on", "off"), default="on", help="whether sums travel while elements are computed (on)"
    )
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures, prints and, on rank 0, writes. Collective."""

    def time_by(sums: str) -> axhelm.Time:
        def time_us(machine: Any, elements: tuple[int, int, int], order: int, factors: str, repeats: int) -> float:
            iterations = ITERATIONS[machine.devices()[0]["backend"]]
            exchange = options.routes_of(arguments)
            return float(
                core().bench_nekbone(
                    machine, elements, order, factors, exchange, iterations, max(3, repeats // 6),
                    arguments.overlap == "on", sums == "host",
                )
            )  # fmt: skip

        return time_us

    ways = [({"sums": sums, "overlap": arguments.overlap}, time_by(sums)) for sums in arguments.sums]
    axhelm.measure(arguments, console, "nekbone", "host", ways, _BYTES)
