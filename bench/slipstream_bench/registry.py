"""`slipstream bench NAME`: the list of benchmarks and their command lines.

A benchmark NAME is the module `slipstream_bench.NAME` (lbm_NAME: `slipstream_bench.lbm.NAME`). It has
`add_options(parser)`, which declares its options, and `run(arguments, console)`; `arguments.folder` is None to write
nothing. Modules are loaded on demand.
"""

import argparse
import difflib
import importlib
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import NoReturn

from rich.console import Console
from slipstream.base.errors import CaseError, ErrorCode

from slipstream_bench import options

#: Names of the benchmarks, and what each measures.
BENCHMARKS: Mapping[str, str] = {
    "lbm": "lattice Boltzmann: updates per second of an empty periodic box, as a share of the copy rate",
    "lbm_layout": "layout and alignment of the populations (Risso 2017)",
    "lbm_imbalance": "two blocks, adjacent along each axis (Risso 2017)",
    "lbm_weak": "weak scaling: one cube per device (Risso 2017)",
    "lbm_strong": "strong scaling: one cube on increasing numbers of devices (Risso 2017)",
    "lbm_communication": "schemes to pack and send halos, and the step without them (Risso 2017)",
    "lbm_blocks": "blocks inside and at the sides of an open box (Risso 2017)",
    "lbm_validation": "a cavity on one device, one node and two nodes, compared bitwise (Risso 2017)",
    "lbm_frame": "the width of the boundary region that waits for halos (Zheng 2023)",
    "lbm_coding": "speed and error of flows with coded messages, on fast and slow networks (Zheng 2023)",
    "lbm_flagfield": "solid cells computed, skipped by flags, or omitted (Zheng 2023)",
    "lbm_simd": "flags compared one by one and four at a time (Zheng 2023)",
    "lbm_methods": "the cost of collisions, lattices, LES model, force and boundaries",
    "lbm_io": "the cost of a checkpoint that is written while steps continue",
    "cavity": "the lid-driven cavity, compared with published results",
    "cases": "case files, and whether their results are as expected",
    "exchange": "halos of several quantities, by size, route, packing and number of devices",
    "pingpong": "round trips of a message, by every route and by MPI alone",
    "coding": "packing and unpacking by each coding, as a share of raw: rate, bytes, errors, break-even of links",
    "copy": "copies between a device, its host and a peer, by size, engine and shape",
    "gather_scatter": "sums over points that spectral elements share, by order, route and number of devices",
    "axhelm": "the stiffness operator of spectral elements, by order and kind of geometric factors",
    "nekbone": "an iteration of conjugate gradients on spectral elements, by order and number of devices",
    "poisson": "iterations and time to solution on spectral elements, by preconditioner, size, aspect and deformation",
    "sem": "steps of an incompressible flow on spectral elements, by order, size and preconditioner",
    "sem_thesis": "iterations, enstrophy and sums by the host inside a flow on spectral elements (Wahlgren 2022)",
    "vortex": "one turbulent decay by lattice Boltzmann, Fourier modes and elements: error over time to solution",
    "transpose": "a cube of values from slabs to other slabs, by size, order of axes, route and number of devices",
    "alltoall": "ways to send everything to everybody beside MPI_Alltoall (Ravikumar 2018)",
    "stencil": "cells a second of the heat equation and of waves, as a share of a copy's rate",
    "fft": "Fourier transforms of a cube, by size, format, decomposition, route and number of devices",
    "dns": "a step of a pseudo-spectral flow in a periodic box, by size, format, scheme and number of devices",
    "out_of_core": "transforms and flows in host memory, by device memory limit and copy method",
    "wave": "a wave on two ranks with messages of doubles or floats (Zheng 2023)",
    "allreduce": "the sum of a few doubles over all devices",
    "placement": "the gain of placing blocks by link rates",
    "setup": "memory and time of one rank's plan, on simulated machines of up to thousands of ranks",
    "sentinels": "twelve rows of all solvers and patterns, in minutes, compared with a parent's tree",
}
#: Names of experiments for `bench lbm --experiment NAME`.
EXPERIMENTS = tuple(name.removeprefix("lbm_") for name in BENCHMARKS if name.startswith("lbm_"))


class _Parser(argparse.ArgumentParser):
    """Parser that reports errors of the user in one line."""

    def error(self, message: str) -> NoReturn:
        what = self.prog.removeprefix("slipstream ")
        raise CaseError(f"{what}: {message}; `slipstream {what} --help` lists its options")


#: Modules of those benchmarks whose name differs from that of the module.
_ELSEWHERE = {"lbm": "lbm.updates", "cavity": "lbm.cavity"}


