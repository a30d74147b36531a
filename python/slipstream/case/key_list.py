"""The keys of case files as text: `slipstream check --keys [TABLE]`."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from slipstream.base.errors import CaseError
from slipstream.base.faults import BOUNDS, unknown
from slipstream.base.keys import Table, tables_within
from slipstream.case.solver import all_solvers

_WORDS = {bool: "true, false", int: "integer", float: "number", str: "text"}


def tables(case_type: type[Table], at: str = "") -> Iterator[tuple[str, type[Table]]]:
    """All tables of a case, or within one of them, by name: `output`, `bodies.NAME`, `walls.SIDE`."""
    for name, field in case_type.model_fields.items():
        for table in dict.fromkeys(tables_within(field.annotation)):
            if table is case_type:
                continue  # skipped, because a table that may contain its own type would recurse without end
            sides = [side for side in table.model_fields.values() if any(tables_within(side.annotation))]
            named = "dict" in str(field.annotation)
            path = f"{at}{field.alias or name}" + (".NAME" if named else "")
            if sides and len(sides) == len(table.model_fields):
                yield f"{path}.SIDE", next(tables_within(sides[0].annotation))
            else:
                yield path, table
                yield from tables(table, f"{path}.")


def rows(table: type[Table]) -> list[tuple[str, str, str, str, str]]:
    """Each key of a table: name, values, unit, default, and what it is."""
    units = {
        key: unit
        for base in reversed(table.__mro__)
        for unit, keys in getattr(base, "in_units", {}).items()
        for key in keys.split()
    }
    return [
        (field.alias or name, values(field), units.get(name, ""), _default(field), first_sentence(field.description))
        for name, field in table.model_fields.items()
        if not any(tables_within(field.annotation))
    ]


def values(field: FieldInfo) -> str:
    """The values that a key accepts, in words: `number > 0`, `3 x integer`, `auto, host, cuda`."""
    return _values(field.annotation, field.metadata)


def _values(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation in _WORDS:
        bounds = [
            f"{sign} {getattr(entry, name):g}"
            for entry in metadata
            for entry in (entry, *getattr(entry, "metadata", ()))
            for name, sign in BOUNDS.items()
            if isinstance(getattr(entry, name, None), int | float)
        ]
        return " ".join([_WORDS[annotation], *bounds])
    if origin is Literal:
        return ", ".join(map(str, parts))
    if origin is tuple and parts[-1] is not Ellipsis:
        return f"{len(parts)} x {_values(parts[0])}"
    if origin in (list, tuple):
        return f"list of {_values(parts[0])}"
    if origin is dict:
        return f"by name, {_values(parts[1])}"
    if hasattr(annotation, "__metadata__"):
        return _values(annotation.__origin__, annotation.__metadata__)
    said = [_values(part, metadata) for part in parts if part is not type(None)]
    return " or ".join(dict.fromkeys(said)) or "table"


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "needed" if field.default_factory is None else "empty"
    if field.default is None:
        # The default of some keys depends on other keys, so only the description says it.
        found = re.search(r"Left out: (.*?)\.( |$)", field.description or "")
        return found[1] if found else "none"
    return json.dumps(field.default) if not isinstance(field.default, str) else field.default or '""'


def first_sentence(text: str | None) -> str:
    """The first sentence of a description, without the name of its table."""
    text = re.sub(r"^\[[^]]*\]: ", "", " ".join((text or "").split()))
    first = re.split(r"(?<! )\. |\bLeft out: ", text)[0].strip()
    return first.removesuffix(".")


def listed(wanted: str) -> list[tuple[str, str, type[Table]]]:
    """The tables called `wanted`, and those inside it; all if it is empty. Each comes with the names of its solvers,
    once if solvers share it. Raises CaseError if there is none."""
    found: dict[tuple[str, type[Table]], list[str]] = {}
    for solver, known in all_solvers().items():
        for path, table in tables(known.case_type):
            found.setdefault((path, table), []).append(f"[{solver}]")
    known_names = list(dict.fromkeys(path for path, _ in found))
    chosen = {
        key: solvers
        for key, solvers in found.items()
        if not wanted or f"{key[0]}.".startswith(f"{wanted.rstrip('.')}.")
    }
    if not chosen:
        said = f"check: --keys {wanted}: no such table; "
        raise CaseError(unknown(said, wanted, known_names, key="--keys", given=wanted))
    shared = len(all_solvers())
    return [
        (path, "" if len(solvers) == shared else " ".join(solvers), table) for (path, table), solvers in chosen.items()
    ]
