"""`slipstream run`: one case from its text to its pictures."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream.base import terminal
from slipstream.base.core import agree_on_error, core
from slipstream.base.errors import CaseError, RunError
from slipstream.case.case import Case
from slipstream.case.solver import solver_of
from slipstream.exchange.report import Report, solid_lines, split_lines, tuning_lines
from slipstream.flow import energy, expected, initial, loads, permeability, profiles
from slipstream.geometry import bodies
from slipstream.machine import discovery, predict, topology
from slipstream.results import record
from slipstream.results.record import Record
from slipstream.results.results import CASE, FIELDS, FIELDS_FROM
from slipstream.run import checkpoint, engine, locks, report
from slipstream.run.fields import Fields
from slipstream.run.live import LiveLine
from slipstream.run.march import Diverged, Outcome, march
from slipstream.run.troubles import Troubles

FILES = (
    CASE,
    record.FILE,
    "report.html",
    "profiles.csv",
    "profiles.png",
    "streamlines.png",
    "comparison.json",
    FIELDS,
    "exchange.json",
    "exchange.png",
    "loads.csv",
    energy.FILE,
    energy.PICTURE,
)


@dataclass(frozen=True)
class Watch:
    """What to write about the run itself, beside its results."""

    reports: tuple[Path, ...] = ()  #: of the exchange, .json or pictures
    trace: Path | None = None  #: folder of the ranks' traces


def _left_by_others(case: Case) -> list[Path]:
    """What an earlier run of this case left: results, fields of its restarts, checkpoints."""
    there = [case.folder / name for name in FILES if (case.folder / name).exists()]
    return [*there, *sorted(case.folder.glob(FIELDS_FROM.format("*"))), *checkpoint.files_in(case.checkpoint_folder)]


def output_problem(case: Case, replace: bool) -> str:
    """Why results cannot go into the case's folder; empty where they can. Leaves nothing behind."""
    folder = case.folder
    if used := locks.problem(folder, "output.folder") or locks.problem(case.checkpoint_folder, "checkpoint.folder"):
        return used
    there = _left_by_others(case)
    if there and not replace:
        names = ", ".join(path.name for path in there)
        again = ", --restart last to go on from its last checkpoint" if checkpoint.files_in(there[-1].parent) else ""
        return (
            f"output.folder: {folder} already holds results ({names}); pass --overwrite to replace them{again}, or "
            "choose another output.folder"
        )
    ancestor = folder
    while not ancestor.exists() and ancestor != ancestor.parent:
        ancestor = ancestor.parent
    try:
        if not ancestor.is_dir():
            raise NotADirectoryError(f"{ancestor} is not a folder")
        # Trying is the only proof: permission bits do not bind root, and mounts may be read-only.
        with tempfile.TemporaryDirectory(prefix=".slipstream-", dir=ancestor):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        return f"output.folder: cannot write to {folder}: {why}; choose another output.folder"
    return ""


def check_output(case: Case, replace: bool) -> None:
    """Raises where the results have no place to go. Of one process; nothing is written."""
    if problem := output_problem(case, replace):
        raise CaseError(problem)


def run(
    case: Case,
    console: Console,
    overwrite: bool = False,
    watch: Watch = Watch(),  # noqa: B008
    restart: str | None = None,
) -> None:
    """Runs a case on all ranks, or goes on with it from a checkpoint (a path, or "last"). Raises CaseError, on all
    ranks, before anything is written."""
    rank = core().rank()
    agree_on_error(output_problem(case, overwrite or restart is not None) if rank == 0 else "")
    reference = profiles.reference_for(case)
    backend = discovery.choose_backend(case.machine.backend)
    flow = checkpoint.Flow.of(case, backend)
    resumed = checkpoint.find(case, flow, restart) if restart else None
    held = locks.Locks(case.case.name)
    with _second_interrupt_ends_at_once():
        keeper = checkpoint.Keeper(case, flow, console, held, case.checkpoint.final)
        try:
            _whole(case, console, watch, reference, backend, resumed, keeper, held)
        finally:
            keeper.release()
            held.release()


