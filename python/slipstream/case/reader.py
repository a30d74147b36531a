"""Reads case files: text, variants and overrides become a checked case, or a list of faults with their places."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from slipstream.base import toml_text
from slipstream.base.errors import CaseError, ErrorCode, Fault
from slipstream.base.faults import explain, show
from slipstream.base.keys import keys_at
from slipstream.case import old_keys, variants
from slipstream.case.case import Case, named_files
from slipstream.case.solver import all_solvers, misspelt, solver_of
from slipstream.case.tables import PATTERNS, RIM_FORMS
from slipstream.machine.discovery import MachineTable


def schema() -> dict[str, Any]:
    """JSON Schema of a case file, for editors, with one alternative per solver."""
    described = [
        variants.schema(solver.case_type.model_json_schema(by_alias=True)) for solver in all_solvers().values()
    ]
    definitions: dict[str, Any] = {}
    for n, one in enumerate(described):
        # Tables of one name may differ between solvers; only those of the first solver keep the name.
        own = one.pop("$defs")
        clashing = {name for name, table in own.items() if definitions.get(name, table) != table}
        text = json.dumps({"case": one, "tables": own})
        for name in clashing:
            text = text.replace(f'"#/$defs/{name}"', f'"#/$defs/{name}{n}"')
        renamed = json.loads(text)
        described[n] = renamed["case"]
        definitions |= {f"{name}{n}" if name in clashing else name: t for name, t in renamed["tables"].items()}
    draft = "https://json-schema.org/draft/2020-12/schema"
    if len(described) == 1:
        return {**described[0], "$defs": definitions, "$schema": draft}
    return {"$schema": draft, "anyOf": described, "$defs": definitions}


class Source:
    """Source of a case: its file, overrides and variant. Tells where a key was set, for messages about its errors."""

    def __init__(
        self,
        name: str,
        text: str = "",
        overrides: Sequence[str] = (),
        variant: str | None = None,
        tables: dict[str, Any] | None = None,
    ) -> None:
        """name, text, overrides: of the case file. `tables`: keys that its chosen variant sets, by table."""
        self.name = name
        self.text = text
        self.overrides = {toml_text.parse_override(text)[0]: text for text in overrides}
        self.variant = variant
        self._tables = tables or {}
        self.data: Mapping[str, Any] = {}  #: all tables of the case, set by `parse`

    def override(self, names: tuple[str, ...]) -> str | None:
        """The override that set a key."""
        return next((text for key, text in self.overrides.items() if names[: len(key)] == key), None)

    def locate(self, path: toml_text.Path) -> str:
        """Where a key was set, such as `cavity.toml:12` or `override 'a.b=c'`."""
        facts = self._place(path)
        if "override" in facts:
            return f"override '{facts['override']}'"
        return ":".join(facts.values())

    def _place(self, path: toml_text.Path) -> dict[str, str]:
        """Facts that say where a key was set: the override, or file and line."""
        names = tuple(part for part in path if isinstance(part, str))
        if override := self.override(names):
            return {"override": override}
        line = toml_text.find_line(self.text, (*self._within(path), *path))
        return {"file": self.name} | ({"line": str(line)} if line else {})

    def _within(self, path: toml_text.Path) -> tuple[str, ...]:
        """Names of the variant's table, such as ("variants", "fine"), if that table sets the key `path`; else none."""
        names = tuple(part for part in path if isinstance(part, str))
        if self.variant is None or self.override(names) or not variants.hold(self._tables, names):
            return ()
        return (variants.KEY, self.variant)

    def fault(self, path: toml_text.Path, said: str) -> Fault:
        """Makes a fault whose text `said` begins with the key, and adds where the key was set and its value."""
        within = self._within(path)
        of_variant = f" (variant {self.variant})" if self.variant is not None and not within else ""
        text = f"{self.locate(path)}: {''.join(f'{part}.' for part in within)}{said}{of_variant}"
        facts: dict[str, Any] = {"key": show(path), "given": self._given(path), "variant": self.variant}
        return Fault(Fault(said).reworded(text), **facts | Fault(said).facts | self._place(path))

    def _given(self, path: toml_text.Path) -> str | None:
        """Value of a key as text; None where the key is a table or missing."""
        value: Any = self.data
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return None if isinstance(value, dict) else json.dumps(value, default=str)


def _tables_with(case_type: type[Case], key: str) -> list[str]:
    """Tables that have the key: those of this solver, else those of other solvers, with their names."""
    own = [f"[{name}]" for name in case_type.model_fields if key in keys_at(case_type, (name,))]
    if own:
        return own
    others = {name: solver.case_type for name, solver in all_solvers().items() if solver.case_type is not case_type}
    return [
        f"[{table}] of cases of [{name}]"
        for name, other in others.items()
        for table in other.model_fields
        if key in keys_at(other, (table,))
    ]


#: Pydantic appends these type names to the path of a key that may be a number or a text.
_KINDS = frozenset({"constrained-float", "float", "constrained-str", "str"})


