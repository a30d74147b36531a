"""Checkpoints of a run: when they are written, the data in addition to the fields, and checks at a restart."""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream.base import toml_text
from slipstream.base.core import agree_on_error, as_case_error, core, on_all_ranks
from slipstream.base.errors import CaseError, ErrorCode, Fault, RunError
from slipstream.case.case import Case, Conversion
from slipstream.case.reader import stored_case
from slipstream.case.solver import Engine, solver_of
from slipstream.machine.start import asked_by
from slipstream.results.record import Event
from slipstream.run.locks import Locks


@dataclass(frozen=True)
class Flow:
    """Identifies a flow by its case's text and its mesh files' checksums. A restart only takes checkpoints of the same
    flow."""

    text: str  #: text of the case with all defaults filled in
    meshes: dict[str, str]  #: SHA-256 of the mesh file of each body that has one

    @classmethod
    def of(cls, case: Case, backend: str) -> "Flow":
        """Collects the text of a case and the checksums of its mesh files. Collective; raises CaseError if a file
        cannot be read."""
        with on_all_ranks():
            meshes = solver_of(case).checksums(case)
        return cls(case.resolved(backend).to_toml(), meshes)


@dataclass(frozen=True)
class Marks:
    """State of the time loop that a checkpoint stores in addition to the fields."""

    checked: int = 0  #: step from which the next residual is measured
    residual: float | None = None
    steady: bool = False

    def are_steady(self, limit: float | None) -> bool:
        """Whether the flow is steady by a limit of this run, which may be lower than that of the run before."""
        return self.steady and limit is not None and self.residual is not None and self.residual < limit


@dataclass(frozen=True)
class Restart:
    """A checkpoint from which a run continues."""

    path: str
    step: int
    marks: Marks
    mass: float  #: mass of the fluid before the first step of the whole run
    lost: str = ""  #: text on the information in the checkpoint that this run drops
    time: float = 0.0  #: time of the checkpoint, in the solver's own units
    #: numbers that the solver has stored besides the fields, such as counts of iterations (`Run.carried`)
    carried: dict[str, Any] = field(default_factory=dict)

    def fill(self, engine: Engine) -> None:
        """Sets the fields, time and step of a solver. Collective."""
        with as_case_error("--restart"):
            core().restore(engine, self.path)


def files_in(folder: Path) -> list[Path]:
    """Paths of the checkpoints in a folder, oldest first."""
    return sorted(path for path in folder.glob("checkpoint-*.h5") if path.stem.rpartition("-")[2].isdigit())


def _of_the_flow(text: str) -> dict[str, Any]:
    """Values of a case's text by key, including defaults, because another version may have written the text without a
    key. Unknown keys are compared as they are."""
    data = tomllib.loads(text)
    is_free = solver_of(data).case_type.is_free
    written = dict(toml_text.flat(data))
    try:
        case, unknown = stored_case(text, "the checkpoint's case")
        data = tomllib.loads(case.resolved(case.machine.backend).to_toml())
    except (CaseError, ValueError):
        unknown = []  # a stored case that cannot be parsed is compared as it was written, without defaults
    values = dict(toml_text.flat(data)) | {key: written[key] for key in unknown if key in written}
    return {key: value for key, value in values.items() if not is_free(key)}


def conversion(before: Flow, now: Flow) -> Conversion | None:
    """The conversion of a checkpoint to the form of another case; None if no conversion is supported or needed."""
    old, new = _of_the_flow(before.text), _of_the_flow(now.text)
    case_type: type[Case] = solver_of(tomllib.loads(now.text)).case_type
    return case_type.conversion(old, new)


def differences(before: Flow, now: Flow, free: frozenset[str] = frozenset()) -> list[Fault]:
    """Keys of the case whose values differ between two flows, with both values. Keys in `free`, which may differ, and
    keys that neither flow uses are left out. Meshes are compared by checksum, or by path if a checksum is missing."""
    old, new = _of_the_flow(before.text), _of_the_flow(now.text)
    unread = solver_of(tomllib.loads(now.text)).case_type.unread
    free |= unread(old) & unread(new)
    meshes = {f"bodies.{name}.mesh": name for name in before.meshes.keys() & now.meshes.keys()}

    def differ(key: str) -> bool:
        if key in meshes:
            return before.meshes[meshes[key]] != now.meshes[meshes[key]]
        return old.get(key) != new.get(key)

    def show(values: dict[str, Any], flow: Flow, key: str) -> str:
        checksum = f" with SHA-256 {flow.meshes[meshes[key]][:16]}..." if key in meshes else ""
        return json.dumps(values[key]) + checksum if key in values else "not given"

    def difference(key: str) -> Fault:
        there, here = show(old, before, key), show(new, now, key)
        said = f"{key}: {there} in the checkpoint, {here} in the case"
        return Fault(said, ErrorCode.MISMATCH, key=key, needed=there, given=here)

    return [difference(key) for key in sorted((old.keys() | new.keys()) - free) if differ(key)]


