"""Generates the tables of the documentation from the files in bench/results, so that no figure is typed by hand.

A document contains `<!-- table: lbm -->` and `<!-- end -->`. The text between them is replaced by the rows of
bench/results/lbm/*.json, one file per machine. `<!-- table: lbm columns=devices,storage,mlups -->` selects columns; a
column `mlups?` may be absent. `where=clock:host,ranks:4` selects rows, and a final `optional` allows an empty table.
`<!-- directions: fft -->` shows forward and backward transforms, next to cufftXt where it ran.

`<!-- figure: lbm/a-machine mlups where=storage:f32 -->` is one figure, to three digits, of the newest matching row.
`--check` changes nothing and fails if a table or a figure is out of date.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: Columns that every row of results has: card, date and commit.
PROVENANCE = ("card", "date", "commit")
MARKED = re.compile(
    r"(<!-- table: (?P<name>[\w/-]+)(?: columns=(?P<columns>[\w,?]+))?(?: where=(?P<where>[\w:,^+-]+))?"
    r"(?P<optional> optional)? -->\n).*?(?P<end><!-- end -->)",
    re.DOTALL,
)


DIRECTIONS = re.compile(r"(<!-- directions: (?P<name>[\w/-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
FIGURE = re.compile(
    r"(<!-- figure: (?P<file>[\w/-]+) (?P<column>\w+)(?: where=(?P<where>[\w:,^+-]+))? -->)[^<]*(?P<end><!-- end -->)"
)


class TableError(Exception):
    """A table that cannot be generated."""


class NothingMeasuredError(TableError):
    """The results have no rows for a table."""


def results(folder: Path) -> list[dict[str, Any]]:
    """The result files in a folder, by machine."""
    found: dict[str, Path] = {}
    read: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        name = result["machine"]["name"]
        if name in found:
            raise TableError(f"{found[name]} and {path.name} are of one machine, {name}: merge them into one file")
        found[name], read[name] = path, result
    if not found:
        raise NothingMeasuredError(f"no results in {folder}")
    return [read[name] for name in sorted(read)]


def show(value: Any) -> str:
    """Text of a table cell: cubes as 64^3, numbers without superfluous digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, list):
        parts = [show(entry) for entry in value]
        return f"{parts[0]}^{len(parts)}" if len(parts) > 1 and len(set(parts)) == 1 else " x ".join(parts)
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)


def heading(column: str) -> str:
    return column.replace("_", " ")


def varying(rows: list[dict[str, Any]]) -> list[str]:
    """Columns that differ between rows; all columns of a single row. The caption states `PROVENANCE`."""
    names = list(dict.fromkeys(name for row in rows for name in row if name not in PROVENANCE))
    return [n for n in names if len(rows) == 1 or len({json.dumps(row.get(n)) for row in rows}) > 1]


