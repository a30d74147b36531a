"""`slipstream compare`: the Taylor-Green vortex at Reynolds number 1600 by every solver that has it.

The vortex breaks down into turbulence. The decay of its energy is a test of a method (case C3.5 of the International
Workshops on High-Order CFD Methods). Each solver computes the same flow on as many cells, and its dissipation is
compared with the published one.
"""

import argparse
import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Console

from slipstream.base import registry, rows, terminal, toml_text
from slipstream.base.core import agree_on_error, core, on_all_ranks
from slipstream.base.errors import CaseError, ErrorCode, Fault, RunError
from slipstream.case.case import Case
from slipstream.case.reader import Source, parse
from slipstream.case.solver import solver_of
from slipstream.flow import energy
from slipstream.machine import discovery
from slipstream.results import record
from slipstream.run import engine, run
from slipstream.run.folder import output_problem

TABLE, PICTURE = "comparison.csv", "comparison.png"
#: Keys of [output] in compared runs, because the comparison needs the energy over time only.
QUIET = {"fields": False, "pictures": False, "report": False}


class Vortex(Protocol):
    """Interface of a solver that can compute the Taylor-Green vortex. The registry names its module."""

    title: str  #: title of the solver's curve in the picture
    precisions: Sequence[str]  #: values of the solver's key `precision`; empty: the solver has no such key and uses f64

    def points(self, case: Case) -> int:
        """Number of distinct points along each axis, for a case of this solver."""

    def tables(self, cells: int, time: float) -> dict[str, Any]:
        """Tables of a case of the Taylor-Green vortex on cells^3 cells. It ends at `time`, in units of reference length
        over reference speed, and records its kinetic energy ten times per unit of time. Raises CaseError if the solver
        cannot compute the vortex on these cells."""

    def decay(self, case: Case) -> energy.Decay:
        """The kinetic energy over time, from the results of a run."""


@dataclass(frozen=True)
class Entry:
    """Result of one solver in the comparison of solvers."""

    title: str
    points: int  #: number of grid points along each axis of the Taylor-Green vortex's box
    case: Case
    decay: energy.Decay
    seconds: float  #: wall-clock time of the steps in seconds


def cases(arguments: argparse.Namespace, overrides: Sequence[str]) -> dict[str, Case]:
    """Cases of each solver, for each size and each requested precision that the solver supports. An override of a
    solver's own table applies to that solver only. Raises CaseError.
    """
    if not arguments.time > 0:
        raise CaseError(
            f"compare: --time must be above 0, it is {arguments.time:g}",
            key="--time",
            given=f"{arguments.time:g}",
            allowed="> 0",
        )
    given = [toml_text.parse_override(text) for text in overrides]
    found = {}
    sizes = list(dict.fromkeys(arguments.cells))
    for solver, cells in itertools.product(dict.fromkeys(arguments.solvers), sizes):
        vortex: Vortex = registry.vortex(solver)
        for precision in dict.fromkeys(arguments.precisions) or [""]:
            if precision and precision not in (vortex.precisions or ("f64",)):
                continue
            name = "_".join(filter(None, [solver, precision, str(cells) if len(sizes) > 1 else ""]))
            try:
                data = vortex.tables(cells, arguments.time)
            except CaseError as error:
                raise CaseError(Fault.of(error).at("--cells")) from None
            data["case"] = {"name": f"compare_{name}", "description": "Taylor-Green vortex"}
            data["output"] = data.get("output", {}) | QUIET | {"folder": str(arguments.folder / name)}
            data["checkpoint"] = {"final": False}
            for key, value in given:
                if key[0] not in registry.SOLVERS or key[0] == solver:
                    toml_text.apply_override(data, key, value)
            if precision and vortex.precisions:
                data[solver] = data.get(solver, {}) | {"precision": precision}
            found[name] = parse(data, Source(f"compare, {name}", "", overrides))
    return found


