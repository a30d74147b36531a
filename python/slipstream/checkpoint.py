"""Checkpoints of a run: when they are made, what they remember beside the fields, and from which a case may go on."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream import bodies
from slipstream.case import Case
from slipstream.core import agree_on_error, as_case_error, core
from slipstream.errors import CaseError, RunError
from slipstream.record import Event

#: Tables that may differ between a run and the one that goes on: they change no bit of the flow.
_FREE_TABLES = frozenset({"case", "exact", "expected", "run", "machine", "exchange", "output", "checkpoint", "guard"})
_FREE_KEYS = frozenset({"lbm.streaming", "lbm.solids", "lbm.layout", "lbm.alignment"})
#: The same, by body.
_FREE_KEYS_OF_BODIES = frozenset({"area"})


@dataclass(frozen=True)
class Flow:
    """By what a checkpoint knows its flow again."""

    text: str  #: the resolved case
    meshes: dict[str, str]  #: of each body with a mesh: SHA-256 of its file

    @classmethod
    def of(cls, case: Case, backend: str) -> "Flow":
        """Reads the mesh files. Raises CaseError where one cannot be read."""
        return cls(case.resolved(backend).to_toml(), bodies.checksums(case))


@dataclass(frozen=True)
class Marks:
    """What the loop over time knows beside the fields."""

    checked: int = 0  #: step from which the next residual is measured
    residual: float | None = None
    steady: bool = False


@dataclass(frozen=True)
class Restart:
    """A checkpoint to go on from."""

    path: str
    step: int
    marks: Marks
    mass: float  #: before the first step of all

    def fill(self, lbm: Any) -> None:
        """Sets the fields, time and step of a solver. Collective."""
        with as_case_error("--restart: "):
            core().restore(lbm, self.path)


def files_in(folder: Path) -> list[Path]:
    """Checkpoints in a folder, oldest first."""
    return sorted(folder.glob("checkpoint-*.h5"))


def _flat(data: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _is_free(key: str) -> bool:
    return key in _FREE_KEYS or (key.startswith("bodies.") and key.rpartition(".")[2] in _FREE_KEYS_OF_BODIES)


def _of_the_flow(text: str) -> dict[str, Any]:
    data = tomllib.loads(text)
    flat = _flat({table: keys for table, keys in data.items() if table not in _FREE_TABLES})
    return {key: value for key, value in flat if not _is_free(key)}


def differences(before: Flow, now: Flow) -> list[str]:
    """Keys in which two flows differ, with both values. A mesh is what its file holds, wherever that lies; its path
    counts where one of the flows has no checksum of it."""
    old, new = _of_the_flow(before.text), _of_the_flow(now.text)
    meshes = {f"bodies.{name}.mesh": name for name in before.meshes.keys() & now.meshes.keys()}

    def differ(key: str) -> bool:
        if key in meshes:
            return before.meshes[meshes[key]] != now.meshes[meshes[key]]
        return old.get(key) != new.get(key)

    def show(values: dict[str, Any], flow: Flow, key: str) -> str:
        checksum = f" with SHA-256 {flow.meshes[meshes[key]][:16]}..." if key in meshes else ""
        return json.dumps(values[key]) + checksum if key in values else "not given"

    return [
        f"{key}: {show(old, before, key)} in the checkpoint, {show(new, now, key)} in the case"
        for key in sorted(old.keys() | new.keys())
        if differ(key)
    ]


def _chosen(case: Case, wanted: str) -> str:
    if wanted != "last":
        return wanted
    there = files_in(case.checkpoint_folder)
    if not there:
        raise CaseError(f"--restart last: there is no checkpoint in {case.checkpoint_folder}; name a file")
    return str(there[-1])


def _read(case: Case, flow: Flow, wanted: str) -> dict[str, Any]:
    with as_case_error("--restart: "):
        info = core().checkpoint_info(_chosen(case, wanted))
    notes = json.loads(info["notes"])
    if found := differences(Flow(info["case"], notes.pop("meshes", {})), flow):
        raise CaseError(
            f"--restart: {info['path']} is of another case:\n  " + "\n  ".join(found) + "\n  run the case that it is of"
        )
    return {"path": info["path"], "step": info["step"], **notes}


def _notes(marks: Marks, mass: float, flow: Flow) -> str:
    """What a checkpoint keeps beside the case and the fields."""
    return json.dumps({"marks": asdict(marks), "mass": mass, "meshes": flow.meshes})


def save(lbm: Any, flow: Flow, folder: Path) -> str:
    """Makes a checkpoint of a solver now, beside those in the folder, and returns its path. Collective."""
    ring = core().Checkpoints(lbm, str(folder), 1 + len(files_in(folder)), flow.text)
    ring.begin(_notes(Marks(lbm.step), lbm.mass(), flow))
    ring.finish()
    ((_, path, error),) = ring.results()
    if error:
        raise RunError(f"the checkpoint at step {lbm.step} was not written: {error}")
    return path


def find(case: Case, flow: Flow, wanted: str) -> Restart:
    """The checkpoint `wanted`, a path or "last". Collective. Raises CaseError where it cannot be used for this case."""
    text, problem = "", ""
    if core().rank() == 0:
        try:
            text = json.dumps(_read(case, flow, wanted))
        except CaseError as error:
            problem = str(error)
    agree_on_error(problem)
    found = json.loads(core().broadcast(text, 0))
    return Restart(found["path"], found["step"], Marks(**found["marks"]), found["mass"])


class Keeper:
    """Makes the checkpoints of a run: every so many steps, and one when a signal or the clock asks for an end."""

    def __init__(self, case: Case, flow: Flow, console: Console) -> None:
        self._case = case
        self._flow = flow
        self._console = console
        self._stop = core().StopRequest(case.checkpoint.wall_clock_limit or 0.0)
        self._lbm: Any = None
        self._ring: Any = None
        self._mass = 0.0
        self._began_from = ""
        #: What became of its checkpoints, on rank 0.
        self.events: list[Event] = []
        #: Where the loop over time goes on from.
        self.marks: Marks | None = None

    def watch(self, lbm: Any, mass: float, resumed: Restart | None) -> None:
        """From now on checkpoints are of this solver. `mass`: before the first step of all."""
        self._lbm, self._mass = lbm, mass
        if resumed:
            self._began_from, self.marks = resumed.path, resumed.marks
        # A folder that cannot be used is better known now than when the time has run out.
        if self.every or self._case.checkpoint.wall_clock_limit:
            self._checkpoints()

    @property
    def every(self) -> int | None:
        """Steps between checkpoints."""
        return self._case.checkpoint.every

    def after(self, step: int, marks: Marks) -> str:
        """Between steps: makes the checkpoint that is due. Returns why to stop; empty to go on. Collective."""
        if self._ring:
            self._ring.poll()
            self._tell()
        why = self._stop.reason()
        if why or (self.every and step % self.every == 0):
            # What is not sound is not worth keeping: the guard raises.
            self._lbm.inspect()
            self._checkpoints().begin(_notes(marks, self._mass, self._flow))
        if why:
            self._ring.finish()
            failed = [error for at, _, error in self._tell() if at == step and error]
            if failed:
                raise RunError(f"stopped by {why} at step {step} without a checkpoint: {failed[0]}; {self._newest()}")
        return why

    def finish(self) -> None:
        """Waits for the checkpoint under way. Collective."""
        if self._ring:
            self._ring.finish()
            self._tell()

    def close(self) -> None:
        """Finishes, and leaves signals alone again. Collective."""
        self.finish()
        self._stop = None

    @property
    def last(self) -> str:
        """The newest complete checkpoint, else the one that the run began from; empty where there is none. The same on
        all ranks after finish()."""
        return (self._ring.last if self._ring else "") or self._began_from

    def last_good(self) -> str:
        """For messages. Collective."""
        self.finish()
        return f"last good checkpoint: {self.last}" if self.last else "there is no checkpoint"

    def _newest(self) -> str:
        return f"the newest complete one is {self.last}" if self.last else "there is no other one"

    def _checkpoints(self) -> Any:
        if self._ring is None:
            wanted = self._case.checkpoint
            folder = str(self._case.checkpoint_folder)
            self._ring = core().Checkpoints(self._lbm, folder, wanted.keep, self._flow.text, wanted.snapshot)
        return self._ring

    def _tell(self) -> list[tuple[int, str, str]]:
        """Notes what became of checkpoints, and says which failed, on rank 0."""
        results = self._ring.results()
        for step, path, error in results:
            what = f"no checkpoint: {error}" if error else f"checkpoint {path}"
            self.events.append(Event(step, what))
            if error:
                self._console.print(
                    f"warning: the checkpoint at step {step} was not written: {error}; {self._newest()}",
                    soft_wrap=True,
                )
        return results
