"""Lines and tables of runs whose steps end in a linear system, solved by a Krylov method."""

from collections.abc import Mapping, Sequence
from typing import Any

from slipstream.case.case import Case
from slipstream.case.solver import Monitor
from slipstream.run.plain import History

#: Columns of solutions.csv behind step and time: of the linear solution of that step.
COLUMNS = ("iterations", "residual", "true_residual")
OF_AN_ITERATION = "bytes and times below are those of one iteration, and a step has many"


def monitors(engine: Any, case: Case, goes_on: bool) -> Sequence[Monitor]:
    """solutions.csv."""
    path = case.folder / "solutions.csv"
    history = History(path, engine, case, goes_on, COLUMNS)

    def take() -> None:
        effort = engine.effort()
        history.add({**effort, "iterations": effort["last_iterations"]})

    return [Monitor(path, take)]


#: Keys of Effort: sums over all solutions, then values of the last one.
SUMS = ("solutions", "iterations", "unconverged", "rounded")
OF_THE_LAST = ("last_iterations", "residual", "true_residual")


class Effort:
    """The effort of all linear solutions of a run, those before a restart among them."""

    def __init__(self, engine: Any) -> None:
        self._engine, self._before = engine, dict[str, Any]()

    def carry(self, before: Mapping[str, Any]) -> None:
        self._before = dict(before)

    def __call__(self) -> dict[str, Any]:
        now, before = dict(self._engine.effort()), self._before
        last = {name: before.get(name, now[name]) for name in OF_THE_LAST} if not now["solutions"] else {}
        return now | {name: now[name] + before.get(name, 0) for name in SUMS} | last

    def carried(self) -> dict[str, Any]:
        now = self()
        return {name: now[name] for name in (*SUMS, *OF_THE_LAST)}


def unsolved(effort: Mapping[str, Any], tolerance: float) -> str:
    """A warning, or nothing."""
    found, of_all = [], f"of {effort['solutions']} linear solutions"
    if effort["unconverged"]:
        found.append(f"{effort['unconverged']} {of_all} did not reach {tolerance:g} of the right side")
    if effort["rounded"]:
        found.append(
            f"{effort['rounded']} {of_all} converged by the recurrence alone: rounding keeps b - A x above ten times "
            f"the tolerance, {effort['true_residual']:.2g} of the right side in the last; ask for no less"
        )
    return "; ".join(found)


def findings(effort: Mapping[str, Any]) -> dict[str, float]:
    mean = effort["iterations"] / max(1, effort["solutions"])
    return {"iterations.mean": mean, "residual.true": float(effort["true_residual"])}


def line(effort: Mapping[str, Any]) -> str:
    mean = effort["iterations"] / max(1, effort["solutions"])
    return (
        f"linear systems: {mean:.4g} iterations a solution; residual of the last {effort['residual']:.3g} by the "
        f"recurrence, {effort['true_residual']:.3g} in truth"
    )
