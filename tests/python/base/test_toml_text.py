"""TOML text: command-line overrides, and the line of a key in a file."""

import tomllib

import pytest
from slipstream.base.toml_text import dumps, find_line, parse_override


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.b=3", 3),
        ("a.b=3.5", 3.5),
        ("a.b=true", True),
        ("a.b=[1, 2]", [1, 2]),
        ("a.b=word", "word"),
        ('a.b="3"', "3"),
        ("a.b=results/x", "results/x"),
        ("a.b={c = 1}", {"c": 1}),
    ],
)
def test_override_value_is_toml_or_a_plain_string(text: str, value: object) -> None:
    assert parse_override(text) == (("a", "b"), value)


TRICKY = '''\
# grid.cells = nothing
title = "a # b [c]"

[ "grid" ]   # a table
note = """
cells = 3
"""
list = [
  1, # cells = 4
  "]",
]
cells = 5
a.b = { c = 1 }

[walls]
"y+" = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("grid",), 4),
        (("grid", "list", 1), 8),
        (("grid", "cells"), 12),
        (("grid", "a", "b", "c"), 13),
        (("grid", "missing"), 4),
        (("walls", "y+"), 16),
        (("nowhere",), None),
    ],
)
def test_line_of_a_key_is_found(path: tuple[str | int, ...], line: int | None) -> None:
    assert find_line(TRICKY, path) == line


@pytest.mark.parametrize("character", [chr(code) for code in [*range(0xA1), 0x2028, 0xFEFF, 0x1F600]], ids=ascii)
def test_every_character_is_written_as_toml_that_reads_back(character: str) -> None:
    text = f"a{character}b"
    tables = {"t": {"value": text, text: 1, "list": [text], "inline": {text: text}}, text: {"a": 1}}
    assert tomllib.loads(dumps(tables)) == tables
