"""The options of `slipstream plot` and `slipstream render`; drawing modules are imported late."""

import argparse
from pathlib import Path

from slipstream.base.errors import CaseError, ErrorCode

#: Names of the scenes that `render` can draw; "body" needs a body.
SCENES = ("slices", "streamlines", "q", "body")
FILMS = (".mp4", ".gif")


def add_plot_options(command: argparse.ArgumentParser) -> None:
    _add_common(command)
    command.add_argument(
        "--plane",
        action="append",
        default=[],
        metavar="z=0.5",
        help="may be repeated; default: z, or the first of y and x that cuts a body",
    )
    command.add_argument(
        "--field",
        action="append",
        default=[],
        help="may be repeated; of a flow speed, vorticity, density, pressure, u, v, w, streamlines; default: the usual",
    )


def add_render_options(command: argparse.ArgumentParser) -> None:
    _add_common(command)
    command.add_argument(
        "--scene", action="append", default=[], choices=SCENES, help="may be repeated; default: all that there is"
    )
    command.add_argument(
        "--plane", action="append", default=[], metavar="z=0.5", help="of the slices, may be repeated; default: x, y, z"
    )
    command.add_argument(
        "--field", action="append", default=[], help="that slices show where they are all there is; default: usual"
    )
    command.add_argument("--q", type=float, metavar="Q", help="of the surface; default: one that holds 4 %% of cells")
    command.add_argument(
        "--body",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="surface as .stl, .obj, .ply or .vtp; default: those in RESULTS, else the case's bodies, else solid cells",
    )
    command.add_argument("--body-scale", type=float, default=1.0, metavar="S", help="the file's numbers in m or L")
    command.add_argument(
        "--body-move", type=float, nargs=3, default=(0.0, 0.0, 0.0), metavar=("X", "Y", "Z"), help="in m or L"
    )
    command.add_argument("--up", choices=["x", "y", "z"], help="axis that points up; default: the lid's, else z")
    command.add_argument(
        "--view", type=float, nargs=2, default=(-35.0, 22.0), metavar=("AZIMUTH", "ELEVATION"), help="degrees"
    )
    command.add_argument(
        "--size", type=int, nargs=2, default=(1400, 1050), metavar=("WIDTH", "HEIGHT"), help="pixels of the scene"
    )


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument("results", type=Path, help="folder that a run has left")
    command.add_argument("--time", type=float, metavar="T", help="the frame nearest to it; default: the last")
    command.add_argument("--film", type=Path, metavar="FILE", help="all frames, as .mp4 or .gif, instead of pictures")
    command.add_argument("--fps", type=float, default=12.0, help="frames a second of the film (12)")
    command.add_argument("-o", dest="output", type=Path, metavar="FOLDER", help="default: pictures in RESULTS")


def check_film(arguments: argparse.Namespace) -> None:
    """Raises CaseError for invalid options of a film."""
    if arguments.film:
        check_film_name(arguments.film)
        if arguments.time is not None:
            raise CaseError(
                "--time: a film shows all times; leave one of --film and --time out", key="--time", other="--film"
            )
    if not 0.1 <= arguments.fps <= 120.0:
        raise CaseError(
            f"--fps {arguments.fps:g}: a film has 0.1 to 120 frames a second",
            key="--fps",
            given=f"{arguments.fps:g}",
            allowed="0.1 to 120",
        )


def check_film_name(path: Path) -> None:
    if path.suffix.lower() not in FILMS:
        raise CaseError(
            f"--film {path}: name a file that ends in {' or '.join(FILMS)}",
            ErrorCode.UNSUPPORTED,
            key="--film",
            given=path,
            allowed=", ".join(FILMS),
        )
