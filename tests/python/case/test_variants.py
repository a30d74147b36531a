"""Variants of a case: overrides, their order, and the location of errors."""

import tomllib
from pathlib import Path

import pytest
from conftest import CASES, SMALL, Cli
from errors import is_error, raises
from slipstream.base.errors import CaseError
from slipstream.case.reader import check_variants, load, schema, variant_names
from slipstream.lbm.case import LbmCase

VARIANTS = (
    SMALL
    + """
[bodies.ball]
shape = "sphere"
centre = [8, 8, 8]
radius = 3

[expected]
"ball.x.last" = [1, 2]
"ball.y.last" = [0, 1]

[variants.fine]
grid.cells = [32, 32, 32]
bodies.ball.centre = [16, 16, 16]
bodies.ball.radius = 6
expected."ball.x.last" = [1.4, 1.6]

[variants.long.run]
steps = 80

[variants.still]
expected = {}
case.name = "calm"
"""
)


@pytest.fixture
def varied(tmp_path: Path) -> Path:
    path = tmp_path / "varied.toml"
    path.write_text(VARIANTS)
    return path


def with_line(path: Path, line: str, table: str = "[variants.fine]") -> Path:
    """The case file with one more line in a table."""
    path.write_text(VARIANTS.replace(table, f"{table}\n{line}"))
    return path


def line_of(path: Path, text: str) -> int:
    return path.read_text().splitlines().index(text) + 1


@pytest.mark.parametrize(
    ("path", "name"), [(path, name) for path in sorted(CASES.glob("*.toml")) for name in variant_names(path)]
)
def test_shipped_variant_is_good(path: Path, name: str) -> None:
    load(path, variant=name)


def test_case_without_a_variant_is_as_it_was(varied: Path) -> None:
    case = load(varied)
    assert (case.grid.cells, case.bodies["ball"].radius, case.case.name) == ((16, 16, 16), 3, "small")


def test_variant_replaces_keys_and_leaves_their_neighbours(varied: Path) -> None:
    case = load(varied, variant="fine")
    assert (case.grid.cells, case.bodies["ball"].radius) == ((32, 32, 32), 6)
    assert (case.bodies["ball"].shape, case.run.steps) == ("sphere", 40)


def test_what_is_expected_is_replaced_as_a_whole(varied: Path) -> None:
    assert load(varied, variant="fine").expected == {"ball.x.last": (1.4, 1.6)}
    assert len(load(varied, variant="long").expected) == 2
    assert load(varied, variant="still").expected == {}


def test_overrides_come_after_the_variant(varied: Path) -> None:
    assert load(varied, ["grid.cells=[24, 24, 24]", "run.steps=9"], variant="fine").grid.cells == (24, 24, 24)


def test_variant_has_a_name_and_a_folder_of_its_own(varied: Path) -> None:
    assert str(load(varied, variant="fine").folder) == "results/small_fine"
    assert load(varied, variant="still").case.name == "calm"


def test_resolved_variant_reads_back_equal(varied: Path, tmp_path: Path) -> None:
    resolved = load(varied, variant="fine").resolved("host")
    copy = tmp_path / "copy.toml"
    copy.write_text(resolved.to_toml())
    assert load(copy) == resolved and variant_names(copy) == []


def test_unknown_variant_is_refused_with_those_there_are(varied: Path, small: Path) -> None:
    with raises(CaseError, "not_found", file=varied, given="fin", allowed="fine, long, still"):
        load(varied, variant="fin")
    with raises(CaseError, "not_found", file=small, given="fine", allowed=""):
        load(small, variant="fine")


@pytest.mark.parametrize(
    ("line", "code", "facts"),
    [
        ("grid.periodic = 3", "invalid_argument", {"key": "grid.periodic"}),
        ("lbm.precison = 'f64'", "not_found", {"key": "lbm.precison", "nearest": "precision"}),
        ("lmb.precision = 'f64'", "not_found", {"key": "lmb", "nearest": "lbm"}),
        ("lbm.lattice = 'D2Q9'", "unsupported", {"key": "grid.cells", "other": "lbm.lattice"}),
        ("walls.'y+'.velocity = [0, 1, 0]", "invalid_argument", {"key": "walls.y+.velocity", "axis": "y"}),
    ],
)
def test_fault_of_a_variant_is_said_with_its_place(varied: Path, line: str, code: str, facts: dict[str, str]) -> None:
    path = with_line(varied, line)
    place = "grid.cells = [32, 32, 32]" if facts["key"] == "grid.cells" else line
    with raises(CaseError, code, **facts, variant="fine", file=path, line=line_of(path, place)):
        load(path, variant="fine")
    load(path)


