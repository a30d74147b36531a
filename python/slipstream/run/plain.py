"""Tables by step, and findings.json, shared by most solvers."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console

from slipstream.base.core import core
from slipstream.base.files import write_text
from slipstream.base.rows import Rows
from slipstream.case.case import Case
from slipstream.case.solver import Engine, Monitor
from slipstream.flow import expected
from slipstream.run.report import expected as expected_table
from slipstream.run.troubles import Troubles


def history(
    engine: Engine,
    case: Case,
    goes_on: bool,
    name: str,
    columns: Sequence[str],
    row: Callable[[], Mapping[str, Any]],
    every: int | None = None,
    at_start: bool = False,
) -> Monitor:
    """Monitor of a CSV file with step, time and other columns. Rank 0 writes a row for each later step; `row` is
    collective. A restarted run keeps the earlier rows, whatever their columns are. `every`: number of steps between
    rows; None: a row whenever the run computes its residual."""
    path, written = case.folder / name, engine.step if goes_on else -1
    names = ("step", "time", *columns)

    def renewed(before: Mapping[str, str]) -> Mapping[str, str]:
        return {name: before.get(name, "nan") for name in names}

    table = Rows(path, written, renewed, every or case.check_every) if core().rank() == 0 else None

    def take() -> None:
        nonlocal written
        found, step = row(), engine.step
        if table is not None and step > written:
            table.add({"step": step, "time": case.time_of(step)} | {name: found[name] for name in columns})
        written = step

    return Monitor(path, take, every, at_start)


def conclude(
    case: Case,
    figures: dict[str, Any],
    found: dict[str, float],
    console: Console,
    troubles: Troubles,
    lines: Sequence[str],
) -> None:
    """Adds a run's final results and the results that its case expects to the dictionary `figures`. Prints them, and
    writes all figures to findings.json, on rank 0."""
    figures["findings"], figures["expected"] = found, expected.against(case, found)
    for line in lines:
        console.print(line)
    with troubles.with_data(case.folder / "findings.json", "it", figures["steps"]):
        text = json.dumps(figures, indent=1, default=str)
        write_text(case.folder / "findings.json", text + "\n")
    if figures["expected"]:
        console.print(expected_table(figures["expected"]))
