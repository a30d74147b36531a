"""The end report of a run: one HTML page with everything in it, made from the files in a folder of results."""

import base64
import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.files import write_text
from slipstream.case.case import Case
from slipstream.case.solver import solver_of
from slipstream.results import record
from slipstream.results.record import Record
from slipstream.results.results import CASE, PICTURES, Results
from slipstream.results.taken import compared, phases

FILE = "report.html"
#: Size in bytes of the largest file that the page embeds; it only names larger ones.
MOST_BYTES = 16_000_000
#: Largest number of an exchange's messages that the page shows.
MOST_MESSAGES = 64

STYLE = """
:root { --ink: #1d2733; --soft: #5b6775; --line: #e3e7ec; --blue: #1f5fa8; --red: #b02a1c; --green: #22764f; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; color: var(--ink);
  margin: 0; background: #f6f7f9; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 28px 64px; background: white; min-height: 100vh; }
h1 { font-size: 27px; margin: 0 0 2px; line-height: 1.2; }
h2 { font-size: 18px; margin: 38px 0 10px; padding-bottom: 4px; border-bottom: 2px solid var(--line); }
p { margin: 6px 0; }
.soft { color: var(--soft); }
.verdict { display: inline-block; margin: 14px 0 4px; padding: 5px 12px; border-radius: 6px; background: #e8f3ee;
  color: var(--green); font-weight: 600; }
.verdict.bad { background: #fbeae8; color: var(--red); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 18px 0 0; }
.tile { border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.tile b { display: block; font-size: 21px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 8px 0; font-size: 14px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: 3px 18px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
pre { background: #f6f7f9; border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; overflow-x: auto;
  font-size: 12.5px; line-height: 1.45; }
figure { margin: 18px 0; }
figure img, figure video { max-width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: 13px; margin-top: 4px; }
summary { cursor: pointer; color: var(--blue); margin: 6px 0; }
@media print { body { background: white; } main { padding: 0; max-width: none; } figure { break-inside: avoid; } }
"""


def write(folder: Path, output: Path | None = None, draw: bool = True) -> Path:
    """Writes the page of a run and returns its path. `draw`: includes pictures of planes of the last frame. Raises
    CaseError."""
    shown = Results(folder)
    path = output or shown.folder / FILE
    text = page(shown, record.read(shown.folder), draw)
    try:
        write_text(path, text)
    except OSError as error:
        raise CaseError(f"report: {path} cannot be written: {error}", ErrorCode.IO, file=path) from None
    return path


def page(shown: Results, run: Record | None, draw: bool = True) -> str:
    """HTML of the whole page about a run."""
    exchanged = record.read_json(shown.folder / "exchange.json")
    figures = run.figures if run else {}
    parts = [
        _head(shown.case, run, figures),
        _answer(shown),
        _pictures(shown, draw),
        _expected(figures),
        _comparisons(shown),
        _speed(run, figures),
        _exchange(exchanged, shown.folder) if exchanged else "",
        _facts(run),
        _log(run),
        _case(shown),
    ]
    title = f"{shown.case.case.name}: report of a run"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> str:
    """HTML of a table, whose first `left` columns are words and the rest numbers."""

    def cell(tag: str, index: int, value: Any) -> str:
        shown = "-" if value is None else html.escape(str(value))
        return f"<{tag}{' class=number' if index >= left else ''}>{shown}</{tag}>"

    lines = ["".join(cell("td", n, value) for n, value in enumerate(row)) for row in rows]
    head = "".join(cell("th", n, name) for n, name in enumerate(columns))
    top = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f'<div class="wide"><table>{top}<tbody>\n{body}</tbody></table></div>'


def _section(title: str, *parts: str) -> str:
    return f"<section>\n<h2>{html.escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def _more(title: str, inner: str) -> str:
    return f"<details><summary>{html.escape(title)}</summary>\n{inner}\n</details>"


def _text(text: str, kind: str = "") -> str:
    return f"<p{f' class={kind}' if kind else ''}>{html.escape(text)}</p>"


