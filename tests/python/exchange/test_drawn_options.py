"""Random combinations of all options of Exchange, Transpose, GatherScatter and fft.Plan (drawing.py)."""

from pathlib import Path

import pytest
from conftest import ROOT
from ranks import run_on

PROGRAM = ROOT / "tests" / "python" / "drawing.py"


def check_draws(ranks: int, first: int, last: int, folder: Path) -> None:
    result = run_on(ranks, PROGRAM, str(first), str(last), str(folder))
    said = result.stdout.splitlines()
    assert result.returncode == 0, "\n".join([*said[-2:], result.stderr[-4000:]])
    assert sum(line.endswith("all are right or refused") for line in said) == ranks


def test_draws_are_right_or_refused(tmp_path: Path) -> None:
    check_draws(1, 0, 40, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_a_thousand_draws_are_right_or_refused(first: int, tmp_path: Path) -> None:
    check_draws(1, first, first + 250, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(1000, 1300, 100))
def test_draws_on_two_ranks_are_right_or_refused(first: int, tmp_path: Path) -> None:
    check_draws(2, first, first + 100, tmp_path)
