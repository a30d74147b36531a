"""Incompressible flow on spectral elements as the registry has it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from slipstream.base.core import as_case_error, part
from slipstream.base.errors import Fault
from slipstream.case.solver import Solver, Tiles, said_of
from slipstream.sem import facts
from slipstream.sem.flow import checks
from slipstream.sem.flow.case import FlowCase


class FlowSolver(Solver[FlowCase]):
    """The solver of incompressible flow on spectral elements."""

    compiled = ("sem", "Flow")
    runs = ("slipstream.sem.flow.running", "FlowRun")
    case_type = FlowCase
    unit_of_rate = "Mpoint/s"
    files = ("findings.json", "statistics.csv", "loads.csv", "receivers.csv", "profiles.csv", "planes.csv")
    pictures: Mapping[str, str] = {"dissipation.png": "Energy and its dissipation over time"}

    def check_at_length(self, case: FlowCase) -> None:
        """Raises CaseError if the map of the case inverts an element."""
        if case.sem.deformation or case.sem.map:
            with as_case_error():
                part("sem").check_flow_elements(case.options())

    def warnings(self, case: FlowCase) -> list[str]:
        if case.sem.time_order < 3:
            return [
                f"advection grows slowly with time_order = {case.sem.time_order} where viscosity does not damp it; "
                "3 is stable"
            ]
        return []

    def facts(self, case: FlowCase) -> list[tuple[str, str]]:
        table = case.sem
        found = [
            ("method", f"incompressible flow, spectral elements of order {table.order} (Pn-Pn), f64"),
            ("elements", facts.box(case)),
            ("viscosity", f"{table.viscosity:g}"),
            ("sides", facts.sides(case.conditions)),
            ("time step", facts.time_step(table)),
        ]
        if table.divergence_damping:
            found.append(("divergence", f"damped by explicit steps of {table.divergence_damping:g} in all"))
        if table.filter:
            found.append(
                ("filter", f"{table.filter_modes} of {table.order + 1} modes damped at the rate {table.filter:g}")
            )
        to = f"{table.pressure_tolerance:g}"
        found.append(("pressure", facts.solves(table.model_dump(), case.degree, to)))
        found.append(("velocity", f"conjugate gradients, Jacobi, to {table.velocity_tolerance:g}"))
        found.append(("iterations", "bytes a cell below are those of one iteration of the pressure"))
        return found

    def inputs(self, case: FlowCase) -> dict[str, str | int]:
        return {"equation": case.sem.equation, "order": case.sem.order, "precision": "f64"}

    def title(self, case: FlowCase) -> str:
        return f"incompressible flow, order {case.sem.order}"

    def tiles(self, case: FlowCase, figures: Mapping[str, Any]) -> tuple[Tiles, Tiles]:
        names = {
            "exact.distance": "distance from the exact velocity",
            "energy": "kinetic energy",
            "divergence": "divergence over gradient",
            "iterations.pressure": "iterations of the pressure",
        }
        before = [("order", str(case.sem.order)), ("viscosity", f"{case.sem.viscosity:g}")]
        return before, said_of(figures, names)

    def smaller(self, case: FlowCase) -> Iterator[dict[str, str]]:
        if case.factors == "stored" and not case.varies:
            yield {"factors": "affine"}

    def quantities(self, case: FlowCase) -> Mapping[str, Any]:
        from slipstream.pictures.quantity import of_field, speed, velocity_parts

        return {"speed": speed(), **velocity_parts(), "pressure": of_field("pressure", "pressure", usual=True)}

    def curves(self, shown: Any, folder: Path) -> list[Path]:
        from slipstream.base import rows
        from slipstream.pictures import spectra

        column, path = rows.columns(shown.folder / "statistics.csv"), folder / "iterations.png"
        if len(column.get("time", ())) < 3:
            return []
        folder.mkdir(parents=True, exist_ok=True)
        spectra.iterations(path, shown.case, column)
        return [path]

    def problems(self, case: FlowCase) -> list[Fault]:
        return checks.problems(case)


SOLVER = FlowSolver()
