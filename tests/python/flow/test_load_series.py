"""Loads over the time of a run: Strouhal numbers, spectra, tables and their picture, of swings that are known."""

import csv
from pathlib import Path

import numpy as np
import pytest
from conftest import CASES, Cli
from slipstream.case.reader import load
from slipstream.flow import load_series
from slipstream.flow.load_series import LoadSeries
from slipstream.lbm.case import LbmCase
from slipstream.pictures import overview

CYLINDER = ["grid.cells=[66,41,1]", "physics.length=10", "bodies.cylinder.centre=[20,20,0]",
            "bodies.cylinder.radius=5", "bodies.cylinder.area=10", "machine.backend=host"]  # fmt: skip


def swing(strouhal: float, lift: float = 0.3, rows: int = 200, until: float = 60.0) -> LoadSeries:
    """A load series with drag 1.5 and an oscillating lift, after a start that does not count."""
    time = np.linspace(0.0, until, rows)
    values = np.zeros((rows, 3))
    values[:, 0] = 1.5 + 5.0 * (time < 0.4 * until)
    values[:, 1] = lift * np.sin(2 * np.pi * strouhal * time)
    return LoadSeries("cylinder", True, time, values)


@pytest.mark.parametrize("strouhal", [0.17, 0.302, 0.61])
def test_strouhal_number_is_the_same_by_rises_and_by_the_spectrum(strouhal: float) -> None:
    one = swing(strouhal)
    assert one.strouhal() == pytest.approx(strouhal, rel=2e-3)
    found = one.spectrum()
    assert found is not None
    width = float(found.strouhal[1] - found.strouhal[0])
    assert abs(found.peak() - strouhal) <= width
    # A Hann window spreads a line over three frequencies, the largest of which holds at least 0.85 of it.
    assert 0.84 * 0.3 <= found.amplitude.max() <= 1.01 * 0.3


def test_steady_load_has_neither_strouhal_number_nor_spectrum() -> None:
    steady = swing(0.3, lift=1e-5)
    assert steady.strouhal() is None and steady.spectrum() is None


def test_rows_that_are_not_even_in_time_change_no_spectrum() -> None:
    one = swing(0.3, rows=400)
    kept = np.sort(np.random.default_rng(3).permutation(400)[:300])
    thinned = LoadSeries("cylinder", True, one.time[kept], one.values[kept])
    found = thinned.spectrum()
    assert found is not None and found.peak() == pytest.approx(0.3, abs=0.04)


def write_loads(path: Path, case: LbmCase, one: LoadSeries) -> None:
    """Writes loads as a run does, at the steps nearest to the times."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(
            ["step", "time", *(f"cylinder {what} {axis}" for what in ("force", "coefficient") for axis in "xyz")]
        )
        for time, values in zip(one.time, one.values, strict=True):
            step = round(time * case.scales.steps_per_time)
            rows.writerow([step, case.time_of(step), *(10 * values), *values])


def test_table_has_the_last_half_and_the_strouhal_number_of_what_swings(tmp_path: Path) -> None:
    case = load(CASES / "cylinder_2d2.toml", CYLINDER)
    assert isinstance(case, LbmCase)
    write_loads(tmp_path / "loads.csv", case, swing(0.3))
    columns, lines = load_series.table(load_series.read(tmp_path / "loads.csv", case), case)
    drag, lift = (dict(zip(columns, line, strict=True)) for line in lines)
    assert drag["load"] == "drag x, coefficient" and drag["mean"] == drag["largest"] == "1.5"
    assert drag["Strouhal number"] is None
    assert lift["load"] == "across y, coefficient" and float(str(lift["largest"])) == pytest.approx(0.3, rel=0.02)
    assert float(str(lift["Strouhal number"])) == pytest.approx(0.3, rel=2e-3)


@pytest.mark.parametrize("lift", [0.3, 0.0])
def test_picture_of_loads_is_drawn_with_and_without_a_swing(tmp_path: Path, lift: float) -> None:
    case = load(CASES / "cylinder_2d2.toml", CYLINDER)
    assert isinstance(case, LbmCase)
    overview.loads(tmp_path / "loads.png", [swing(0.3, lift)] * 5, case)
    assert (tmp_path / "loads.png").stat().st_size > 10_000


def test_loads_have_a_row_each_hundredth_of_the_run_unless_it_looks_more_often() -> None:
    def every(*words: str) -> int:
        case = load(CASES / "cylinder_2d2.toml", [*CYLINDER, *words])
        assert isinstance(case, LbmCase)
        return case.loads_every

    assert every("run.steps=5000", "run.check_every=500") == 50
    assert every("run.steps=5000", "run.check_every=30") == 30
    assert every("run.steps=5000", "run.check_every=30", "output.loads_every=200") == 200
    assert every("run.steps=7") == 1


def test_run_shows_loads_first_on_its_page(cli: Cli, tmp_path: Path) -> None:
    words = [*CYLINDER, "run.steps=400", "run.check_every=200", "output.pictures=true"]
    result = cli("run", str(CASES / "cylinder_2d2.toml"), *words)
    assert result.returncode == 0, result.stderr
    assert "loads on bodies over the last half of the run" in result.stdout
    folder = tmp_path / "results" / "cylinder_2d2"
    with (folder / "loads.csv").open() as file:
        assert [int(row["step"]) for row in csv.DictReader(file)] == list(range(4, 401, 4))
    assert (folder / "loads.png").exists()
    page = (folder / "report.html").read_text(encoding="utf-8")
    first = page.index("<h2>Results</h2>")
    assert first < page.index("drag x, coefficient") < page.index("<h2>Pictures</h2>")
    assert page.count("Loads on bodies, and the spectrum of what swings</figcaption>") == 1
    assert "drag coefficient of cylinder, mean" in page
