"""The convergence order of a case to its [exact] flow: python3 cases/convergence.py cases/couette.toml

Runs it with 1, 2 and 4 times the cells along each axis of more than two cells. Velocities are scaled with the cell
size, so that compressibility errors fall with grid errors. Forces are scaled accordingly, and the Reynolds number is
constant.
"""

import argparse
import json
import math
import tempfile
from pathlib import Path

from slipstream.base import terminal
from slipstream.base.errors import CaseError
from slipstream.case.reader import load
from slipstream.run.run import run

FACTORS = (1, 2, 4)
QUICK = ("output.fields=false", "output.pictures=false", "output.report=false")


def distances(path: str, overrides: list[str]) -> list[tuple[tuple[int, int, int], float]]:
    """Cells and error against the exact flow, from coarse to fine."""
    coarse = load(path, overrides)
    found = []
    for n in FACTORS:
        finer = coarse.refined(n)
        if finer is None:
            raise CaseError(f"{path}: it is not known how this problem stays the same on a finer grid")
        changes = [f"{key}={value}" for key, value in finer.items()]
        with tempfile.TemporaryDirectory() as folder:
            case = load(path, [*overrides, *changes, *QUICK, f"output.folder={folder}/r"])
            run(case, terminal.console(1))
            result = json.loads((Path(folder) / "r" / "comparison.json").read_text(encoding="utf-8"))
        found.append((case.grid.cells, result["run"]["findings"]["exact.distance"]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("overrides", nargs="*", help="key=value")
    arguments = parser.parse_args()
    before = None
    for cells, distance in distances(arguments.case, arguments.overrides):
        order = "" if before is None else f"   order {math.log2(before / distance):.2f}"
        print(f"{' x '.join(map(str, cells)):>16}   distance {distance:.3e}{order}")
        before = distance


if __name__ == "__main__":
    main()
