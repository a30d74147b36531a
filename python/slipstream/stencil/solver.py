"""Finite differences as the registry has them."""

from collections.abc import Iterator, Mapping
from typing import Any

from slipstream.base.errors import Fault
from slipstream.case.solver import Solver, Tiles, said_of
from slipstream.run.solutions import OF_AN_ITERATION
from slipstream.stencil import checks
from slipstream.stencil.case import StencilCase

_SCHEMES = {"explicit": "explicit Euler", "backward_euler": "backward Euler", "crank_nicolson": "Crank-Nicolson"}


def _exchanges(steps: int | str) -> str:
    if steps == "auto":
        return "one in so many steps as are fastest, by measurement"
    return "" if steps == 1 else f"one in {steps} steps"


class StencilSolver(Solver[StencilCase]):
    """The solver of the heat and wave equations by finite differences."""

    compiled = ("stencil", "Stencil")
    runs = ("slipstream.stencil.running", "StencilRun")
    case_type = StencilCase
    unit_of_rate = "Mcell/s"
    files = ("findings.json", "seismograms.csv", "solutions.csv")
    pictures = {"seismograms.png": "Signals of the receivers"}

    def warnings(self, case: StencilCase) -> list[str]:
        table = case.stencil
        highest = max((source.frequency for source in case.sources.values()), default=0.0)
        if not highest:
            return []
        # Number of cells per wavelength that a wavelet needs: one of peak frequency f has waves up to about 2.5 f. Five
        # cells are few for order 2 and enough for order 8.
        slowest = case.largest_speed if isinstance(table.speed, str) else table.speed
        cells = slowest / (2.5 * highest * table.spacing)
        wanted = {2: 12.0, 4: 7.0, 6: 5.0, 8: 4.0}[table.order]
        if cells >= wanted:
            return []
        return [
            f"the shortest waves of the sources have {cells:.3g} cells, and order {table.order} wants {wanted:g}: they "
            "will spread; take smaller cells, a lower frequency or a higher order"
        ]

    def facts(self, case: StencilCase) -> list[tuple[str, str]]:
        table = case.stencil
        limit = case.stable_time_step
        if table.equation == "heat":
            method = f"heat, {table.points} points, {_SCHEMES[table.time]}, {table.precision}"
        else:
            method = f"waves of order {table.order} in space, leapfrog, {table.precision}"
        against = f"{100 * case.time_step / limit:.3g} % of the largest that is stable"
        if case.implicit:
            against = f"{case.time_step / limit:.3g} times the largest of explicit steps"
        solves = f"conjugate gradients in f64, to {case.tolerance:g} of the right side"
        return [
            ("method", method),
            ("time step", f"{case.time_step:.6g}, {against}"),
            ("solves", solves if case.implicit else ""),
            ("exchange", _exchanges(table.steps_per_exchange)),
            ("absorbing layer", f"{table.absorbing} cells" if table.absorbing else ""),
            ("sources", ", ".join(case.sources)),
            ("receivers", ", ".join(case.receivers)),
            ("iterations", OF_AN_ITERATION if case.implicit else ""),
        ]

    def inputs(self, case: StencilCase) -> dict[str, str | int]:
        table = case.stencil
        size = {"points": table.points} if table.equation == "heat" else {"order": table.order}
        scheme = {"time": table.time} if case.implicit else {}
        return {"equation": table.equation, **size, **scheme, "precision": table.precision}

    def title(self, case: StencilCase) -> str:
        table = case.stencil
        what = f"{table.points} points" if table.equation == "heat" else f"order {table.order}"
        scheme = f", {_SCHEMES[table.time]}" if case.implicit else ""
        return f"{table.equation}, {what}{scheme}, {table.precision}"

    def tiles(self, case: StencilCase, figures: Mapping[str, Any]) -> tuple[Tiles, Tiles]:
        names = {"exact.distance": "distance from the exact solution", "iterations.mean": "iterations a solution"}
        return [("time step", f"{case.time_step:.4g}")], said_of(figures, names)

    def smaller(self, case: StencilCase) -> Iterator[dict[str, str]]:
        if case.stencil.precision == "f64":
            yield {"precision": "f32"}

    def quantities(self, case: StencilCase) -> Mapping[str, Any]:
        from slipstream.pictures.quantity import of_field

        name = "temperature" if case.stencil.equation == "heat" else "pressure"
        return {"u": of_field("u", f"{name} u", usual=True)}

    def problems(self, case: StencilCase) -> list[Fault]:
        return checks.problems(case)


SOLVER = StencilSolver()
