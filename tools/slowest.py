"""Prints the translation units of a build that took longest.

Usage: python tools/slowest.py BUILD... [--count 10]

BUILD is a folder in which Ninja has built. A unit from the compiler cache takes almost no time, so only a build with an
empty cache shows compile times. Times are wall-clock times with as many concurrent compilers as the machine has cores.
"""

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def times(log: str) -> dict[str, float]:
    """Seconds that the last build of each output took, from the text of a .ninja_log."""
    found: dict[str, float] = {}
    for line in log.splitlines():
        if line.startswith("#"):
            continue
        start, end, _, output, _ = line.split("\t")
        found[output] = (int(end) - int(start)) / 1000
    return found


def units(found: dict[str, float]) -> list[tuple[float, str]]:
    """Seconds and source of each compiled unit, slowest first."""
    compiled = [(seconds, output) for output, seconds in found.items() if output.endswith(".o")]
    return [(seconds, source(output)) for seconds, output in sorted(compiled, reverse=True)]


def source(output: str) -> str:
    """Source of an object file: `tests/CMakeFiles/unit_tests.dir/unit/box_test.cpp.o` is `tests/unit/box_test.cpp`;
    `__` stands for `..`."""
    parts = output.removesuffix(".o").split("/")
    kept = (part for part in parts if part != "CMakeFiles" and not part.endswith(".dir"))
    return os.path.normpath("/".join(".." if part == "__" else part for part in kept))


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("builds", nargs="+", type=Path, metavar="BUILD")
    parser.add_argument("--count", type=int, default=10, help="number of units (default: 10)")
    arguments = parser.parse_args(words)
    for build in arguments.builds:
        log = build / ".ninja_log"
        if not log.exists():
            print(f"slowest: no Ninja build in {build}: build it first.", file=sys.stderr)
            return 2
        # Ninja's log keeps units that were removed from the tree, so those without a source are left out.
        taken = times(log.read_text(encoding="utf-8"))
        found = units({output: seconds for output, seconds in taken.items() if (ROOT / source(output)).exists()})
        print(f"the slowest {min(arguments.count, len(found))} of {len(found)} translation units of {build}:")
        for seconds, name in found[: arguments.count]:
            print(f"{seconds:7.1f} s  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