@contextmanager
def _second_interrupt_ends_at_once() -> Iterator[None]:
    """Ctrl-C asks for an end, as SIGTERM does. Who asks again does not want to wait until Python may listen."""
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
    reference: Any,
    backend: str,
    resumed: checkpoint.Restart | None,
    keeper: checkpoint.Keeper,
    held: locks.Locks,
) -> None:
    """A run from its plan to its pictures."""
    module = core()
    machine = discovery.discover(case.machine)
    setup = engine.prepare(case, machine)
    prediction = predict.predict(machine, setup.plan, case.exchange.overlap)
    build = module.build_info()
    facts = report.facts(setup, prediction, build)
    console.print(terminal.banner(facts))
    if conversion := report.conversion(case):
        console.print(conversion)
    if any(entry["bound"] for entry in machine.bindings()):
        console.print(topology.bindings(machine))
    trace = module.Trace() if watch.trace else None
    lbm = engine.solver(setup, trace)
    for warning in bodies.thin_places(lbm, case):
        console.print(f"warning: {warning}", soft_wrap=True)
        facts.append(("warning", warning))
    for line in tuning_lines(lbm.tuning()) + solid_lines(lbm.solid_blocks()) + split_lines(lbm.split()):
        console.print(line, soft_wrap=True)
    if resumed:
        resumed.fill(lbm)
        console.print(f"restarted at step {resumed.step} from {resumed.path}", soft_wrap=True)
    held.take(case.folder, "output.folder")
    held.take(case.checkpoint_folder, "checkpoint.folder")
    troubles = Troubles(console)
    kept = _open_folder(case, backend, build, facts, resumed)
    module.barrier()
    mass = resumed.mass if resumed else lbm.mass()
    keeper.watch(lbm, mass, resumed)
    history = loads.History(lbm, case, case.folder / "loads.csv", resumed is not None) if case.bodies else None
    decay = energy.History(lbm, case, case.folder / energy.FILE, resumed is not None) if case.output.energy else None
    tables = [(table, case.folder / name) for table, name in ((history, "loads.csv"), (decay, energy.FILE)) if table]

    def look() -> None:
        for table, path in tables:
            with troubles.with_data(path, f"the row of step {lbm.step}", lbm.step):
                table.take()

    if decay and not resumed:
        with troubles.with_data(case.folder / energy.FILE, "the row of step 0", lbm.step):
            decay.take()

    outcome = _steps_on_record(lbm, case, setup.plan["bytes_per_cell"], console, keeper, kept, look, troubles)
    keeper.close()
    kept.add(keeper.events)
    if case.guard.every:
        low, high = case.guard.density
        kept.note(outcome.steps, f"guard: sound, inspected every {case.guard.every} steps, density {low:g} to {high:g}")
    drift = lbm.mass() / mass - 1.0
    console.print(f"\n{_verdict(outcome, case)}, mass drift {drift:+.1e}")
    if warning := solver_of(case).drift(case, drift):
        console.print(f"warning: {warning}", soft_wrap=True)
        facts.append(("warning", warning))
    kept.phases = lbm.phases()
    console.print(report.phases(kept.phases))
    messages = Report.of(machine, setup.plan["blocks"], lbm)
    if messages.rows:
        console.print(messages)
    kept.figures = figures = _figures(case, outcome, setup, drift, build)
    verdict = f"stopped by {outcome.stopped} at step {outcome.steps}" if outcome.stopped else _verdict(outcome, case)
    _end_record(kept, verdict, case, troubles, outcome.steps)  # whatever becomes of the pictures
    written = _watched(messages, trace, watch, case, console, troubles, outcome.steps)
    if outcome.stopped:
        kept.note(outcome.steps, f"stopped by {outcome.stopped}")
        _finish(kept, verdict, case, troubles, outcome.steps)
        console.print(f"\nstopped by {outcome.stopped}; go on by --restart last, from {keeper.last}", soft_wrap=True)
        _require_all_written(troubles)
        return
    look()
    if history:
        figures["loads"] = {name: entry for name, entry in history.last.items() if name in case.bodies}
        console.print(report.loads(figures["loads"], case))
    if permeability.applies(case) and (found := permeability.measure(lbm, case)):
        figures["permeability"] = found.figures()
        console.print(report.permeability(found, case))
    _results(lbm, case, reference, figures, console, troubles)
    _finish(kept, verdict, case, troubles, outcome.steps)
    _say_what_is_there(case, console)
    for path in written + ([Path(keeper.last)] if keeper.last else []):
        console.print(f"  {os.path.relpath(path)}", soft_wrap=True)
    _require_all_written(troubles)


