"""Registry of modules by name, loaded on demand. Packages reach those above them through it only.

A caller knows the name and nothing of where it leads. Solvers are named by their table of a case file, pictures by
their subject. Benchmarks are no part of the package: they lie in the source tree around it.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from slipstream.base.errors import CaseError, ErrorCode

#: Modules of solvers by their table in a case file. Each has a SOLVER, a `slipstream.case.solver.Solver`. A name with a
#: dot belongs to cases whose table (`sem`) holds the equation behind the dot (`navier_stokes`).
SOLVERS = {
    "lbm": "slipstream.lbm.solver",
    "stencil": "slipstream.stencil.solver",
    "dns": "slipstream.dns.solver",
    "sem": "slipstream.sem.solver",
    "sem.navier_stokes": "slipstream.sem.flow.solver",
}
#: Solver of cases that have no solver's table.
USUAL = "lbm"
#: Solvers of flows that can compute the Taylor-Green vortex. Each implements `slipstream.run.compare.Vortex`.
VORTICES = {
    "lbm": "slipstream.lbm.vortex",
    "dns": "slipstream.dns.vortex",
    "sem": "slipstream.sem.flow.vortex",
}
#: Modules that draw a picture of one subject; each has draw(subject, path).
PICTURES = {"exchange": "slipstream.pictures.exchange"}
#: Module that draws slices of any solver's fields.
ARTIST = "slipstream.pictures.slices"
#: Package of the benchmarks, in the folder bench/ beside python/.
BENCHMARKS = "slipstream_bench"


def solver(table: str) -> Any:
    return import_module(SOLVERS[table]).SOLVER


def vortex(table: str) -> Any:
    return import_module(VORTICES[table])


def slice_artist() -> Any:
    """Class that draws slices of fields, for solvers without drawing code of their own."""
    return import_module(ARTIST).SliceArtist


def picture(subject: str) -> Any:
    return import_module(PICTURES[subject])


def benchmarks(module: str = "registry") -> Any:
    """Imports a module of the benchmarks; by default the one that lists them all. Raises CaseError outside of a source
    tree."""
    package = Path(__file__).resolve().parents[1]
    folder = package.parents[1] / "bench"
    if not (folder / BENCHMARKS).is_dir():
        raise CaseError(
            f"benchmarks live in the source tree, and {package} is outside of one: run `bin/slipstream bench` there, "
            "after `make build`",
            ErrorCode.UNAVAILABLE,
        )
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return import_module(f"{BENCHMARKS}.{module}")
