"""`slipstream compare`: one vortex by several solvers."""

import csv
from pathlib import Path

import pytest
from conftest import ROOT, Cli, command, is_one_error
from errors import is_error
from slipstream.base import registry

SHORT = ("--cells", "40", "--time", "0.5")


def table(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "comparison.csv").open(encoding="utf-8") as file:
        return {row["solver"]: row for row in csv.DictReader(file)}


def test_all_solvers_that_have_the_vortex_follow_the_published_decay(here: Cli, tmp_path: Path) -> None:
    result = here("compare", *SHORT)
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "results" / "compare"
    found = table(folder)
    assert list(found) == list(registry.VORTICES)
    assert float(found["dns"]["dissipation_error"]) < 0.02
    assert float(found["sem"]["dissipation_error"]) < 0.02
    # The bound of the dissipation error is loose for lattice Boltzmann: its initial sound waves have not decayed yet.
    assert float(found["lbm"]["dissipation_error"]) < 0.3
    for row in found.values():
        assert float(row["largest_energy_error"]) < 1e-3 and float(row["seconds"]) > 0
    assert (folder / "comparison.png").stat().st_size > 5000
    again = here("compare", *SHORT)
    is_error(again, "wrong_state", key="output.folder")


def test_one_solver_on_two_ranks_with_a_key_of_its_own(tmp_path: Path) -> None:
    words = ("--solvers", "dns", "--cells", "16", "--time", "0.4", "-o", "here", "dns.scheme=rk2", "lbm.precision=f64")
    result = command(tmp_path, "compare", *words, "-n", "2")
    assert result.returncode == 0, result.stderr
    assert list(table(tmp_path / "here")) == ["dns"]
    assert 'scheme = "rk2"' in (tmp_path / "here" / "dns" / "case.resolved.toml").read_text()


def test_single_precision_follows_double(here: Cli, tmp_path: Path) -> None:
    # The grid is too coarse for the turbulence that develops, but the rounding error must stay below 1e-3.
    words = ("--solvers", "dns", "--precisions", "f64", "f32", "--cells", "24", "--time", "6", "dns.time_step=0.1")
    result = here("compare", *words, "run.check_every=2")
    assert result.returncode == 0, result.stderr
    with (tmp_path / "results" / "compare" / "comparison.csv").open(encoding="utf-8") as file:
        double, single = csv.DictReader(file)
    assert (double["precision"], single["precision"]) == ("f64", "f32")
    assert float(double["from_first"]) == 0
    assert 0 < float(single["from_first"]) < 1e-3


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        (["--cells", "24"], "invalid_argument", {"key": "--cells", "given": 24, "allowed": ">= 40"}),
        (["--cells", "4", "--solvers", "dns"], "invalid_argument", {"key": "--cells", "given": 4, "allowed": ">= 8"}),
        (["--cells", "11", "--solvers", "sem"], "invalid_argument", {"key": "--cells", "given": 11}),
        (["--time", "-1"], "invalid_argument", {"key": "--time", "given": -1, "allowed": "> 0"}),
        (["dns.time_stop=1"], "not_found", {"key": "dns.time_stop", "nearest": "time_step"}),
    ],
)
def test_bad_words_are_one_error_and_leave_nothing(
    here: Cli, tmp_path: Path, words: list[str], code: str, facts: dict[str, object]
) -> None:
    is_one_error(here("compare", *words), tmp_path, code, **facts)


@pytest.mark.parametrize("words", [["--solvers", "stencil"], ["--precisions", "f16"]])
def test_word_that_no_option_takes_is_one_error_and_leaves_nothing(here: Cli, tmp_path: Path, words: list[str]) -> None:
    result = here("compare", *words)
    assert result.returncode == 2 and result.stderr.count("error:") == 1
    assert all(word in result.stderr for word in words) and not (tmp_path / "results").exists()


def test_the_published_data_name_their_source() -> None:
    text = (ROOT / "python/slipstream/flow/reference/taylor_green1600.csv").read_text(encoding="utf-8")
    assert "doi:10.1002/fld.3767" in text
