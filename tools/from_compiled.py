"""Makes files from the compiled modules: Python modules with the names of routes and the schema of solvers' tables.
Also fills the tables of routes and keys in the documentation.

Usage: PYTHONPATH=python python tools/from_compiled.py [--check]

A document contains `<!-- compiled: routes -->`, `<!-- compiled: keys stencil -->` or, for one of several tables of a
solver, `<!-- compiled: keys sem flow -->`; then `<!-- end -->`. The text between them is replaced. `--check` changes
nothing and fails if a file is out of date.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from slipstream.base.core import core, part
from slipstream.base.keys import Table
from slipstream.case import key_list

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "slipstream"
WIDTH = 120
#: Solvers whose tables of keys are generated, each with its modules of Python and of C++.
SOLVERS = ("lbm", "stencil", "dns", "sem")
#: Solvers whose keys are keywords of a Simulation in Python, too.
SIMULATIONS = ("lbm", "dns", "sem")
#: Escaped bar, as a cell of a Markdown table needs it.
BAR = "\\|"
MADE = "Made by tools/from_compiled.py."
MARKED = re.compile(r"(<!-- compiled: (?P<what>[\w ]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
#: Names of types in slipstream.base.keys, by kind of value and limits (above, least, most, finite).
NAMED = {
    ("integer", None, 1.0, None, True): "Count",
    ("number", 0.0, None, None, True): "Positive",
    ("number", None, 0.0, None, True): "NotNegative",
    ("number", None, None, None, True): "Finite",
}


def routes_module() -> str:
    routes = core().routes("host")

    def named(key: str) -> str:
        names = [route["name"] for route in routes if route[key]]
        return f"({', '.join(map(quoted, names))}{',' * (len(names) == 1)})"

    return "\n".join(
        [
            f'"""The routes of the engine, for modules that need them before the engine is loaded. {MADE}"""',
            "",
            "#: All routes, in the order in which the rules prefer them.",
            f"NAMES = {named('name')}",
            "#: Routes that the host drives; a throttle delays their messages.",
            f"DRIVEN_BY_HOST = {named('needs_host')}",
            "#: Routes that need a library beside the engine.",
            f"LIBRARIES = {named('library')}",
            "#: Routes that need peer access between devices of a node, in one process or in two.",
            f"BY_PEER_ACCESS_WITHIN_PROCESS = {named('peer_within_process')}",
            f"BY_PEER_ACCESS_BETWEEN_PROCESSES = {named('peer_between_processes')}",
            "",
        ]
    )


def quoted(text: str) -> str:
    """A text as a Python literal, in double quotes unless it contains one."""
    mark = "'" if '"' in text and "'" not in text else '"'
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark


def type_of(values: Mapping[str, Any]) -> str:
    """Python annotation of a key, from the kind of its values."""
    kind = values["kind"]
    if values["expression"] and not values["shape"]:
        return f"{type_of({**values, 'expression': False})} | str"
    if values["shape"]:
        count, *inner = values["shape"]
        one = type_of({**values, "shape": inner})
        if (count, one) == (3, "Finite"):
            return "Vector"
        return f"tuple[{', '.join([one] * count) if count else f'{one}, ...'}]"
    if kind in ("flag", "size"):
        return {"flag": "bool", "size": "Size"}[kind]
    if kind == "name":
        return f"Literal[{', '.join(map(quoted, values['names']))}]"
    if values["only"]:
        return f"Literal[{', '.join(map(str, values['only']))}]"
    limits = {"gt": values["above"], "ge": values["least"], "le": values["most"]}
    if found := NAMED.get((kind, *limits.values(), values["finite"])):
        return found
    said = [f"{sign}={limit:g}" for sign, limit in limits.items() if limit is not None]
    said += ["allow_inf_nan=False"] if kind == "number" and values["finite"] else []
    return f"Annotated[{'int' if kind == 'integer' else 'float'}, Field({', '.join(said)})]"


def strings(text: str, first: int, later: int) -> list[str]:
    """Splits a text into adjacent Python string literals: the first begins in column `first`, others in column
    `later`."""
    found, rest, begin = [], text, first
    while rest:
        room = WIDTH - begin - 3  # columns for text in a source line: two quotes and a comma take three
        if len(quoted(rest)) <= room + 2:
            found.append(rest)
            break
        cut = rest.rfind(" ", 0, room) + 1
        found.append(rest[:cut])
        rest, begin = rest[cut:], later
    return [quoted(part) for part in found]


def field(key: Mapping[str, Any]) -> Iterator[str]:
    """The lines of Python code that declare a key of a case file as a field of a pydantic model."""
    types = [type_of(values) for values in key["values"]]
    if not key["needed"] and key["default"] is None:
        types.append("None")
    begin = f"    {key['name']}: {' | '.join(types)} = Field("
    usual = tuple(key["default"]) if isinstance(key["default"], list) else key["default"]
    default = [] if key["needed"] else [quoted(usual) if isinstance(usual, str) else repr(usual)]
    whole = ", ".join([*default, f"description={quoted(key['meaning'])}"])
    if len(begin) + len(whole) + 1 <= WIDTH:
        yield f"{begin}{whole})"
        return
    yield begin
    if len(whole) + 8 <= WIDTH:
        yield f"        {whole}"
    else:
        yield from (f"        {one}," for one in default)
        first, *more = strings(key["meaning"], 8 + len("description="), 8)
        for n, line in enumerate([f"description={first}", *more]):
            yield f"        {line}{',' * (n == len(more) and bool(default or more))}"
    yield "    )"


def class_name(title: str) -> str:
    return f"{title.title()}Table"


def table_class(table: Mapping[str, Any]) -> Iterator[str]:
    words = textwrap.wrap(f'"""[{table["name"]}]: {table["meaning"]}', WIDTH - 4 - len('"""'))
    bases = ", ".join(map(class_name, table["bases"])) or "Table"
    yield f"class {class_name(table['title'])}({bases}):"
    yield from (f"    {line}" for line in [*words[:-1], words[-1] + '"""'])
    units: dict[str, list[str]] = {}
    for key in table["keys"]:
        if key["unit"]:
            units.setdefault(key["unit"], []).append(key["name"])
    yield ""
    entries = [f"{quoted(unit)}: {quoted(' '.join(keys))}" for unit, keys in units.items()]
    begin, whole = "    in_units: ClassVar[Mapping[str, str]] = {", ", ".join(entries)
    if len(begin) + len(whole) + 1 <= WIDTH:
        yield f"{begin}{whole}}}"
    else:
        yield from [begin, *(f"        {entry}," for entry in entries), "    }"]
    yield ""
    for key in table["keys"]:
        yield from field(key)


