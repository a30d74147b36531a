"""Writes a simple car as an OBJ file: a body, a cabin and four wheels, as closed overlapping shells.

The car stands on z = 0, its front at x = 0 and its middle on y = 0; lengths are in metres. Body and cabin are surfaces
through rings of points: superellipses |y / a|^n + |z / b|^n = 1 across the x axis, closed by a polygon at each end.

Usage: python tools/make_car.py cases/car.obj
"""

import math
import sys
from pathlib import Path

POINTS = 28  # number of points per ring around the car's body
EXPONENT = 4.0  # exponent of the superellipse: 2 gives an ellipse, larger values approach a rectangle

# Rings around the car's body: x, half width, lower and upper end, in m.
BODY = [
    (0.00, 0.55, 0.28, 0.48),
    (0.06, 0.70, 0.22, 0.60),
    (0.20, 0.80, 0.19, 0.68),
    (0.60, 0.87, 0.18, 0.76),
    (1.20, 0.90, 0.18, 0.88),
    (2.20, 0.90, 0.18, 0.92),
    (3.20, 0.89, 0.18, 0.94),
    (3.90, 0.85, 0.20, 0.93),
    (4.15, 0.80, 0.26, 0.88),
    (4.20, 0.70, 0.34, 0.80),
]
CABIN = [
    (1.10, 0.70, 0.70, 0.84),
    (1.50, 0.69, 0.70, 1.10),
    (1.90, 0.66, 0.70, 1.32),
    (2.30, 0.64, 0.70, 1.39),
    (2.80, 0.63, 0.70, 1.38),
    (3.30, 0.61, 0.70, 1.28),
    (3.70, 0.60, 0.70, 1.10),
    (4.00, 0.58, 0.70, 0.90),
]
WHEEL_RADIUS, WHEEL_WIDTH, WHEEL_SIDES = 0.32, 0.21, 24
WHEELS = {
    "wheel front left": (0.85, 0.79),
    "wheel front right": (0.85, -0.79),
    "wheel rear left": (3.35, 0.79),
    "wheel rear right": (3.35, -0.79),
}

Point = tuple[float, float, float]
Shell = tuple[list[Point], list[list[int]]]


def ring(x: float, half_width: float, low: float, high: float) -> list[Point]:
    """Points of a ring around the x axis, from y to z: counter-clockwise when seen from larger x."""
    points = []
    for i in range(POINTS):
        angle = 2 * math.pi * (i + 0.5) / POINTS
        across, up = (
            math.copysign(abs(value) ** (2 / EXPONENT), value) for value in (math.cos(angle), math.sin(angle))
        )
        points.append((x, half_width * across, (high + low) / 2 + (high - low) / 2 * up))
    return points


def skin(rings: list[list[Point]]) -> Shell:
    """The closed surface through consecutive rings along x, with outward faces."""
    count = len(rings[0])
    faces = [list(range(count - 1, -1, -1))]
    for r in range(len(rings) - 1):
        for i in range(count):
            here, there = r * count + i, r * count + (i + 1) % count
            faces.append([here, there, there + count, here + count])
    faces.append([(len(rings) - 1) * count + i for i in range(count)])
    return [point for points in rings for point in points], faces


def wheel(x: float, y: float) -> Shell:
    """Surface of a wheel: a cylinder along y that stands on the road."""
    angles = [2 * math.pi * i / WHEEL_SIDES for i in range(WHEEL_SIDES)]
    # The points of the circle run from z to x around the y axis. Rings of the body run from y to z around x, which is
    # the same sense of rotation, so that faces point outwards.
    circle = [(WHEEL_RADIUS * math.cos(a), WHEEL_RADIUS * math.sin(a)) for a in angles]
    return skin(
        [[(x + right, y + side * WHEEL_WIDTH / 2, WHEEL_RADIUS + up) for up, right in circle] for side in (-1, 1)]
    )


def car() -> dict[str, Shell]:
    """The closed surfaces of the car's body and wheels, by name."""
    shells = {"body": skin([ring(*station) for station in BODY]), "cabin": skin([ring(*station) for station in CABIN])}
    return shells | {name: wheel(*place) for name, place in WHEELS.items()}


def obj_text(shells: dict[str, Shell]) -> str:
    """Text of an OBJ file with one object per surface; vertices are numbered from 1 through the whole file."""
    lines = ["# A car of simple shape, made by tools/make_car.py; metres, front at x = 0, road at z = 0."]
    known = 1
    for name, (vertices, faces) in shells.items():
        lines.append(f"o {name}")
        lines += ["v " + " ".join(f"{value:.5g}" for value in vertex) for vertex in vertices]
        lines += ["f " + " ".join(str(known + corner) for corner in face) for face in faces]
        known += len(vertices)
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    Path(arguments[0]).write_text(obj_text(car()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