def _by_key(errors: Iterable[Any]) -> list[Any]:
    """Keeps one pydantic error per key. If a key may be a number or a text, it is the error about the given type."""
    found: dict[toml_text.Path, Any] = {}
    for error in errors:
        path, told = tuple(error["loc"]), error["type"] in ("extra_forbidden", "missing")
        path = path[:-1] if path[-1:] and path[-1] in _KINDS and not told else path
        if path not in found or found[path]["type"].endswith("_type"):
            found[path] = {**error, "loc": path}
    return [*found.values()]


def _explain(error: Any, case_type: type[Case], *table: str) -> Fault:
    """Rewords one pydantic error; `table` is the path of a table that was validated alone."""
    path = (*table, *(part for part in error["loc"] if part not in RIM_FORMS))
    unknown = error["type"] == "extra_forbidden"
    known = keys_at(case_type, path[:-1]) + [variants.KEY] * (len(path) == 1) if unknown else []
    elsewhere = _tables_with(case_type, str(path[-1])) if unknown else []
    said = explain(error, path, known, elsewhere, PATTERNS, "case")
    if (
        unknown
        and len(path) == 1
        and (owners := [n for n, s in all_solvers().items() if path[0] in s.case_type.model_fields])
    ):
        text = f"{path[0]}: unknown table; it belongs to cases of {' and '.join(f'[{owner}]' for owner in owners)}"
        text += f", and this one is of [{case_type.solver}]"
        return Fault(text, ErrorCode.NOT_FOUND, key=path[0], solver=case_type.solver, owners=", ".join(owners))
    return said


def _refused(error: ValidationError, source: Source, case_type: type[Case], *table: str) -> CaseError:
    """The error that names every fault of a case, or of a table that was validated alone."""
    return CaseError.all_of(
        source.fault((*table, *e["loc"]), _explain(e, case_type, *table))
        for e in _by_key(error.errors(include_url=False))
    )


def _too_large(value: Any, at: toml_text.Path = ()) -> Iterator[tuple[toml_text.Path, int]]:
    """Finds integers in a case that do not fit the 64-bit integers of the compiled module, with the path of each."""
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _too_large(entry, (*at, key))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield at, value


def parse(data: dict[str, Any], source: Source) -> Case:
    """A checked case from a dictionary of tables. Raises CaseError that names every fault and its place."""
    source.data = data
    try:
        solver = solver_of(data)
    except CaseError as error:
        raise CaseError(Fault.of(error).at(file=source.name)) from None
    for table, near in misspelt(data):
        unknown = Fault(f"{table}: unknown key; did you mean '{near}'?", ErrorCode.NOT_FOUND, nearest=near)
        raise CaseError(source.fault((table,), unknown))
    case_type = solver.case_type
    beyond = [(path, f"{show(path)}: {value} is beyond 64 bits") for path, value in _too_large(data)]
    if beyond:
        raise CaseError.all_of(source.fault(path, Fault(said, ErrorCode.OVERFLOW)) for path, said in beyond)
    try:
        data = solver.complete(data)
    except ValidationError as error:
        raise _refused(error, source, case_type, "domain") from None
    except CaseError as error:
        fault = Fault.of(error)
        raise CaseError(source.fault(("domain",), fault.reworded(f"domain: {fault}"))) from None
    try:
        # Parsed as JSON, because strict types accept an array for a tuple only there.
        case: Case = case_type.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        raise _refused(error, source, case_type) from None
    found = [(fault.facts["key"], fault) for fault in solver.problems(case)]
    if found:
        raise CaseError.all_of(source.fault(tuple(key.split(".")), fault.at(key)) for key, fault in found)
    return case


def stored_case(text: str, name: str) -> tuple[Case, list[str]]:
    """Reads a case as a run of this or another version recorded it. Missing keys get their defaults; unknown keys are
    left out and returned. The case is not checked again, as rules may have changed. Raises CaseError, which calls it by
    `name`."""
    unknown: list[str] = []
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CaseError(f"{name}: not valid TOML: {error}", ErrorCode.BAD_FILE, file=name) from None
    case_type = solver_of(data).case_type
    old_keys.rename(data)
    while True:
        try:
            return case_type.model_validate_json(json.dumps(data, default=str)), unknown
        except ValidationError as error:
            faults = error.errors(include_url=False)
            extra = [fault["loc"] for fault in faults if fault["type"] == "extra_forbidden"]
            if not extra:
                raise CaseError.all_of(_explain(fault, case_type).at(file=name) for fault in faults) from None
        for *tables, key in extra:
            table: Any = data
            for part in tables:
                table = table[part]
            del table[key]
            unknown.append(show((*tables, key)))


def _read(path: Path) -> tuple[str, dict[str, Any], dict[str, variants.Tables]]:
    """The text of a case file, its tables, and those of its variants."""
    text, data = toml_text.load(path, "case")
    try:
        found = variants.take(data)
    except CaseError as error:
        raise CaseError(Source(str(path), text).fault((variants.KEY,), Fault.of(error))) from None
    return text, data, found


def variant_names(path: str | Path) -> list[str]:
    """Names of the variants in a case file: tables [variants.NAME] whose keys replace those of the case."""
    return list(_read(Path(path))[2])