def test_fault_that_a_variant_brings_into_the_case_names_the_variant(varied: Path) -> None:
    path = with_line(varied, 'lbm.lattice = "D2Q9"', "[variants.still]")
    line = line_of(path, "cells = [16, 16, 16]")
    with raises(CaseError, "unsupported", key="grid.cells", file=path, line=line, variant="still"):
        load(path, variant="still")


def test_fault_of_an_override_names_the_override(varied: Path) -> None:
    with raises(CaseError, "invalid_argument", override="grid.cells=[0,8,8]", key="grid.cells[0]", line=None):
        load(varied, ["grid.cells=[0,8,8]"], variant="fine")


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("variants = 3\n" + SMALL, 1, "variants"),
        (SMALL + "[variants]\nfine = 3\n", 17, "variants"),
        (SMALL + "[variants.'a b']\nrun.steps = 3\n", 17, "variants.a b"),
        (SMALL + "[variants.a]\nvariants.b = {}\n", 17, "variants.a.variants"),
    ],
)
def test_variants_that_are_none_are_refused(tmp_path: Path, text: str, line: int, key: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with raises(CaseError, "invalid_argument", key=key, file=path, line=line):
        load(path)


def test_override_of_a_variant_is_refused(varied: Path) -> None:
    with raises(CaseError, "invalid_argument", key="variants", override="variants.fine.run.steps=3"):
        load(varied, ["variants.fine.run.steps=3"], variant="fine")


def test_every_faulty_variant_is_reported_at_once(varied: Path) -> None:
    path = with_line(varied, "grid.cels = 1")
    path.write_text(path.read_text().replace("steps = 80", "steps = 0"))
    with pytest.raises(CaseError) as caught:
        check_variants(path)
    found = [(fault.facts["variant"], fault.facts["key"]) for fault in caught.value.faults]
    assert found == [("fine", "grid.cels"), ("long", "run.steps")]


def test_check_looks_at_all_variants(cli: Cli, varied: Path) -> None:
    assert "good, too: fine, long, still" in cli("check", "varied.toml").stdout
    with_line(varied, "grid.cels = 1")
    result = cli("check", "varied.toml")
    is_error(result, "not_found", variant="fine", key="grid.cels")
    assert cli("check", "varied.toml", "--variant", "long").returncode == 0


def test_run_writes_the_merged_case(cli: Cli, varied: Path, tmp_path: Path) -> None:
    result = cli("run", "varied.toml", "--variant", "long", "run.check_every=40", "output.pictures=false")
    assert result.returncode == 0, result.stderr
    resolved = tomllib.loads((tmp_path / "results" / "small_long" / "case.resolved.toml").read_text())
    assert resolved["run"]["steps"] == 80 and "variants" not in resolved


def test_variant_reaches_ranks_and_plans(cli: Cli, varied: Path) -> None:
    result = cli("plan", "varied.toml", "--variant", "fine", "machine.backend=host", "-n", "2")
    assert result.returncode == 0, result.stderr
    assert "0..32 0..32 0..16" in " ".join(result.stdout.split())


def test_schema_of_a_variant_has_the_keys_of_a_case_and_needs_none() -> None:
    described = schema()
    known, variant = described["$defs"], described["$defs"]["Variant"]
    assert set(variant["properties"]) == set(LbmCase.model_fields)
    assert "required" not in variant
    assert variant["properties"]["grid"] == {"$ref": "#/$defs/GridTableInVariant"}
    assert "required" in known["GridTable"] and "required" not in known["GridTableInVariant"]
    assert known["BoundariesTableInVariant"]["properties"]["x-"]["anyOf"][0] == {"$ref": "#/$defs/BoundaryInVariant"}
    assert variant["properties"]["lbm"]["$ref"] == "#/$defs/LbmTable"