def _require_all_written(troubles: Troubles) -> None:
    """Collective. A run that went on without a part of its results is no success."""
    if missing := core().broadcast(troubles.incomplete, 0):
        raise RunError(f"the results are incomplete: {missing} could not be written, see the warnings above; make room")


def _open_folder(
    case: Case, backend: str, build: dict[str, Any], facts: list[tuple[str, str]], resumed: checkpoint.Restart | None
) -> Record:
    """Makes room for the results on rank 0, with the case and what is known of the run already."""
    kept = Record(facts)
    if core().rank() != 0:
        return kept
    folder = case.folder
    folder.mkdir(parents=True, exist_ok=True)
    if resumed:
        kept.log = record.log_before(folder)
        kept.note(resumed.step, f"restarted from {resumed.path}")
    for path in [] if resumed else _left_by_others(case):
        path.unlink(missing_ok=True)
    header = f"Written by slipstream {build['version']}, commit {build['commit']}, {datetime.now():%Y-%m-%d %H:%M}."
    (folder / CASE).write_text(case.resolved(backend).to_toml(header), encoding="utf-8")
    kept.write(folder)
    return kept


def _watched(
    messages: Report, trace: Any, watch: Watch, case: Case, console: Console, troubles: Troubles, step: int
) -> list[Path]:
    """Writes the report of the last exchange and the trace. Collective; returns what was asked for by name and made."""
    module, written = core(), []
    own = [case.folder / "exchange.json"] + ([case.folder / "exchange.png"] if case.output.pictures else [])
    for path in (own if messages.rows else []) + list(watch.reports) if module.rank() == 0 else []:
        with troubles.with_picture(str(path), step):
            messages.write(path)
            written += [path] if path in watch.reports else []
    if watch.trace:
        written += _traced(trace, watch.trace, case, console, troubles, step)
    return written


def _traced(trace: Any, folder: Path, case: Case, console: Console, troubles: Troubles, step: int) -> list[Path]:
    """The files of the ranks' traces, and their picture. Collective."""
    module, problem = core(), ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trace.write(str(folder))
    except (RuntimeError, OSError) as error:
        problem = str(error)
    if problem := module.agree(problem):
        troubles.say(step, f"no trace: {problem}")
        return []
    if trace.dropped:
        console.print(f"trace: full after {len(trace)} spans, {trace.dropped} later ones are missing")
    if module.rank() != 0:
        return []
    written = [folder / f"rank{rank}.json" for rank in range(module.size())]
    with troubles.with_picture(str(folder / "timeline.png"), step):
        from slipstream.pictures import timeline

        timeline.trace_steps(written, folder / "timeline.png", f"{case.case.name}: two steps")
        written = [*written, folder / "timeline.png"]
    return written


def _steps_on_record(
    lbm: Any,
    case: Case,
    bytes_per_cell: int,
    console: Console,
    keeper: checkpoint.Keeper,
    kept: Record,
    look: Callable[[], None] | None,
    troubles: Troubles,
) -> Outcome:
    """All steps; a flow that is given up leaves a report, too."""
    try:
        return _steps(lbm, case, bytes_per_cell, console, keeper, look, troubles)
    except Diverged as error:
        kept.add(keeper.events)
        kept.note(lbm.step, "given up by the guard")
        _finish(kept, str(error), case, troubles, lbm.step, sound=False)
        raise