def _find_files(data: dict[str, Any], folder: Path, source: Source) -> None:
    """Makes the files that a case names relative to the working directory. A relative path is looked for in the folder
    of the case file first, then in the working directory. For overrides the order is reversed."""
    try:
        case_type = solver_of(data).case_type
    except CaseError:
        return  # nothing is done here, because parse() reports that a case has tables of two solvers
    faults = []
    for path, table in (found for key in case_type.file_keys for found in named_files(data, key)):
        what = path[-1]
        name = table[what]
        if Path(name).is_absolute():
            continue
        places = [folder / name, Path(name)]
        if source.override(path):
            places.reverse()
        is_there = Path.exists if path in case_type.folder_keys else Path.is_file
        if found := next(filter(is_there, places), None):
            table[what] = str(found)
        else:
            looked = " and ".join(dict.fromkeys(str(place.absolute()) for place in places))
            said = f"{'.'.join(path)}: there is no such {what} file '{name}'; looked for {looked}"
            faults.append(source.fault(path, Fault(said, ErrorCode.NOT_FOUND, given=name, looked=looked)))
    if faults:
        raise CaseError.all_of(faults)


def _given(path: Path, overrides: Sequence[str], variant: str | None) -> tuple[dict[str, Any], Source, list[str]]:
    """The tables of a case file with one of its variants and overrides, unchecked, and the keys with old names."""
    text, data, known = _read(path)
    old = old_keys.rename(data)
    tables: variants.Tables = {}
    if variant is not None:
        try:
            tables = variants.choose(known, variant)
            old += old_keys.rename(tables)
        except CaseError as error:
            raise CaseError(Fault.of(error).at(file=path)) from None
        data = variants.merged(data, variant, tables)
    by_new_name = [old_keys.current(override) for override in overrides]
    old += [
        ".".join(toml_text.parse_override(was)[0])
        for was, now in zip(overrides, by_new_name, strict=True)
        if was != now
    ]
    source = Source(str(path), text, by_new_name, variant, tables)
    for override in by_new_name:
        key, value = toml_text.parse_override(override)
        if key[0] == variants.KEY:
            said = f"override '{override}': overrides come after a variant; name the case's own key"
            raise CaseError(said, key=variants.KEY, override=override)
        toml_text.apply_override(data, key, value)
    return data, source, old


def load(path: str | Path, overrides: Sequence[str] = (), variant: str | None = None) -> Case:
    """Reads a case file, merges one of its variants into it, overrides and checks it. The files that it names must be
    there."""
    path = Path(path)
    data, source, old = _given(path, overrides, variant)
    _find_files(data, path.parent, source)
    case = parse(data, source)
    case.take_old_keys(old)
    return case


def with_lapses(case: Case, path: str | Path, overrides: Sequence[str], variant: str | None) -> Case:
    """Drops the expected ranges of a case file if overrides change the findings. Ranges from overrides stay."""
    own = [key for key, _ in map(toml_text.parse_override, overrides) if key[0] == "expected"]
    names = [name for name in case.expected if not any(("expected", name)[: len(key)] == key for key in own)]
    if not overrides or not names:
        return case
    try:
        before = dict(toml_text.flat(load(path, (), variant).model_dump()))
    except CaseError:
        return case  # the file is invalid by itself, without its overrides
    now = dict(toml_text.flat(case.model_dump()))
    changed = [key for key in now.keys() | before.keys() if now.get(key) != before.get(key)]
    keys = sorted(key for key in changed if case.moves_findings(key))
    return case.expecting_no_more(names, keys) if keys else case


def check_variants(path: str | Path) -> list[str]:
    """Checks the variants of a case file, tables [variants.NAME] whose keys replace those of the case. Returns their
    names in the order of the file. Raises CaseError with the faults of all variants."""
    names, faults = variant_names(path), list[Fault]()
    for name in names:
        try:
            load(path, variant=name)
        except CaseError as error:
            faults += error.faults
    if faults:
        raise CaseError.all_of(faults)
    return names


def machine_of(overrides: Sequence[str]) -> MachineTable:
    """Reads the table [machine] from overrides alone, without a case file. Raises CaseError that names every fault."""
    data: dict[str, Any] = {}
    for override in overrides:
        key, value = toml_text.parse_override(override)
        if key[0] != "machine":
            said = f"override '{override}': no case is read here; keys of [machine] alone"
            raise CaseError(said, key=".".join(key), override=override, allowed="machine")
        toml_text.apply_override(data, key, value)
    try:
        return MachineTable.model_validate_json(json.dumps(data.get("machine", {})))
    except ValidationError as error:
        source = Source("overrides", "", overrides)
        raise _refused(error, source, solver_of({}).case_type, "machine") from None


def machine_given(path: str | Path, overrides: Sequence[str], variant: str | None) -> MachineTable | None:
    """[machine] of a case file, without a check of the other tables, which would start MPI; None if it has faults."""
    data, _, _ = _given(Path(path), overrides, variant)
    try:
        return MachineTable.model_validate_json(json.dumps(data.get("machine", {}), default=str))
    except ValidationError:
        return None
