"""Prints the requirements of tools/python-packages.txt that this interpreter does not meet, one per line.

Usage: python tools/missing_python.py PURPOSE...    with purposes run, build, test, ci, render, site

Uses only the standard library, because it runs before anything is installed.
"""

import re
import sys
from importlib import metadata, util
from pathlib import Path

LIST = Path(__file__).with_name("python-packages.txt")


def requirements(text: str, purposes: set[str]) -> list[str]:
    """The requirements, such as numpy>=1.26, that a list of packages has for purposes such as "run" and "test".

    `text`: the list, with one package a line and its purpose after the `#`. The result keeps its order.
    """
    found = []
    for line in text.splitlines():
        requirement, _, purpose = line.partition("#")
        if requirement.strip() and purpose.strip() in purposes:
            found.append(requirement.strip())
    return found


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: '3.10rc1' gives (3, 10)."""
    return tuple(int(part) for part in re.match(r"\d+(\.\d+)*", version).group().split("."))


def is_met(requirement: str) -> bool:
    name, _, least = requirement.partition(">=")
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return util.find_spec(name.replace("-", "_")) is not None and release(version) >= release(least or "0")


def main() -> int:
    purposes = set(sys.argv[1:])
    for requirement in requirements(LIST.read_text(encoding="utf-8"), purposes):
        if not is_met(requirement):
            print(requirement)
    return 0


if __name__ == "__main__":
    sys.exit(main())