def _steps(
    lbm: Any,
    case: Case,
    bytes_per_cell: int,
    console: Console,
    keeper: checkpoint.Keeper,
    look: Callable[[], None] | None,
    troubles: Troubles,
) -> Outcome:
    """All steps, with fields written on the way and at the end; those after a restart into a file of their own."""
    if not case.output.fields:
        with LiveLine(console) as line:
            return march(lbm, case, case.last_step, bytes_per_cell, line.show, None, keeper, look)
    name = FIELDS if keeper.marks is None else FIELDS_FROM.format(lbm.step)
    path = case.folder / name
    fields = Fields(lbm, case, path)

    def write() -> None:
        with troubles.with_data(path, f"the frame of step {lbm.step}", lbm.step):
            fields.write()

    try:
        with LiveLine(console) as line:
            outcome = march(lbm, case, case.last_step, bytes_per_cell, line.show, write, keeper, look)
        if not outcome.stopped:
            write()
    finally:
        fields.close()
    return outcome


def _verdict(outcome: Outcome, case: Case) -> str:
    rate = case.cell_count * outcome.steps_done / max(outcome.seconds, 1e-9) / 1e6
    how = f"steady at step {outcome.steps}" if outcome.steady else f"stopped at step {outcome.steps}"
    residual = "" if outcome.residual is None else f", residual {outcome.residual:.2e}"
    return f"{how}{residual}, {terminal.duration(outcome.seconds)}, {rate:.1f} MLUPS in all"


def _figures(case: Case, outcome: Outcome, setup: engine.Setup, drift: float, build: dict[str, Any]) -> dict[str, Any]:
    """The run in numbers, for comparison.json."""
    scales = case.scales
    return {
        "case": case.case.name,
        "commit": build["commit"],
        "date": f"{datetime.now():%Y-%m-%d}",
        "machine": setup.machine.name,
        "ranks": setup.machine.ranks,
        "devices": len(setup.machine.devices()),
        "cells": list(case.grid.cells),
        "lattice": case.lbm.lattice,
        "collision": case.lbm.collision,
        "smagorinsky": case.lbm.smagorinsky,
        "force": list(case.force),
        "precision": case.lbm.precision,
        "streaming": case.lbm.streaming,
        **_si_figures(case, outcome),
        "reynolds": scales.reynolds,
        "lid_speed": scales.lid_speed,
        "tau": scales.tau,
        "steps": outcome.steps,
        "time_units": outcome.steps / scales.steps_per_time,
        "seconds": outcome.seconds,
        "mlups": case.cell_count * outcome.steps_done / max(outcome.seconds, 1e-9) / 1e6,
        "residual": outcome.residual,
        "steady": outcome.steady,
        "mass_drift": drift,
    }


def _si_figures(case: Case, outcome: Outcome) -> dict[str, Any]:
    """The converter of a case in SI, with units in the names."""
    converter, physics, scales = case.converter, case.physics, case.scales
    if converter is None:
        return {}
    figures = {
        "cell_m": converter.length,
        "step_s": converter.time,
        "density_kg_per_m3": converter.density,
        "length_m": scales.length * converter.length,
        "lid_speed_m_per_s": physics.lid_speed,
        "viscosity_m2_per_s": scales.viscosity * converter.viscosity,
        "force_n_per_m3": list(physics.force),
        "time_s": outcome.steps * converter.time,
    }
    return {"si": figures}


def _results(
    lbm: Any, case: Case, reference: Any, figures: dict[str, Any], console: Console, troubles: Troubles
) -> None:
    """Profiles, comparison and pictures. Collective; rank 0 writes."""
    shown = case.output.profiles or case.output.pictures
    lines = profiles.profiles(lbm, case) if shown or reference else None
    result = profiles.compare(lines, reference) if lines is not None else None
    figures["findings"] = found = _findings(lbm, case, figures, result, troubles)
    figures["expected"] = expected.against(case, found)
    plane = profiles.mid_plane(lbm, case) if case.output.pictures else None
    figures["spanwise"] = profiles.spanwise(lbm, case)
    if core().rank() != 0:
        return
    if shown:
        assert lines is not None and result is not None
        _show(lines, plane, result, case, figures, console, troubles)
    if figures["expected"]:
        console.print(report.expected(figures["expected"]))


