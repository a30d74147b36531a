"""`slipstream bench cases`: runs case files and checks that each result is as expected.

`--collision` runs each with several collisions, and `--refine` on finer grids, to compare their accuracy. These rows
have the comparison `collisions`.
"""

import argparse
import json
import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode, RunError
from slipstream.case.case import Case
from slipstream.case.reader import load, variant_names
from slipstream.case.solver import solver_of
from slipstream.machine import discovery
from slipstream.results import record as run_record

from slipstream_bench import record

#: Folder of the case files in the source tree.
CASES = Path(__file__).resolve().parents[2] / "cases"
QUICK = ("output.pictures=false", "output.report=false")
WITHOUT_FIELDS = ("output.fields=false",)
#: Relative difference of predicted and measured time up to which a prediction counts as good.
GOOD = 0.25
#: Published values of quantities that cases of the source tree expect: Wang et al. 2013; Clift, Grace & Weber 1978.
PUBLISHED: Mapping[tuple[str, str], float] = {
    ("taylor_green", "energy.peak_dissipation"): 0.012858,
    ("taylor_green", "energy.peak_time"): 8.97,
    ("sphere", "ball.x.last"): 1.09,
}
#: Quantities of runs that are errors, with the factor that converts each to percent.
ERRORS: Mapping[str, float] = {"exact.distance": 100.0, "reference.largest_error_percent": 1.0}
#: Smallest error in percent for which a convergence order is computed; smaller ones are left from the initial state.
RESOLVED_PERCENT = 1e-3


@dataclass(frozen=True)
class Entry:
    """A case file or one of its variants, with overriding keys and a refined grid."""

    path: Path
    variant: str | None = None
    collision: str | None = None
    precision: str | None = None
    finer: int = 1

    def __str__(self) -> str:
        finer = f"{self.finer} times as fine" if self.finer > 1 else None
        return " ".join(filter(None, [self.path.stem, self.variant, self.collision, self.precision, finer]))

    def load(self, changes: Sequence[str]) -> Case:
        """Reads the case with the overrides `changes`. Raises CaseError."""
        case = load(self.path, list(changes), self.variant)
        own: list[str] = []
        if self.collision:
            known = solver_of(case).collisions
            if self.collision not in known:
                there = f"it is run by {', '.join(known)}" if known else "its solver has no collisions"
                raise CaseError(
                    f"bench cases: {self.path.stem} takes no --collision {self.collision}: {there}",
                    ErrorCode.UNSUPPORTED,
                    option="collision",
                    case=self.path.stem,
                )
            own += _words(known[self.collision])
        if self.precision:
            own.append(f"{case.solver}.precision={self.precision}")
        mine = [*changes, *own]
        if own:
            case = load(self.path, mine, self.variant)
        if self.finer == 1:
            return case
        finer = case.refined(self.finer)
        if finer is None:
            raise CaseError(
                f"bench cases: {self.path.stem} takes no --refine; run a finer --variant of it",
                ErrorCode.UNSUPPORTED,
                option="refine",
                case=self.path.stem,
            )
        return load(self.path, [*mine, *_words(finer)], self.variant)


def _words(keys: Mapping[str, Any]) -> list[str]:
    """Keys and their values as arguments of the command line."""
    return [f"{key}={value}" for key, value in keys.items()]


def files(names: Sequence[str]) -> list[Path]:
    """Finds case files by path, by folder, or by name in the source tree; without names all files of the source tree.
    Raises CaseError."""
    return list(dict.fromkeys(path for name in names or [CASES] for path in _files(Path(name))))


