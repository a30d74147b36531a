"""Codes and facts of errors: in exceptions, between ranks, and in the file for programs."""

import errno
import json
import pickle
import re
from pathlib import Path

import pytest
from conftest import ROOT, SMALL, Cli, command
from errors import is_error
from slipstream.base import core
from slipstream.base.errors import (
    ArgumentError,
    CaseError,
    Coded,
    ErrorCode,
    Fault,
    OptionError,
    RangeError,
    RunError,
)
from slipstream.exchange.options import UnknownOption
from slipstream.run import march


@pytest.mark.parametrize(
    ("kind", "usual", "code"),
    [
        (CaseError, Exception, "invalid_argument"),
        (ArgumentError, ValueError, "invalid_argument"),
        (OptionError, TypeError, "invalid_argument"),
        (UnknownOption, TypeError, "not_found"),
        (RangeError, IndexError, "invalid_argument"),
        (RunError, RuntimeError, "io"),
        (march.Diverged, RuntimeError, "diverged"),
        (march.NotSolved, RuntimeError, "not_converged"),
    ],
)
def test_exception_is_of_its_usual_type_with_a_code(kind: type[Coded], usual: type[Exception], code: str) -> None:
    error = kind("said", key="a.b", line=None)
    assert isinstance(error, usual) and str(error) == "said"
    assert (error.code, error.facts) == (code, {"key": "a.b"})
    assert kind("said", ErrorCode.LOCKED).code == "locked"


def test_exit_codes_stay() -> None:
    assert (RunError.exit_code, march.TooFast.exit_code) == (1, 1)
    assert (march.Diverged.exit_code, march.NotSolved.exit_code) == (3, 3)


def test_error_keeps_code_and_facts_where_it_is_pickled() -> None:
    error = pickle.loads(pickle.dumps(ArgumentError("said", ErrorCode.MISMATCH, given=3)))
    assert (str(error), error.code, error.facts) == ("said", "mismatch", {"given": "3"})


def test_facts_may_have_any_name() -> None:
    there = CaseError.unpacked("rank 1: " + CaseError("said", **{"code": "7", "text": "x", "rank": 3}).packed())
    assert there.facts == {"code": "7", "text": "x", "rank": "3"} and there.code == "invalid_argument"


def test_fault_in_an_error_gives_it_code_and_facts() -> None:
    error = CaseError(Fault("a.b: said", ErrorCode.LOCKED, key="a.b", file="x"), file="y")
    assert (error.code, error.facts) == ("locked", {"key": "a.b", "file": "y"})


class Compiled(TimeoutError):
    """An error as compiled modules raise it, which is also an OSError."""

    code = "timeout"
    facts = {"rank": "3"}


@pytest.mark.parametrize(
    ("error", "code", "facts"),
    [
        (Compiled("late"), "timeout", {"rank": "3"}),
        (FileNotFoundError(errno.ENOENT, "gone", "a.toml"), "not_found", {"file": "a.toml", "errno": "ENOENT"}),
        (OSError(errno.ENOSPC, "full", "a.h5"), "io", {"file": "a.h5", "errno": "ENOSPC"}),
        (MemoryError("much"), "out_of_memory", {}),
        (ValueError("bad"), "invalid_argument", {}),
        (RuntimeError("odd"), "internal", {}),
    ],
)
def test_every_exception_has_a_code(error: Exception, code: str, facts: dict[str, str]) -> None:
    fault = Fault.of(error)
    assert (fault, fault.code, fault.facts) == (str(error), code, facts)


def test_error_of_the_compiled_module_is_the_users_with_its_key() -> None:
    error = RuntimeError("late")
    error.code, error.facts = "timeout", {"rank": "3"}
    with pytest.raises(CaseError) as caught, core.as_case_error("a.b", "x.csv"):
        raise error
    assert str(caught.value) == "a.b: x.csv: late"
    assert (caught.value.code, caught.value.facts) == ("timeout", {"rank": "3", "key": "a.b", "file": "x.csv"})


def test_error_of_one_rank_is_that_error_on_all_with_its_rank() -> None:
    error = CaseError.all_of([Fault("a: {x}", ErrorCode.LOCKED, key="a"), Fault("b", key="b")])
    there = CaseError.unpacked("rank 1: " + error.packed())
    assert str(there) == "rank 1: a: {x}\n  b"
    assert [(fault.code, fault.facts) for fault in there.faults] == [
        ("locked", {"key": "a", "rank": "1"}),
        ("invalid_argument", {"key": "b", "rank": "1"}),
    ]


def test_programs_read_all_faults_of_a_command_from_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(SMALL.replace("steps = 40", "steps = 0").replace("cells =", "cels ="))
    result = cli("run", "bad.toml", "-n", "2")
    is_error(result, "not_found", key="grid.cels", file="bad.toml", line=5, nearest="cells")
    is_error(result, "invalid_argument", key="run.steps", given=0, allowed=">= 1")
    assert len(result.errors) == 3, "the missing key is the third"


def test_file_of_errors_that_cannot_be_written_leaves_the_message(tmp_path: Path, small: Path) -> None:
    result = command(tmp_path, "run", "none.toml", SLIPSTREAM_ERRORS="/nonexistent/errors")
    assert result.returncode == 2 and result.stderr.startswith("slipstream: error: none.toml: ")


def test_codes_are_those_of_the_library() -> None:
    header = (ROOT / "include" / "slipstream" / "error.hpp").read_text(encoding="utf-8")
    listed = header.partition("enum class ErrorCode {")[2].partition("};")[0]
    assert re.findall(r"^ +(\w+),", listed, re.MULTILINE) == list(ErrorCode)


def test_page_lists_every_code_and_every_exception() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    codes = page.partition("| code |")[2].partition("**In Python**")[0]
    assert re.findall(r"^\| `(\w+)` \|", codes, re.MULTILINE) == [code.value for code in ErrorCode]
    shown = page.partition("| exception |")[2].partition("They are in")[0]
    for name, usual in re.findall(r"^\| `(\w+)` \| `(\w+)` \|", shown, re.MULTILINE):
        kind = {each.__name__: each for each in (CaseError, RunError, ArgumentError, OptionError, RangeError)}[name]
        assert usual in [base.__name__ for base in kind.__mro__]


def test_record_of_a_run_that_was_given_up_has_code_and_facts(cli: Cli, tmp_path: Path, small: Path) -> None:
    words = ["guard.every=1", "guard.density=[0.9999,1.0001]", "checkpoint.every=1"]
    result = cli("run", "small.toml", *words)
    fault = is_error(result, "diverged", 3)
    kept = json.loads((tmp_path / "results" / "small" / "run.json").read_text())
    assert kept["error"] == {"code": "diverged", "facts": fault.facts}
