"""Finds the cases that come with Slipstream: cases/ of the source tree, or its copy in a package."""

import argparse
import re
import shutil
import tomllib
from pathlib import Path

from rich.console import Console

from slipstream.base import terminal
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.faults import nearest, nearest_of

_PACKAGE = Path(__file__).resolve().parents[1]


def folder() -> Path:
    """The folder of the case files. Throws CaseError where the package was installed without them."""
    for found in (_PACKAGE / "cases", _PACKAGE.parents[1] / "cases"):
        if (found / "cavity.toml").is_file():
            return found
    raise CaseError("this package holds no cases: install it again by pip", ErrorCode.UNAVAILABLE)


def _description(path: Path) -> str:
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("case", {}).get("description", ""))


def files(name: str) -> list[Path]:
    """The case file of this name, and the meshes that it reads. Throws CaseError for other names."""
    known = [path.stem for path in sorted(folder().glob("*.toml"))]
    if name not in known:
        raise CaseError(
            f"no case named {name!r}; {nearest(name, known) or '`slipstream cases` lists them'}",
            ErrorCode.NOT_FOUND,
            given=name,
            nearest=nearest_of(name, known),
        )
    case = folder() / f"{name}.toml"
    meshes = re.findall(r'^mesh = "([^"]+)"', case.read_text(encoding="utf-8"), re.MULTILINE)
    return [case, *(folder() / mesh for mesh in meshes)]


def command(arguments: argparse.Namespace, console: Console) -> None:
    """Lists the cases, or copies those that are named into the working directory."""
    if not arguments.names:
        rows = [(path.stem, _description(path)) for path in sorted(folder().glob("*.toml"))]
        console.print(terminal.table(f"cases of {folder()}", ["", ""], rows, left=2))
        return
    found = [path for name in arguments.names for path in files(name)]
    for path in found:
        if Path(path.name).exists():
            raise CaseError(
                f"{path.name} exists already in this folder; remove or rename it first",
                ErrorCode.WRONG_STATE,
                file=path.name,
            )
    for path in found:
        shutil.copyfile(path, path.name)
        console.print(f"written: {path.name}")
