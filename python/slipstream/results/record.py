"""The record of a run, run.json in its folder of results: facts, speed, phases, and a log of events."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.files import write_text
from slipstream.machine.told import Phase

FILE = "run.json"


def now() -> str:
    return f"{datetime.now():%Y-%m-%d %H:%M:%S}"


@dataclass
class Record:
    """Record of one run as its JSON file holds it; after a restart it includes the log of the run before."""

    facts: list[tuple[str, str]] = field(default_factory=list)  #: rows of the run's banner, each a name and a text
    began: str = field(default_factory=now)
    ended: str = ""
    verdict: str = ""
    sound: bool = True
    error: dict[str, Any] = field(default_factory=dict)  #: code and facts of the error that ended the run
    figures: dict[str, Any] = field(default_factory=dict)
    took: dict[str, Any] = field(default_factory=dict)  #: measured time of a step and of the run, steps, disk bytes
    #: Times of a step and the run, steps and bytes on disk, predicted from the first steps; empty if these are too few.
    predicted: dict[str, Any] = field(default_factory=dict)
    phases: list[Phase] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)  #: events of the run's log, each with time, step and text

    def note(self, step: int, what: str) -> None:
        self.log.append({"when": now(), "step": step, "what": what})

    def add(self, events: Sequence["Event"]) -> None:
        self.log += [{"when": event.when, "step": event.step, "what": event.what} for event in events]

    def end(self, verdict: str, sound: bool = True) -> None:
        self.ended, self.verdict, self.sound = now(), verdict, sound

    def text(self) -> str:
        return json.dumps(self.__dict__, indent=1, default=str) + "\n"

    def write(self, folder: Path) -> None:
        write_text(folder / FILE, self.text())


@dataclass(frozen=True)
class Event:
    """An event of a run's log, at a step."""

    step: int
    what: str
    when: str = field(default_factory=now)


def read(folder: Path) -> Record | None:
    """The record of a run in a folder; None if there is none. Raises CaseError if it cannot be read."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        # Keys of the JSON file that only another version of the program knows are left out.
        known = {entry.name for entry in fields(Record)}
        return Record(**{key: value for key, value in found.items() if key in known})
    except (OSError, AttributeError, TypeError, ValueError) as error:
        raise CaseError(
            f"{path}: is not the record of a run, or is damaged: {error}", ErrorCode.BAD_FILE, file=path
        ) from None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file of a run; empty if it does not exist. Raises CaseError if it cannot be read."""
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CaseError(f"{path}: cannot be read: {error}", ErrorCode.BAD_FILE, file=path) from None
    return content if isinstance(content, dict) else {}


def log_before(folder: Path) -> list[dict[str, Any]]:
    """The log of the run before a restart; empty if the file cannot be read."""
    try:
        before = read(folder)
    except CaseError:
        return []
    return before.log if before else []
