"""Reads how each test of a program ended, how long it took and why it failed.

Input is GoogleTest's JSON, pytest's JUnit files, or the output of a GoogleTest program that was interrupted before it
wrote its file.
"""

import json
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Counts:
    """Tests by result, with the seconds of each, and the lines that explain each failure."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, seconds: float, failed: bool, skipped: bool, why: str = "") -> None:
        self.seconds[name] = seconds
        if failed:
            self.failures.setdefault(name, []).extend(why.splitlines())
        self.failed += failed
        self.skipped += skipped and not failed
        self.passed += not failed and not skipped


def read(path: Path) -> Counts:
    """Reads the result file of a test program, which ends in .json (GoogleTest) or .xml (pytest)."""
    return _googletest(path) if path.suffix == ".json" else _pytest(path)


#: Pattern of the end of a test in GoogleTest's output, which is coloured under an MPI launcher, as on a terminal.
_ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (?:\x1b\[m)?([^\s,]+)[^\n]* \((\d+) ms\)")


#: Pattern of the lines of one test in GoogleTest's output, from its name to its result.
_LINES = re.compile(r"\[ RUN +\] (?:\x1b\[m)?(\S+)\n(.*?)(?=\S*\[ +(?:OK|FAILED|SKIPPED) +\]|\S*\[ RUN|\Z)", re.DOTALL)
#: Pattern of a failure that another rank reports, possibly within a line of rank 0.
_OF_RANK = re.compile(
    r"(rank \d+): ([\w/]+\.[\w/]+): (.*?)(?=^rank \d+: |^\S*\[[ -=]|^\d+ of \d+ ranks failed|\Z)",
    re.DOTALL | re.MULTILINE,
)


def read_log(text: str) -> Counts:
    """Reads GoogleTest's output: the completed tests with their results and times."""
    counts = Counts()
    said = dict(_LINES.findall(text))
    for how, name, milliseconds in _ENDED.findall(text):
        counts.add(name, int(milliseconds) / 1000, how == "FAILED", how == "SKIPPED", said.get(name, "").strip())
    return counts


def of_other_ranks(text: str) -> dict[str, list[str]]:
    """Lines on failures by test, from the output of all ranks; rank 0 may have passed or failed for other reasons."""
    found: dict[str, list[str]] = {}
    for rank, name, why in _OF_RANK.findall(text):
        found.setdefault(name, []).extend(f"{rank}: {why.rstrip()}".splitlines())
    return found


def last_begun(text: str) -> str | None:
    """Name of the test that was running when GoogleTest's output ended."""
    begun = re.findall(r"\[ RUN +\] (?:\x1b\[m)?(\S+)", text)
    ended = {name for _, name, _ in _ENDED.findall(text)}
    return begun[-1] if begun and begun[-1] not in ended else None


def _googletest(path: Path) -> Counts:
    counts = Counts()
    for suite in json.loads(path.read_text(encoding="utf-8"))["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{test['classname']}.{test['name']}"
            seconds = float(test["time"].removesuffix("s"))
            why = "\n".join(failure["failure"] for failure in test.get("failures", []) if "failure" in failure)
            counts.add(name, seconds, bool(test.get("failures")), test["result"] == "SKIPPED", why)
    return counts


def _pytest(path: Path) -> Counts:
    counts = Counts()
    for test in xml.parse(path).getroot().iter("testcase"):
        failures = [found for found in (test.find("failure"), test.find("error")) if found is not None]
        name = f"{test.get('classname', '').rpartition('.')[2]}::{test.get('name')}"
        why = "\n".join(_assertion(found.text or found.get("message", "")) for found in failures)
        counts.add(name, float(test.get("time", 0)), bool(failures), test.find("skipped") is not None, why)
    return counts


def _assertion(text: str) -> str:
    """Last lines of pytest's report on a failure, from the failed statement on."""
    lines = text.splitlines()
    marked = [n for n, line in enumerate(lines) if line.startswith(">")]
    return "\n".join(lines[marked[-1] :] if marked else lines)
