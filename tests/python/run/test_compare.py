"""Sampling, extrema and reference data."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.base.terminal import banner, console, table
from slipstream.case.reader import load
from slipstream.flow import profiles, reference
from slipstream.lbm.case import LbmCase
from slipstream.lbm.report import comparison
from slipstream.pictures import overview


def centres(n: int) -> np.ndarray:
    return np.concatenate([[0.0], (np.arange(n) + 0.5) / n, [1.0]])


def cubic(x: np.ndarray) -> np.ndarray:
    return 0.3 - 2.0 * x + 5.0 * x**2 - 4.0 * x**3


class Flow:
    """Imitates a solver whose velocity is a formula at cell centres, for a reference velocity of 0.1."""

    def __init__(self, cells: tuple[int, int, int]) -> None:
        z, y, x = np.meshgrid(*((np.arange(n) + 0.5) / n for n in reversed(cells)), indexing="ij")
        across = cubic(z) / cubic(np.array(0.5)) if cells[2] > 1 else 1.0
        self.field = 0.1 * np.stack([cubic(y) * across, cubic(x) * across, z - 0.5], axis=-1)
        self.flags = np.zeros(x.shape, dtype=np.uint8)

    def gather(self, field: str, low: tuple[int, int, int], high: tuple[int, int, int]) -> np.ndarray:
        values = {"velocity": self.field, "flags": self.flags}[field]
        return values[low[2] : high[2], low[1] : high[1], low[0] : high[0]]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 64])
def test_interpolation_is_exact_for_cubics(n: int) -> None:
    at = np.linspace(0, 1, 41)
    nodes = centres(n)
    assert profiles.interpolate(nodes, cubic(nodes), at) == pytest.approx(cubic(at), abs=1e-11)


def test_interpolation_returns_the_values_at_the_nodes() -> None:
    nodes, values = centres(7), np.random.default_rng(1).random(9)
    assert profiles.interpolate(nodes, values, nodes) == pytest.approx(values)


def test_interpolation_is_of_fourth_order() -> None:
    at = np.linspace(0, 1, 333)
    errors = [
        np.abs(profiles.interpolate(centres(n), np.sin(3 * centres(n)), at) - np.sin(3 * at)).max() for n in (16, 32)
    ]
    assert errors[0] / errors[1] > 12


@pytest.mark.parametrize("cells", [5, 6, 16, 17])
def test_weights_across_the_line_are_exact_for_cubics_at_one_half(cells: int) -> None:
    low, high, weights = profiles.middle(cells)
    x = (np.arange(low, high) + 0.5) / cells
    assert weights @ cubic(x) == pytest.approx(cubic(np.array(0.5)))


def test_extrema_of_a_cubic_are_exact() -> None:
    nodes = centres(9)
    value, place = profiles.extremum(nodes, cubic(nodes), -1)
    roots = np.roots([-12.0, 10.0, -2.0])
    assert place == pytest.approx(1.0) or place == pytest.approx(min(roots))
    assert value == pytest.approx(min(cubic(np.array([*roots, 0.0, 1.0]))))


def test_extremum_between_nodes_is_found() -> None:
    nodes = centres(8)
    value, place = profiles.extremum(nodes, -((nodes - 0.43) ** 2), 1)
    assert (value, place) == (pytest.approx(0.0, abs=1e-14), pytest.approx(0.43))


@pytest.mark.parametrize("cells", [(16, 16, 16), (15, 17, 8), (8, 12, 5)])
def test_profiles_are_exact_for_cubics_across_and_along(small: Path, cells: tuple[int, int, int]) -> None:
    case = load(small, [f"grid.cells={list(cells)}"])
    lines = profiles.profiles(Flow(cells), case)
    assert lines is not None
    vertical, horizontal = lines
    assert vertical.velocity[1:-1, 0] == pytest.approx(cubic(vertical.place[1:-1]))
    assert horizontal.velocity[1:-1, 1] == pytest.approx(cubic(horizontal.place[1:-1]))


def test_profiles_end_on_the_walls(small: Path) -> None:
    lines = profiles.profiles(Flow((16, 16, 16)), load(small))
    assert lines is not None
    assert lines[0].velocity[0].tolist() == [0, 0, 0]
    assert lines[0].velocity[-1].tolist() == [1, 0, 0]
    assert lines[1].velocity[[0, -1]].tolist() == [[0, 0, 0], [0, 0, 0]]


def test_profiles_close_on_themselves_along_a_periodic_axis(small: Path) -> None:
    case = load(small, ["grid.periodic=[true, false, false]"])
    flow = Flow((16, 16, 16))
    flow.field[..., 1] = 0.1 * np.sin(2 * np.pi * (np.arange(16) + 0.5) / 16 + 0.3)
    lines = profiles.profiles(flow, case)
    assert lines is not None
    assert lines[1].velocity[[0, -1], 1] == pytest.approx(np.sin(0.3), abs=1e-3)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_profiles_of_a_short_periodic_axis_close_on_themselves(small: Path, count: int) -> None:
    cells = (count, 16, 16)
    lines = profiles.profiles(
        Flow(cells), load(small, [f"grid.cells={list(cells)}", "grid.periodic=[true,false,false]"])
    )
    assert lines is not None
    values = lines[1].velocity
    assert len(values) == count + 2 and (values[0] == values[-1]).all()
    if count == 1:
        assert values[:, 0] == pytest.approx(values[1, 0])
    # Extrema of the velocity profiles must be found even for so few points.
    profiles.compare(lines, None)


# The profile's line runs between cells 7 and 8. Solid cells cover both layers next to it, one of them, or none.
@pytest.mark.parametrize(("high", "is_solid"), [(10, True), (8, True), (7, False)])
def test_profiles_leave_solid_cells_out(small: Path, tmp_path: Path, high: int, is_solid: bool) -> None:
    flow, case = Flow((16, 16, 16)), load(small, ["grid.periodic=[false, true, false]", "walls={}"])
    flow.field[...] = 0.05
    flow.field[:, :4] = 0.04
    for y in (slice(6, 10), slice(15, 16)):
        flow.flags[6:10, y, 5:high] = 7
    flow.field[flow.flags != 0] = 0.0
    lines = profiles.profiles(flow, case)
    assert lines is not None
    u = lines[0].velocity[:, 0]
    assert np.flatnonzero(np.isnan(u)).tolist() == ([0, 7, 8, 9, 10, 16, 17] if is_solid else [])
    assert u[1:-1][np.isfinite(u[1:-1])] == pytest.approx(np.array([0.4] * 4 + [0.5] * (7 if is_solid else 12)))
    fine = profiles.interpolate(lines[0].place, u, np.linspace(0.0, 1.0, 401))
    assert np.isnan(fine[150:250]).all() == is_solid == np.isnan(fine).any()
    profiles.write_profiles(tmp_path / "profiles.csv", lines, case)
    again, _ = profiles.read_profiles(tmp_path / "profiles.csv", case)
    assert np.array_equal(np.isnan(again.velocity), np.isnan(lines[0].velocity))
    overview.profiles(tmp_path / "profiles.png", lines, None, case)


def test_line_in_a_body_has_no_extrema(small: Path) -> None:
    flow, case = Flow((16, 16, 16)), load(small, ["grid.periodic=[false, true, false]", "walls={}"])
    flow.flags[:, :, 6:10] = 7
    lines = profiles.profiles(flow, case)
    assert lines is not None and np.isnan(lines[0].velocity).all()
    assert [entry.name for entry in profiles.compare(lines, None).extrema] == ["v_min", "v_max"]


@pytest.mark.parametrize("cells", [(4, 4, 6), (4, 4, 5), (4, 4, 2)])
def test_mid_plane_leaves_solid_cells_out(small: Path, cells: tuple[int, int, int]) -> None:
    flow, case = Flow(cells), load(small, [f"grid.cells={list(cells)}"])
    free = profiles.mid_plane(flow, case)
    flow.field[...] = 0.05
    flow.flags[:, :, 0] = flow.flags[: cells[2] // 2, :, 1] = 7
    flow.field[flow.flags != 0] = 0.0
    plane = profiles.mid_plane(flow, case)
    assert free is not None and plane is not None and not np.ma.getmaskarray(free).any()
    solid = np.ma.getmaskarray(plane)[..., 0]
    # The middle between a solid and a fluid layer is on the wall.
    assert solid[:, 0].all() and solid[:, 1].all() == (cells[2] % 2 == 0) and not solid[:, 2:].any()
    assert plane.compressed() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("solid", "where"),
    [((slice(None), 2, 2), "z"), ((0, slice(None), 1), "y"), ((0, 0, slice(None)), "x"), ((2, 0, 0), "z=2")],
)
def test_plane_that_is_shown_cuts_the_body(small: Path, solid: tuple[Any, ...], where: str) -> None:
    ball = ["bodies.ball={shape='sphere', centre=[4,4,4], radius=2}", "grid.cells=[10,10,10]"]
    flow, case = Flow((10, 10, 10)), load(small, ball)
    flow.flags[solid] = 7
    assert profiles.shown_plane(flow, case) == where
    plane = profiles.mid_plane(flow, case, where)
    assert plane is not None and np.ma.getmaskarray(plane).any()


@pytest.mark.parametrize(("normal", "axis"), [("x", 2), ("y", 1), ("z", 0)])
def test_mid_plane_lies_half_way_along_its_axis(small: Path, normal: str, axis: int) -> None:
    cells = (4, 6, 8)
    flow, case = Flow(cells), load(small, [f"grid.cells={list(cells)}"])
    place = (np.arange(cells[2 - axis]) + 0.5) / cells[2 - axis]
    flow.field[...] = 0.1 * place.reshape([-1 if n == axis else 1 for n in range(4)])
    plane = profiles.mid_plane(flow, case, normal)
    assert plane is not None and plane.shape == (*np.delete(cells[::-1], axis), 3)
    assert plane.compressed() == pytest.approx(0.5)


def test_text_is_printed_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("case", "rates [/s] and [bold]speed[/bold] in [m/s] :smile:")]
    out = console(0)
    out.print(banner(rows))
    out.print(table("[title]", ["", "[1/s]"], rows, left=2))
    out.print("out/run[a]/x[/y]", soft_wrap=True)
    said = capsys.readouterr().out
    assert said.count(rows[0][1]) == 2 and "[title]" in said and "[1/s]" in said and "out/run[a]/x[/y]" in said


def test_spanwise_velocity_of_a_symmetric_flow_is_zero(small: Path) -> None:
    assert profiles.spanwise(Flow((16, 16, 16)), load(small)) == pytest.approx(0.0, abs=1e-15)


def test_spanwise_velocity_of_a_lopsided_flow_is_not(small: Path) -> None:
    flow = Flow((16, 16, 16))
    flow.field[7, 3, 5, 2] += 0.01
    assert profiles.spanwise(flow, load(small)) == pytest.approx(0.05)


def test_spanwise_velocity_is_that_of_the_fluid_alone(small: Path) -> None:
    flow = Flow((16, 16, 16))
    flow.flags[7, 3, 5] = 7
    flow.field[7, 3, 5] = 0.0
    assert profiles.spanwise(flow, load(small)) == pytest.approx(0.5 / 16)
    flow.flags[7:9] = 7
    spanwise = profiles.spanwise(flow, load(small))
    assert spanwise is not None and np.isnan(spanwise)


@pytest.mark.parametrize(
    ("dimension", "reynolds", "name", "points"),
    [
        (2, 100, "ghia1982", 34),
        (2, 400, "ghia1982", 33),
        (2, 1000, "botella1998", 34),
        (3, 1000, "albensoeder2005", 34),
    ],
)
def test_best_reference_is_found(dimension: int, reynolds: float, name: str, points: int) -> None:
    found = reference.best(dimension, reynolds)
    assert found is not None
    assert found.name == name and "doi:" in found.citation
    assert sum(len(line.place) for line in found.lines) == points
    for line in found.lines:
        assert (line.place[0], line.place[-1]) == (0, 1)
        assert np.all(np.diff(line.place) > 0)


def test_misprint_of_ghia_is_left_out() -> None:
    assert 0.9063 not in reference.load("ghia1982", 400).lines[1].place
    assert 0.9063 in reference.load("ghia1982", 100).lines[1].place


def test_there_is_no_reference_for_other_reynolds_numbers() -> None:
    assert reference.best(2, 250) is None
    with raises(CaseError, "not_found", given=250, allowed="100, 400, 1000"):
        reference.load("ghia1982", 250)


@pytest.mark.parametrize(
    ("override", "found"),
    [
        ("physics.reynolds=1000", True),
        ("physics.reynolds=999", False),
        ("grid.cells=[16,16,8]", False),
        ("grid.periodic=[false,false,true]", False),
        ('walls."y+".velocity=[0,0,1]', False),
        ('walls."y-".velocity=[1,0,0]', False),
    ],
)
def test_reference_belongs_to_the_cavity_only(small: Path, override: str, found: bool) -> None:
    case = load(small, ["physics.reynolds=1000", override])
    assert (profiles.reference_for(case) is not None) == found


def perfect(case: LbmCase) -> tuple[profiles.Profile, profiles.Profile]:
    """Profiles that pass through the reference points."""
    known = profiles.reference_for(case)
    assert known is not None
    zero = np.zeros_like(known.lines[0].value)
    u, v = (line.value for line in known.lines)
    return (
        profiles.Profile("y", known.lines[0].place, np.stack([u, zero, zero], axis=1)),
        profiles.Profile("x", known.lines[1].place, np.stack([zero, v, zero], axis=1)),
    )


def test_error_is_in_percent_of_the_reference_velocity(small: Path) -> None:
    case = load(small, ["physics.reynolds=1000"])
    lines = perfect(case)
    assert profiles.compare(lines, profiles.reference_for(case)).largest_percent == pytest.approx(0.0)
    lines[0].velocity[5, 0] -= 0.02
    result = profiles.compare(lines, profiles.reference_for(case))
    assert result.largest_percent == pytest.approx(2.0)
    assert sorted(point.error_percent for point in result.points)[0] == pytest.approx(-2.0)


def test_extrema_are_compared_where_published(small: Path) -> None:
    case = load(small, ["physics.reynolds=1000"])
    by_name = {entry.name: entry for entry in profiles.compare(perfect(case), profiles.reference_for(case)).extrema}
    assert by_name["u_min"].reference == -0.2803833
    # The extremum has a tolerance, because the points of the published table are too coarse for the exact one.
    assert abs(by_name["u_min"].error_percent or 100) < 3


def test_results_are_written_for_people_and_programs(small: Path, tmp_path: Path) -> None:
    case = load(small, ["physics.reynolds=1000"])
    lines, known = perfect(case), profiles.reference_for(case)
    result = profiles.compare(lines, known)
    profiles.write_profiles(tmp_path / "profiles.csv", lines, case)
    profiles.write_json(tmp_path / "comparison.json", result, {"steps": 7})
    table = np.genfromtxt(tmp_path / "profiles.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    assert table["u"][table["axis"] == "y"] == pytest.approx(lines[0].velocity[:, 0])
    written = json.loads((tmp_path / "comparison.json").read_text())
    assert written["run"] == {"steps": 7} and len(written["points"]) == 34
    for part in comparison(result):
        console(0).print(part)


def test_pictures_are_drawn(small: Path, tmp_path: Path) -> None:
    case = load(small, ["physics.reynolds=1000"])
    overview.profiles(tmp_path / "profiles.png", perfect(case), profiles.reference_for(case), case)
    plane = profiles.mid_plane(Flow((16, 16, 16)), case)
    assert plane is not None and plane.shape == (16, 16, 3)
    overview.streamlines(tmp_path / "streamlines.png", plane, case)
    for name in ("profiles.png", "streamlines.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
