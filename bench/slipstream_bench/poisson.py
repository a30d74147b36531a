"""`slipstream bench poisson`: Poisson's equation on spectral elements, by method and preconditioner.

Conjugate gradients (cg) or flexible GMRES (fgmres) solve it on a box of elements of one order, from zero. A sine map
bends the elements, which are stretched along x. Set-up is not counted. `aspect` is the ratio of the widths of the last
and the first element along x. `operator_us` and `preconditioner_us` are the times of one application. `coarse_us` is
the time of the coarse problem within the preconditioner. Its unknowns are at corners of elements, and every device
solves all of it.
"""

import argparse
import itertools
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from rich.console import Console
from slipstream.base.core import as_case_error
from slipstream.base.errors import CaseError

from slipstream_bench import options, record, whole_machine
from slipstream_bench.timed import timed
from slipstream_bench.whole_machine import need, number

PRECONDITIONERS = ("jacobi", "chebyshev", "multigrid", "schwarz")
#: Default degrees of the Chebyshev polynomials, by preconditioner.
DEGREES = {"jacobi": 1, "chebyshev": 4, "multigrid": 3, "schwarz": 2}
#: Numbers of elements along each axis of a device's cube, by backend.
ELEMENTS = {"host": (4,), "cuda": (16, 32)}
REPEATS = {"host": 1, "cuda": 5}
#: Columns with results of the benchmark; the other columns of its rows are inputs.
FIGURES = frozenset({"iterations", "time_ms", "true_residual", "operator_us", "preconditioner_us", "coarse_us"})


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--order", type=int, default=7, metavar="N", help="of the polynomials (7)")
    parser.add_argument("--elements", type=int, nargs="+", default=[], metavar="N", help="N^3 elements a device")
    parser.add_argument("--methods", choices=("cg", "fgmres"), nargs="+", default=["cg"], help="default: cg")
    parser.add_argument("--preconditioners", choices=PRECONDITIONERS, nargs="+", default=list(PRECONDITIONERS))
    parser.add_argument(
        "--bends", type=float, nargs="+", default=[0.1], metavar="X", help="amplitudes of the sine map (0.1)"
    )
    parser.add_argument("--aspects", type=float, nargs="+", default=[1.0, 10.0], metavar="X", help="default: 1 10")
    parser.add_argument("--tolerance", type=float, default=1e-8, metavar="X", help="relative residual (1e-8)")
    parser.add_argument("--degree", type=int, default=0, metavar="N", help="polynomial degree; default: 4, 3 and 2")
    options.routes(parser)
    options.devices(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measures and prints iterations and times of linear solves by preconditioner; rank 0 writes. Collective."""
    if not 1 <= arguments.order <= 15:
        raise CaseError("bench poisson: --order is from 1 to 15")
    need("poisson", 1, elements=arguments.elements)

    def rows(machine: Any, backend: str) -> Iterator[record.Row]:
        devices = len(machine.devices())
        sizes = arguments.elements or ELEMENTS[backend]
        for n, bend, aspect, method, by in itertools.product(
            sizes, arguments.bends, arguments.aspects, arguments.methods, arguments.preconditioners
        ):
            degree = arguments.degree or DEGREES[by]
            with as_case_error():
                found = timed().poisson(
                    machine, (n, n, n * devices), arguments.order, method, by, bend, aspect, arguments.tolerance,
                    degree, options.routes_of(arguments), REPEATS[backend],
                )  # fmt: skip
            yield {
                "ranks": machine.ranks,
                "devices": devices,
                "order": arguments.order,
                "elements": n**3 * devices,
                "method": method,
                "preconditioner": by,
                "degree": degree,
                "bend": bend,
                "aspect": aspect,
                "tolerance": arguments.tolerance,
                "clock": "host",
                "routes": arguments.routes or "rules",
                "iterations": found["iterations"],
                "time_ms": record.digits(found["time_ms"]),
                "true_residual": record.digits(found["true_residual"]),
                "operator_us": record.digits(found["operator_us"]),
                "preconditioner_us": record.digits(found["preconditioner_us"]),
                "coarse_us": record.digits(found["coarse_us"]) or None,
            }

    whole_machine.measure("poisson", arguments, console, rows, COLUMNS, FIGURES)


COLUMNS = {
    "elements": lambda row: str(row["elements"]),
    "method": itemgetter("method"),
    "preconditioner": itemgetter("preconditioner"),
    "bend": number("bend", ".3g"),
    "aspect": number("aspect", ".3g"),
    "iterations": lambda row: str(row["iterations"]),
    "ms": number("time_ms"),
    "operator us": number("operator_us"),
    "preconditioner us": number("preconditioner_us"),
    "coarse us": number("coarse_us"),
}
