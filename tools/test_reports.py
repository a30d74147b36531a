"""How each test of a program ended and how long it took, from GoogleTest's JSON and pytest's JUnit files, or from what
GoogleTest printed before the program was cut off."""

import json
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Counts:
    """Tests by how they ended, and the seconds that each took, by name."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, seconds: float, failed: bool, skipped: bool) -> None:
        self.seconds[name] = seconds
        self.failed += failed
        self.skipped += skipped and not failed
        self.passed += not failed and not skipped


def read(path: Path) -> Counts:
    """Of a file that ends with .json (GoogleTest) or .xml (pytest)."""
    return _googletest(path) if path.suffix == ".json" else _pytest(path)


#: A test that has ended; in colours under a launcher of ranks, whose output is a terminal's.
_ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (?:\x1b\[m)?([^\s,]+)[^\n]* \((\d+) ms\)")


def read_log(text: str) -> Counts:
    """Of what GoogleTest printed: the tests that had ended, by the line that says how and after how long."""
    counts = Counts()
    for how, name, milliseconds in _ENDED.findall(text):
        counts.add(name, int(milliseconds) / 1000, how == "FAILED", how == "SKIPPED")
    return counts


def _googletest(path: Path) -> Counts:
    counts = Counts()
    for suite in json.loads(path.read_text(encoding="utf-8"))["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{test['classname']}.{test['name']}"
            seconds = float(test["time"].removesuffix("s"))
            counts.add(name, seconds, bool(test.get("failures")), test["result"] == "SKIPPED")
    return counts


def _pytest(path: Path) -> Counts:
    counts = Counts()
    for test in xml.parse(path).getroot().iter("testcase"):
        failed = test.find("failure") is not None or test.find("error") is not None
        name = f"{test.get('classname', '').rpartition('.')[2]}::{test.get('name')}"
        counts.add(name, float(test.get("time", 0)), failed, test.find("skipped") is not None)
    return counts
