"""The tool that writes the car of the cases (tools/make_car.py)."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("make_car", ROOT / "tools" / "make_car.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_car_in_the_tree_is_what_the_tool_writes(tool, tmp_path):
    path = tmp_path / "car.obj"
    assert tool.main([str(path)]) == 0
    assert path.read_text() == (ROOT / "cases" / "car.obj").read_text()


def test_every_shell_is_closed_and_faces_outwards(tool):
    for name, (vertices, faces) in tool.car().items():
        edges = Counter((a, b) for face in faces for a, b in zip(face, face[1:] + face[:1], strict=True))
        assert all(count == 1 and edges[b, a] == 1 for (a, b), count in edges.items()), name
        assert signed_volume(vertices, faces) > 0, name


def test_the_car_stands_on_the_road_between_its_sides(tool):
    vertices = [vertex for points, _ in tool.car().values() for vertex in points]
    assert [min(axis) for axis in zip(*vertices, strict=True)] == pytest.approx([0, -0.9, 0], abs=0.01)
    assert [max(axis) for axis in zip(*vertices, strict=True)] == pytest.approx([4.2, 0.9, 1.39], abs=0.01)


def signed_volume(vertices, faces):
    volume = 0.0
    for face in faces:
        for i in range(1, len(face) - 1):
            (ax, ay, az), (bx, by, bz), (cx, cy, cz) = (vertices[corner] for corner in (face[0], face[i], face[i + 1]))
            volume += ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    return volume / 6