def command(arguments: argparse.Namespace, overrides: Sequence[str], console: Console) -> None:
    """Runs the comparison of solvers on the Taylor-Green vortex, and prints its table. Rank 0 writes table and picture.
    Collective. Raises CaseError before anything is written.
    """
    with on_all_ranks():
        chosen = cases(arguments, overrides)
    entries = entries_of(chosen.values(), console, arguments.overwrite)
    if core().rank() != 0:
        return
    reference = energy.taylor_green_1600()
    found = [row(entry, reference, entries[0]) for entry in entries]
    console.print()
    console.print(_table(found, reference))
    rows.replace(arguments.folder / TABLE, list(found[0]), [list(one.values()) for one in found])
    from slipstream.pictures import spectra

    shown = [(e.title, e.points, e.decay, e.seconds) for e in entries]
    spectra.decays(arguments.folder / PICTURE, shown, reference)
    for name in (TABLE, PICTURE):
        console.print(f"written: {os.path.relpath(arguments.folder / name)}", soft_wrap=True)


def entries_of(chosen: Iterable[Case], console: Console, overwrite: bool) -> list[Entry]:
    """Checks the cases of all compared solvers, then runs them; returns their results on rank 0. Collective. Raises
    CaseError before anything is written."""
    chosen = list(chosen)
    for case in chosen:
        agree_on_error(output_problem(case, overwrite) if core().rank() == 0 else "")
        engine.prepare(case, discovery.discover(case.machine))
    entries = []
    for case in chosen:
        vortex: Vortex = registry.vortex(case.solver)
        console.print(f"\n{vortex.title}: {case.last_step} steps", soft_wrap=True)
        run.run(case, console, overwrite)
        entry = _entry(vortex, case)
        if entry:
            entries.append(entry)
    return entries


def _entry(vortex: Vortex, case: Case) -> Entry | None:
    """The result of one case of the comparison, on rank 0. Raises RunError on all ranks if a signal or the clock ended
    the run. Collective."""
    kept = record.read(case.folder) if core().rank() == 0 else None
    # A run that a signal or the time limit ended leaves no final results ("findings") in its file.
    whole = bool(kept and "findings" in kept.figures)
    if not json.loads(core().broadcast(json.dumps(whole), 0)):
        raise RunError(f"compare: stopped during {case.case.name}", ErrorCode.WRONG_STATE, case=case.case.name)
    if not kept:
        return None
    title = f"{vortex.title}, {solver_of(case).inputs(case)['precision']}"
    return Entry(title, vortex.points(case), case, vortex.decay(case), float(kept.figures["seconds"]))


def row(entry: Entry, reference: energy.Reference, first: Entry) -> dict[str, Any]:
    """A row of the comparison of solvers. The error of the dissipation's peak is in percent of the published peak.
    Errors of the dissipation over time are relative L2 norms: against published values, and against the first row."""
    found = energy.compare(entry.decay, reference)
    return {
        "solver": entry.case.solver,
        "precision": solver_of(entry.case).inputs(entry.case)["precision"],
        "cells": entry.points,
        "steps": entry.case.last_step,
        "peak_dissipation": f"{found['peak_dissipation']:.6g}",
        "peak_time": f"{found['peak_time']:.4g}",
        "peak_error_percent": f"{found['peak_error_percent']:.3g}",
        "dissipation_error": f"{found['dissipation_error']:.4g}",
        "from_first": f"{entry.decay.distance(first.decay):.4g}",
        "largest_energy_error": f"{found['largest_energy_error']:.3g}",
        "seconds": f"{entry.seconds:.4g}",
    }


def _table(found: Sequence[Mapping[str, Any]], reference: energy.Reference) -> Any:
    peak = reference.dissipation.argmax()
    shown = [list(one.values()) for one in found]
    published = ["published", "", "512", "", f"{reference.dissipation[peak]:.6g}", f"{reference.time[peak]:.4g}"]
    shown.append([*published, *[""] * (len(shown[0]) - len(published))])
    columns = ["", "precision", "cells^(1/3)", "steps", "peak dissipation", "at time", "error %", "L2 error"]
    columns += ["L2 from the first", "energy error", "s"]
    return terminal.table("Taylor-Green vortex, Re 1600", columns, shown)
