"""Case files: from text, variants and overrides to a checked case, or to all that is wrong with it and where."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from slipstream.base import toml_text
from slipstream.base.errors import CaseError
from slipstream.base.faults import explain, show
from slipstream.case import variants
from slipstream.case.body import Body
from slipstream.case.case import Case
from slipstream.case.flow_tables import DomainTable, ExactTable, InitialTable
from slipstream.case.sides import Boundary, Wall
from slipstream.case.solver import solver_of
from slipstream.case.tables import PATTERNS, RIM_FORMS


def schema() -> dict[str, Any]:
    """JSON Schema of a case file, for editors."""
    described = variants.schema(Case.model_json_schema(by_alias=True))
    return described | {"$schema": "https://json-schema.org/draft/2020-12/schema"}


class Source:
    """Where a case came from, to say where its faults are."""

    def __init__(
        self,
        name: str,
        text: str = "",
        overrides: Sequence[str] = (),
        variant: str | None = None,
        tables: dict[str, Any] | None = None,
    ) -> None:
        """`tables` are those of the variant."""
        self.name = name
        self.text = text
        self.overrides = {toml_text.parse_override(text)[0]: text for text in overrides}
        self.variant = variant
        self._tables = tables or {}

    def override(self, names: tuple[str, ...]) -> str | None:
        """The override that gave a key."""
        return next((text for key, text in self.overrides.items() if names[: len(key)] == key), None)

    def locate(self, path: toml_text.Path) -> str:
        """`cavity.toml:12` or `override 'a.b=c'`."""
        names = tuple(part for part in path if isinstance(part, str))
        if override := self.override(names):
            return f"override '{override}'"
        line = toml_text.find_line(self.text, (*self._within(path), *path))
        return f"{self.name}:{line}" if line else self.name

    def _within(self, path: toml_text.Path) -> tuple[str, ...]:
        """The table of the variant, where the key comes from there."""
        names = tuple(part for part in path if isinstance(part, str))
        if self.variant is None or self.override(names) or not variants.hold(self._tables, names):
            return ()
        return (variants.KEY, self.variant)

    def fault(self, path: toml_text.Path, said: str) -> str:
        """`said`, which begins with the key, with its place."""
        within = self._within(path)
        of_variant = f" (variant {self.variant})" if self.variant is not None and not within else ""
        return f"{self.locate(path)}: {''.join(f'{part}.' for part in within)}{said}{of_variant}"


#: Tables that may be left out as a whole.
_OPTIONAL = {"domain": DomainTable, "initial": InitialTable, "exact": ExactTable}


def _keys_at(path: toml_text.Path) -> list[str]:
    """Keys that the table at `path` may have."""
    if not path:
        return [*Case.model_fields, variants.KEY]
    model = _OPTIONAL.get(str(path[0])) or Case.model_fields[str(path[0])].annotation
    if path[0] == "expected":
        return []
    if len(path) > 1 and path[0] == "walls":
        model = Wall
    if len(path) > 1 and path[0] == "boundaries":
        model = Boundary
    if path[0] == "bodies":
        model = Body
    assert isinstance(model, type) and issubclass(model, BaseModel)
    return [field.alias or name for name, field in model.model_fields.items()]


def _tables_with(key: str) -> list[str]:
    return [name for name in Case.model_fields if key in _keys_at((name,))]


def _explain(error: Any, *table: str) -> str:
    """One of pydantic's errors in the words of a case file; of a table alone with its name."""
    path = (*table, *(part for part in error["loc"] if part not in RIM_FORMS))
    unknown = error["type"] == "extra_forbidden"
    known, elsewhere = (_keys_at(path[:-1]), _tables_with(str(path[-1]))) if unknown else ([], [])
    return explain(error, path, known, elsewhere, PATTERNS, "case")


def parse(data: dict[str, Any], source: Source) -> Case:
    """A checked case from a dictionary of tables. Raises CaseError that names every fault and its place."""
    solver = solver_of(data)
    try:
        data = solver.complete(data)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        said = [source.fault(("domain", *e["loc"]), _explain(e, "domain")) for e in faults]
        raise CaseError("\n  ".join(said)) from None
    except CaseError as error:
        raise CaseError(source.fault(("domain",), f"domain: {error}")) from None
    try:
        # Read as JSON, because only there do strict types take an array for a tuple.
        case = Case.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        said = [source.fault(tuple(e["loc"]), _explain(e)) for e in error.errors(include_url=False)]
        raise CaseError("\n  ".join(said)) from None
    found = [source.fault(path, f"{show(path)}: {message}") for path, message in solver.problems(case)]
    if found:
        raise CaseError("\n  ".join(found))
    return case


