"""Rewords a launcher's messages about dead ranks on standard error; output of the ranks passes through."""

import re
import signal
import sys
from typing import IO

from slipstream.machine.pipe import Pipe

#: Blocks of Open MPI's messages stand between two lines of dashes. They are left out, because ranks report their own
#: failures.
_OF_LAUNCHER = re.compile(
    r"\s*(Primary job +terminated normally|\S+ noticed that (process|the job)|\S+ detected that one or more processes"
    r"|\S+ has exited due to process rank|MPI_ABORT was invoked on rank)"
)
_BY_SIGNAL = re.compile(r"process rank (\d+) with PID (\d+) on node (\S+) exited\s+on\s+signal (\d+)")
_LINE_OF_LAUNCHER = re.compile(r"\S+: Forwarding signal \d+ to job")
_FRAME = re.compile(r"-{40,}\s*$")

_WHAT_TO_DO = {
    signal.SIGKILL: "somebody killed it, or the system for want of memory (see dmesg, or what the batch system says); "
    "take a smaller grid or more nodes where memory was short",
    signal.SIGBUS: "as a rule /dev/shm or a disk is full; free some space there",
}
_FATAL = (signal.SIGKILL, signal.SIGBUS, signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)
_ELSE = "that is a fault of the program or of a library; please report it with the case"
_GO_ON = "a run goes on from its last checkpoint by --restart last"


class Words(Pipe):
    """Filters the text that a launcher writes to standard error."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._rest = ""  #: start of a line whose end has not arrived
        self._block: list[str] | None = None  #: lines so far of text that a launcher frames by dashes; None if none
        self._dead: re.Match[str] | None = None
        super().__init__(stream, sys.stderr.encoding)

    def end_of_a_rank(self, code: int) -> str:
        """Text on the rank that died first, with the cause and a remedy; empty if no rank was killed."""
        if self._dead:
            rank, _, node, number = self._dead.groups()
            return f"rank {rank} on {node} was ended by {_name(int(number))}: {_advice(int(number))}; {_GO_ON}"
        if code - 128 in _FATAL:
            return f"a rank was ended by {_name(code - 128)}: {_advice(code - 128)}; {_GO_ON}"
        return ""

    def take(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._take_line(line + "\n")

    def end(self) -> None:
        if self._rest:
            self._take_line(self._rest)
        if self._block:
            self._show("".join(self._block))

    def _take_line(self, line: str) -> None:
        frame = _FRAME.match(line)
        if self._block is None:
            if frame:
                self._block = [line]
            elif not _LINE_OF_LAUNCHER.match(line):
                self._show(line)
            return
        self._block.append(line)
        text = "".join(self._block[1:])
        # Messages of the launcher begin with a known line; other blocks come from the ranks.
        if not frame and text.strip() and not _OF_LAUNCHER.match(text):
            self._show("".join(self._block))
            self._block = None
        elif frame:
            self._dead = self._dead or _BY_SIGNAL.search(text)
            self._block = None

    @staticmethod
    def _show(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _advice(number: int) -> str:
    return next((text for known, text in _WHAT_TO_DO.items() if known == number), _ELSE)
