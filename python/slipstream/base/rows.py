"""Tables as CSV that grow with a run, and are whole whenever the run is killed."""

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.base.errors import CaseError, ErrorCode, Fault
from slipstream.base.files import write_text


def replace(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Replaces a table atomically: readers see the old file or the new one, also if the writer is killed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a table; an incomplete last line is left out."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))
    if not lines:
        return [], []
    return lines[0], [row for row in lines[1:] if len(row) == len(lines[0])]


def columns(path: Path) -> dict[str, np.ndarray]:
    """The columns of a table of numbers, by name."""
    header, rows = read(path)
    return dict(zip(header, np.array(rows, dtype=float).reshape(len(rows), len(header)).T, strict=True))


def made_by_an_end(last: int, up_to: int, every: int) -> bool:
    """Whether the last row was added by an early stop of the run: a run without that stop would not have this row."""
    return last == up_to and up_to > 0 and up_to % every != 0


class Rows:
    """A table with a row per step, the step in the first column. Rows are appended during the run."""

    def __init__(
        self,
        path: Path,
        up_to: int,
        renew: Callable[[Mapping[str, str]], Mapping[str, Any]] | None = None,
        every: int = 1,
    ) -> None:
        """Opens a table file, and keeps its rows up to the step `up_to` (-1: none). The function `renew` may recompute
        columns of these rows. If the last kept row is not at a multiple of `every`, an early stop of the run made it,
        and the next added row replaces it. Raises CaseError if rows cannot be rewritten, and leaves them as they are.
        """
        self._path, self._last = path, -1
        header, rows = read(path)
        kept = [dict(zip(header, row, strict=True)) for row in rows if int(row[0]) <= up_to]
        if kept:
            new = [renew(row) for row in kept] if renew else kept
            self._last = int(next(iter(kept[-1].values())))
            try:
                replace(path, list(new[0]), [list(row.values()) for row in new])
            except OSError as error:
                raise CaseError(
                    f"{path}: cannot be written: {error.strerror or error}; make room",
                    ErrorCode.IO,
                    file=path,
                    errno=Fault.of(error).facts.get("errno"),
                ) from None
        else:
            path.unlink(missing_ok=True)
        self._last_goes = made_by_an_end(self._last, up_to, every)

    @property
    def last(self) -> int:
        """Step of the table's last row; -1 if the table has no rows."""
        return self._last

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Appends rows in ascending order of steps; steps that the table has are skipped. If the file cannot be
        written, the table has none of the new rows."""
        new = [row for row in rows if int(next(iter(row.values()))) > self._last]
        if not new:
            return
        lines = [list(row.values()) for row in new]
        if self._last < 0:
            replace(self._path, list(new[0]), lines)
        elif self._last_goes:
            header, before = read(self._path)
            replace(self._path, header, [*before[:-1], *lines])
            self._last_goes = False
        else:
            size = self._path.stat().st_size
            try:
                with self._path.open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerows(lines)
            except OSError:
                os.truncate(self._path, size)
                raise
        self._last = int(lines[-1][0])
