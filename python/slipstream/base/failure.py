"""Ends all ranks after a failure on one of them. The others would otherwise wait for that rank for ever, in
MPI_Finalize at the latest."""

import sys
from types import ModuleType, TracebackType

FAILED = 1
#: Exit code of a run whose flow diverged.
DIVERGED = 3
INTERRUPTED = 130


def _alone(module: ModuleType) -> bool:
    """Whether Slipstream has no other ranks to end: there is one rank, or the host program started MPI."""
    return module.job()[1] == 1 or not module.mpi_started_here()


def end_all_ranks(module: ModuleType, code: int) -> None:
    """Ends every rank of the job at once, with this exit code. Returns where there is one rank, where MPI does not run,
    and in a program that started MPI itself, which ends its ranks itself."""
    if _alone(module):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    module.abort(code)


def watch(module: ModuleType) -> None:
    """Makes an uncaught exception end all ranks, after it was shown as usual.

    SystemExit, and exceptions that IPython shows, do not reach this hook. They end the ranks through their exit code
    (machine/end.hpp).
    """
    show = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        show(kind, error, trace)
        if not _alone(module):
            rank, size = module.job()
            print(f"slipstream: rank {rank} failed, and ends all {size} ranks", file=sys.stderr)
        end_all_ranks(module, INTERRUPTED if issubclass(kind, KeyboardInterrupt) else FAILED)

    sys.excepthook = hook
