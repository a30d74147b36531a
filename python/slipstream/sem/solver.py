"""Spectral elements for the registry: implements `slipstream.case.solver.Solver`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstream.base.core import as_case_error, part
from slipstream.case.sides import SIDES
from slipstream.case.solver import Run
from slipstream.machine.told import Plan
from slipstream.run.solutions import OF_AN_ITERATION
from slipstream.sem.case import SemCase, Unknown
from slipstream.sem.checks import problems

if TYPE_CHECKING:
    from slipstream._core import Machine, Trace

__all__ = ["problems"]

Tiles = list[tuple[str, str]]

case_type = SemCase
unit_of_rate = "Mpoint/s"
files = ("findings.json", "solutions.csv", "receivers.csv", "profiles.csv")
pictures: Mapping[str, str] = {}
collisions: Mapping[str, Mapping[str, str]] = {}

_EQUATIONS = {"poisson": "Poisson's equation", "helmholtz": "Helmholtz's equation", "diffusion": "diffusion"}


def complete(data: dict[str, Any]) -> dict[str, Any]:
    return data


def check_before_start(case: SemCase) -> None:
    """Nothing to do: `problems` reports everything."""


def check_at_length(case: SemCase) -> None:
    """Checks that no bent element is turned inside out."""
    if case.sem.deformation or case.sem.map:
        with as_case_error():
            part("sem").check_sem_elements(case.options())


def warnings(case: SemCase) -> list[str]:
    table = case.sem
    if table.time_order == 3 and table.start == "lower" and case.marches:
        return [
            'the first steps of lower order leave an error of order 2 in the time step; sem.start = "exact" has none'
        ]
    if table.velocity and table.time_order < 3:
        return [
            f"advection grows slowly with time_order = {table.time_order} where diffusion does not damp it; 3 is stable"
        ]
    return []


def facts(case: SemCase) -> list[tuple[str, str]]:
    table = case.sem
    bent = f", deformed by {table.deformation:g}" if table.deformation else ""
    bent += f", mapped to ({', '.join(str(part) for part in table.map)})" if table.map else ""
    found = [
        ("method", f"{_EQUATIONS[table.equation]}, spectral elements of order {table.order}, f64"),
        ("elements", f"box of {' x '.join(f'{edge:g}' for edge in table.lengths)}{bent}, {case.factors} factors"),
    ]
    for one in case.unknowns:
        kinds: dict[str, list[str]] = {}
        for side, parts in zip(SIDES, case.conditions(one), strict=True):
            kinds.setdefault(", ".join(part.kind for part in parts), []).append(side)
        said = "; ".join(f"{kind} {' '.join(sides)}" for kind, sides in kinds.items())
        found.append((f"sides of {one.name}" if one.path else "sides", said))
    if case.marches:
        in_parts = f", in parts by a Courant number of {table.target_courant:g}" if table.target_courant else ""
        found.append(("time step", f"{table.time_step:g}{in_parts}, backward differences of order {table.time_order}"))
        if table.velocity:
            found.append(("carried by", f"({', '.join(str(part) for part in table.velocity)})"))
    found += [(f"solves for {one.name}" if one.path else "solves", _solves(one)) for one in case.unknowns]
    found.append(("iterations", OF_AN_ITERATION))
    return found


def _solves(one: Unknown) -> str:
    own = one.own
    by = {
        "jacobi": "Jacobi",
        "chebyshev": f"Chebyshev-Jacobi of degree {one.degree}",
        "multigrid": f"p-multigrid, Chebyshev-Jacobi smoothers of degree {one.degree}",
        "schwarz": f"p-multigrid, Chebyshev-Schwarz smoothers of degree {one.degree}",
    }[own["preconditioner"]]
    method = "conjugate gradients" if own["method"] == "cg" else f"flexible GMRES({own['restart']})"
    kept = f", first guess from {own['projection']} solutions" if own["projection"] else ""
    absolute = f", or to {own['absolute_tolerance']:g}" if own["absolute_tolerance"] else ""
    return f"{method}, {by}, to {own['tolerance']:g} of the right side{absolute}{kept}"


def inputs(case: SemCase) -> dict[str, str | int]:
    return {"equation": case.sem.equation, "order": case.sem.order, "precision": "f64"}


def title(case: SemCase) -> str:
    return f"{_EQUATIONS[case.sem.equation]}, order {case.sem.order}"


def tiles(case: SemCase, figures: Mapping[str, Any]) -> tuple[Tiles, Tiles]:
    found = figures.get("findings") or {}
    names = {"exact.distance": "distance from the exact solution", "iterations.mean": "iterations a solution"}
    return [("order", str(case.sem.order))], [
        (said, f"{found[key]:.3g}") for key, said in names.items() if key in found
    ]


def answer(case: SemCase, folder: Path) -> tuple[Sequence[Any], Sequence[str]]:
    return (), ()


def compared(folder: Path) -> Sequence[Any]:
    return []


def conversions(case: SemCase) -> Sequence[Any]:
    return []


def checksums(case: SemCase) -> dict[str, str]:
    return {}


def plan(case: SemCase, machine: "Machine", options: Mapping[str, Any], thorough: bool = False) -> Plan:
    with as_case_error():
        found: Plan = part("sem").plan_sem(machine, options)
    return found


def largest_grid(machine: "Machine", options: Mapping[str, Any]) -> Sequence[int]:
    found: Sequence[int] = part("sem").largest_sem_grid(machine, options)
    return found


def smaller(case: SemCase) -> Iterator[dict[str, str]]:
    bent = case.sem.deformation or case.sem.map
    varies = any(isinstance(one.own["diffusivity"], str) for one in case.unknowns)
    if case.factors == "stored" and not bent and not varies:
        yield {"factors": "affine"}


def start(setup: Any, trace: "Trace | None" = None) -> Run:
    from slipstream.sem import running

    return running.SemRun(setup, trace)


def quantities(case: SemCase) -> Mapping[str, Any]:
    from slipstream.pictures.quantity import of_field

    more = {name: of_field(name, name) for name in case.sem.scalars}
    return {"u": of_field("u", "u", usual=True), **more}


def curves(shown: Any, folder: Path) -> list[Path]:
    return []


def artist(case: SemCase) -> Any:
    from slipstream.pictures.slices import SliceArtist

    return SliceArtist
