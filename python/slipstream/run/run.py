"""`slipstream run`: runs one case, from its text to its pictures."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream.base import files, terminal
from slipstream.base.core import agree_on_error, core
from slipstream.base.errors import CaseError, ErrorCode, Fault, RunError
from slipstream.case.case import Case
from slipstream.case.solver import Fields, Monitor, Run, solver_of
from slipstream.exchange.records import Block
from slipstream.exchange.report import Report
from slipstream.machine import discovery, topology
from slipstream.results import record
from slipstream.results.record import Record
from slipstream.results.results import CASE, DAMAGED, FIELDS, field_files, frames
from slipstream.results.taken import comparison
from slipstream.run import checkpoint, coding, engine, locks, report
from slipstream.run.folder import left_by_others, output_problem
from slipstream.run.live import LiveLine
from slipstream.run.march import Between, Diverged, GivenUp, Outcome, march
from slipstream.run.meter import Meter
from slipstream.run.prediction import Prediction, bytes_there, predict, took
from slipstream.run.troubles import Troubles
from slipstream.run.watch import Watch, write_watched


def run(
    case: Case,
    console: Console,
    overwrite: bool = False,
    watch: Watch = Watch(),  # noqa: B008
    restart: str | None = None,
) -> None:
    """Runs a case on all ranks, or continues it from a checkpoint (a path, or "last"). Raises CaseError, on all ranks,
    before anything is written.
    """
    rank = core().rank()
    agree_on_error(output_problem(case, overwrite or restart is not None) if rank == 0 else "")
    solver_of(case).check_before_start(case)
    case, chosen = coding.settled(case, restart)
    backend = discovery.choose_backend(case.machine.backend)
    flow = checkpoint.Flow.of(case, backend)
    resumed = checkpoint.find(case, flow, restart) if restart else None
    if case.checkpoint.folder:
        # This run replaces results of an earlier run in its folder, so it may replace that run's checkpoints, too.
        output = case.folder if (case.folder / record.FILE).exists() else None
        checkpoint.check_folder(case.checkpoint_folder, "checkpoint.folder", flow, output)
    held = locks.Locks(case.case.name)
    with _second_interrupt_ends_at_once():
        keeper = checkpoint.Keeper(case, flow, console, held, case.checkpoint.final)
        try:
            _whole(case, console, watch, backend, resumed, keeper, held, chosen)
        finally:
            keeper.release()
            held.release()


@contextmanager
def _second_interrupt_ends_at_once() -> Iterator[None]:
    """Makes Ctrl-C ask for an end, as SIGTERM does. A second one ends the process at once, without Python's delayed
    handler.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _whole(
    case: Case,
    console: Console,
    watch: Watch,
    backend: str,
    resumed: checkpoint.Restart | None,
    keeper: checkpoint.Keeper,
    held: locks.Locks,
    coding_chosen: str,
) -> None:
    """Executes a run from its plan to its pictures."""
    if resumed:
        case = case.going_on(resumed.step, resumed.time)
    module, solver = core(), solver_of(case)
    machine = discovery.discover(case.machine)
    setup = engine.prepare(case, machine)
    build = module.build_info()
    facts = report.facts(setup, build)
    console.print(terminal.banner(facts))
    for conversion in solver.conversions(case):
        console.print(conversion)
    if any(entry["bound"] for entry in machine.bindings()):
        console.print(topology.bindings(machine))
    trace = module.Trace() if watch.trace else None
    work = solver.start(setup, trace)
    for warning in work.cautions():
        console.print(f"warning: {warning}", soft_wrap=True)
        facts.append(("warning", warning))
    for line in filter(None, (coding_chosen, *work.notes())):
        console.print(line, soft_wrap=True)
    if resumed:
        resumed.fill(work.engine)
        work.carry(resumed.carried)
        console.print(f"restarted at step {resumed.step} from {resumed.path}", soft_wrap=True)
        if resumed.lost:
            console.print(f"converted from the checkpoint; lost: {resumed.lost}", soft_wrap=True)
        if remedy := _remedy_of_end(case, resumed.step, resumed.marks):
            console.print(f"already at its end: no step is left to make; {remedy} lets it go on", soft_wrap=True)
    held.take(case.folder, "output.folder")
    held.take(case.checkpoint_folder, "checkpoint.folder")
    troubles = Troubles(console)
    kept = _open_folder(case, backend, build, facts, resumed)
    bytes_before = bytes_there(case) if resumed else 0
    module.barrier()
    conserved = resumed.mass if resumed else work.conserved()
    monitors = work.monitors(resumed is not None)

    def look(monitors: Sequence[Monitor] = monitors) -> None:
        step = work.engine.step
        for monitor in monitors:
            with troubles.with_data(monitor.path, f"the row of step {step}", step):
                monitor.take()

    def look_at_all_steps() -> None:
        look([monitor for monitor in monitors if monitor.every_step])

    meter = Meter()
    apart = [(monitor.every, partial(look, [monitor])) for monitor in monitors if monitor.every]
    predictions: list[Prediction] = []

    def tell() -> str:
        """Text on the predicted time of the run, from its first steps. A failure must not end the run."""
        if meter.enough and not predictions:
            predictions.append(predict(meter, work, case, [every for every, _ in apart]))
            facts.append(("takes", predictions[0].words()))
            console.print(f"takes {predictions[0].words()}", soft_wrap=True)
        return ""

    with_residuals = [monitor for monitor in monitors if not monitor.every]
    between = Between(partial(look, with_residuals), apart, tell, meter)

    keeper.watch(work.engine, conserved, resumed, look_at_all_steps, work.carried)
    if not resumed:
        look([monitor for monitor in monitors if monitor.at_start])

    try:
        outcome = _steps(work, case, setup.plan["bytes_per_cell"], console, keeper, between, troubles)
    except GivenUp as error:
        kept.add(keeper.events)
        kept.note(work.engine.step, f"given up by {error.by}")
        kept.error = {"code": error.code, "facts": error.facts}
        _finish(kept, str(error), case, troubles, work.engine.step, error.sound)
        if isinstance(error, Diverged):
            look_at_all_steps()
        raise
    keeper.close()
    kept.add(keeper.events)
    if case.guard.every:
        guarded = work.guarded()
        within = f", {guarded}" if guarded else ""
        kept.note(outcome.steps, f"guard: sound, inspected every {case.guard.every} steps{within}")
    kept_of_it, warning = work.drift(conserved)
    console.print("\n" + ", ".join(filter(None, [_verdict(outcome, case), kept_of_it])))
    if warning:
        console.print(f"warning: {warning}", soft_wrap=True)
        facts.append(("warning", warning))
    kept.phases = work.engine.phases()
    console.print(report.phases(kept.phases))
    messages = Report.of(machine, map(Block.of, setup.plan["blocks"]), work.engine)
    if messages.rows:
        console.print(messages)
    kept.figures = figures = _figures(case, work, outcome, setup, build)
    kept.took = took(meter, outcome.seconds, max(0, bytes_there(case) - bytes_before))
    kept.predicted = asdict(predictions[0]) if predictions else {}
    if outcome.steps_done:
        console.print(comparison(kept.took, kept.predicted), soft_wrap=True)
    verdict = f"stopped by {outcome.stopped} at step {outcome.steps}" if outcome.stopped else _verdict(outcome, case)
    _end_record(kept, verdict, case, troubles, outcome.steps)  # the record comes before the pictures, which may fail
    written = write_watched(messages, trace, watch, case, console, troubles, outcome.steps)
    if outcome.stopped:
        kept.note(outcome.steps, f"stopped by {outcome.stopped}")
        _finish(kept, verdict, case, troubles, outcome.steps)
        console.print(f"\nstopped by {outcome.stopped}; go on by --restart last, from {keeper.last}", soft_wrap=True)
        _require_all_written(troubles)
        return
    look()
    figures |= {"findings": {}, "expected": []}
    work.results(figures, console, troubles)
    _finish(kept, verdict, case, troubles, outcome.steps)
    _say_what_is_there(case, console, troubles)
    for path in written + ([Path(keeper.last)] if keeper.last else []):
        console.print(f"  {os.path.relpath(path)}", soft_wrap=True)
    _require_all_written(troubles)


