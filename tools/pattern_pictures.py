"""Draws the three patterns of docs/exchange.md: a halo, a gather-scatter and a transpose.

Usage: python tools/pattern_pictures.py docs/images
"""

import sys
from collections.abc import Iterator
from pathlib import Path

#: Colours of the devices: for filling, then for lines.
FILLS = ("#cfe2fb", "#fde0bd", "#d6efd8", "#e6dcf5")
LINES = ("#1f5fa8", "#a85a08", "#4c8c50", "#6b46a8")
PAPER, INK, GREY = "#ffffff", "#1f2328", "#57606a"
#: Side of a cell, and side of a tile of a transpose, in units of the SVG.
CELL, TILE = 26, 44

HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"
     aria-labelledby="title">
  <title id="title">{title}</title>
  <defs>
    <marker id="tip" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" refX="9" refY="5" orient="auto">
      <path d="M0 0 L10 5 L0 10 z" fill="{grey}"/>
    </marker>
  </defs>
  <rect width="{width}" height="{height}" fill="{paper}"/>
"""


def rectangle(x: float, y: float, width: float, height: float, fill: str, line: str = INK, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" stroke="{line}"{dashed}/>'


def words(x: float, y: float, text: str) -> str:
    font = 'font-family="Helvetica, Arial, sans-serif" font-size="13" text-anchor="middle"'
    return f'<text x="{x:g}" y="{y:g}" {font} fill="{INK}">{text}</text>'


def arrow(x0: float, y0: float, x1: float, y1: float, bend: float = 0.0, colour: str = GREY) -> str:
    """SVG text of an arrow with its tip at the second point; `bend`: height of its middle above the straight line."""
    middle = f"{(x0 + x1) / 2:g} {(y0 + y1) / 2 - 2 * bend:g}"
    path = f"M{x0:g} {y0:g} Q{middle} {x1:g} {y1:g}"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5" marker-end="url(#tip)"/>'


def picture(title: str, width: int, height: int, parts: Iterator[str]) -> str:
    head = HEAD.format(title=title, width=width, height=height, grey=GREY, paper=PAPER)
    return head + "".join(f"  {part}\n" for part in parts) + "</svg>\n"


def halo() -> Iterator[str]:
    """SVG lines of a halo exchange: two blocks of 5 x 4 cells with a ghost layer; arrows show the sources of the ghosts
    between them."""
    nx, ny, top = 5, 4, 62
    lefts = (60, 60 + (nx + 5) * CELL)
    for device, left in enumerate(lefts):
        other = 1 - device
        facing, ghost = (nx - 1, nx) if device == 0 else (0, -1)
        for j in range(-1, ny + 1):
            for i in range(-1, nx + 1):
                inside = 0 <= i < nx and 0 <= j < ny
                from_other = i == ghost and 0 <= j < ny
                fill = FILLS[other] if from_other else FILLS[device] if inside and i == facing else PAPER
                at = (left + i * CELL, top + j * CELL, CELL, CELL)
                yield rectangle(*at, fill, LINES[device] if inside else "#afb8c1", "" if inside else "3 2")
        yield words(left + nx * CELL / 2, top - CELL - 14, f"device {device}")
    row = [top + (j + 0.5) * CELL for j in range(ny)]
    yield arrow(lefts[0] + (nx - 0.5) * CELL, row[0], lefts[1] - 0.5 * CELL, row[0], 16, LINES[0])
    yield arrow(lefts[1] + 0.5 * CELL, row[3], lefts[0] + (nx + 0.5) * CELL, row[3], -16, LINES[1])
    yield words((lefts[0] + lefts[1] + nx * CELL) / 2, top + (ny + 1) * CELL + 26,
                "the cells at a cut fill the neighbour's ghosts (dashed)")  # fmt: skip


def gather_scatter() -> Iterator[str]:
    """SVG lines of a gather-scatter: four elements of 3 x 3 points on two devices; lines join the copies of a point."""
    side, gap, left, top = 96, 44, 70, 48
    step = side + gap

    def place(ex: int, ey: int, i: int, j: int) -> tuple[float, float]:
        return left + ex * step + i * side / 2, top + ey * step + j * side / 2

    for ey in range(2):
        for ex in range(2):
            yield rectangle(*place(ex, ey, 0, 0), side, side, FILLS[ex], LINES[ex])
    copies: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for ey in range(2):
        for ex in range(2):
            for j in range(3):
                for i in range(3):
                    copies.setdefault((2 * ex + i, 2 * ey + j), []).append(place(ex, ey, i, j))
    for points in copies.values():
        if len(points) > 1:
            # The four copies of a corner are joined by a loop, two copies by a line.
            order = [points[n] for n in (0, 1, 3, 2, 0)] if len(points) == 4 else points
            path = " L".join(f"{x:g} {y:g}" for x, y in order)
            yield f'<path d="M{path}" fill="none" stroke="{GREY}" stroke-width="2"/>'
    for points in copies.values():
        for x, y in points:
            yield f'<circle cx="{x:g}" cy="{y:g}" r="5" fill="{INK if len(points) > 1 else PAPER}" stroke="{INK}"/>'
    for device in range(2):
        yield words(left + device * step + side / 2, top - 22, f"device {device}")
    yield words(left + step - gap / 2, top + 2 * step - gap + 32, "copies of a point (joined) all become their sum")


def transpose() -> Iterator[str]:
    """SVG lines of a transpose: slabs of four devices along one axis become slabs along the other; a tile keeps the
    colour of its sender."""
    count, top = 4, 48
    lefts = (84, 84 + (count + 4) * TILE)
    size = count * TILE
    for row in range(count):
        for column in range(count):
            for left in lefts:
                at = (left + column * TILE, top + row * TILE)
                yield rectangle(*at, TILE, TILE, FILLS[row], "#d0d7de")
    for device in range(count):
        yield rectangle(lefts[0], top + device * TILE, size, TILE, "none", INK)
        yield rectangle(lefts[1] + device * TILE, top, TILE, size, "none", INK)
        yield words(lefts[0] - 38, top + (device + 0.5) * TILE + 4, f"device {device}")
        yield words(lefts[1] + (device + 0.5) * TILE, top + size + 18, str(device))
    yield arrow(lefts[0] + size + 16, top + size / 2, lefts[1] - 16, top + size / 2)
    yield words(lefts[0] + size / 2, top - 18, "whole lines along x")
    yield words(lefts[1] + size / 2, top - 18, "whole lines along y")
    yield words((lefts[0] + lefts[1] + size) / 2, top + size + 46, "every device sends a tile to every other")


PICTURES = {
    "halo": ("Two blocks side by side: their outer cells fill the other's ghosts", 500, 250, halo),
    "gather_scatter": ("Four elements: the copies of a point on their faces are joined", 376, 330, gather_scatter),
    "transpose": ("Slabs along one axis become slabs along another", 640, 290, transpose),
}


def draw(folder: Path) -> list[Path]:
    written = []
    for name, (title, width, height, parts) in PICTURES.items():
        written.append(folder / f"pattern_{name}.svg")
        written[-1].write_text(picture(title, width, height, parts()), encoding="utf-8")
    return written


if __name__ == "__main__":
    for path in draw(Path(sys.argv[1])):
        print(path)
