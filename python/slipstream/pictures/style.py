"""Common style of pictures: fonts, titles, and saving without a display."""

import textwrap
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from slipstream.base.files import replaced
from slipstream.base.terminal import show_extent
from slipstream.case.case import Case
from slipstream.case.solver import solver_of

BLUE, RED = "#1f5fa8", "#c8442e"
Colour = tuple[float, float, float, float]  #: four shares from 0 to 1: red, green, blue and opacity


def styled(grid: bool = True) -> AbstractContextManager[None]:
    """Context in which figures get the common style."""
    return plt.rc_context(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            "axes.grid": grid,
            "grid.color": "0.92",
            "legend.frameon": False,
            "figure.dpi": 160,
        }
    )


@contextmanager
def drawn(path: Path, width: float, height: float, grid: bool = True, **panels: Any) -> Iterator[tuple[Figure, Any]]:
    """A figure in the common style with its axes, which is saved when the block has drawn it. `panels`: arguments of
    Matplotlib's subplots."""
    with styled(grid):
        figure, axes = plt.subplots(figsize=(width, height), layout="constrained", **panels)
        yield figure, axes
        save(figure, path)


def colours(name: str) -> list[Colour]:
    """Colours of a Matplotlib colour map."""
    found = matplotlib.colormaps[name]
    return [found(n) for n in range(found.N)]


def case_title(case: Case) -> str:
    """Title of a picture: the name of the case and the method. Draw it with parse_math=False, because a dollar in a
    case's text is no formula."""
    cells = show_extent(case.grid.cells).replace("^2", "²").replace("^3", "³")
    what = case.case.description.rstrip(".") or case.case.name
    return f"{what}, {cells}, {solver_of(case).title(case)}"


def heading(case: Case, inches: float, size: float) -> str:
    """Title of the case, broken into lines of a given width. A letter is taken to be half as wide as the font is
    high."""
    return textwrap.fill(case_title(case), max(24, int(inches * 72 / (0.52 * size))), break_long_words=False)


def headed(figure: Figure, case: Case, below: str = "", size: float = 12) -> None:
    """Puts the title of the case over a whole figure, in lines that fit it, with another line below."""
    lines = [heading(case, figure.get_figwidth(), size), *([below] if below else [])]
    figure.suptitle("\n".join(lines), fontsize=size, parse_math=False)


def save(figure: Figure, path: Path) -> None:
    with replaced(path) as new:
        figure.savefig(new, format=path.suffix.lstrip(".").lower() or None)
    plt.close(figure)