def _figures(case: Case, work: Run, outcome: Outcome, setup: engine.Setup, build: dict[str, Any]) -> dict[str, Any]:
    """Results of the run as numbers by name, for comparison.json."""
    return {
        "case": case.case.name,
        "solver": case.solver,
        "commit": build["commit"],
        "date": f"{datetime.now():%Y-%m-%d}",
        "machine": setup.machine.name,
        "ranks": setup.machine.ranks,
        "devices": len(setup.machine.devices()),
        "cells": list(case.grid.cells),
        "steps": outcome.steps,
        "time": case.time_of(outcome.steps),
        "seconds": outcome.seconds,
        "mlups": _rate(outcome, case) if outcome.steps_done else None,
        "residual": outcome.residual,
        "steady": outcome.steady,
        **work.figures(outcome),
    }


def _require_all_written(troubles: Troubles) -> None:
    """Raises RunError if some results were not written, although the run continued. Collective."""
    if missing := core().broadcast(troubles.incomplete, 0):
        raise RunError(
            f"the results are incomplete: {missing} could not be written, see the warnings above; make room",
            file=missing,
        )


def _open_folder(
    case: Case, backend: str, build: dict[str, Any], facts: list[tuple[str, str]], resumed: checkpoint.Restart | None
) -> Record:
    """Creates the folder of results on rank 0, with the case and the facts of the run. Collective; raises CaseError on
    all ranks if the files cannot be written, and then changes nothing."""
    kept, said = Record(facts), ""
    if core().rank() == 0:
        if resumed:
            kept.log = record.log_before(case.folder)
            lost = f"; lost: {resumed.lost}" if resumed.lost else ""
            kept.note(resumed.step, f"restarted from {resumed.path}{lost}")
        header = f"Written by slipstream {build['version']}, commit {build['commit']}, {datetime.now():%Y-%m-%d %H:%M}."
        texts = {CASE: case.resolved(backend).to_toml(header, folder=case.folder), record.FILE: kept.text()}
        said = _replace_results(case, {case.folder / name: text for name, text in texts.items()}, resumed is None)
    agree_on_error(said)
    return kept


