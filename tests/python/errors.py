"""Assertions of errors by what programs read: type, code and facts. Their text may change."""

import json
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from slipstream.base.errors import Coded, ErrorCode, Fault


def has(faults: Iterable[Fault], code: str | None, **facts: Any) -> Fault:
    """The one of several faults that has a code, and these facts among its own. No code: it is the compiled module's to
    say."""
    wanted = {name: None if value is None else str(value) for name, value in facts.items()}
    for fault in faults:
        if code in (None, fault.code) and {name: fault.facts.get(name) for name in facts} == wanted:
            return fault
    found = "\n".join(f"{fault}\n  {fault.code}, {fault.facts}" for fault in faults)
    pytest.fail(f"no fault is {code} with {wanted}; there are\n{found}")


@contextmanager
def raises(kind: type[BaseException], code: str | None, **facts: Any) -> Iterator["pytest.ExceptionInfo[Any]"]:
    """Inside, an error of this type is raised, one of whose faults has this code and these facts among its own; a fact
    that is None is not there."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert isinstance(getattr(error, "code", None), str), f"{error!r} has no code"
    has(error.faults if isinstance(error, Coded) else [Fault.of(error)], code, **facts)


class Done(subprocess.CompletedProcess[str]):
    """A process that has ended, with the errors that it said."""

    errors: tuple[Fault, ...] = ()

    @classmethod
    def with_errors(cls, done: "subprocess.CompletedProcess[str]", path: Path) -> "Done":
        """`path`: of the errors, a line of JSON for each message; gone afterwards."""
        found = cls(done.args, done.returncode, done.stdout, done.stderr)
        said = [json.loads(line)["faults"] for line in path.read_text(encoding="utf-8").splitlines()]
        found.errors = tuple(
            Fault(fault["text"], ErrorCode(fault["code"]), **fault["facts"]) for faults in said for fault in faults
        )
        path.unlink()
        return found


def is_error(done: Done, code: str | None, returncode: int = 2, **facts: Any) -> Fault:
    """That a process ended with one message, which tells of this fault."""
    assert done.errors, done.stdout + done.stderr
    fault = has(done.errors, code, **facts)
    assert done.returncode == returncode, done.stderr
    assert done.stderr.count("error:") + done.stderr.count("error on rank") == 1, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return fault
