"""Prints the table and writes the result file of tools/gpu_sanitize.sh from the logs of its runs.

Usage: python tools/sanitizer_rows.py --command TEXT [--folder bench/results] < RUNS
A line of RUNS: part|tool|binary|ranks|filter|limit in s|exit status|seconds|log. Exits with 1 unless all runs passed.
"""

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from slipstream.base.core import core
from slipstream.base.registry import benchmarks

record = benchmarks("record")

FIGURES = frozenset({"limit_s", "passed", "failed", "skipped", "errors", "seconds", "outcome"})
#: Exit statuses of `timeout`: ended by its signal, or by a later kill.
ENDED, KILLED = 124, 137

# Patterns of GoogleTest's result lines. It repeats skipped and failed tests at the end, without a time, which must not
# count.
_PASSED = re.compile(r"^\[       OK \] ", re.MULTILINE)
_FAILED = re.compile(r"^\[  FAILED  \] .*\(\d+ ms\)$", re.MULTILINE)
_SKIPPED = re.compile(r"^\[  SKIPPED \] .*\(\d+ ms\)$", re.MULTILINE)
# Pattern of the sanitizer's summary for one process. A hazard that racecheck calls a warning counts as an error here.
_SUMMARY = re.compile(r"^=+ (?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", re.MULTILINE)
# Pattern of errors in the log of a run that did not reach its summary; the end by a signal does not count.
_REPORTED = re.compile(
    r"^=+ (?:Invalid|Misaligned|Illegal|Out-of-range|Warp|(?:(?:Error|Warning): )?Race)", re.MULTILINE
)


def row(line: str, devices: int) -> dict[str, Any]:
    """The result row of one run under the sanitizer."""
    part, tool, binary, ranks, tests, limit, status, seconds, log = line.rstrip("\n").split("|")
    text = Path(log).read_text(encoding="utf-8", errors="replace")
    summaries = [int(a or b) for a, b in _SUMMARY.findall(text)]
    whole = len(summaries) == int(ranks)
    passed, failed = len(_PASSED.findall(text)), len(_FAILED.findall(text))
    over = int(status) == ENDED or (int(status) == KILLED and int(seconds) >= int(limit))
    errors = sum(summaries) if whole and not over else len(_REPORTED.findall(text))
    outcome = "passed" if status == "0" and whole and passed else "FAILED"
    if errors or failed:
        outcome = "FAILED"
    elif over:
        outcome = "out of time"
    return {
        "part": part,
        "tool": tool,
        "binary": binary,
        "filter": tests,
        "ranks": int(ranks),
        "devices": devices,
        "limit_s": int(limit),
        "passed": passed,
        "failed": failed,
        "skipped": len(_SKIPPED.findall(text)),
        "errors": errors,
        "seconds": int(seconds),
        "outcome": outcome,
    }


def excerpt(log: Path, most: int = 30) -> str:
    """Errors and failed tests in the log of a run, from the beginning; its end if there are none."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    told = [line for line in lines if line.startswith("=====") or "FAILED" in line or "Failure" in line]
    return "\n".join(told[:most] if len(told) > 2 else lines[-most:])


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Lines of a table of the sanitizer's results, with a heading. The last column has the filters of tests, which may
    be long."""
    shown = ("outcome", "tool", "binary", "ranks", "passed", "failed", "skipped", "errors", "seconds", "filter")
    cells = [list(shown), *([str(found[key]) for key in shown] for found in rows)]
    widths = [max(len(line[n]) for line in cells) for n in range(len(shown))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def main(words: list[str], runs: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--command", required=True, help="command line of the runs")
    parser.add_argument("--folder", type=Path, default=Path("bench/results"))
    parser.add_argument("--backend", choices=["host", "cuda"], default="cuda", help="backend of the machine")
    arguments = parser.parse_args(words)
    module = core()
    machine = module.Machine.discover(arguments.backend, devices_per_rank=1 if arguments.backend == "host" else 0)
    entries = [line for line in runs if line.strip()]
    rows = [row(line, len(machine.devices())) for line in entries]
    for line, found in zip(entries, rows, strict=True):
        if found["outcome"] == "FAILED":
            log = Path(line.rstrip("\n").rsplit("|", 1)[1])
            print(f"\n{found['part']}-{found['tool']} ({log}):\n{excerpt(log)}")
    build = module.build_info()
    described = record.describe_machine(machine)
    print(f"\ncompute-sanitizer on {described['name']}:")
    print("\n".join(table(rows)))
    path = record.write(
        arguments.folder, "sanitizer", described, build["commit"], rows, FIGURES, command=arguments.command
    )
    print(f"written: {path}")
    return 0 if rows and all(found["outcome"] == "passed" for found in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin))
