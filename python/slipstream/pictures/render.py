"""`slipstream render`: pictures and films in three dimensions of a run's fields."""

import argparse

from rich.console import Console

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.solver import solver_of
from slipstream.pictures import film, planes, style
from slipstream.pictures.picture_options import check_film
from slipstream.pictures.plot import report_files, report_film
from slipstream.pictures.scene import Artist, View, Wish
from slipstream.results.results import PICTURES, Results


def command(arguments: argparse.Namespace, console: Console) -> None:
    check_film(arguments)
    shown = Results(arguments.results)
    if shown.case.dimensions < 3:
        raise CaseError(
            f"render: {shown.folder} holds a case in two dimensions; `slipstream plot` draws it",
            ErrorCode.UNSUPPORTED,
            file=shown.folder,
            dimensions=2,
        )
    first = shown.frame(arguments.time)
    cuts = [planes.parse_cut(text, shown.case) for text in arguments.plane or "xyz"]
    wish = Wish(arguments, _view(arguments, shown), cuts, console)
    made_by = solver_of(shown.case).artist(shown.case)
    if others := [name for name in arguments.scene if name not in made_by.scenes]:
        raise CaseError(
            f"--scene {others[0]}: {shown.folder} is of [{shown.case.solver}], whose results are shown by "
            f"{' and '.join(made_by.scenes)} alone",
            ErrorCode.UNSUPPORTED,
            key="--scene",
            given=others[0],
            solver=shown.case.solver,
            allowed=", ".join(made_by.scenes),
        )
    artist: Artist = made_by(shown, wish)
    try:
        if arguments.film:
            if len(arguments.scene) > 1:
                raise CaseError("--film: a film shows one scene; name one --scene", ErrorCode.NOT_FOUND, key="--scene")
            name = arguments.scene[0] if arguments.scene else artist.film_scene
            report_film(console, film.write(arguments.film, artist.film(name), arguments.fps))
            return
        folder = arguments.output or shown.folder / PICTURES
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name in arguments.scene or artist.there(first):
            path = folder / f"render_{artist.name(name)}.png"
            style.save(artist.figure(first, name), path)
            written.append(path)
    except OSError as error:
        raise CaseError(f"a picture cannot be written: {error}", ErrorCode.IO) from None
    report_files(console, written)


def _view(arguments: argparse.Namespace, shown: Results) -> View:
    if min(arguments.size) < 64 or max(arguments.size) > 8192:
        raise CaseError(
            f"--size {arguments.size[0]} {arguments.size[1]}: 64 to 8192 pixels each",
            key="--size",
            given=f"{arguments.size[0]} {arguments.size[1]}",
            allowed="64 to 8192",
        )
    azimuth, elevation = arguments.view
    if not -89.0 <= elevation <= 89.0:
        raise CaseError(
            f"--view: an elevation of {elevation:g} degrees; -89 to 89 keep what is up up",
            key="--view",
            given=f"{elevation:g}",
            allowed="-89 to 89",
        )
    return View(arguments.up or shown.case.up, azimuth, elevation, tuple(arguments.size))