def _show(
    lines: tuple[profiles.Profile, profiles.Profile],
    plane: profiles.Array | None,
    result: profiles.Comparison,
    case: Case,
    figures: dict[str, Any],
    console: Console,
    troubles: Troubles,
) -> None:
    """On rank 0; there is a plane where pictures are wanted."""
    for part in report.comparison(result):
        console.print(part)
    if figures["spanwise"] and case.lbm.lattice != "D2Q9":
        console.print(f"spanwise velocity in the mid-plane: at most {figures['spanwise']:.1e} of the lid speed")
    folder, step = case.folder, figures["steps"]
    if case.output.profiles:
        with troubles.with_data(folder / "profiles.csv", "it", step):
            profiles.write_profiles(folder / "profiles.csv", lines, case)
        with troubles.with_data(folder / "comparison.json", "it", step):
            profiles.write_json(folder / "comparison.json", result, figures)
    if plane is not None:
        from slipstream.pictures import overview

        with troubles.with_picture("profiles.png", step):
            overview.profiles(folder / "profiles.png", lines, result.reference, case)
        with troubles.with_picture("streamlines.png", step):
            overview.streamlines(folder / "streamlines.png", plane, case)


def _findings(
    lbm: Any, case: Case, figures: dict[str, Any], result: profiles.Comparison | None, troubles: Troubles
) -> dict[str, float]:
    """What the case may expect a value of, by name; of rank 0. Collective."""
    distance = initial.distance(lbm, case) if case.exact else None
    if core().rank() != 0:
        return {}
    found = {} if distance is None else {"exact.distance": distance}
    if result and result.largest_percent is not None:
        found["reference.largest_error_percent"] = result.largest_percent
    if "permeability" in figures:
        found["permeability"] = figures["permeability"]["permeability"]
    if case.bodies:
        with troubles.with_picture("summary of loads.csv", figures["steps"]):
            found |= expected.of_loads(case.folder / "loads.csv", case)
    if case.output.energy:
        with troubles.with_picture(f"summary of {energy.FILE}", figures["steps"]):
            found |= _decay(case, figures, troubles)
    return found


def _decay(case: Case, figures: dict[str, Any], troubles: Troubles) -> dict[str, float]:
    """What there is to say of the energy over time, and its picture."""
    decay, reference = energy.read(case.folder / energy.FILE, case), energy.reference_for(case)
    figures["energy"] = compared = energy.compare(decay, reference)
    if case.output.pictures:
        with troubles.with_picture(energy.PICTURE, figures["steps"]):
            from slipstream.pictures import overview

            overview.energy(case.folder / energy.PICTURE, case, decay, reference)
    return {f"energy.{name}": value for name, value in compared.items() if isinstance(value, float)}


def _end_record(kept: Record, verdict: str, case: Case, troubles: Troubles, step: int, sound: bool = True) -> None:
    if core().rank() != 0:
        return
    kept.end(verdict, sound)
    with troubles.with_data(case.folder / record.FILE, "it", step):
        kept.write(case.folder)


def _finish(kept: Record, verdict: str, case: Case, troubles: Troubles, step: int, sound: bool = True) -> None:
    """Writes the record and the page of the run, on rank 0. A page that cannot be made costs no results."""
    kept.add(troubles.events)
    _end_record(kept, verdict, case, troubles, step, sound)
    if core().rank() == 0 and case.output.report:
        with troubles.with_picture("report of this run", step):
            from slipstream.pictures import html_report

            html_report.write(case.folder, draw=case.output.pictures)


def _say_what_is_there(case: Case, console: Console) -> None:
    console.print("\nwritten:")
    for path in _left_by_others(case):
        if path.parent == case.folder:
            console.print(f"  {os.path.relpath(path)}", soft_wrap=True)
