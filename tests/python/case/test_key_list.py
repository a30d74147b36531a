"""Keys of case files as `slipstream check --keys` lists them."""

from typing import Any, Literal, get_args, get_origin

import pytest
from conftest import Cli, words
from errors import is_error, raises
from slipstream.base.errors import CaseError
from slipstream.base.keys import Table
from slipstream.case import key_list

ALL = {table: path for path, _, table in key_list.listed("")}


def is_number(annotation: Any) -> bool:
    """Whether a value may be a number, or a list of numbers."""
    if get_origin(annotation) is Literal:
        return False
    return annotation in (int, float) or any(is_number(part) for part in get_args(annotation))


@pytest.mark.parametrize("table", ALL, ids=lambda table: f"{ALL[table]} {table.__module__}")
def test_every_key_that_is_a_number_has_a_unit_and_every_unit_a_key(table: type[Table]) -> None:
    listed = {row[0]: row for row in key_list.rows(table)}
    for name, field in table.model_fields.items():
        row = listed.get(field.alias or name)
        if row and is_number(field.annotation):
            assert row[2], f"{ALL[table]}.{row[0]}"
    named = {key for keys in table.in_units.values() for key in keys.split()}
    assert named <= table.model_fields.keys()


def test_all_tables_of_all_solvers_are_listed() -> None:
    assert {path for path, _, _ in key_list.listed("")} >= {
        "run", "output", "walls.SIDE", "boundaries.SIDE", "bodies.NAME", "lbm", "stencil", "dns", "sem",
        "sources.NAME", "sem.scalars.NAME.boundaries.SIDE",
    }  # fmt: skip


def test_keys_of_a_table_are_listed_with_values_unit_and_default() -> None:
    found = {path + " " + whose: key_list.rows(table) for path, whose, table in key_list.listed("output")}
    assert len(found) > 3
    rows = {row[0]: row for row in found["output [lbm]"]}
    assert rows["every"][1:4] == ("number > 0", "length / reference velocity", "the last only")
    assert rows["loads_every"][1:4] == ("integer >= 1", "steps", "a hundredth of the run, or run.check_every if less")
    assert rows["fields"][1:4] == ("true, false", "", "true")
    assert rows["loads_every"][4] == "Steps between rows of loads.csv"
    (_, _, grid), *others = key_list.listed("grid")
    assert not others and key_list.rows(grid)[0][:4] == ("cells", "3 x integer >= 1", "cells", "needed")


def test_tuples_of_any_length_are_lists() -> None:
    rows = {row[0]: row[1] for _, _, table in key_list.listed("dns") for row in key_list.rows(table)}
    assert rows["schmidt"] == "list of number > 0" and rows["gradients"] == "list of 3 x number"
    assert rows["lengths"] == "3 x number > 0"


def test_check_lists_tables_or_the_keys_of_one(here: Cli) -> None:
    result = here("check", "--keys")
    assert result.returncode == 0 and "bodies.NAME" in result.stdout and "check --keys TABLE" in result.stdout
    said = words(here("check", "--keys", "guard").stdout)
    assert "[guard] of cases of [lbm]" in said and "every integer >= 0 steps 100" in said


def test_table_that_is_not_there_is_refused_with_the_nearest(here: Cli) -> None:
    is_error(here("check", "--keys", "outptu"), "not_found", key="--keys", given="outptu", nearest="output")
    with raises(CaseError, "not_found", key="--keys"):
        key_list.listed("walls.y")
