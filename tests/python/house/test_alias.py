"""Programs import the library as `slip`, in Python and in C++."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PLACES = ("cases", "docs", "examples", "python", "tests/python", "tools")


def texts(*endings: str) -> Iterator[tuple[str, str]]:
    found = [ROOT / "README.md", *(path for place in PLACES for path in sorted((ROOT / place).rglob("*")))]
    for path in found:
        if path.suffix in endings:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_python_imports_the_library_by_one_name():
    named = [
        (name, alias)
        for name, text in texts(".py", ".md")
        for alias in re.findall(r"^ *import (?:[\w, ]+, )?slipstream(?: as (\w+))?(?: *$|,| *#)", text, re.MULTILINE)
    ]
    assert len(named) > 30
    assert [name for name, alias in named if alias != "slip"] == []


def test_cpp_pages_and_examples_say_what_slip_is():
    programs = [(name, text) for name, text in texts(".cpp", ".cu") if name.startswith("examples/")]
    programs += [(name, text) for name, text in texts(".md") if "```cpp" in text]
    assert [name for name, text in programs if re.search(r"\bss::", text)] == []
    using = [(name, text) for name, text in programs if "slip::" in text]
    assert len(using) > 5
    assert [name for name, text in using if "namespace slip = slipstream;" not in text] == []
