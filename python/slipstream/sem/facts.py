"""Lines of the banner that both problems on spectral elements have."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slipstream.case.sides import SIDES
from slipstream.sem.elements_case import ElementsCase


def box(case: ElementsCase) -> str:
    """Text on the edges of the box, its deformation, and whether geometric factors are stored."""
    table = case.sem
    bent = f", deformed by {table.deformation:g}" if table.deformation else ""
    bent += f", mapped to ({', '.join(str(part) for part in table.map)})" if table.map else ""
    return f"box of {' x '.join(f'{edge:g}' for edge in table.lengths)}{bent}, {case.factors} factors"


def sides(conditions: Iterable[Sequence[Any]]) -> str:
    """Text on the kinds of boundary conditions with their sides. `conditions`: the conditions of each side, in the
    order of SIDES."""
    kinds: dict[str, list[str]] = {}
    for side, parts in zip(SIDES, conditions, strict=True):
        kinds.setdefault(", ".join(part.kind for part in parts), []).append(side)
    return "; ".join(f"{kind} {' '.join(found)}" for kind, found in kinds.items())


def solves(own: Mapping[str, Any], degree: int, to: str) -> str:
    """Text on how a linear system is solved. `own`: its options in the case, `to`: the tolerance as text."""
    by = {
        "jacobi": "Jacobi",
        "chebyshev": f"Chebyshev-Jacobi of degree {degree}",
        "multigrid": f"p-multigrid, Chebyshev-Jacobi smoothers of degree {degree}",
        "schwarz": f"p-multigrid, Chebyshev-Schwarz smoothers of degree {degree}",
    }[own["preconditioner"]]
    method = "conjugate gradients" if own["method"] == "cg" else f"flexible GMRES({own['restart']})"
    kept = f", first guess from {own['projection']} solutions" if own["projection"] else ""
    return f"{method}, {by}, to {to}{kept}"


def time_step(table: Any) -> str:
    """Text on the time step. `table`: [sem] of a time-dependent case."""
    in_parts = f", in parts by a Courant number of {table.target_courant:g}" if table.target_courant else ""
    return f"{table.time_step:g}{in_parts}, backward differences of order {table.time_order}"
