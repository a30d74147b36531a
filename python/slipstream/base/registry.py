"""What rooms offer to the rooms below them, by name and loaded when it is asked for: the only way up.

Who asks knows the name and nothing of where it leads: solvers go by the table of a case file that is theirs, pictures
by what they show.
"""

from importlib import import_module
from typing import Any

#: Each has what `slipstream.case.solver.Solver` says.
SOLVERS = {
    "lbm": "slipstream.lbm.solver",
    "stencil": "slipstream.stencil.solver",
    "dns": "slipstream.dns.solver",
    "sem": "slipstream.sem.solver",
}
#: Where no table of a case is a solver's.
USUAL = "lbm"
#: Solvers of flows that can compute Taylor and Green's vortex, each with what `slipstream.run.compare.Vortex` says.
VORTICES = {"lbm": "slipstream.lbm.vortex", "dns": "slipstream.dns.vortex"}
#: Each has draw(subject, path).
PICTURES = {"exchange": "slipstream.pictures.exchange"}


def solver(table: str) -> Any:
    return import_module(SOLVERS[table])


def vortex(table: str) -> Any:
    return import_module(VORTICES[table])


def picture(subject: str) -> Any:
    return import_module(PICTURES[subject])
