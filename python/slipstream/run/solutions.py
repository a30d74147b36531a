"""Tables and findings of the linear systems that Krylov methods solve in each step."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slipstream.case.case import Case
from slipstream.case.solver import Monitor
from slipstream.run.plain import history

#: Columns of solutions.csv after step and time, on the linear solution of that step.
COLUMNS = ("iterations", "residual", "true_residual")
OF_AN_ITERATION = "bytes a cell below are those of one iteration, and a step has many"


def monitor(engine: Any, case: Case, goes_on: bool, more: Sequence[str] = ()) -> Monitor:
    """Monitor of solutions.csv, a table on the linear solution of each step. `more`: names of further unknowns, which
    engine.effort() takes by number, from 1; their columns begin with the name."""
    columns = [*COLUMNS, *(f"{name} {column}" for name in more for column in COLUMNS)]

    def row() -> dict[str, Any]:
        efforts = [engine.effort(), *(engine.effort(n + 1) for n in range(len(more)))]
        found = [effort | {"iterations": effort["last_iterations"]} for effort in efforts]
        return dict(zip(columns, [effort[name] for effort in found for name in COLUMNS], strict=True))

    return history(engine, case, goes_on, "solutions.csv", columns, row)


#: Keys of the solver's effort: first sums over all linear solutions, then values of the last one.
SUMS = ("solutions", "iterations", "unconverged", "rounded")
OF_THE_LAST = ("last_iterations", "residual", "true_residual")


class Effort:
    """Numbers of all linear solutions of a run, and of their iterations, including those before a restart."""

    def __init__(self, of_engine: Callable[[], Mapping[str, Any]]) -> None:
        """`of_engine`: function that returns the numbers of linear solutions and iterations since the start of the
        compiled solver."""
        self._of_engine, self._before = of_engine, dict[str, Any]()

    def carry(self, before: Mapping[str, Any]) -> None:
        self._before = dict(before)

    def __call__(self) -> dict[str, Any]:
        now, before = dict(self._of_engine()), self._before
        last = {name: before.get(name, now[name]) for name in OF_THE_LAST} if not now["solutions"] else {}
        return now | {name: now[name] + before.get(name, 0) for name in SUMS} | last

    def carried(self) -> dict[str, Any]:
        now = self()
        return {name: now[name] for name in (*SUMS, *OF_THE_LAST)}


def unsolved(effort: Mapping[str, Any], tolerance: float) -> str:
    """A warning about linear systems that were not solved; empty if all were."""
    found, of_all = [], f"of {effort['solutions']} linear solutions"
    if effort["unconverged"]:
        found.append(f"{effort['unconverged']} {of_all} did not reach {tolerance:g} of the right side")
    if effort["rounded"]:
        found.append(
            f"{effort['rounded']} {of_all} converged by the recurrence alone: rounding keeps b - A x above ten times "
            f"the tolerance, {effort['true_residual']:.2g} of the right side in the last; ask for no less"
        )
    return "; ".join(found)


def findings(effort: Mapping[str, Any], name: str = "") -> dict[str, float]:
    """Iterations and residuals of the linear solutions, as findings of the run. `name`: prefix of the keys."""
    mean = effort["iterations"] / max(1, effort["solutions"])
    return {f"{name}iterations.mean": mean, f"{name}residual.true": float(effort["true_residual"])}


def line(effort: Mapping[str, Any], of: str = "") -> str:
    mean = effort["iterations"] / max(1, effort["solutions"])
    return (
        f"linear systems{of}: {mean:.4g} iterations a solution; residual of the last {effort['residual']:.3g} by the "
        f"recurrence, {effort['true_residual']:.3g} in truth"
    )
