"""How each test of a program ended, how long it took and why it failed.

It reads GoogleTest's JSON, pytest's JUnit files, or the output of a GoogleTest program that was cut off before it wrote
its file.
"""

import json
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Counts:
    """Tests by how they ended; by name the seconds that each took, and for each failure the lines that say why."""

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
    """Counts of a file that ends with .json (GoogleTest) or .xml (pytest)."""
    return _googletest(path) if path.suffix == ".json" else _pytest(path)


#: A test that has ended; in colours under a launcher of ranks, whose output is a terminal's.
_ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (?:\x1b\[m)?([^\s,]+)[^\n]* \((\d+) ms\)")


#: The lines of one test, from its name to how it ended.
_LINES = re.compile(r"\[ RUN +\] (?:\x1b\[m)?(\S+)\n(.*?)(?=\S*\[ +(?:OK|FAILED|SKIPPED) +\]|\S*\[ RUN|\Z)", re.DOTALL)
#: Ranks other than the first tell of a failure so, maybe within another rank's line.
_OF_RANK = re.compile(
    r"(rank \d+): ([\w/]+\.[\w/]+): (.*?)(?=^rank \d+: |^\S*\[[ -=]|^\d+ of \d+ ranks failed|\Z)",
    re.DOTALL | re.MULTILINE,
)


def read_log(text: str) -> Counts:
    """Counts of a log of GoogleTest: the tests that had ended, by the line that says how and after how long."""
    counts = Counts()
    said = dict(_LINES.findall(text))
    for how, name, milliseconds in _ENDED.findall(text):
        counts.add(name, int(milliseconds) / 1000, how == "FAILED", how == "SKIPPED", said.get(name, "").strip())
    return counts


def of_other_ranks(text: str) -> dict[str, list[str]]:
    """Failures by test, from the output of all ranks, where the first one passed or has its own reasons."""
    found: dict[str, list[str]] = {}
    for rank, name, why in _OF_RANK.findall(text):
        found.setdefault(name, []).extend(f"{rank}: {why.rstrip()}".splitlines())
    return found


def last_begun(text: str) -> str | None:
    """The test that GoogleTest had begun and not ended when its output broke off."""
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
    """The last lines of pytest's report of a failure, from the statement that failed."""
    lines = text.splitlines()
    marked = [n for n, line in enumerate(lines) if line.startswith(">")]
    return "\n".join(lines[marked[-1] :] if marked else lines)