def _chosen(case: Case, wanted: str) -> str:
    if wanted != "last":
        return wanted
    there = files_in(case.checkpoint_folder)
    if not there and case.checkpoint.folder:
        # Earlier versions wrote checkpoints into the folder `checkpoint.folder` itself, not into a subfolder of it.
        there = files_in(Path(case.checkpoint.folder))
    if not there:
        raise CaseError(
            f"--restart last: there is no checkpoint in {case.checkpoint_folder}; name a file",
            ErrorCode.NOT_FOUND,
            key="--restart",
            file=case.checkpoint_folder,
        )
    return str(there[-1])


def text_of(case: Case, wanted: str) -> str:
    """Text of the resolved case that is stored in a checkpoint."""
    with as_case_error("--restart"):
        info = core().checkpoint_info(_chosen(case, wanted))
    return str(info["case"])


def _flow_of(info: dict[str, Any]) -> Flow:
    """The case and the meshes of the flow that a checkpoint stores."""
    return Flow(info["case"], json.loads(info["notes"]).get("meshes", {}))


def _read(case: Case, flow: Flow, wanted: str) -> dict[str, Any]:
    with as_case_error("--restart"):
        info = core().checkpoint_info(_chosen(case, wanted))
    before, notes = _flow_of(info), json.loads(info["notes"])
    notes.pop("meshes", None)
    way = conversion(before, flow)
    taken = way if case.checkpoint.convert else None
    if found := differences(before, flow, taken.keys if taken else frozenset()):
        remedy = "run the case that it is of"
        if way and not taken and not differences(before, flow, way.keys):
            remedy += f"; or take checkpoint.convert = true, and lose {way.lost}"
        said = f"--restart: {info['path']} is of another case:\n  " + "\n  ".join(found) + f"\n  {remedy}"
        lost = way.lost if way and not taken else None
        whole = Fault(said, ErrorCode.MISMATCH, key="--restart", file=info["path"], lost=lost)
        error = CaseError(whole)
        error.faults = (whole, *found)
        raise error
    lost = taken.lost if taken else ""
    return {"path": info["path"], "step": info["step"], "time": info["time"], "lost": lost, **notes}


def _notes(marks: Marks, mass: float, flow: Flow, carried: Mapping[str, Any]) -> str:
    """Data of a checkpoint other than the case and the fields, as JSON."""
    return json.dumps({"marks": asdict(marks), "mass": mass, "meshes": flow.meshes, "carried": dict(carried)})


def _is_of(path: Path, flow: Flow, output: Path | None) -> bool:
    """Whether a checkpoint belongs to a flow, or to a run whose results went to the folder `output`. Unreadable files
    count as belonging, so that they may be replaced."""
    try:
        info = core().checkpoint_info(str(path))
    except RuntimeError:
        return True
    try:
        before = _flow_of(info)
        if output is not None and _output_of(before) == output:
            return True
        way = conversion(before, flow)
        return not differences(before, flow, way.keys if way else frozenset())
    except (CaseError, ValueError):
        return False  # another program wrote the file, not the run of a case


def _output_of(flow: Flow) -> Path:
    """Folder of the results of the run that wrote a checkpoint."""
    written = tomllib.loads(flow.text)
    given = written.get("output", {}).get("folder")
    return Path(given or f"results/{written.get('case', {}).get('name', '')}")


