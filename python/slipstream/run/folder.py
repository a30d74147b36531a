"""Checks the output folder of a run before it starts."""

import tempfile
from pathlib import Path

from slipstream.base.errors import CaseError, ErrorCode, Fault
from slipstream.case.case import Case
from slipstream.case.solver import solver_of
from slipstream.results import record
from slipstream.results.results import CASE, DAMAGED, FIELDS, FIELDS_FROM
from slipstream.run import checkpoint, locks

FILES = (CASE, record.FILE, "report.html", FIELDS, "exchange.json", "exchange.png")


def left_by_others(case: Case) -> list[Path]:
    """Files that an earlier run of this case has written: results, fields, checkpoints."""
    solver = solver_of(case)
    names = (*FILES, *solver.files, *solver.pictures)
    there = [case.folder / name for name in names if (case.folder / name).exists()]
    fields = [path for name in (FIELDS_FROM.format("*"), f"*{DAMAGED}") for path in sorted(case.folder.glob(name))]
    return [*there, *fields, *checkpoint.files_in(case.checkpoint_folder)]


def output_problem(case: Case, replace: bool) -> str:
    """Text on why results cannot be written to the case's folder; empty if they can. Leaves no files."""
    folder = case.folder
    if used := locks.problem(folder, "output.folder") or locks.problem(case.checkpoint_folder, "checkpoint.folder"):
        return used
    there = left_by_others(case)
    if there and not replace:
        kept, names = checkpoint.files_in(case.checkpoint_folder), checkpoint.names(there)
        again = ", --restart last to go on from the last checkpoint" if kept else ""
        if case.checkpoint.folder and kept == there:
            said = f"checkpoint.folder: {case.checkpoint_folder} already holds checkpoints ({names}); pass --overwrite "
            said += f"to replace those of this flow{again}, or choose another checkpoint.folder"
            key, place = "checkpoint.folder", case.checkpoint_folder
        else:
            said = f"output.folder: {folder} already holds results ({names}); pass --overwrite to replace them{again}, "
            said += "or choose another output.folder"
            key, place = "output.folder", folder
        return Fault(said, ErrorCode.WRONG_STATE, key=key, file=place, holds=names, restart="last" if again else None)
    ancestor = folder
    while not ancestor.exists() and ancestor != ancestor.parent:
        ancestor = ancestor.parent
    try:
        if not ancestor.is_dir():
            raise NotADirectoryError(f"{ancestor} is not a folder")
        # A temporary folder is created as a test, because permission bits do not bind root, and mounts may be
        # read-only.
        with tempfile.TemporaryDirectory(prefix=".slipstream-", dir=ancestor):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        said = f"output.folder: cannot write to {folder}: {why}; choose another output.folder"
        return Fault(said, ErrorCode.IO, key="output.folder", file=folder)
    return ""


def check_output(case: Case, replace: bool) -> None:
    """Raises CaseError if results cannot be written. Not collective; writes nothing."""
    if problem := output_problem(case, replace):
        raise CaseError(problem)
