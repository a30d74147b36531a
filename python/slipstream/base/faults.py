"""Validation errors of pydantic, reworded in terms of case files and machine files."""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from slipstream.base.errors import ErrorCode, Fault
from slipstream.base.toml_text import Path


def show(path: Path) -> str:
    """A path of keys as text, such as `bodies.ball.centre[2]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def nearest_of(word: str, known: Sequence[str], cutoff: float = 0.5) -> str | None:
    """The known name that is nearest to a word; None where none is near."""
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=cutoff)), None)


def nearest(word: str, known: Sequence[str]) -> str:
    """A hint with the nearest name, such as `did you mean 'cells'?`; empty if no name is near."""
    near = nearest_of(word, known)
    return f"did you mean '{near}'?" if near else ""


def unknown(said: str, name: str, known: Sequence[str], **facts: Any) -> Fault:
    """The error for an unknown name. Its text begins with `said`, and suggests the nearest known name, or lists all
    known names if none is near."""
    near, there = nearest_of(name, known), ", ".join(known)
    hint = f"did you mean '{near}'?" if near else f"there are {there}"
    return Fault(said + hint, ErrorCode.NOT_FOUND, nearest=near, allowed=there, **facts)


#: Signs of numerical bounds, by the names that pydantic gives them.
BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}


def _allowed(error: Any, patterns: Mapping[str, str]) -> str | None:
    """The values that pydantic would accept, in words; None where its error does not say this."""
    context = error.get("ctx", {})
    if "pattern" in context:
        return patterns[context["pattern"]]
    if bounds := [f"{sign} {context[name]}" for name, sign in BOUNDS.items() if name in context]:
        return " and ".join(bounds)
    return context.get("expected") or {"int": "integer", "float": "number", "finite": "finite"}.get(
        error["type"].partition("_")[0]
    )


def explain(
    error: Any, path: Path, known: Sequence[str], elsewhere: Sequence[str], patterns: Mapping[str, str], file: str
) -> Fault:
    """Rewords one pydantic error about the key at `path` of a case or a machine (`file`). `known`: the keys of its
    table. `elsewhere`: names of other tables that have this key, such as `[grid]`. `patterns`: the meaning of patterns,
    in words."""
    kind = error["type"]
    if kind == "missing":
        return Fault(f"{show(path)}: missing; the {file} needs it", ErrorCode.NOT_FOUND, key=show(path))
    if kind == "extra_forbidden":
        key = str(path[-1])
        # If another table has a key of just this name, that key is assumed to be meant.
        near = nearest_of(key, known, 0.8 if elsewhere else 0.5)
        if elsewhere and not near:
            said = f"{show(path)}: unknown key; '{key}' belongs in {elsewhere[0]}"
            return Fault(said, ErrorCode.NOT_FOUND, key=show(path), table=elsewhere[0])
        others = None if near else ", ".join(known)
        said = f"{show(path)}: unknown key; " + (f"did you mean '{near}'?" if near else f"known here: {others}")
        return Fault(said, ErrorCode.NOT_FOUND, key=show(path), nearest=near, allowed=others)
    message = error["msg"].replace("Input should", "should").replace("Tuple should", "should")
    allowed = _allowed(error, patterns)
    if kind == "string_pattern_mismatch":
        message = str(allowed)
        path = path[:-1] if path[-1] == "[key]" else path
    value = error.get("input")
    given = None if isinstance(value, dict) else json.dumps(value, default=str)
    text = f"{show(path)}: {message}" + ("" if given is None else f" (it is {given})")
    return Fault(text, key=show(path), given=given, allowed=allowed)
