"""The exceptions of the package. Programs read their code and facts; words are for people and may change."""

import errno
import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Self


class ErrorCode(StrEnum):
    """Kind of a failure, the same in C++ and Python."""

    INVALID_ARGUMENT = "invalid_argument"  #: an argument or a key has a value that is never valid
    UNSUPPORTED = "unsupported"  #: values are valid alone, but not together, or not on this machine
    MISMATCH = "mismatch"  #: two things differ that must agree: shapes, ranks, a checkpoint and its case
    WRONG_STATE = "wrong_state"  #: a call came at the wrong time, such as after close, or would replace results
    UNAVAILABLE = "unavailable"  #: this machine or build lacks a feature
    NOT_FOUND = "not_found"  #: a name, a key, a file or a folder does not exist
    BAD_FILE = "bad_file"  #: a file exists, but its content is invalid
    IO = "io"  #: the system failed to read or write
    LOCKED = "locked"  #: another run uses a resource
    OUT_OF_MEMORY = "out_of_memory"  #: a device or the host has less memory than needed
    TIMEOUT = "timeout"  #: a wait has taken longer than its limit
    OVERFLOW = "overflow"  #: a number is too large for its format
    DIVERGED = "diverged"  #: the values of a flow are no longer physical, or the flow is too fast for its time step
    NOT_CONVERGED = "not_converged"  #: the iterations for a linear system ended without a solution
    VERSION = "version"  #: another version of Slipstream made the data
    INTERNAL = "internal"  #: Slipstream has a defect


class Fault(str):
    """Description of one error: text with an error code and facts for programs."""

    code: ErrorCode
    facts: dict[str, str]

    def __new__(cls, text: str, code: ErrorCode | None = None, /, **facts: Any) -> Self:
        """Makes the description of an error. If `text` is a Fault already, its code and facts are kept, unless others
        are given. Facts that are None are left out.
        """
        fault = super().__new__(cls, text)
        before = text if isinstance(text, Fault) else None
        fault.code = code or (before.code if before is not None else ErrorCode.INVALID_ARGUMENT)
        given = {name: str(value) for name, value in facts.items() if value is not None}
        fault.facts = (before.facts if before is not None else {}) | given
        return fault

    @classmethod
    def of(cls, error: BaseException, usual: ErrorCode = ErrorCode.INTERNAL) -> Self:
        """The fault that an exception describes. Exceptions of the compiled modules carry a code and facts; others get
        a code by their type, or the usual one."""
        code = getattr(error, "code", None)
        if isinstance(code, str):
            return cls(str(error), ErrorCode(code), **getattr(error, "facts", {}))
        if isinstance(error, OSError):
            name = errno.errorcode.get(error.errno or 0)
            return cls(str(error), _code_of_system(error), file=error.filename, errno=name)
        if isinstance(error, MemoryError):
            return cls(str(error), ErrorCode.OUT_OF_MEMORY)
        return cls(str(error), ErrorCode.INVALID_ARGUMENT if isinstance(error, ValueError | TypeError) else usual)

    def reworded(self, text: str) -> Self:
        """The same error description with another text."""
        return type(self)(text, self.code, **self.facts)

    def at(self, key: str = "", file: object = "") -> Self:
        """The same error description with a key or a file before its text."""
        places = {"key": key, "file": file}
        text = "".join(f"{place}: " for place in places.values() if place) + self
        return type(self)(text, self.code, **self.facts | {name: place for name, place in places.items() if place})


def unsupported(key: str, text: str, **facts: Any) -> Fault:
    """A fault of two values that are valid alone but not together; the fact `other` is the key of the second one."""
    return Fault(text, ErrorCode.UNSUPPORTED, key=key, **facts)


def missing(key: str, text: str, **facts: Any) -> Fault:
    """A fault of a required value that is missing."""
    return Fault(text, ErrorCode.NOT_FOUND, key=key, **facts)


class Coded(Exception):
    """An exception with a code, and with facts by name: key, file, line, given, allowed, nearest, needed, available.
    Values of facts are text."""

    code = ErrorCode.INVALID_ARGUMENT

    def __init__(self, text: str = "", code: ErrorCode | None = None, /, **facts: Any) -> None:
        super().__init__(text)
        fault = Fault(text, code or (None if isinstance(text, Fault) else self.code), **facts)
        self.code = fault.code
        self.facts = fault.facts
        self.faults: tuple[Fault, ...] = (fault,)  #: all faults of the error; code and facts are those of the first one

    @classmethod
    def all_of(cls, faults: Iterable[Fault]) -> Self:
        """One exception for several faults, whose texts it lists in lines."""
        found = tuple(faults)
        error = cls(found[0].reworded("\n  ".join(found)))
        error.faults = found
        return error

    def packed(self) -> str:
        """The faults as JSON text, for other ranks and programs."""
        faults = [{"code": fault.code, "facts": fault.facts, "text": fault} for fault in self.faults]
        return json.dumps({"text": str(self), "faults": faults})

    @classmethod
    def unpacked(cls, message: str) -> Self:
        """Restores an error from the JSON text of packed(), with `rank N: ` before it if only that rank failed."""
        before, brace, rest = message.partition("{")
        found = json.loads(brace + rest)
        more = {"rank": before.removeprefix("rank ").removesuffix(": ")} if before else {}
        faults = tuple(Fault(each["text"], ErrorCode(each["code"]), **more | each["facts"]) for each in found["faults"])
        error = cls(faults[0].reworded(before + found["text"]))
        error.faults = faults
        return error


class CaseError(Coded):
    """An error in the case, the command line or the surroundings, which the user can correct.

    The command line prints it once, from one rank, and exits with 2; nothing has been written by then.
    """

    #: True where every rank raises the error, because the ranks have agreed on it.
    agreed = False


class RunError(Coded, RuntimeError):
    """A run failed on all ranks alike. The command line prints it once and exits with its exit code."""

    code = ErrorCode.IO
    exit_code = 1
    agreed = True


class ArgumentError(Coded, ValueError):
    """An argument has a value that is not allowed."""


class OptionError(Coded, TypeError):
    """An argument is unknown or has the wrong type."""


class RangeError(Coded, IndexError):
    """An index is out of range."""


def _code_of_system(error: OSError) -> ErrorCode:
    if isinstance(error, FileNotFoundError):
        return ErrorCode.NOT_FOUND
    return ErrorCode.TIMEOUT if isinstance(error, TimeoutError) else ErrorCode.IO
