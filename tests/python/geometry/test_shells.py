"""Bodies whose surface has several shells."""

from pathlib import Path

import numpy as np
import pytest
from conftest import Cli
from errors import is_error
from slipstream.geometry import shells

#: Shells: boxes as corners in cells, whether they face inwards, and the number of enclosed cells.
SHELLS: dict[str, tuple[list[tuple[tuple[int, int, int], tuple[int, int, int], bool]], int]] = {
    "one": ([((2, 2, 2), (6, 6, 6), False)], 0),
    "one that faces inwards": ([((2, 2, 2), (6, 6, 6), True)], 0),
    "overlap": ([((2, 2, 2), (6, 6, 6), False), ((4, 4, 4), (8, 8, 8), False)], 0),
    "overlap and face inwards": ([((2, 2, 2), (6, 6, 6), True), ((4, 4, 4), (8, 8, 8), True)], 0),
    "overlap and differ": ([((2, 2, 2), (6, 6, 6), False), ((4, 4, 4), (8, 8, 8), True)], 8),
    "the other differs": ([((2, 2, 2), (6, 6, 6), True), ((4, 4, 4), (8, 8, 8), False)], 8),
    "a cavity": ([((2, 2, 2), (8, 8, 8), False), ((4, 4, 4), (6, 6, 6), True)], 0),
    "apart": ([((1, 1, 1), (4, 4, 4), False), ((6, 6, 6), (9, 9, 9), True)], 0),
    "a cavity and one apart": (
        [((1, 1, 1), (5, 5, 5), False), ((2, 2, 2), (4, 4, 4), True), ((6, 6, 6), (9, 9, 9), True)],
        0,
    ),
    "a cavity beside an overlap": (
        [((1, 1, 1), (6, 6, 6), False), ((2, 2, 2), (3, 3, 3), True), ((4, 4, 4), (9, 9, 9), True)],
        8,
    ),
}
FACES = ((0, 2, 1, 3), (4, 5, 6, 7), (0, 1, 4, 5), (2, 6, 3, 7), (0, 4, 2, 6), (1, 3, 5, 7))


def obj(boxes: list[tuple[tuple[int, int, int], tuple[int, int, int], bool]]) -> str:
    lines: list[str] = []
    for n, (low, high, inwards) in enumerate(boxes):
        for k in range(8):
            corner = [(high if k >> axis & 1 else low)[axis] for axis in range(3)]
            lines.append(f"v {corner[0]} {corner[1]} {corner[2]}")
        for a, b, c, d in FACES:
            for face in ((a, b, c), (c, b, d)):
                numbers = [8 * n + k + 1 for k in (reversed(face) if inwards else face)]
                lines.append("f " + " ".join(map(str, numbers)))
    return "\n".join(lines) + "\n"


CASE = """
[grid]
cells = [10, 10, 10]
periodic = [true, true, true]
[physics]
viscosity = 0.1
reference_velocity = 0.01
length = 4
[bodies.two]
mesh = "two.obj"
[run]
steps = 1
[output]
fields = false
report = false
"""


@pytest.mark.parametrize("what", SHELLS)
def test_shells_that_overlap_and_face_opposite_ways_are_refused(cli: Cli, tmp_path: Path, what: str) -> None:
    boxes, both = SHELLS[what]
    (tmp_path / "two.obj").write_text(obj(boxes))
    (tmp_path / "two.toml").write_text(CASE)
    result = cli("run", "two.toml")
    if both:
        is_error(result, "unsupported", key="bodies.two", shells=len(boxes), cells=both)
    else:
        assert result.returncode == 0, result.stderr


def test_shells_of_a_strip_are_found_whatever_the_order_of_its_vertices() -> None:
    order = np.random.default_rng(1).permutation(60)
    strip = np.array([[n, n + 1, n + 2] for n in range(28)])
    triangles = np.concatenate([order[strip], order[strip + 30]])
    found = shells.labels(60, triangles)
    assert len(set(found[:28])) == len(set(found[28:])) == 1 and found[0] != found[-1]