def _files(name: Path) -> list[Path]:
    shipped = CASES / f"{name}.toml"
    if len(name.parts) == 1 and shipped.is_file():
        return [shipped]
    if name.is_dir():
        if found := sorted(name.glob("*.toml")):
            return found
        raise CaseError(f"bench cases: no case file (*.toml) lies in {name}", ErrorCode.NOT_FOUND, file=name)
    if name.is_file():
        return [name]
    known = ", ".join(sorted(path.stem for path in CASES.glob("*.toml")))
    raise CaseError(
        f"bench cases: {name}: no such case; give a name of {known}, or the path of a file or folder",
        ErrorCode.NOT_FOUND,
        file=name,
    )


def entries(paths: Sequence[Path], variants: Sequence[str]) -> list[Entry]:
    """Runs of `slipstream bench cases`: one for each case file, or for each of its variants that is named. Raises
    CaseError for a variant that no file has."""
    if not variants:
        return [Entry(path) for path in paths]
    known = {path: variant_names(path) for path in paths}
    for name in variants:
        if not any(name in names for names in known.values()):
            there = ", ".join(sorted({name for names in known.values() for name in names})) or "none"
            raise CaseError(
                f"bench cases: none of the cases has a variant '{name}'; there are: {there}",
                ErrorCode.NOT_FOUND,
                option="variant",
                unknown=name,
            )
    return [Entry(path, name) for path in paths for name in dict.fromkeys(variants) if name in known[path]]


