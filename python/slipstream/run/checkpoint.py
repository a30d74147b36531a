"""Checkpoints of a run: when they are made, what they remember beside the fields, and from which a case may go on."""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rich.console import Console

from slipstream.base.core import agree_on_error, as_case_error, core, on_all_ranks
from slipstream.base.errors import CaseError, ErrorCode, Fault, RunError
from slipstream.case.case import Case, Conversion
from slipstream.case.reader import remembered
from slipstream.case.solver import Engine, solver_of
from slipstream.machine.start import asked_by
from slipstream.results.record import Event
from slipstream.run.locks import Locks


@dataclass(frozen=True)
class Flow:
    """By what a checkpoint knows its flow again."""

    text: str  #: the resolved case
    meshes: dict[str, str]  #: of each body with a mesh: SHA-256 of its file

    @classmethod
    def of(cls, case: Case, backend: str) -> "Flow":
        """Reads the mesh files. Collective; raises CaseError where one cannot be read."""
        with on_all_ranks():
            meshes = solver_of(case).checksums(case)
        return cls(case.resolved(backend).to_toml(), meshes)


@dataclass(frozen=True)
class Marks:
    """What the loop over time knows beside the fields."""

    checked: int = 0  #: step from which the next residual is measured
    residual: float | None = None
    steady: bool = False

    def are_steady(self, limit: float | None) -> bool:
        """By a limit of this run: what was steady enough for the run before need not be for this one."""
        return self.steady and limit is not None and self.residual is not None and self.residual < limit


@dataclass(frozen=True)
class Restart:
    """A checkpoint to go on from."""

    path: str
    step: int
    marks: Marks
    mass: float  #: before the first step of all
    lost: str = ""  #: what the checkpoint held and this run does not
    time: float = 0.0  #: as its solver has it
    carried: dict[str, Any] = field(default_factory=dict)  #: `Run.carried`

    def fill(self, engine: Engine) -> None:
        """Sets the fields, time and step of a solver. Collective."""
        with as_case_error("--restart"):
            core().restore(engine, self.path)


def files_in(folder: Path) -> list[Path]:
    """Checkpoints in a folder, oldest first."""
    return sorted(path for path in folder.glob("checkpoint-*.h5") if path.stem.rpartition("-")[2].isdigit())


