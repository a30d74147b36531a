"""Seismograms of receivers: seismograms.csv, with a row for every step, and its picture."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from slipstream.base.core import core
from slipstream.base.rows import Rows, columns
from slipstream.case.solver import Monitor
from slipstream.run.troubles import Troubles
from slipstream.stencil.case import StencilCase

NAME = "seismograms.csv"


def places(case: StencilCase) -> dict[str, list[int]]:
    """Indices of the cell of each receiver, by name."""
    return {name: list(case.cell_of(one.at)) for name, one in case.receivers.items()}


def monitor(engine: Any, case: StencilCase, goes_on: bool, before: Mapping[str, Sequence[int]]) -> Monitor:
    """Monitor of seismograms.csv. A restart keeps earlier rows. They have "nan" for new receivers, and for those that
    were in other cells then (`before`, by name)."""
    path = case.folder / NAME
    names = ("step", "time", *case.receivers)
    first = engine.step if goes_on else -1

    moved = {name for name, cell in places(case).items() if list(before.get(name, cell)) != cell}

    def renewed(row: Mapping[str, str]) -> Mapping[str, str]:
        return {name: "nan" if name in moved else row.get(name, "nan") for name in names}

    table = Rows(path, first, renewed) if core().rank() == 0 else None

    def take() -> None:
        # A new row follows the last one of seismograms.csv. The solver no longer has the values of earlier steps.
        since = int(core().broadcast(str(table.last if table else 0), 0))
        heard = [engine.seismogram(n, since) for n in range(len(case.receivers))]
        if table is None:
            return
        new = []
        first = engine.step - len(heard[0]) + 1
        for n, values in enumerate(zip(*heard, strict=True)):
            shown = [f"{value:.9g}" for value in (case.time_of(first + n), *values)]
            new.append(dict(zip(names, [first + n, *shown], strict=True)))
        table.add(*new)

    return Monitor(path, take, every_step=True)


def heard(case: StencilCase) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times, and the values of u at each receiver by name; empty if there is no file."""
    found = columns(case.folder / NAME)
    return found.get("time", np.empty(0)), {name: found[name] for name in case.receivers if name in found}


def largest(case: StencilCase) -> dict[str, float]:
    """The largest |u| at each receiver over the whole run."""
    found = {name: trace[~np.isnan(trace)] for name, trace in heard(case)[1].items()}
    return {f"{name}.largest": float(np.abs(trace).max()) for name, trace in found.items() if trace.size}


def draw(case: StencilCase, troubles: Troubles, step: int) -> None:
    times, traces = heard(case)
    if not traces:
        return
    with troubles.with_picture("seismograms.png", step):
        from slipstream.pictures import seismograms

        seismograms.draw(case.folder / "seismograms.png", case, times, traces)
