"""Assertions on errors by type, code and facts; their text may change."""

import json
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from slipstream.base.errors import Coded, ErrorCode, Fault


def has(faults: Iterable[Fault], code: str | None, **facts: Any) -> Fault:
    """The first fault with this error code and these facts; other facts do not count. None as code allows any code."""
    wanted = {name: None if value is None else str(value) for name, value in facts.items()}
    for fault in faults:
        if code in (None, fault.code) and {name: fault.facts.get(name) for name in facts} == wanted:
            return fault
    found = "\n".join(f"{fault}\n  {fault.code}, {fault.facts}" for fault in faults)
    pytest.fail(f"no fault is {code} with {wanted}; there are\n{found}")


@contextmanager
def raises(
    kind: type[BaseException] | tuple[type[BaseException], ...], code: str | None, **facts: Any
) -> Iterator["pytest.ExceptionInfo[Any]"]:
    """Expects an error of this type within the block, with a fault of this code and these facts. A fact of None must be
    absent.
    """
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert isinstance(getattr(error, "code", None), str), f"{error!r} has no code"
    has(error.faults if isinstance(error, Coded) else [Fault.of(error)], code, **facts)


class Done(subprocess.CompletedProcess[str]):
    """A finished process and the errors that it reported."""

    errors: tuple[Fault, ...] = ()

    @classmethod
    def with_errors(cls, done: "subprocess.CompletedProcess[str]", path: Path) -> "Done":
        """Makes a record of an ended process with the errors that it reported. `path`: file with a line of JSON for
        each error message, which is deleted.
        """
        found = cls(done.args, done.returncode, done.stdout, done.stderr)
        said = [json.loads(line)["faults"] for line in path.read_text(encoding="utf-8").splitlines()]
        found.errors = tuple(
            Fault(fault["text"], ErrorCode(fault["code"]), **fault["facts"]) for faults in said for fault in faults
        )
        path.unlink()
        return found


def is_error(done: Done, code: str | None, returncode: int = 2, **facts: Any) -> Fault:
    """Checks that a process ended with a single message that reports this fault."""
    assert done.errors, done.stdout + done.stderr
    fault = has(done.errors, code, **facts)
    assert done.returncode == returncode, done.stderr
    assert done.stderr.count("error:") + done.stderr.count("error on rank") == 1, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return fault