def _replace_results(case: Case, texts: dict[Path, str], anew: bool) -> str:
    """Writes files that replace results of an earlier run, or, unless `anew`, are added to them. Returns the text of an
    error, after which nothing has changed. Not collective."""
    made: dict[Path, Path] = {}
    for path, text in texts.items():
        try:
            made[path] = files.written_next_to(path, text)
        except OSError as error:
            for new in made.values():
                new.unlink(missing_ok=True)
            why = error.strerror or str(error)
            said = f"output.folder: cannot write {path}: {why}; make room, or choose another output.folder"
            return Fault(said, ErrorCode.IO, key="output.folder", file=path)
    for path in left_by_others(case) if anew else []:
        path.unlink(missing_ok=True)
    for path, new in made.items():
        new.replace(path)
    return ""


def _steps(
    work: Run,
    case: Case,
    bytes_per_cell: int,
    console: Console,
    keeper: checkpoint.Keeper,
    between: Between,
    troubles: Troubles,
) -> Outcome:
    """Makes all steps of the run, and writes fields periodically and at the end. A restart appends to the existing
    file."""
    if not case.output.fields or (_remedy_of_end(case, work.engine.step, keeper.marks) and _has_frame(case, work)):
        with LiveLine(console) as line:
            return march(work, case, case.last_step, bytes_per_cell, line.show, None, keeper, between)
    path, fields = _open_fields(work, case, keeper.marks is not None, troubles)

    def write() -> None:
        with troubles.with_data(path, f"the frame of step {work.engine.step}", work.engine.step):
            fields.write()

    try:
        with LiveLine(console) as line:
            outcome = march(work, case, case.last_step, bytes_per_cell, line.show, write, keeper, between)
        if not outcome.stopped:
            write()
    except GivenUp:
        write()  # the last frame shows where the flow diverged
        raise
    finally:
        fields.close()
    return outcome


