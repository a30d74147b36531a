"""`slipstream plot`: pictures of planes of a run's fields, its profiles, and films of a plane."""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.faults import unknown
from slipstream.case.solver import solver_of
from slipstream.pictures import film, planes, style
from slipstream.pictures.picture_options import check_film
from slipstream.pictures.planes import Cut
from slipstream.results.results import PICTURES, Frame, Results


def command(arguments: argparse.Namespace, console: Console) -> None:
    check_film(arguments)
    shown = Results(arguments.results)
    frame = shown.frame(arguments.time)
    cuts = [planes.parse_cut(text, shown.case) for text in arguments.plane] or [planes.usual(shown, frame)]
    fields = _fields(shown, arguments.field)
    try:
        if arguments.film:
            field = fields[0]
            if len(cuts) > 1 or len(arguments.field) > 1:
                raise CaseError(
                    "--film: a film shows one plane and one field; name one --plane and one --field",
                    ErrorCode.NOT_FOUND,
                    key="--plane, --field",
                )
            report_film(console, film.write(arguments.film, _frames(shown, cuts[0], field), arguments.fps))
            return
        written = _pictures(shown, frame, cuts, fields, arguments.output or shown.folder / PICTURES)
        if not arguments.field:
            written += solver_of(shown.case).curves(shown, arguments.output or shown.folder / PICTURES)
    except OSError as error:
        raise CaseError(f"a picture cannot be written: {error}", ErrorCode.IO) from None
    report_files(console, written)


def _fields(shown: Results, asked: Sequence[str]) -> list[str]:
    """Names of the requested fields, or of the default ones, which include streamlines if there is a speed."""
    known = solver_of(shown.case).quantities(shown.case)
    lines = ["streamlines"] if "speed" in known else []
    for name in asked:
        if name not in known and name not in lines:
            raise CaseError(unknown(f"--field {name}: ", name, [*known, *lines], key="--field", given=name))
    return list(asked) or [name for name, quantity in known.items() if quantity.usual] + lines


def report_files(console: Console, written: Sequence[Path]) -> None:
    console.print("written:")
    for path in written:
        console.print(f"  {os.path.relpath(path)}", soft_wrap=True)


def report_film(console: Console, written: tuple[Path, str]) -> None:
    path, note = written
    if note:
        console.print(note, soft_wrap=True)
    report_files(console, [path])


def _pictures(shown: Results, frame: Frame, cuts: Sequence[Cut], fields: Sequence[str], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for cut in cuts:
        plane = planes.cut_plane(shown, frame, cut)
        for field in fields:
            path = folder / (f"{field}.png" if shown.case.dimensions < 3 else f"{field}_{cut.name}.png")
            style.save(draw(plane, field), path)
            written.append(path)
    return written


def draw(plane: planes.Plane, field: str) -> Figure:
    """Draws a field in one plane, with colours that depend on its own values."""
    if field == "streamlines":
        return planes.streamlines(plane)
    return planes.picture(plane, field, planes.look(plane.case, plane.cut, field, [plane.values(field)]))


def _frames(shown: Results, cut: Cut, field: str) -> Iterator[np.ndarray]:
    """Draws a field in all frames with the same colours. Planes are read twice, because the colours depend on all of
    them."""
    ground = "speed" if field == "streamlines" else field
    sampled: list[np.ndarray] = []
    for frame in shown.frames:
        values = planes.cut_plane(shown, frame, cut).values(ground)
        # Only extremes and a sample of each frame's values are kept, from which a percentile of all frames is found.
        flat = np.ma.compressed(values)
        if flat.size:
            sampled.append(np.concatenate([flat[:: max(1, flat.size // 20000)], [flat.min(), flat.max()]]))
    how = planes.look(shown.case, cut, ground, sampled)
    for frame in shown.frames:
        plane = planes.cut_plane(shown, frame, cut)
        figure = planes.streamlines(plane, how) if field == "streamlines" else planes.picture(plane, field, how)
        yield film.pixels(figure)