def remembered(text: str, name: str) -> tuple[Case, list[str]]:
    """A case as a run wrote it down, by this version or another: keys that it lacks have their defaults, and those that
    are not known here are left out and returned. It is not checked, because it was, by the rules of its day. Raises
    CaseError, which calls it by `name`."""
    unknown: list[str] = []
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CaseError(f"{name}: not valid TOML: {error}") from None
    while True:
        try:
            return Case.model_validate_json(json.dumps(data, default=str)), unknown
        except ValidationError as error:
            faults = error.errors(include_url=False)
            extra = [fault["loc"] for fault in faults if fault["type"] == "extra_forbidden"]
            if not extra:
                said = [f"{name}: {_explain(fault)}" for fault in faults]
                raise CaseError("\n  ".join(said)) from None
        for *tables, key in extra:
            table = data
            for part in tables:
                table = table[part]
            del table[key]
            unknown.append(show((*tables, key)))


def _read(path: Path) -> tuple[str, dict[str, Any], dict[str, variants.Tables]]:
    """The text of a case file, its tables, and those of its variants."""
    try:
        text = toml_text.read(path)
    except FileNotFoundError:
        raise CaseError(f"{path}: no such case file (looked in {Path.cwd()})") from None
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error}") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CaseError(f"{path}: not valid TOML: {toml_text.why_not(text, error)}") from None
    try:
        found = variants.take(data)
    except CaseError as error:
        raise CaseError(f"{Source(str(path), text).locate((variants.KEY,))}: {error}") from None
    return text, data, found


def variant_names(path: str | Path) -> list[str]:
    """Of a case file."""
    return list(_read(Path(path))[2])


def _find_meshes(data: dict[str, Any], folder: Path, source: Source) -> None:
    """Makes mesh files relative to the working directory. A relative path is looked for in the folder of the case file,
    then in the working directory; one of an override the other way round."""
    faults = []
    bodies = data.get("bodies")
    for name, body in bodies.items() if isinstance(bodies, dict) else ():
        mesh = body.get("mesh") if isinstance(body, dict) else None
        if not isinstance(mesh, str) or Path(mesh).is_absolute():
            continue
        places = [folder / mesh, Path(mesh)]
        if source.override(("bodies", name, "mesh")):
            places.reverse()
        if found := next((place for place in places if place.is_file()), None):
            body["mesh"] = str(found)
        else:
            looked = " and ".join(dict.fromkeys(str(place.absolute()) for place in places))
            said = f"bodies.{name}.mesh: there is no such mesh file '{mesh}'; looked for {looked}"
            faults.append(source.fault(("bodies", name, "mesh"), said))
    if faults:
        raise CaseError("\n  ".join(faults))


def load(path: str | Path, overrides: Sequence[str] = (), variant: str | None = None, find_meshes: bool = True) -> Case:
    """Reads a case file, merges one of its variants into it, overrides and checks it. Its mesh files must be there,
    unless `find_meshes` is False."""
    path = Path(path)
    text, data, known = _read(path)
    tables: variants.Tables = {}
    if variant is not None:
        try:
            tables = variants.choose(known, variant)
        except CaseError as error:
            raise CaseError(f"{path}: {error}") from None
        data = variants.merged(data, variant, tables)
    source = Source(str(path), text, overrides, variant, tables)
    for override in overrides:
        key, value = toml_text.parse_override(override)
        if key[0] == variants.KEY:
            raise CaseError(f"override '{override}': overrides come after a variant; name the case's own key")
        toml_text.apply_override(data, key, value)
    if find_meshes:
        _find_meshes(data, path.parent, source)
    return parse(data, source)


def check_variants(path: str | Path) -> list[str]:
    """The names of a file's variants, each as the file has it. Raises CaseError with the faults of all of them."""
    names, faults = variant_names(path), []
    for name in names:
        try:
            load(path, variant=name)
        except CaseError as error:
            faults.append(str(error))
    if faults:
        raise CaseError("\n  ".join(faults))
    return names
