"""Tables that grow with a run."""

from pathlib import Path

from slipstream.base import rows
from slipstream.base.rows import Rows


def test_rows_after_the_step_of_a_restart_go_and_those_before_stay(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    first = Rows(path, -1)
    for step in (10, 20, 30):
        first.add({"step": step, "force": step / 3})
    again = Rows(path, 20)
    again.add({"step": 20, "force": 0.0})
    again.add({"step": 30, "force": 10.0})
    header, found = rows.read(path)
    assert header == ["step", "force"]
    assert found == [["10", str(10 / 3)], ["20", str(20 / 3)], ["30", "10.0"]]


def test_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("step,force\n10,1.5\n20,2.2", encoding="utf-8")
    Rows(path, 20).add({"step": 20, "force": 2.25})
    assert path.read_text() == "step,force\n10,1.5\n20,2.25\n"


def test_new_run_has_none_of_the_old_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("step,force\n10,1.5\n", encoding="utf-8")
    Rows(path, -1)
    assert not path.exists()
    assert rows.read(path) == ([], [])