class Stopped(RunError):
    """A signal or the time limit ended a run, so the benchmark runs no further cases."""


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A temporary folder of rank 0, known to all ranks, and removed when all have left it. Collective."""
    module = core()
    folder = module.broadcast(tempfile.mkdtemp(prefix="slipstream-") if module.rank() == 0 else "", 0)
    try:
        yield folder
        module.barrier()
    finally:
        if module.rank() == 0:
            shutil.rmtree(folder, ignore_errors=True)


def _run(entry: Entry, changes: Sequence[str]) -> dict[str, Any]:
    """Runs a case, and returns the results of its record on rank 0. Raises CaseError or RunError on all ranks.
    Collective."""
    from slipstream.run import run

    module = core()
    with temporary_folder() as folder:
        case = entry.load([*changes, *QUICK, f"output.folder={json.dumps(folder + '/run')}"])
        run.run(case, Console(quiet=True))
        kept = run_record.read(case.folder) if module.rank() == 0 else None
        # A run that a signal or a time limit ended has no comparison with expected values.
        found = ""
        if kept and "expected" in kept.figures:
            found = json.dumps(kept.figures | {"predicted_s": predicted(kept.took, kept.predicted)})
    if not module.broadcast(found, 0):
        raise Stopped(f"bench cases: stopped during {entry}; what ran before is written")
    return json.loads(found) if found else {}


def predicted(took: Mapping[str, Any], before: Mapping[str, Any]) -> float | None:
    """Run time in seconds, extrapolated from the first time steps to all steps that the run made; None if there were
    too few first steps."""
    if not before or not before["steps"]:
        return None
    return float(before["seconds"]) * took["steps"] / before["steps"]


def rows(entry: Entry, case: Case, machine: Any, run: dict[str, Any]) -> list[dict[str, Any]]:
    """Makes a row per quantity that the case expects, or one row without quantities. A failed run (`run` is empty) has
    no results.
    """
    inputs = {
        "ranks": run.get("ranks", machine.ranks),
        "devices": run.get("devices", len(machine.devices())),
        "backend": machine.devices()[0]["backend"],
        "case": entry.path.stem,
        "variant": entry.variant,
        **solver_of(case).inputs(case),
        "cells": list(case.grid.cells),
        **({"comparison": "collisions"} if entry.collision else {}),
        "clock": "host",
    }
    speed = {
        "steps": run.get("steps"),
        "seconds": record.digits(run["seconds"]) if run else None,
        "mlups": record.digits(run["mlups"]) if run else None,
        "predicted_s": record.digits(run["predicted_s"]) if run and run["predicted_s"] is not None else None,
    }
    found = {quantity["quantity"]: quantity for quantity in run.get("expected", ())}
    made = [
        inputs | {"quantity": name, "low": low, "high": high} | speed | _finding(entry, name, found.get(name))
        for name, (low, high) in case.expected.items()
    ]
    nothing = {"quantity": None, "low": None, "high": None, **speed, "found": None, "met": None if run else False}
    return made or [inputs | nothing]


def _finding(entry: Entry, name: str, quantity: dict[str, Any] | None) -> dict[str, Any]:
    value = quantity["value"] if quantity else None
    error = None
    if value is not None and name in ERRORS:
        error = ERRORS[name] * value
    elif value is not None and (right := PUBLISHED.get((entry.path.stem, name))):
        error = 100.0 * (value / right - 1.0)
    return {
        "found": None if value is None else record.digits(value),
        "met": bool(quantity and quantity["met"]),
        "error_percent": None if error is None else record.digits(error),
    }


def tell_orders(made: Sequence[tuple[Entry, dict[str, Any]]]) -> None:
    """Adds the convergence order to rows of errors, relative to the next coarser grid of the same case."""
    before: dict[tuple[Entry, str], tuple[int, float]] = {}
    for entry, row in made:
        if row["quantity"] not in ERRORS or row["error_percent"] is None:
            continue
        same, error = (replace(entry, finer=1), row["quantity"]), row["error_percent"]
        if same in before and error > RESOLVED_PERCENT:
            finer, coarse = before[same]
            row["order"] = record.digits(math.log(coarse / error) / math.log(entry.finer / finer))
        before[same] = entry.finer, error


def _show(console: Console, all_rows: list[dict[str, Any]]) -> None:
    shown = [
        (
            " ".join(filter(None, (row["case"], row["variant"]))),
            terminal.show_extent(row["cells"]),
            row["precision"],
            *(None if row[key] is None else f"{row[key]:.4g}" for key in ("seconds", "mlups")),
            row["quantity"],
            None if row["low"] is None else f"{row['low']:g} to {row['high']:g}",
            None if row["found"] is None else f"{row['found']:g}",
            {True: "yes", False: "NO", None: None}[row["met"]],
        )
        for row in all_rows
    ]
    columns = ["case", "cells", "precision", "s", "MLUPS", "quantity", "expected", "found", "met"]
    console.print(terminal.table("cases and their expected results", columns, shown, left=3))


def _show_errors(console: Console, all_rows: list[dict[str, Any]]) -> None:
    shown = [
        (
            " ".join(filter(None, (row["case"], row["variant"]))),
            terminal.show_extent(row["cells"]),
            row["collision"],
            row["precision"],
            row["quantity"],
            *(None if row.get(key) is None else f"{row[key]:.3g}" for key in ("error_percent", "order")),
        )
        for row in all_rows
    ]
    columns = ["case", "cells", "collision", "precision", "quantity", "error, %", "order"]
    console.print(terminal.table("comparison of collisions", columns, shown, left=5))


def prediction_table(made: Sequence[tuple[Entry, dict[str, Any]]]) -> Group:
    """Table of predicted and measured times, with a row for each run."""
    ratios: list[float] = []
    shown: dict[str, tuple[Any, ...]] = {}
    for entry, row in made:
        took, before = row["seconds"], row["predicted_s"]
        if str(entry) in shown or took is None:
            continue
        if before is None:
            shown[str(entry)] = (entry, None, f"{took:.4g}", None, None)
            continue
        ratios.append(before / took)
        verdict = "yes" if abs(ratios[-1] - 1) <= GOOD else "NO"
        shown[str(entry)] = (entry, f"{before:.4g}", f"{took:.4g}", f"{ratios[-1]:.2f}", verdict)
    good = sum(abs(ratio - 1) <= GOOD for ratio in ratios)
    title = f"predicted times: {good} of {len(ratios)} within {100 * GOOD:.0f} % of the measured ones"
    return terminal.table(title, ["case", "predicted, s", "took, s", "ratio", "good"], shown.values(), left=1)


def _shortfall(entry: Entry, made: list[dict[str, Any]], problem: str) -> str:
    """Text on the failure of a run; empty on success."""
    missed = ", ".join(row["quantity"] for row in made if row["met"] is False and row["quantity"])
    why = f"failed: {problem}" if problem else missed
    return f"{entry} ({why})" if why else ""


def bench_cases(chosen: Sequence[Entry], changes: Sequence[str], console: Console, folder: Path | None) -> None:
    """Runs the cases and prints; rank 0 writes results after each case. Raises RunError with the names of cases that
    failed or missed an expected result. Collective.
    """
    cases = [(entry, entry.load(changes)) for entry in chosen]
    module, machine = core(), discovery.discover(cases[0][1].machine)
    all_rows: list[dict[str, Any]] = []
    by_entry: list[tuple[Entry, dict[str, Any]]] = []
    short: list[str] = []
    written: Path | None = None
    for entry, case in cases:
        console.print(f"{entry}: {terminal.show_extent(case.grid.cells)} cells, {case.last_step} steps at most")
        run, problem = {}, ""
        try:
            run = _run(entry, changes)
        except Stopped:
            raise
        except (CaseError, RunError) as error:
            problem = str(error)
        if module.rank() != 0:
            continue
        made = rows(entry, case, machine, run)
        all_rows += made
        by_entry += [(entry, row) for row in made]
        tell_orders(by_entry)
        short += filter(None, [_shortfall(entry, made, problem)])
        # Results are written after each case, so that a later failure loses none.
        written = record.keep(folder, "cases", record.describe_machine(machine), made, FIGURES, Console(quiet=True))
    _show(console, all_rows)
    console.print(prediction_table(by_entry))
    if any(entry.collision for entry in chosen):
        _show_errors(console, all_rows)
    if written:
        console.print(f"written: {written}", soft_wrap=True)
    verdict = f"bench cases: {len(short)} of {len(cases)} did not find what they expect: {'; '.join(short)}"
    if verdict := module.broadcast(verdict if short else "", 0):
        raise RunError(verdict)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="name of a case, or path of a case file or folder")
    parser.add_argument("--variant", nargs="+", default=[], metavar="NAME",
                        help="variants to run instead of the cases that have them")  # fmt: skip
    parser.add_argument("--collision", nargs="+", default=[], metavar="NAME",
                        help="run each with these collisions of its solver")  # fmt: skip
    parser.add_argument("--precision", nargs="+", default=[], choices=["f16", "f32", "f64"],
                        help="run each in these number formats")  # fmt: skip
    parser.add_argument("--refine", type=int, nargs="+", default=[1], metavar="N",
                        help="run each with N times the cells per axis, smaller velocities (default: 1)")  # fmt: skip
    parser.add_argument("--fields", action="store_true",
                        help="write fields, which predicted times include, but no result file")  # fmt: skip


def run(arguments: argparse.Namespace, console: Console) -> None:
    if min(arguments.refine) < 1:
        raise CaseError("bench cases: --refine takes numbers from 1", option="refine", limit=1)
    chosen = [
        replace(entry, collision=collision, precision=precision, finer=finer)
        for entry in entries(files(arguments.names), arguments.variant)
        for collision in arguments.collision or [None]
        for precision in arguments.precision or [None]
        for finer in sorted(set(arguments.refine))
    ]
    changes = [] if arguments.backend == "auto" else [f"machine.backend={arguments.backend}"]
    if arguments.fields:
        bench_cases(chosen, changes, console, None)
    else:
        bench_cases(chosen, [*changes, *WITHOUT_FIELDS], console, arguments.folder)


#: Columns of the benchmark's rows that hold results, not inputs. Expected ranges are among them, because a case may
#: tighten them.
FIGURES = frozenset(
    {"steps", "seconds", "mlups", "predicted_s", "low", "high", "found", "met", "error_percent", "order"}
)
