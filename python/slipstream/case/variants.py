"""Variants of a case: `[variants.NAME]` holds keys as the case has them, and they replace the case's own."""

import json
import re
from collections.abc import Mapping
from typing import Any

from slipstream.base.errors import CaseError, ErrorCode

#: Name of the table of a case file that holds all variants.
KEY = "variants"
NAME = re.compile(r"[A-Za-z0-9_-]+")
Tables = dict[str, Any]


def take(data: Tables) -> dict[str, Tables]:
    """Takes the variants out of a case file's tables, by name. Raises CaseError for values that are no tables."""
    found = data.pop(KEY, {})
    if not isinstance(found, dict) or not all(isinstance(tables, dict) for tables in found.values()):
        raise CaseError(f"{KEY}: a variant is a table of its own, [{KEY}.NAME]", key=KEY)
    for name, tables in found.items():
        if not NAME.fullmatch(name):
            raise CaseError(f"{KEY}.{name}: a name is made of letters, digits, _ and -", key=f"{KEY}.{name}")
        if KEY in tables:
            key = f"{KEY}.{name}.{KEY}"
            raise CaseError(f"{key}: a variant has no variants of its own", key=key)
    return found


def choose(found: Mapping[str, Tables], name: str) -> Tables:
    """Returns the tables of keys that the variant `name` of a case file sets. Raises CaseError with all names of
    variants if there is no such variant."""
    if name in found:
        return found[name]
    there = f"there are: {', '.join(found)}" if found else "the case has none"
    raise CaseError(f"no variant '{name}'; {there}", ErrorCode.NOT_FOUND, given=name, allowed=", ".join(found))


def merged(data: Tables, name: str, tables: Tables) -> Tables:
    """Merges a variant into a case key by key; [expected] is replaced as a whole. The variant's name is appended to the
    name of the case, from which the folder follows, unless the variant gives a name."""
    result = _merge(data, tables)
    if "expected" in tables:
        result["expected"] = tables["expected"]
    case = result.setdefault("case", {})
    given = tables.get("case", {})
    if isinstance(case, dict) and not (isinstance(given, dict) and "name" in given):
        result["case"] = case | {"name": f"{case.get('name', 'case')}_{name}"}
    return result


def _merge(table: Tables, changes: Tables) -> Tables:
    both = {key for key, value in changes.items() if isinstance(value, dict) and isinstance(table.get(key), dict)}
    return table | {key: _merge(table[key], value) if key in both else value for key, value in changes.items()}


def hold(tables: Tables, path: tuple[str | int, ...]) -> bool:
    """Whether the tables of a case variant set the value of a key, given as a path of table names, at least in part."""
    found: Any = tables
    for part in path:
        if not isinstance(found, dict):
            return True
        if part not in found:
            return False
        found = found[part]
    return True


_REFERENCE = re.compile(r'"#/\$defs/(\w+)"')


def schema(described: Mapping[str, Any]) -> dict[str, Any]:
    """Adds the table [variants] to the JSON schema of case files. A variant may have all keys of a case, each
    optional."""
    known = described["$defs"]
    partial = {name for name, table in known.items() if "required" in table}
    while more := {n for n, t in known.items() if n not in partial and partial & {*_REFERENCE.findall(json.dumps(t))}}:
        partial |= more

    def loosened(part: Mapping[str, Any], drop: str) -> dict[str, Any]:
        text = json.dumps({key: value for key, value in part.items() if key != drop})
        text = _REFERENCE.sub(lambda m: f'"#/$defs/{m[1]}{"InVariant" * (m[1] in partial)}"', text)
        found: dict[str, Any] = json.loads(text)
        return found

    variant = {
        "additionalProperties": False,
        "description": f"[{KEY}.NAME]: keys as the case has them, in place of the case's; expected as a whole.",
        "properties": {key: loosened(value, "default") for key, value in described["properties"].items()},
        "title": "Variant",
        "type": "object",
    }
    variants = {
        "additionalProperties": False,
        "default": {},
        "description": "The case at other sizes or with other methods, by name: --variant NAME.",
        "patternProperties": {f"^{NAME.pattern}$": {"$ref": "#/$defs/Variant"}},
        "title": "Variants",
        "type": "object",
    }
    copies = {f"{name}InVariant": loosened(known[name], "required") for name in sorted(partial)}
    return {
        **described,
        "$defs": {**known, **copies, "Variant": variant},
        "properties": {**described["properties"], KEY: variants},
    }