def _open_fields(work: Run, case: Case, goes_on: bool, troubles: Troubles) -> tuple[Path, Fields]:
    """Opens the file of fields. A restart renames a file that it cannot continue. Collective."""
    there = core().broadcast("".join(map(str, field_files(case.folder)[-1:])) if core().rank() == 0 else "", 0)
    path = Path(there) if goes_on and there else case.folder / FIELDS
    try:
        return path, work.fields(path, goes_on)
    except RuntimeError as error:
        if not (goes_on and there):
            raise
        kept = path.with_name(path.name + DAMAGED)
        if core().rank() == 0:
            troubles.say(work.engine.step, f"{error}; it is now {kept.name}, and later frames go into another file")
            path.replace(kept)
    core().barrier()
    return _open_fields(work, case, goes_on, troubles)


def _remedy_of_end(case: Case, step: int, marks: checkpoint.Marks | None) -> str:
    """Text on the keys to change if a restart would end without a step; empty if it makes one."""
    if marks and marks.are_steady(case.run.residual):
        return "a smaller run.residual"
    if marks and step >= case.last_step:
        given = [f"run.{key}" for key in ("steps", "time", "time_units") if getattr(case.run, key, None)]
        return f"a larger {' and '.join(given)}"
    return ""


def _has_frame(case: Case, work: Run) -> bool:
    """Whether the files of fields contain the present step. Collective."""
    found = ""
    if core().rank() == 0:
        with suppress(CaseError):
            now, near = case.time_of(work.engine.step), 0.5 * case.time_step
            found = "yes" if any(abs(frame.time - now) < near for frame in frames(case.folder)) else ""
    return bool(core().broadcast(found, 0))


def _rate(outcome: Outcome, case: Case) -> float:
    """Rate of the run in millions of cells per second."""
    return case.cell_count * outcome.steps_done / max(outcome.seconds, 1e-9) / 1e6


def _verdict(outcome: Outcome, case: Case) -> str:
    if not outcome.steps_done:
        return f"already at its end, step {outcome.steps}: no step was made"
    how = f"steady at step {outcome.steps}" if outcome.steady else f"stopped at step {outcome.steps}"
    residual = "" if outcome.residual is None else f", residual {outcome.residual:.2e}"
    rate = f"{_rate(outcome, case):.1f} {solver_of(case).unit_of_rate} in all"
    return f"{how}{residual}, {terminal.duration(outcome.seconds)}, {rate}"


def _end_record(kept: Record, verdict: str, case: Case, troubles: Troubles, step: int, sound: bool = True) -> None:
    if core().rank() != 0:
        return
    kept.end(verdict, sound)
    with troubles.with_data(case.folder / record.FILE, "it", step):
        kept.write(case.folder)


def _finish(kept: Record, verdict: str, case: Case, troubles: Troubles, step: int, sound: bool = True) -> None:
    """Writes the record and the HTML page of the run, on rank 0. An error of the page affects no results."""
    kept.add(troubles.events)
    _end_record(kept, verdict, case, troubles, step, sound)
    if core().rank() == 0 and case.output.report:
        with troubles.with_picture("report.html", step):
            from slipstream.pictures import html_report

            html_report.write(case.folder, draw=case.output.pictures)


def _say_what_is_there(case: Case, console: Console, troubles: Troubles) -> None:
    console.print("\nwritten:")
    for path in left_by_others(case):
        if path.parent == case.folder and not troubles.concern(path):
            console.print(f"  {os.path.relpath(path)}", soft_wrap=True)