def check_folder(folder: Path, key: str, flow: Flow, output: Path | None = None, step: int | None = None) -> None:
    """Raises CaseError if checkpoints in the folder that `key` names would replace those of another flow. Checkpoints
    of a run whose results went to the folder `output` may be replaced. If `step` is given, checkpoints of the same flow
    with later steps may not. Collective."""
    problem = ""
    if core().rank() == 0:
        if others := [path for path in files_in(folder) if not _is_of(path, flow, output)]:
            problem = (
                f"{key}: {folder} holds checkpoints of another flow ({names(others)}), which new ones would replace"
            )
        elif later := [path for path in files_in(folder) if step is not None and _step_of(path) > step]:
            problem = (
                f"{key}: {folder} holds checkpoints of later steps ({names(later)}), which new ones from step {step} "
                "on would replace; restore one of them to go on there"
            )
        if problem:
            code = ErrorCode.MISMATCH if others else ErrorCode.WRONG_STATE
            text = f"{problem}; choose another {key}, or remove them"
            problem = Fault(text, code, key=key, file=folder, holds=names(others or later))
    agree_on_error(problem)


def _step_of(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def names(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths)


def save(engine: Any, case: Case, flow: Flow, folder: Path | None, goes_on: bool) -> str:
    """Writes a checkpoint of a solver now, into the given folder or that of the case, and returns its path. `goes_on`:
    the run was restored from a checkpoint in this folder, so later ones may be replaced. Collective."""
    key = "checkpoint.folder" if folder is None else "folder"
    folder, locks = folder or case.checkpoint_folder, Locks(case.case.name)
    try:
        locks.take(folder, key)
        check_folder(folder, key, flow, step=None if goes_on else engine.step)
        ring = core().Checkpoints(engine, str(folder), 1 + len(files_in(folder)), flow.text)
        ring.begin(_notes(Marks(engine.step), engine.mass(), flow, {}))
        ring.finish()
    finally:
        locks.release()
    results: list[tuple[int, str, str]] = ring.results()
    ((_, path, error),) = results
    if error:
        raise RunError(f"the checkpoint at step {engine.step} was not written: {error}", ErrorCode.IO, step=engine.step)
    return path


def find(case: Case, flow: Flow, wanted: str) -> Restart:
    """Finds the checkpoint `wanted`, a path or "last". Collective. Raises CaseError if this case cannot continue from
    it."""
    text = ""
    problem: str | CaseError = ""
    if core().rank() == 0:
        try:
            text = json.dumps(_read(case, flow, wanted))
        except CaseError as error:
            problem = error
    agree_on_error(problem)
    found = json.loads(core().broadcast(text, 0))
    known = {part.name for part in fields(Marks)}  # files of another version may have more fields
    marks = Marks(**{key: value for key, value in found["marks"].items() if key in known})
    return Restart(
        found["path"], found["step"], marks, found["mass"], found["lost"], found["time"], found.get("carried", {})
    )


class Keeper:
    """Writes the checkpoints of a run: periodically, when a signal or the clock asks for an end, and, if `final`, at
    any other end."""

    def __init__(
        self, case: Case, flow: Flow, console: Console, locks: Locks | None = None, final: bool = False
    ) -> None:
        self._case = case
        self._flow = flow
        self._console = console
        self._final = final
        #: Locks of the folders that the run writes. Without locks from the caller, new ones are made for the
        #: checkpoints' folder.
        self._locks = locks or Locks(case.case.name)
        self._owns_locks = locks is None
        self._stop = core().StopRequest(case.checkpoint.wall_clock_limit or 0.0)
        self._engine: Engine | None = None
        self._before: Callable[[], None] | None = None
        self._carried: Callable[[], Mapping[str, Any]] = dict
        self._ring: Any = None
        self._mass = 0.0
        self._began_from = ""
        self._begun = -1  #: step of the solver at which the newest checkpoint was begun
        self._now: Marks | None = None
        #: Events for the run's log about checkpoints that were written or failed, on rank 0.
        self.events: list[Event] = []
        #: State of the time loop in the checkpoint from which the run continues; None without a restart.
        self.marks: Marks | None = None

    def watch(
        self,
        engine: Engine,
        mass: float,
        resumed: Restart | None,
        before: Callable[[], None] | None = None,
        carried: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Attaches the solver whose state is written. `mass`: mass before the first step of the whole run. `before` is
        called before each checkpoint; `carried` (`Run.carried`) gives its additional numbers."""
        self._engine, self._mass, self._before, self._carried = engine, mass, before, carried
        if resumed:
            self._began_from, self.marks, self._begun = resumed.path, resumed.marks, resumed.step
        # The folder is checked at the start of the run, because a fault found at the time limit would lose the run.
        if self.every or self._case.checkpoint.wall_clock_limit:
            self._checkpoints()

    @property
    def every(self) -> int | None:
        """Number of steps between periodic checkpoints; None: no periodic checkpoints."""
        return self._case.checkpoint.every

    def after(self, step: int, marks: Marks) -> str:
        """Called between steps: writes a checkpoint if one is due. Returns the reason to stop the run; empty if it
        continues. Collective."""
        if self._ring:
            self._ring.poll()
            self._tell()
        self._now = marks
        if why := self._reason():
            self._console.print(f"{why}: ends with a checkpoint; a second one ends at once", soft_wrap=True)
        if why or (self.every and step % self.every == 0):
            self._begin(step)
        if why:
            if failed := self._finished(step):
                said = f"stopped by {why} at step {step} without a checkpoint: {failed}; {self._newest()}"
                raise RunError(said, by=why, step=step)
        return why

    def _finished(self, step: int) -> str:
        """Waits for the checkpoint of a step. Returns its error; empty if it was written. Collective."""
        self._ring.finish()
        return "".join([error for at, _, error in self._tell() if at == step][:1])

    def _reason(self) -> str:
        """The reason to stop the run, if the user sent a signal; empty without one. Collective."""
        why: str = self._stop.reason()
        return core().broadcast(asked_by(why), 0) if why == "SIGUSR1" else why

    def _begin(self, step: int) -> None:
        # A diverged state must not be saved, so the guard is called, which raises an error.
        assert self._engine is not None
        self._engine.inspect()
        if self._before:
            self._before()
        notes = _notes(self._now or Marks(step), self._mass, self._flow, self._carried())
        self._checkpoints().begin(notes)
        self._begun = step

    def end(self, step: int) -> None:
        """Writes the last checkpoint at a regular end of the run; a failure is only a warning. Collective."""
        if not self._final or self._begun == step:
            return
        try:
            self._begin(step)
        except core().Diverged:
            raise
        except (RuntimeError, CaseError) as error:  # the checkpoint folder is unusable; all ranks get this error
            self._warn(step, str(error))
            return
        self.finish()

    def leave(self, step: int) -> str:
        """Writes a checkpoint after an error that leaves the state sound, and returns text on how to continue.
        Collective."""
        self._now = Marks(step)
        try:
            self._begin(step)
            failed = self._finished(step)
        except (RuntimeError, CaseError) as error:  # all ranks get the same error, so that none is left waiting
            failed = str(error)
        if failed:
            return f"its checkpoint was not written: {failed}; {self._newest()}"
        return f"go on with that by --restart last, from {self.last}"

    def finish(self) -> None:
        """Waits for the checkpoint that is being written. Collective."""
        if self._ring:
            self._ring.finish()
            self._tell()

    def close(self) -> None:
        """Finishes the checkpoint in progress, and restores the signal handlers. Collective."""
        self.finish()
        self.release()

    def release(self) -> None:
        """Restores the signal handlers and releases the lock of the checkpoint folder, also after an error. Not
        collective."""
        self._stop = None
        if self._owns_locks:
            self._locks.release()

    @property
    def last(self) -> str:
        """The newest complete checkpoint, else the one from which the run continued; empty if there is none. After
        finish() it is the same on all ranks."""
        return (self._ring.last if self._ring else "") or self._began_from

    def last_good(self) -> str:
        """The newest complete checkpoint, as text for messages. Waits for a checkpoint that is being written.
        Collective.
        """
        self.finish()
        return f"last good checkpoint: {self.last}" if self.last else "there is no checkpoint"

    def _newest(self) -> str:
        return f"the newest complete one is {self.last}" if self.last else "there is no other one"

    def _checkpoints(self) -> Any:
        if self._ring is None:
            wanted, folder = self._case.checkpoint, self._case.checkpoint_folder
            self._locks.take(folder, "checkpoint.folder")
            self._ring = core().Checkpoints(self._engine, str(folder), wanted.keep, self._flow.text, wanted.snapshot)
        return self._ring

    def _tell(self) -> list[tuple[int, str, str]]:
        """Adds finished checkpoints to the run's log, and reports failed ones, on rank 0."""
        results: list[tuple[int, str, str]] = self._ring.results()
        for step, path, error in results:
            if error:
                self._warn(step, error)
            else:
                self.events.append(Event(step, f"checkpoint {path}"))
        return results

    def _warn(self, step: int, error: str) -> None:
        self.events.append(Event(step, f"no checkpoint: {error}"))
        self._console.print(
            f"warning: the checkpoint at step {step} was not written: {error}; {self._newest()}", soft_wrap=True
        )
