"""Tables that grow during a run."""

import errno
from pathlib import Path

import pytest
from errors import raises
from slipstream.base import rows
from slipstream.base.errors import CaseError
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


def test_rows_that_cannot_be_written_anew_are_named_and_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    path.write_text("step,value\n1,2\n3,4\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with raises(CaseError, "io", file=path, errno="ENOSPC"):
        rows.Rows(path, 1)
    assert [*tmp_path.iterdir()] == [path] and path.read_text().endswith("3,4\n")


def test_row_of_an_end_between_two_looks_goes_with_the_next_one(tmp_path: Path) -> None:
    for last, every, kept in ((25, 10, False), (25, 5, True), (20, 10, True)):
        path = tmp_path / f"{last}_{every}.csv"
        first = Rows(path, -1)
        for step in (10, last):
            first.add({"step": step, "force": 1.0})
        again = Rows(path, last, every=every)
        assert len(rows.read(path)[1]) == 2
        again.add({"step": 30, "force": 2.0})
        steps = [int(row[0]) for row in rows.read(path)[1]]
        assert steps == ([10, last, 30] if kept else [10, 30])