def provenance(result: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Dates and commits of the rows in a table, oldest first: `2026-11-21, 2026-11-22, commits 3dbe929, cd5515a`."""
    measured = sorted({(row.get("date", result["date"]), row.get("commit", result["commit"])) for row in rows})
    dates, commits = (list(dict.fromkeys(column)) for column in zip(*measured, strict=True))
    short = [re.sub(r"^(\w{7})\w+", r"\1", commit) for commit in commits]
    return f"{', '.join(dates)}, commit{'s' if len(short) > 1 else ''} {', '.join(short)}"


def chosen_rows(rows: list[dict[str, Any]], where: dict[str, str]) -> list[dict[str, Any]]:
    return [row for row in rows if all(show(row.get(name)) == value for name, value in where.items())]


def table(folder: Path, columns: list[str] | None, where: dict[str, str]) -> str:
    """Markdown of one benchmark: a caption and a table per machine."""
    parts = []
    found = [(result, chosen_rows(result["rows"], where)) for result in results(folder)]
    known = {name for _, rows in found for row in rows for name in row}
    if known and (unknown := [name for name in columns or () if name not in known and not name.endswith("?")]):
        raise TableError(f"{folder.name}: no column {', '.join(unknown)} in the results")
    for result, rows in found:
        if not rows:
            continue
        # Older results may lack newer columns, so only present ones are shown.
        here = {name for row in rows for name in row}
        chosen = [name for one in columns if (name := one.removesuffix("?")) in here] if columns else varying(rows)
        lines = [f"{result['machine']['name']}, {provenance(result, rows)}:", ""]
        lines.append("| " + " | ".join(map(heading, chosen)) + " |")
        lines.append("|" + "|".join(" ---: " if _numeric(rows, name) else " --- " for name in chosen) + "|")
        lines += ["| " + " | ".join(show(row.get(name)) for name in chosen) + " |" for row in rows]
        parts.append("\n".join(lines))
    if not parts:
        raise NothingMeasuredError(f"no results in {folder} where {', '.join(map(': '.join, where.items()))}")
    return "\n\n".join(parts) + "\n"


def _numeric(rows: list[dict[str, Any]], name: str) -> bool:
    values = [row[name] for row in rows if row.get(name) is not None]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def newest(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The last row of the last date in a list of results."""
    return max(enumerate(rows), key=lambda entry: (entry[1].get("date", ""), entry[0]))[1]


def figure(path: Path, column: str, where: dict[str, str]) -> str:
    """Text of one number from the results: three digits; shares in percent."""
    rows = [row for row in chosen_rows(json.loads(path.read_text(encoding="utf-8"))["rows"], where) if column in row]
    if not rows:
        raise NothingMeasuredError(f"no {column} in {path.name} where {', '.join(map(': '.join, where.items()))}")
    value = newest(rows)[column]
    return f"{100 * value:.0f} %" if column == "share" else f"{value:.3g}"


def directions(folder: Path) -> str:
    """Markdown table with times of Fourier transforms on slabs with default routes of messages, by the host's clock.
    Columns are forward, backward, their ratio, and the ratio of each to cufftXt in the same file."""
    parts = []
    for result in results(folder):
        found: dict[tuple[Any, ...], dict[str, list[dict[str, Any]]]] = {}
        for row in chosen_rows(result["rows"], {"clock": "host", "decomposition": "slab", "components": "1"}):
            if row.get("routes", "rules") != "rules" or row["overlap"] or not row["transposed"]:
                continue
            moves = "none" if row["devices"] == 1 else "stored" if row["stored_moves"] else "packed"
            way = row.get("library", moves)
            size = (row["devices"], row["kind"], row["dtype"], row["n"][0], show(row["n"]))
            found.setdefault(size, {}).setdefault(way, []).append(row)
        lines, used = [], []
        for (devices, _, dtype, _, n), ways in sorted(found.items()):
            library = newest(ways["cufftXt"]) if "cufftXt" in ways else None
            for way in sorted(ways.keys() - {"cufftXt"}):
                row = newest(ways[way])
                times = [row["time_ms"], row["backward_ms"]]
                theirs = [library[key] if library else None for key in ("time_ms", "backward_ms")]
                over = [mine / other if other else None for mine, other in zip(times, theirs, strict=True)]
                cells = [devices, n, dtype, way, *times, times[1] / times[0], *theirs, *over]
                lines.append("| " + " | ".join(f"{c:.3g}" if isinstance(c, float) else show(c) for c in cells) + " |")
                used += [row, *([library] if library else [])]
        if lines:
            heads = ["devices", "n", "dtype", "moves", "forward ms", "backward ms", "backward / forward"]
            heads += ["cufftXt forward ms", "backward ms", "forward / cufftXt", "backward / cufftXt"]
            rule = "| ---: | --- | --- | --- |" + " ---: |" * 7
            caption = f"{result['machine']['name']}, {provenance(result, used)}:"
            parts.append("\n".join([caption, "", "| " + " | ".join(heads) + " |", rule, *lines]))
    return "\n\n".join(parts) + "\n"


def terms(where: str | None) -> dict[str, str]:
    return dict(term.split(":", 1) for term in where.split(",")) if where else {}


def fill(text: str, folder: Path) -> str:
    """Text of a page with regenerated tables and figures."""

    def replace(match: re.Match[str]) -> str:
        columns = match["columns"].split(",") if match["columns"] else None
        try:
            made = table(folder / match["name"], columns, terms(match["where"]))
        except NothingMeasuredError:
            if not match["optional"]:
                raise
            made = "Not measured yet.\n"
        return match[1] + made + match["end"]

    def replace_figure(match: re.Match[str]) -> str:
        path = folder / f"{match['file']}.json"
        return match[1] + figure(path, match["column"], terms(match["where"])) + match["end"]

    text = DIRECTIONS.sub(lambda match: match[1] + directions(folder / match["name"]) + match["end"], text)
    return FIGURE.sub(replace_figure, MARKED.sub(replace, text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a table is out of date")
    parser.add_argument("--root", type=Path, default=ROOT, help="root of the repository")
    arguments = parser.parse_args()
    root: Path = arguments.root
    stale = []
    for path in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        text = path.read_text(encoding="utf-8")
        try:
            filled = fill(text, root / "bench" / "results")
        except TableError as error:
            print(f"{path.relative_to(root)}: {error}", file=sys.stderr)
            return 1
        if filled != text:
            stale.append(path.relative_to(root))
            if not arguments.check:
                path.write_text(filled, encoding="utf-8")
    for path in stale:
        print(f"{path}: {'its tables are out of date; run tools/tables.py' if arguments.check else 'written'}")
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
