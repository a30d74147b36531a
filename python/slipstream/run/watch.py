"""Optional outputs about the run itself: the report of its exchange, and traces."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream.base.core import core
from slipstream.case.case import Case
from slipstream.exchange.report import Report
from slipstream.run.troubles import Troubles


@dataclass(frozen=True)
class Watch:
    """Options of outputs that describe the run itself."""

    reports: tuple[Path, ...] = ()  #: files for the report of the exchange: .json or a picture
    trace: Path | None = None  #: folder for the traces of all ranks


def write_watched(
    messages: Report, trace: Any, watch: Watch, case: Case, console: Console, troubles: Troubles, step: int
) -> list[Path]:
    """Writes the report of the last exchange and the trace. Collective; returns the requested files that were
    written."""
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
    """Writes the traces of all ranks and their picture; returns the files. Collective."""
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