def keyword_type(values: Mapping[str, Any]) -> str:
    """Python annotation of a keyword argument, for type checkers: numbers have no limits."""
    if values["shape"]:
        return f"Sequence[{keyword_type({**values, 'shape': values['shape'][1:]})}]"
    if values["kind"] == "name" or values["only"]:
        return type_of(values)
    plain = {"flag": "bool", "size": "str", "integer": "int", "number": "float"}[values["kind"]]
    return f"{plain} | str" if values["expression"] else plain


def keywords_class(table: Mapping[str, Any]) -> Iterator[str]:
    bases = ", ".join(f"{title.title()}Keywords" for title in table["bases"]) or "TypedDict"
    yield f"class {table['title'].title()}Keywords({bases}, total=False):"
    yield f'    """Keys of [{table["name"]}] that may be left out."""'
    yield ""
    for key in table["keys"]:
        if not key["needed"]:
            yield f"    {key['name']}: {' | '.join(map(keyword_type, key['values']))}"


def table_module(solver: str) -> str:
    tables = part(solver).case_tables()
    classes = [*map(table_class, tables), *(map(keywords_class, tables) if solver in SIMULATIONS else ())]
    text = "\n\n\n".join(map("\n".join, classes))
    types = [name for name in sorted({*NAMED.values(), "Size", "Table", "Vector"}) if re.search(rf"\b{name}\b", text)]
    typing = [name for name in ("Annotated", "ClassVar", "Literal", "TypedDict") if name in text]
    containers = "Mapping, Sequence" if "Sequence" in text else "Mapping"
    return "\n".join(
        [
            f'"""The table [{solver}] of a case file. {MADE}"""',
            "",
            f"from collections.abc import {containers}",
            f"from typing import {', '.join(typing)}",
            "",
            "from pydantic import Field",
            "",
            f"from slipstream.base.keys import {', '.join(types)}",
            "",
            "",
            text,
            "",
        ]
    )


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(
        f"|{'|'.join(cell if cell == '---' else f' {cell} '.replace('|', BAR) for cell in line)}|\n" for line in lines
    )


def routes_text() -> str:
    rows = [
        [f"`{route['name']}`", route["capability"]["between"], route["capability"]["how"]]
        + ["drives it" if route["needs_host"] else "no"]
        for route in core().routes("host")
    ]
    return markdown(["route", "between", "how", "host in `end`"], rows)


def keys_text(solver: str, title: str = "") -> str:
    """Markdown table with the keys of a solver's table in a case file, without keys inherited from other tables."""
    names: dict[str, Any] = {}
    exec(table_module(solver), names)
    table: type[Table] = names[class_name(title or solver)]
    rows = []
    for name, values, unit, default, _ in key_list.rows(table):
        if name not in table.__annotations__:
            continue
        meaning = re.sub(r" ?Left out: .*?\.( |$)", "", table.model_fields[name].description or "").strip().rstrip(".")
        rows.append([f"`{name}`", values, "" if unit == "-" else unit, default, meaning])
    return markdown(["key", "values", "unit", "default", "meaning"], rows)


def made(what: str) -> str:
    kind, *of = what.split()
    return routes_text() if kind == "routes" else keys_text(*of)


def files() -> Iterator[tuple[Path, str]]:
    """Each generated file with its expected text."""
    yield PACKAGE / "base" / "routes.py", routes_module()
    for solver in SOLVERS:
        yield PACKAGE / solver / "own_table.py", table_module(solver)
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if MARKED.search(text):
            yield path, MARKED.sub(lambda match: match[1] + made(match["what"]) + match["end"], text)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a file is out of date")
    check = parser.parse_args(given).check
    stale = [(path, text) for path, text in files() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path, text in stale:
        print(f"{path.relative_to(ROOT)} {'is out of date: run tools/from_compiled.py' if check else 'made anew'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
