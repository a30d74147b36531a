"""Complements tomllib: line numbers of keys, overrides from the command line, and a writer."""

import codecs
import pathlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from slipstream.base.errors import CaseError, ErrorCode, Fault
from slipstream.base.visible import visible

Path = tuple[str | int, ...]

#: Byte-order marks, longer ones first, because the mark of UTF-16 begins one of UTF-32.
_OTHER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}

#: Part of a key, quoted or bare. The name of a side may be bare here, although TOML demands quotes for a +.
_KEY_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([xyz]\+|[A-Za-z0-9_-]+))\s*(\.)?""")
_BARE_SIDE = re.compile(r"""(?:^|[\s.\[{,])([xyz]\+)""")


def read(path: pathlib.Path) -> str:
    """The text of a file in UTF-8, without the byte-order mark that editors on Windows write. Raises OSError, and
    CaseError for other encodings."""
    content = path.read_bytes()
    for mark, encoding in _OTHER_MARKS.items():
        if content.startswith(mark):
            raise CaseError(
                f"{path}: is text in {encoding}; save it as UTF-8", ErrorCode.BAD_FILE, file=path, given=encoding
            )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"{content[error.start]:#x}"
        said = f"{path}:{line}: byte {byte} is not UTF-8; save the file as UTF-8"
        raise CaseError(said, ErrorCode.BAD_FILE, file=path, line=line, given=byte) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _key_path(text: str) -> tuple[tuple[str, ...], str]:
    """Splits `a."b".c = rest` into the parts of the key and the rest."""
    parts: list[str] = []
    position = 0
    while match := _KEY_PART.match(text, position):
        parts.append(next(group for group in match.groups()[:3] if group is not None))
        position = match.end()
        if not match.group(4):
            break
    return tuple(parts), text[position:]


def _open_brackets(value: str, closing: str) -> tuple[int, str]:
    """Number of brackets that `value` leaves open, and the quotes of a multi-line string that it leaves open."""
    depth, position = 0, 0
    while position < len(value):
        if closing:
            end = value.find(closing, position)
            if end < 0:
                return depth, closing
            position, closing = end + 3, ""
        elif value.startswith(('"""', "'''"), position):
            closing, position = value[position : position + 3], position + 3
        elif value[position] in "\"'":
            quote = value[position]
            position += 1
            while position < len(value) and value[position] != quote:
                position += 2 if quote == '"' and value[position] == "\\" else 1
            position += 1
        elif value[position] == "#":
            break
        else:
            depth += (value[position] in "[{") - (value[position] in "]}")
            position += 1
    return depth, closing


def _keys_by_line(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Every table header and key of a TOML text with its line, counted from 1."""
    table: tuple[str, ...] = ()
    depth, closing = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        value = line
        if depth == 0 and not closing:
            stripped = line.strip()
            if not stripped or stripped.startswith("#"):
                continue
            if stripped.startswith("["):
                table, _ = _key_path(stripped.lstrip("["))
                yield number, table
                continue
            key, value = _key_path(stripped)
            yield number, table + key
        change, closing = _open_brackets(value, closing)
        depth += change


def _why_not(text: str, error: tomllib.TOMLDecodeError) -> Fault:
    """Describes a syntax error of a TOML text. If the name of a side lacks its quotes, the fault says so."""
    where = re.search(r"at line (\d+)", str(error))
    lines = text.splitlines()
    number = int(where[1]) if where else None
    line = lines[number - 1] if number and number <= len(lines) else ""
    key = line.partition("#")[0]
    if side := _BARE_SIDE.search(key if key.lstrip().startswith("[") else key.partition("=")[0]):
        said = f'not valid TOML: {error}; the name of a side with a + stands in quotes: "{side[1]}"'
        return Fault(said, ErrorCode.BAD_FILE, line=number, nearest=f'"{side[1]}"')
    return Fault(f"not valid TOML: {error}", ErrorCode.BAD_FILE, line=number)


def load(path: pathlib.Path, kind: str) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file, and its tables. Raises CaseError if it cannot be read. `kind`: what the file describes,
    as a word for messages."""
    try:
        text = read(path)
        return text, tomllib.loads(text)
    except FileNotFoundError:
        said = f"{path}: no such {kind} file (looked in {pathlib.Path.cwd()})"
        raise CaseError(said, ErrorCode.NOT_FOUND, file=path) from None
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error}", ErrorCode.IO, file=path) from None
    except tomllib.TOMLDecodeError as error:
        raise CaseError(_why_not(text, error).at(file=path)) from None


def find_line(text: str, path: Path) -> int | None:
    """The line of the key at `path`, of the first key below it, or of the nearest table or key around it. None if no
    part of the path exists."""
    wanted = tuple(part for part in path if isinstance(part, str))
    best, best_length = None, 0
    for number, key in _keys_by_line(text):
        length = min(len(key), len(wanted))
        if key[:length] == wanted[:length] and length > best_length:
            best, best_length = number, length
    return best


def parse_override(text: str) -> tuple[tuple[str, ...], Any]:
    """Parses an override such as `grid.cells=[64,64,64]` to (("grid", "cells"), [64, 64, 64]); a value that is not TOML
    is a plain string."""
    key, rest = _key_path(text)
    if not key or not rest.startswith("="):
        said = f"'{text}' is not an override; write table.key=value, for example grid.cells=[64,64,64]"
        raise CaseError(said, override=text)
    value = rest[1:].strip()
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        if value.startswith(("[", "{", '"', "'")):
            said = f"override '{text}': the value is not valid TOML"
            raise CaseError(said, override=text, key=".".join(key), given=value) from None
        return key, value


def apply_override(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Sets the value of a key in nested tables of a case, and makes missing tables on the way."""
    table = data
    for depth, part in enumerate(path[:-1]):
        child = table.setdefault(part, {})
        if not isinstance(child, dict):
            wrong = ".".join(path[: depth + 1])
            said = f"override '{'.'.join(path)}': '{wrong}' is a value, not a table"
            raise CaseError(said, key=".".join(path), value=wrong)
        table = child
    table[path[-1]] = value


def flat(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested tables, each with its key, such as `grid.cells`."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _format_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _quoted(key)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{visible(escaped)}"'


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_format_value(entry) for entry in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_format_key(k)} = {_format_value(v)}" for k, v in value.items()) + "}"
    raise TypeError(f"no TOML for {type(value).__name__}")


def dumps(data: Mapping[str, Mapping[str, Any]], header: str = "") -> str:
    """Tables one level deep as TOML text; deeper tables are written inline, None is left out."""
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    for name, table in data.items():
        lines += ["", f"[{_format_key(name)}]"] if lines else [f"[{_format_key(name)}]"]
        lines += [f"{_format_key(k)} = {_format_value(v)}" for k, v in table.items() if v is not None]
    return "\n".join(lines) + "\n"
