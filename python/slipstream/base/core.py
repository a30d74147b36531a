"""The compiled modules, imported late: checking a case or starting ranks must not wake MPI."""

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

from slipstream.base import failure
from slipstream.base.errors import CaseError, ErrorCode, Fault

#: Environment variables by which common launchers tell a process its rank and the number of ranks.
_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_SIZE_HERE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
_PLACE_HERE = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")


_own_process = False


def own_process() -> None:
    """Declares that Slipstream owns the process. It then sets environment variables that libraries read at their
    start."""
    global _own_process
    _own_process = True


_before_mpi: list[Callable[[ModuleType], None]] = []


def before_mpi(act: Callable[[ModuleType], None]) -> None:
    """Registers a function that the first core() calls with the compiled module, before MPI starts. It is ignored after
    that call."""
    if not loaded():
        _before_mpi.append(act)


@cache
def core() -> ModuleType:
    """The compiled module `slipstream._core`. Under a launcher the first call starts MPI, unless the host program
    did."""
    try:
        module = importlib.import_module("slipstream._core")
    except ModuleNotFoundError as error:
        if error.name != "slipstream._core":
            raise
        raise CaseError(
            "the compiled module of the engine is not built: run `make demo` for it and lattice Boltzmann, or "
            "`make build` for all",
            ErrorCode.UNAVAILABLE,
            part="core",
            command="make build",
        ) from None
    if _own_process:
        module.set_process_environment()
    for act in _before_mpi if not module.mpi_started() else ():
        act(module)
    failure.watch(module)
    launched = launched_size()
    # A host program that runs MPI may use slipstream on some of its ranks only, so nothing here is collective.
    if launched is not None and launched > 1 and not module.mpi_started() and module.size() != launched:
        raise CaseError(
            f"mpiexec started {launched} processes, but each sees only {module.size()}: they belong to "
            "different MPI installations; start with the mpiexec of the MPI that `slipstream info` names",
            ErrorCode.MISMATCH,
            given=module.size(),
            needed=launched,
        )
    return module


@cache
def part(name: str) -> ModuleType:
    """Loads a further compiled module, such as that of a solver, after the module of core(), on which it depends."""
    core()
    module = f"_{name}"
    try:
        return importlib.import_module(f".{module}", "slipstream")
    except ModuleNotFoundError as error:
        if error.name != f"slipstream.{module}":
            raise
        raise CaseError(
            f"the compiled module of {name} is not built: run `make build`",
            ErrorCode.UNAVAILABLE,
            part=name,
            command="make build",
        ) from None
    except ImportError as error:
        raise CaseError(
            f"{module} cannot be loaded: {error}; run `make build`, which builds all parts alike",
            ErrorCode.VERSION,
            part=name,
            command="make build",
        ) from None


def loaded() -> bool:
    """Whether this process has loaded the compiled module."""
    return core.cache_info().currsize > 0


def _first_number(names: tuple[str, ...]) -> int | None:
    return next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit()), None)


def launched_size() -> int | None:
    """Number of processes that a launcher says it started; None where there is no launcher."""
    return _first_number(_SIZE)


def launched_here() -> int:
    """Number of the launcher's processes on this node, as far as the launcher tells it; at least 1."""
    return _first_number(_SIZE_HERE) or launched_size() or 1


def place_here() -> int | None:
    """Number of this process among those that the launcher started on this node; None if the launcher does not say."""
    return _first_number(_PLACE_HERE)


def rank() -> int:
    """This process's rank, known before MPI starts."""
    return core().rank() if loaded() else (_first_number(_RANK) or 0)


def _agreed(packed: str) -> CaseError:
    error = CaseError.unpacked(packed)
    error.agreed = True
    return error


def _packed(problem: str | CaseError) -> str:
    if not problem:
        return ""
    return (CaseError(problem) if isinstance(problem, str) else problem).packed()


def agree_on_error(problem: str | CaseError) -> None:
    """Raises on every rank the CaseError that rank 0 found, or one with its text; an empty text is no error.
    Collective."""
    packed = core().broadcast(_packed(problem), 0)
    if packed:
        raise _agreed(packed)


def agree(problem: str | CaseError) -> None:
    """Raises on every rank the CaseError of the lowest rank that has one; an empty text is no error. Collective."""
    packed = core().agree(_packed(problem))
    if packed:
        raise _agreed(packed)


@contextmanager
def on_all_ranks() -> Iterator[None]:
    """Raises the CaseError of one rank on all ranks, for example if a mesh is missing on one node. Without it the
    others would wait for that rank. Collective at its end; inside the block no rank may wait for another."""
    problem: str | CaseError = ""
    try:
        yield
    except CaseError as error:
        problem = error
    except OSError as error:
        problem = Fault.of(error)
    agree(problem)


@contextmanager
def as_case_error(key: str = "", file: str = "") -> Iterator[None]:
    """Turns planning errors of the compiled module into CaseError with the given key and file. They are the same
    on every rank."""
    try:
        yield
    except CaseError:
        raise
    except (RuntimeError, ValueError) as error:
        raise CaseError(Fault.of(error, ErrorCode.INVALID_ARGUMENT).at(key, file)) from None