def _head(case: Case, run: Record | None, figures: dict[str, Any]) -> str:
    parts = [f"<h1>{html.escape(case.case.description or case.case.name)}</h1>"]
    when = f", {run.began}" if run else ""
    parts.append(_text(f"{case.case.name}{when}", "soft"))
    if run and not run.ended:
        parts.append(_text("This run has not ended yet, or was killed.", "soft"))
    if run and run.verdict:
        parts.append(f'<div class="verdict{"" if run.sound else " bad"}">{html.escape(run.verdict)}</div>')
    tiles = _tiles(case, figures)
    inner = "".join(f'<div class="tile"><b>{html.escape(v)}</b><span>{html.escape(k)}</span></div>' for k, v in tiles)
    return "<header>\n" + "\n".join(parts) + f'\n<div class="tiles">{inner}</div>\n</header>'


def _tiles(case: Case, figures: dict[str, Any]) -> list[tuple[str, str]]:
    """The most important numbers of a run, each with its label."""
    cells = f"{case.cell_count / 1e6:.3g} million" if case.cell_count >= 1e6 else _whole(case.cell_count)
    before, after = solver_of(case).tiles(case, figures)
    steps = [("steps", _whole(figures["steps"]))] if figures else []
    rate = [(solver_of(case).unit_of_rate, f"{figures['mlups']:.4g}")] if figures.get("mlups") else []
    return [*before, ("cells", cells), *steps, *rate, *after]


def _answer(shown: Results) -> str:
    """HTML of the page's section "Results": the tables and pictures that a solver shows before all others."""
    tables, pictures = solver_of(shown.case).answer(shown.case, shown.folder)
    parts = [part for words, columns, rows in tables for part in (_text(words), table(columns, rows, left=2))]
    captions = solver_of(shown.case).pictures
    there = [name for name in pictures if (shown.folder / name).exists()]
    parts += [_file(shown.folder / name, captions[name]) for name in there]
    return _section("Results", *parts) if parts else ""


