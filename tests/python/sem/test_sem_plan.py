"""Check and plan of a case of spectral elements."""

import re
from pathlib import Path

import pytest
from conftest import Cli
from sem_rig import POISSON, case


def test_check_and_plan_tell_of_the_case(here: Cli, tmp_path: Path) -> None:
    said = " ".join(here("check", case(tmp_path, POISSON)).stdout.split())
    assert (
        "Poisson's equation, spectral elements of order 4, f64" in said and "deformed by 0.05, stored factors" in said
    )
    said = " ".join(here("plan", "a.toml", "machine.devices_per_rank=2").stdout.split())
    assert "conjugate" in said and "gather-scatter" in said
    assert "largest grid that fits" in said and "were timed" in said


def test_plan_counts_the_vectors_of_chebyshevs_polynomial(here: Cli, tmp_path: Path) -> None:
    case(tmp_path, POISSON)

    def vectors(preconditioner: str) -> float:
        words = ("machine.devices_per_rank=2", "grid.cells=[12, 12, 8]", f"sem.preconditioner={preconditioner}")
        memory = here("plan", "a.toml", *words).stdout.split("memory of each device, MB")[1]
        (row,) = re.findall(r"^0 +(.*)$", memory, re.MULTILINE)
        return float(row.split()[4])

    assert vectors("chebyshev") == pytest.approx(1.25 * vectors("jacobi"), rel=0.1), "five where there are four"
