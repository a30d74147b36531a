"""Spectral elements as the registry has them."""

from collections.abc import Iterator, Mapping
from typing import Any

from slipstream.base.core import as_case_error, part
from slipstream.base.errors import Fault
from slipstream.case.solver import Solver, Tiles, said_of
from slipstream.run.solutions import OF_AN_ITERATION
from slipstream.sem import checks, facts
from slipstream.sem.case import SemCase, Unknown

_EQUATIONS = {"poisson": "Poisson's equation", "helmholtz": "Helmholtz's equation", "diffusion": "diffusion"}


def _solves(one: Unknown) -> str:
    absolute = f", or to {one.own['absolute_tolerance']:g}" if one.own["absolute_tolerance"] else ""
    return facts.solves(one.own, one.degree, f"{one.own['tolerance']:g} of the right side{absolute}")


class SemSolver(Solver[SemCase]):
    """The solver of scalar equations on spectral elements."""

    compiled = ("sem", "Sem")
    runs = ("slipstream.sem.running", "SemRun")
    case_type = SemCase
    unit_of_rate = "Mpoint/s"
    files = ("findings.json", "solutions.csv", "receivers.csv", "profiles.csv")

    def check_at_length(self, case: SemCase) -> None:
        """Raises CaseError if the map of the case inverts an element."""
        if case.sem.deformation or case.sem.map:
            with as_case_error():
                part("sem").check_sem_elements(case.options())

    def warnings(self, case: SemCase) -> list[str]:
        table = case.sem
        if table.time_order == 3 and table.start == "lower" and case.marches:
            return [
                "the first steps of lower order leave an error of order 2 in the time step; "
                'sem.start = "exact" has none'
            ]
        if table.velocity and table.time_order < 3:
            return [
                f"advection grows slowly with time_order = {table.time_order} where diffusion does not damp it; "
                "3 is stable"
            ]
        return []

    def facts(self, case: SemCase) -> list[tuple[str, str]]:
        table = case.sem
        found = [
            ("method", f"{_EQUATIONS[table.equation]}, spectral elements of order {table.order}, f64"),
            ("elements", facts.box(case)),
        ]
        for one in case.unknowns:
            found.append((f"sides of {one.name}" if one.path else "sides", facts.sides(case.conditions(one))))
        if case.marches:
            found.append(("time step", facts.time_step(table)))
            if table.velocity:
                found.append(("carried by", f"({', '.join(str(part) for part in table.velocity)})"))
        found += [(f"solves for {one.name}" if one.path else "solves", _solves(one)) for one in case.unknowns]
        found.append(("iterations", OF_AN_ITERATION))
        return found

    def inputs(self, case: SemCase) -> dict[str, str | int]:
        return {"equation": case.sem.equation, "order": case.sem.order, "precision": "f64"}

    def title(self, case: SemCase) -> str:
        return f"{_EQUATIONS[case.sem.equation]}, order {case.sem.order}"

    def tiles(self, case: SemCase, figures: Mapping[str, Any]) -> tuple[Tiles, Tiles]:
        names = {"exact.distance": "distance from the exact solution", "iterations.mean": "iterations a solution"}
        return [("order", str(case.sem.order))], said_of(figures, names)

    def smaller(self, case: SemCase) -> Iterator[dict[str, str]]:
        if case.factors == "stored" and not case.varies:
            yield {"factors": "affine"}

    def quantities(self, case: SemCase) -> Mapping[str, Any]:
        from slipstream.pictures.quantity import of_field

        more = {name: of_field(name, name) for name in case.sem.scalars}
        return {"u": of_field("u", "u", usual=True), **more}

    def problems(self, case: SemCase) -> list[Fault]:
        return checks.problems(case)


SOLVER = SemSolver()
