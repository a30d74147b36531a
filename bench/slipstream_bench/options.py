"""Options shared by several benchmarks; each benchmark declares its own set.

`cells` and `precision` are lists if a benchmark takes several values, otherwise one value or None.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slipstream.base.errors import CaseError


class _One(argparse.Action):
    """Action that refuses options given twice, of which argparse would silently use the last."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        given = f"{self.dest} was given"
        several = isinstance(values, list) and len(values) > 1
        if several or getattr(namespace, given, False):
            raise CaseError(
                f"{parser.prog.removeprefix('slipstream ')} takes one {self.option_strings[0]}", option=self.dest
            )
        setattr(namespace, given, True)
        setattr(namespace, self.dest, values[0] if isinstance(values, list) else values)


def common(parser: argparse.ArgumentParser) -> None:
    """Declares the options that every benchmark takes."""
    parser.add_argument("-n", dest="ranks", type=int, metavar="RANKS", help="start on so many ranks")
    parser.add_argument("--backend", choices=["auto", "host", "cuda"], default="auto")
    parser.add_argument("--folder", type=Path, default=Path("bench/results"), help="folder of the result file")
    parser.add_argument("--no-write", action="store_true", help="print only")


def cells(parser: argparse.ArgumentParser, what: str = "cubes of N^3 cells a device") -> None:
    parser.add_argument("--cells", type=int, nargs="+", default=[], metavar="N", help=what)


def one_cube(parser: argparse.ArgumentParser, what: str = "a cube of N^3 cells") -> None:
    parser.add_argument("--cells", type=int, nargs="+", action=_One, metavar="N", help=what)


def devices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--devices", type=int, default=0, help="devices per rank")


def threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=0, help="threads of host kernels; 0: all cores")


def precisions(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--precision", choices=["f16", "f32", "f64"], action="append",
                        help=f"may be repeated; default: {default}")  # fmt: skip


def precision(parser: argparse.ArgumentParser, default: str, choices: Sequence[str] = ("f32", "f64")) -> None:
    parser.add_argument("--precision", choices=choices, action=_One, default=default,
                        help=f"default: {default}")  # fmt: skip


def sizes(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--sizes", type=int, nargs="+", default=[], metavar="N", help=what)


def transforms(parser: argparse.ArgumentParser) -> None:
    """Declares options of Fourier transforms, alone or in a flow: device layout, stored results, overlap."""
    parser.add_argument("--decompositions", nargs="+", default=["slab"], choices=["slab", "pencil", "measured"],
                        help="decomposition; measured: the fastest process grid")  # fmt: skip
    parser.add_argument("--store", nargs="+", default=[], choices=["yes", "no"],
                        help="the last transform before a move stores its results at their targets, or the engine "
                        "packs them")  # fmt: skip
    parser.add_argument(
        "--overlap", action="store_true", help="overlap: components are sent while others are transformed"
    )


#: Names of the collisions of lattice Boltzmann; the last two need the moment representation.
COLLISIONS = ("SRT", "TRT", "MRT", "cumulant", "regularised", "recursive")


def method(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lattice", choices=["D3Q19", "D3Q27"], default="D3Q19")
    parser.add_argument("--collision", choices=COLLISIONS, default="TRT")


def representation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--representation", choices=["populations", "moments"], default="populations",
                        help="representation of the flow; the default collision is TRT or recursive")  # fmt: skip


def streaming(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--streaming", choices=["two", "in_place"], default="two",
                        help="streaming with two arrays of populations, or in place with one")  # fmt: skip


def overlap(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--overlap", choices=["auto", "on", "off"], default="auto",
                        help="overlap of interior steps with the exchange")  # fmt: skip


def halo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--radius", type=int, default=3, help="halo width (default: 3)")
    parser.add_argument("--quantities", type=int, default=4, help="f32 values per cell (default: 4)")


def routes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--routes", default="", metavar="+x,-y",
                        help="all routes with x and without y; x,y: only these")  # fmt: skip


def routes_of(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """The argument --routes as an option of an exchange."""
    return {"routes": [name for name in arguments.routes.split(",") if name]}


def coding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--coding", default="raw",
                        help="coding of messages: raw, cast, 'blockfloat, rate 16', 'zfp, rate 16'")  # fmt: skip


def throttle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--throttle", default="none", metavar="'R GB/s, T us'",
                        help="simulate such a network; for routes that the host drives")  # fmt: skip


def quick(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="few small sizes")


def parse_grid(text: str, least: int = 1) -> tuple[int, int, int]:
    """Parses three numbers such as `2x2x1`. Raises CaseError unless there are three, each of `least` or more."""
    match = re.fullmatch(r"(\d+)x(\d+)x(\d+)", text)
    x, y, z = (int(n) for n in match.groups()) if match else (0, 0, 0)
    if min(x, y, z) < least:
        raise CaseError(
            f"--grid {text}: takes three numbers from {least}, as {least}x{least}x{least}", option="grid", limit=least
        )
    return x, y, z