def _whole(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _comparisons(shown: Results) -> str:
    parts = []
    for words, columns, rows in solver_of(shown.case).compared(shown.folder):
        parts += [_text(words), table(columns, rows)]
    return _section("Comparison", *parts) if parts else ""


def _expected(figures: dict[str, Any]) -> str:
    rows = [
        (e["quantity"], f"{e['low']:g} to {e['high']:g}", _number(e["value"], ".6g"), "yes" if e["met"] else "no")
        for e in figures.get("expected", [])
    ]
    return _section("Expected", table(["quantity", "range", "found", "met"], rows)) if rows else ""


def _number(value: float | None, form: str) -> str | None:
    return None if value is None else f"{value:{form}}"


def _speed(run: Record | None, figures: dict[str, Any]) -> str:
    rows = []
    if figures:
        rows = [("steps", f"{figures['steps']}, none of them by the last start")]
        if figures["mlups"] is not None:
            rows = [
                ("updates", f"{figures['mlups']:.5g} million cells a second"),
                ("steps", f"{figures['steps']} in {figures['seconds']:.4g} s, output and residuals included"),
            ]
        rows.append(("machine", f"{figures['machine']}: {figures['devices']} devices of {figures['ranks']} ranks"))
    parts = [table(["", ""], rows, left=2)] if rows else []
    if run and run.took:
        parts.append(table(["", "predicted", "took"], compared(run.took, run.predicted)))
    if run and run.phases:
        parts.append(table(["phase", "calls", "s", "ms a call", "%"], phases(run.phases, 3)))
    return _section("Speed", *parts) if parts else ""


def _exchange(exchanged: dict[str, Any], folder: Path) -> str:
    rows = exchanged.get("rows", [])
    lines = [
        (r["source"], r["target"], r["route"], r["reason"], r["bytes"], _number(r["time_us"], ".1f"),
         _number(r["gbs"], ".2f"), _number(r["percent_of_link"], ".0f"))
        for r in rows[:MOST_MESSAGES]
    ]  # fmt: skip
    parts = [table(["from", "to", "route", "why", "bytes", "µs", "GB/s", "% of link"], lines, left=4)]
    if len(rows) > MOST_MESSAGES:
        parts.append(_text(f"and {len(rows) - MOST_MESSAGES} more messages in exchange.json", "soft"))
    picture = folder / "exchange.png"
    if picture.exists():
        parts.append(_file(picture, "Messages of the last exchange"))
    return _section("Exchange", *parts)


def _facts(run: Record | None) -> str:
    if not run:
        return _section("Facts", _text(f"{record.FILE} is not here: the run wrote none, or it was removed.", "soft"))
    times = [("began", run.began), ("ended", run.ended or "not yet")]
    return _section("Facts", table(["", ""], [*run.facts, *times], left=2))


def _log(run: Record | None) -> str:
    if not run or not run.log:
        return ""
    rows = [(entry["when"], entry["step"], entry["what"]) for entry in run.log]
    return _section("Log of the guard and of checkpoints", table(["when", "step", "what"], rows, left=3))


def _case(shown: Results) -> str:
    text = (shown.folder / CASE).read_text(encoding="utf-8")
    return _section("Case", _more("the case with every key", f"<pre>{html.escape(text)}</pre>"))


def _pictures(shown: Results, draw: bool) -> str:
    parts = []
    if draw and shown.frames:
        parts.append(_last_frame(shown))
    own, (_, first) = solver_of(shown.case).pictures, solver_of(shown.case).answer(shown.case, shown.folder)
    there = [name for name in own if name not in first and (shown.folder / name).exists()]
    parts += [_file(shown.folder / name, own[name]) for name in there]
    # Pictures that the page shows already are not repeated.
    more = [path for path in _drawn_since(shown) if path.name not in own]
    parts += [_file(path, path.stem.replace("_", " ")) for path in more]
    return _section("Pictures", *parts) if parts else ""


def _drawn_since(shown: Results) -> list[Path]:
    """Pictures drawn by plot and render since this run began; older ones may show another flow."""
    folder = shown.folder / PICTURES
    began = (shown.folder / CASE).stat().st_mtime
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in found if path.suffix in _KINDS and path.stat().st_mtime >= began]


def _last_frame(shown: Results) -> str:
    """Pictures of the last frame; an error in drawing them must not prevent the page."""
    try:
        return _figure("image/png", _sheet(shown), "The last frame in the middle of the box")
    except CaseError:
        raise
    except Exception as error:
        return _text(f"The last frame cannot be drawn: {str(error).strip() or type(error).__name__}", "soft")


def _sheet(shown: Results) -> bytes:
    """The default quantities of the last frame side by side, as a PNG."""
    import matplotlib.pyplot as plt

    from slipstream.pictures import planes

    plane = planes.cut_plane(shown, shown.frame(), planes.usual(shown, shown.frame()))
    known = solver_of(shown.case).quantities(shown.case)
    figure = planes.sheet([(plane, name) for name, quantity in known.items() if quantity.usual])
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    plt.close(figure)
    return buffer.getvalue()


_KINDS = {".png": "image/png", ".gif": "image/gif", ".mp4": "video/mp4"}


def _file(path: Path, caption: str) -> str:
    if path.stat().st_size > MOST_BYTES:
        return _text(f"{caption}: {path.name}, {path.stat().st_size / 1e6:.0f} MB, lies beside this page", "soft")
    return _figure(_KINDS[path.suffix], path.read_bytes(), caption)


def _figure(kind: str, content: bytes, caption: str) -> str:
    data = f"data:{kind};base64,{base64.b64encode(content).decode()}"
    words = html.escape(caption)
    if kind.startswith("video"):
        inner = f'<video controls loop src="{data}"></video>'
    else:
        inner = f'<img alt="{words}" src="{data}">'
    return f"<figure>{inner}<figcaption>{words}</figcaption></figure>"
