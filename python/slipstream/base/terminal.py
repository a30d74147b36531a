"""The terminal: its console, tables, and numbers in words."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from slipstream.base.core import launched_size
from slipstream.base.visible import visible

#: Environment variable with the width of the terminal, which rank 0 cannot measure through mpiexec's pipe.
TERMINAL_WIDTH = "SLIPSTREAM_TERMINAL_WIDTH"
#: Largest number of rows that a table of neighbouring devices shows; a last row sums up the others.
ROWS = 16
#: Width in characters of tables that are printed to a pipe or a file.
PIPE_WIDTH = 120


class _Console(Console):
    """A console that makes control characters visible."""

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(visible(text), **how)


def console(rank: int) -> Console:
    """A console that prints on rank 0 only, and knows the terminal even through mpiexec's pipe. Text is printed
    literally: brackets in a case or a path are no markup, and control characters have no effect. Text with a style
    is a rich Text."""
    as_it_stands: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    width = os.environ.get(TERMINAL_WIDTH, "")
    if width.isdigit() and rank == 0:
        return _Console(force_terminal=True, width=int(width), **as_it_stands)
    # Open MPI gives its ranks a pseudo-terminal, whatever the launcher's output is, so this one is ignored.
    plain = _Console(quiet=rank != 0, force_terminal=None if launched_size() is None else False, **as_it_stands)
    if not plain.is_terminal and "COLUMNS" not in os.environ:
        plain.width = PIPE_WIDTH
    return plain


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> Group:
    """A titled table whose first `left` columns are words and the rest numbers. Cells with a style are rich Texts."""
    result = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(columns))
    for index, column in enumerate(columns):
        result.add_column(column, justify="left" if index < left else "right", header_style="dim")
    for row in rows:
        result.add_row(*("-" if cell is None else cell if isinstance(cell, Text) else str(cell) for cell in row))
    # The heading is a separate line, because rich wraps a title to the width of its table.
    return Group(Text("\n" + visible(title), style="bold"), result)


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 rank`, `2 ranks`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def megabytes(amount: float) -> str:
    return f"{amount / 1e6:.1f}" if amount < 1e8 else f"{amount / 1e6:.0f}"


def duration(seconds: float) -> str:
    """A duration as text: `0:42` or `1:02:03`."""
    total = max(0, round(seconds))
    hours, rest = divmod(total, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def about(seconds: float) -> str:
    """An estimated duration with two digits: `about 4.1 min`."""
    for unit, length, least in (("days", 86400.0, 2.0), ("h", 3600.0, 2.0), ("min", 60.0, 2.0), ("s", 1.0, 1.0)):
        if seconds >= least * length:
            return f"about {_two_digits(seconds / length)} {unit}"
    return f"about {_two_digits(1e3 * seconds)} ms"


def size(amount: float) -> str:
    """An amount of memory as text: `1.2 GB`."""
    for unit, length in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if amount >= length:
            return f"{_two_digits(amount / length)} {unit}"
    return f"{_two_digits(amount / 1e3)} kB"


def _two_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 9.95 else f"{number:.1f}"


def rate(gb_per_s: float) -> str:
    return f"{gb_per_s:.1f}" if gb_per_s else "-"


def banner(rows: Iterable[tuple[str, str]]) -> Table:
    """A table of names and values in two columns."""
    result = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    result.add_column(style="dim", no_wrap=True)
    result.add_column(overflow="fold")
    for row in rows:
        result.add_row(*row)
    return result


def show_counts(counts: Sequence[int]) -> str:
    return "(" + " x ".join(str(n) for n in counts) + ")"


def show_extent(extent: Sequence[int]) -> str:
    """An extent as text: `512^3`, `128^2` or `720 x 484 x 700`."""
    sides = list(extent[:2]) if len(extent) == 3 and extent[2] == 1 else list(extent)
    if len(set(sides)) == 1 and len(sides) > 1:
        return f"{sides[0]}^{len(sides)}"
    return " x ".join(str(n) for n in sides)