def _flat(data: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _of_the_flow(text: str) -> dict[str, Any]:
    """Values by key, those of defaults among them: the text may be of a version that did not have a key yet. What is
    not known here counts as it stands."""
    data = tomllib.loads(text)
    is_free = solver_of(data).case_type.is_free
    written = dict(_flat(data))
    try:
        case, unknown = remembered(text, "the checkpoint's case")
        data = tomllib.loads(case.resolved(case.machine.backend).to_toml())
    except (CaseError, ValueError):
        unknown = []  # then its words are all that can be compared
    values = dict(_flat(data)) | {key: written[key] for key in unknown if key in written}
    return {key: value for key, value in values.items() if not is_free(key)}


def conversion(before: Flow, now: Flow) -> Conversion | None:
    """What takes a checkpoint of one flow to the other; None: nothing that a solver knows, or needs."""
    old, new = _of_the_flow(before.text), _of_the_flow(now.text)
    case_type: type[Case] = solver_of(tomllib.loads(now.text)).case_type
    return case_type.conversion(old, new)


def differences(before: Flow, now: Flow, free: frozenset[str] = frozenset()) -> list[Fault]:
    """Keys in which two flows differ, with both values, but for those of `free` and those that neither reads. A mesh is
    what its file holds, wherever that lies; its path counts where one of the flows has no checksum of it."""
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
        there = files_in(Path(case.checkpoint.folder))  # where earlier versions put them
    if not there:
        raise CaseError(
            f"--restart last: there is no checkpoint in {case.checkpoint_folder}; name a file",
            ErrorCode.NOT_FOUND,
            key="--restart",
            file=case.checkpoint_folder,
        )
    return str(there[-1])


def text_of(case: Case, wanted: str) -> str:
    """The resolved case that a checkpoint was made of."""
    with as_case_error("--restart"):
        info = core().checkpoint_info(_chosen(case, wanted))
    return str(info["case"])


def _flow_of(info: dict[str, Any]) -> Flow:
    """Of a checkpoint, by what it says of itself."""
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
    """What a checkpoint keeps beside the case and the fields."""
    return json.dumps({"marks": asdict(marks), "mass": mass, "meshes": flow.meshes, "carried": dict(carried)})


def _is_of(path: Path, flow: Flow, output: Path | None) -> bool:
    """Whether a checkpoint is of a flow, or of a run whose results went to the folder `output`. What cannot be read is
    of use to no flow, and so in the way of none."""
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
        return False  # not written for a case


def _output_of(flow: Flow) -> Path:
    """Where the results of the run went that a checkpoint is of."""
    written = tomllib.loads(flow.text)
    given = written.get("output", {}).get("folder")
    return Path(given or f"results/{written.get('case', {}).get('name', '')}")


def check_folder(folder: Path, key: str, flow: Flow, output: Path | None = None, step: int | None = None) -> None:
    """Raises CaseError where checkpoints of a flow, made in a folder that `key` names, would replace some of another
    flow, but for those of a run whose results went to the folder `output`, or, where `step` is given, some of the same
    flow that it has not come to. Collective."""
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
    """Makes a checkpoint of a solver now, beside those in a folder, or in that of the case, and returns its path.
    `goes_on`: from one of those, so that later ones may go. Collective."""
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
    """The checkpoint `wanted`, a path or "last". Collective. Raises CaseError where it cannot be used for this case."""
    text = ""
    problem: str | CaseError = ""
    if core().rank() == 0:
        try:
            text = json.dumps(_read(case, flow, wanted))
        except CaseError as error:
            problem = error
    agree_on_error(problem)
    found = json.loads(core().broadcast(text, 0))
    known = {part.name for part in fields(Marks)}  # another version may have written more
    marks = Marks(**{key: value for key, value in found["marks"].items() if key in known})
    return Restart(
        found["path"], found["step"], marks, found["mass"], found["lost"], found["time"], found.get("carried", {})
    )


class Keeper:
    """Makes the checkpoints of a run: every so many steps, one when a signal or the clock asks for an end, and, where
    `final`, one at any other end."""

    def __init__(
        self, case: Case, flow: Flow, console: Console, locks: Locks | None = None, final: bool = False
    ) -> None:
        self._case = case
        self._flow = flow
        self._console = console
        self._final = final
        self._locks = locks or Locks(case.case.name)  #: the run's, which gives them back, or its own
        self._owns_locks = locks is None
        self._stop = core().StopRequest(case.checkpoint.wall_clock_limit or 0.0)
        self._engine: Engine | None = None
        self._before: Callable[[], None] | None = None
        self._carried: Callable[[], Mapping[str, Any]] = dict
        self._ring: Any = None
        self._mass = 0.0
        self._began_from = ""
        self._begun = -1  #: step of the newest checkpoint
        self._now: Marks | None = None
        #: What became of its checkpoints, on rank 0.
        self.events: list[Event] = []
        #: Where the loop over time goes on from.
        self.marks: Marks | None = None

    def watch(
        self,
        engine: Engine,
        mass: float,
        resumed: Restart | None,
        before: Callable[[], None] | None = None,
        carried: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """From now on checkpoints are of this solver. `mass`: before the first step of all. `before` is called before
        each checkpoint, and `carried` (`Run.carried`) for each."""
        self._engine, self._mass, self._before, self._carried = engine, mass, before, carried
        if resumed:
            self._began_from, self.marks, self._begun = resumed.path, resumed.marks, resumed.step
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
        self._now = marks
        if why := self._reason():
            self._console.print(f"{why}: ends with a checkpoint; a second one ends at once", soft_wrap=True)
        if why or (self.every and step % self.every == 0):
            self._begin(step)
        if why:
            self._ring.finish()
            failed = [error for at, _, error in self._tell() if at == step and error]
            if failed:
                raise RunError(
                    f"stopped by {why} at step {step} without a checkpoint: {failed[0]}; {self._newest()}",
                    by=why,
                    step=step,
                )
        return why

    def _reason(self) -> str:
        """Why to stop, by the signal that the user sent. Collective."""
        why: str = self._stop.reason()
        return core().broadcast(asked_by(why), 0) if why == "SIGUSR1" else why

    def _begin(self, step: int) -> None:
        # What is not sound is not worth keeping: the guard raises.
        assert self._engine is not None
        self._engine.inspect()
        if self._before:
            self._before()
        notes = _notes(self._now or Marks(step), self._mass, self._flow, self._carried())
        self._checkpoints().begin(notes)
        self._begun = step

    def end(self, step: int) -> None:
        """At an end that nobody asked for: makes the last checkpoint; one that fails is a warning. Collective."""
        if not self._final or self._begun == step:
            return
        try:
            self._begin(step)
        except core().Diverged:
            raise
        except (RuntimeError, CaseError) as error:  # the folder cannot be used, which all ranks know
            self._warn(step, str(error))
            return
        self.finish()

    def leave(self, step: int) -> str:
        """At an end that is the run's own fault: makes a checkpoint all the same, and says how to go on. Collective."""
        self._now = Marks(step)
        try:
            self._begin(step)
            self._ring.finish()
            failed = [error for at, _, error in self._tell() if at == step and error]
        except (RuntimeError, CaseError) as error:  # which all ranks know
            failed = [str(error)]
        if failed:
            return f"its checkpoint was not written: {failed[0]}; {self._newest()}"
        return f"go on with that by --restart last, from {self.last}"

    def finish(self) -> None:
        """Waits for the checkpoint under way. Collective."""
        if self._ring:
            self._ring.finish()
            self._tell()

    def close(self) -> None:
        """Finishes, and leaves signals alone again. Collective."""
        self.finish()
        self.release()

    def release(self) -> None:
        """Leaves signals, and the folder that it took for itself, alone again, whatever happened. Not collective."""
        self._stop = None
        if self._owns_locks:
            self._locks.release()

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
            wanted, folder = self._case.checkpoint, self._case.checkpoint_folder
            self._locks.take(folder, "checkpoint.folder")
            self._ring = core().Checkpoints(self._engine, str(folder), wanted.keep, self._flow.text, wanted.snapshot)
        return self._ring

    def _tell(self) -> list[tuple[int, str, str]]:
        """Notes what became of checkpoints, and says which failed, on rank 0."""
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
