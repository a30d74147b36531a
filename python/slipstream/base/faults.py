"""What pydantic finds wrong with a case file or a machine file, in the words of such a file."""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from slipstream.base.toml_text import Path


def show(path: Path) -> str:
    """`bodies.ball.centre[2]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def nearest(word: str, known: Sequence[str], cutoff: float = 0.5) -> str:
    """`did you mean 'cells'?`, or nothing where none is near."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=cutoff)
    return f"did you mean '{near[0]}'?" if near else ""


def explain(
    error: Any, path: Path, known: Sequence[str], elsewhere: Sequence[str], patterns: Mapping[str, str], file: str
) -> str:
    """One of its errors, of the key at `path` of a case or a machine (`file`). `known`: the keys of its table;
    `elsewhere`: tables that have a key of this name, as [grid]; `patterns`: what must match them, in words."""
    kind = error["type"]
    if kind == "missing":
        return f"{show(path)}: missing; the {file} needs it"
    if kind == "extra_forbidden":
        key = str(path[-1])
        # A key that another table has by just this name is believed to be meant.
        hint = nearest(key, known, 0.8 if elsewhere else 0.5)
        if elsewhere and not hint:
            return f"{show(path)}: unknown key; '{key}' belongs in {elsewhere[0]}"
        return f"{show(path)}: unknown key; {hint or 'known here: ' + ', '.join(known)}"
    message = error["msg"].replace("Input should", "should").replace("Tuple should", "should")
    if kind == "string_pattern_mismatch":
        message = patterns[error["ctx"]["pattern"]]
        path = path[:-1] if path[-1] == "[key]" else path
    value = error.get("input")
    given = "" if isinstance(value, dict) else f" (it is {json.dumps(value, default=str)})"
    return f"{show(path)}: {message}{given}"
