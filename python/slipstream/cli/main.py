"""The command line: run, check, cases, plan, compare, plot, render, report, topo, info, doctor, bench, trace."""

import argparse
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from types import ModuleType

from slipstream.base import core, failure
from slipstream.base.errors import CaseError, RunError
from slipstream.cli import commands
from slipstream.cli.errors import say
from slipstream.cli.parser import USER_ERROR, parse
from slipstream.cli.pipes import patient_output
from slipstream.machine import start


def _without_ranks(arguments: Sequence[str]) -> list[str]:
    """The command line without the option -n, the number of ranks to start."""
    kept, skip = [], False
    for argument in arguments:
        if skip or argument == "-n":
            skip = not skip
        elif not (argument.startswith("-n") and argument[2:].lstrip("=").isdigit()):
            kept.append(argument)
    return kept


#: Time in seconds within which the same failure reaches all ranks.
_ALIKE = 5.0


def _fail(error: CaseError | RunError, code: int) -> None:
    """Prints one message from one rank, and ends other ranks that may not have failed."""
    if core.rank() == 0:
        say(error)
    module = _module_of_job()
    if module is None:
        return
    if error.agreed or module.all_ranks_end(_ALIKE):
        module.expect_common_end()
        return
    rank = module.job()[0]
    # Delays by rank, so that only the first of several failing ranks prints.
    time.sleep(0.2 * min(rank, 50))
    if rank:
        say(error, f"error on rank {rank}")
    failure.end_all_ranks(module, code)


def _module_of_job() -> ModuleType | None:
    """The compiled module with MPI started, if Slipstream owns several ranks."""
    if (core.launched_size() or 1) < 2:
        return None
    try:
        module = core.core()
        # A rank that has failed must start MPI, too, because the other ranks start it, and all ranks do so together.
        module.rank()
    except (CaseError, RuntimeError):
        return None
    return module if module.mpi_started_here() else None


def _act(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    from slipstream.base import terminal

    ranks = getattr(arguments, "ranks", None)
    with core.on_all_ranks() if core.launched_size() and ranks is None else nullcontext():
        commands.check_before_start(arguments)
    if ranks is not None:
        return start.start(ranks, _without_ranks(words))
    return arguments.action(arguments, terminal.console(core.rank())) or 0


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code. 0: success, 1: failure, 2: an error that the user can correct,
    3: the flow diverged or a step was not solved."""
    words = list(sys.argv[1:] if words is None else words)
    arguments = parse(words)
    core.own_process()
    # Some parent processes block these signals, so they are unblocked here; else a run could only be killed.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, start.SIGNALS)
    with patient_output(arguments.command in ("run", "compare", "bench")):
        return _code_of(arguments, words)


def _code_of(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    try:
        code = _act(arguments, words)
        if core.loaded():
            core.core().expect_common_end()
    except CaseError as error:
        code = USER_ERROR
        _fail(error, code)
    except RunError as error:
        code = error.exit_code
        _fail(error, code)
    except KeyboardInterrupt:
        code = failure.INTERRUPTED
        print("slipstream: interrupted", file=sys.stderr, flush=True)
        _end_all_ranks(code)
    except Exception as error:
        _crash(error)
        code = failure.FAILED
    return code


def _crash(error: Exception) -> None:
    """Reports a failure on one rank and ends the others, which would wait for it."""
    if os.environ.get("SLIPSTREAM_TRACEBACK") or not isinstance(error, RuntimeError | OSError):
        traceback.print_exception(error)
    say(error, f"error on rank {core.rank()}")
    _end_all_ranks(failure.FAILED)


def _end_all_ranks(code: int) -> None:
    if core.loaded():
        failure.end_all_ranks(core.core(), code)