def module(name: str) -> ModuleType:
    place = _ELSEWHERE.get(name) or name.replace("lbm_", "lbm.", 1)
    return importlib.import_module(f"slipstream_bench.{place}")


def parser(name: str) -> argparse.ArgumentParser:
    """The command line of a benchmark."""
    # Abbreviated options are refused, because they would hide options of other benchmarks.
    made = _Parser(prog=f"slipstream bench {name}", description=f"Measures {BENCHMARKS[name]}.", allow_abbrev=False)
    module(name).add_options(made)
    options.common(made.add_argument_group("options of all benchmarks"))
    made.set_defaults(command="bench", benchmark=name, action=_run)
    return made


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments after `slipstream bench`. Raises CaseError with the nearest option or benchmark."""
    name, rest = _split(words)
    if not name:
        return argparse.Namespace(command="bench", action=_list, ranks=None)
    # Positional names, such as cases, may precede and follow options.
    arguments, unknown = parser(name).parse_known_intermixed_args(rest)
    if unknown:
        raise CaseError(_refusal(name, unknown), benchmark=name, unknown=" ".join(unknown))
    if arguments.no_write:
        arguments.folder = None
    return arguments


def _split(words: Sequence[str]) -> tuple[str, list[str]]:
    """The benchmark's name ("" if missing) and its arguments; common options may precede the name."""
    front = _Parser(prog="slipstream bench", add_help=False, allow_abbrev=False)
    front.add_argument("-h", "--help", action="store_true")
    options.common(front)
    front.add_argument("words", nargs=argparse.REMAINDER)
    found, unknown = front.parse_known_args(words)
    if unknown:
        raise CaseError(
            f"bench {unknown[0]}: the name of a benchmark comes first; `slipstream bench` lists them",
            unknown=unknown[0],
        )
    if not found.words:
        return "", []
    name, *own = found.words
    name = name.replace("-", "_")
    rest = [*words[: len(words) - len(found.words)], *own]
    if name == "lbm":
        name, rest = _experiment(rest)
    if name not in BENCHMARKS:
        raise CaseError(
            f"no benchmark is called {name}{_nearest(name, BENCHMARKS)} `slipstream bench` lists them",
            ErrorCode.NOT_FOUND,
            unknown=name,
        )
    return name, rest


def _experiment(words: Sequence[str]) -> tuple[str, list[str]]:
    """Converts `lbm --experiment weak` to lbm_weak, as in commands of result files."""
    alias = _Parser(prog="slipstream bench lbm", add_help=False, allow_abbrev=False)
    alias.add_argument("--experiment", choices=EXPERIMENTS)
    found, rest = alias.parse_known_args(words)
    return (f"lbm_{found.experiment}", rest) if found.experiment else ("lbm", rest)


def _refusal(name: str, unknown: Sequence[str]) -> str:
    """Text that names the benchmarks that take an unknown option, or the nearest option."""
    option = next((word.split("=")[0] for word in unknown if word.startswith("-")), None)
    if option is None:
        takers = [other for other in BENCHMARKS if _flags(other, positional=True)]
        return f"bench {name} takes no names: {', '.join(takers)} only, but there is {' '.join(unknown)}"
    takers = [other for other in BENCHMARKS if option in _flags(other)]
    if takers:
        return f"bench {name} takes no {option}: {', '.join(takers)} only"
    help_line = f"`slipstream bench {name} --help` lists its options"
    return f"bench {name} takes no {option}{_nearest(option, _flags(name))} {help_line}"


def _flags(name: str, positional: bool = False) -> list[str]:
    actions = parser(name)._actions  # a private attribute, because argparse has no public list of options
    if positional:
        return [action.dest for action in actions if not action.option_strings]
    return [flag for action in actions for flag in action.option_strings]


def _nearest(word: str, known: Sequence[str] | Mapping[str, str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ";"


def _run(arguments: argparse.Namespace, console: Console) -> None:
    module(arguments.benchmark).run(arguments, console)


def _list(_: argparse.Namespace, console: Console) -> None:
    width = max(map(len, BENCHMARKS))
    lines = [f"  {name:{width}}  {line}" for name, line in BENCHMARKS.items()]
    usage = "usage: slipstream bench NAME [options]"
    what = "Measures, prints a table and adds its rows to the file of this machine in bench/results/NAME/:"
    end = "`slipstream bench NAME --help` shows the options of a benchmark."
    console.print("\n".join([usage, "", what, "", *lines, "", end]), soft_wrap=True, markup=False, highlight=False)
