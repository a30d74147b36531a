"""The site of `make docs`: links, anchors and the reference."""

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

pytest.importorskip("mkdocs", reason="needs MkDocs: tools/setup.sh site")
sys.path.insert(0, str(ROOT / "tools"))
import make_site  # noqa: E402
from mkdocs.exceptions import PluginError  # noqa: E402

HEADER = """#pragma once
// Boxes of cells.
#include <vector>
namespace slipstream {
namespace {
/// Hidden by no class.
int one(int a);
}  // namespace
struct Bare {};
/// A box.
class Box {
 public:
  /// Its cells.
  int cells() const { return n; }
};
using Boxes = std::vector<Box>;
/// The sum of both,
/// in cells.
template <class T>
T sum(const T& a,
      const T& b);
}  // namespace slipstream
"""


@pytest.mark.parametrize(
    "heading, anchor",
    [
        ("Rates on a periodic box", "rates-on-a-periodic-box"),
        ("Solid cells: at 256^3", "solid-cells-at-2563"),
        ("A - b", "a---b"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert make_site.slug(heading) == anchor


def test_declarations_of_a_header_are_those_that_have_a_comment() -> None:
    found = dict(make_site.declarations(HEADER))
    assert list(found) == ["one", "Box", "sum"]
    assert found["Box"].startswith("/// A box.\nclass Box {") and found["Box"].endswith("};")
    assert found["sum"].splitlines()[0] == "/// The sum of both,"


def test_every_public_header_and_every_exported_name_is_in_the_reference() -> None:
    pages = make_site.reference()
    headers = sorted(path.stem for path in (ROOT / "include" / "slipstream").glob("*.hpp"))
    assert [name for name in headers if f"reference/{name}.md" not in pages] == []
    few = [name for name in headers if "## " not in pages[f"reference/{name}.md"]]
    assert few == []
    assert "## GatherScatter\n" in pages["reference/python_slipstream.md"]
    assert "def run(self" in pages["reference/python_lbm.md"] and "def _" not in pages[
        "reference/python_lbm.md"
    ].replace("__init__", "")


def test_links_to_files_outside_of_docs_lead_to_their_pages() -> None:
    text = "[a](../cases/cavity.toml) [b](dns.md#cost) [c](../include/slipstream/lbm.hpp)\n```\n[x](none.md)\n```\n"
    made = make_site.linked(text, ROOT / "docs", "lbm.md")
    assert "[a](files/cases/cavity.toml.md) [b](dns.md#cost) [c](reference/lbm.md)" in made and "[x](none.md)" in made


def test_a_link_to_a_file_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(PluginError, match="nothing.toml"):
        make_site.linked("[a](../cases/nothing.toml)", ROOT / "docs", "lbm.md")


def test_navigation_has_the_shelves_of_the_index_in_their_order() -> None:
    nav: list[Any] = make_site.navigation(
        (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), ["reference/lbm.md"]
    )
    assert [next(iter(entry)) for entry in nav] == [
        "Start",
        "README",
        "User guide",
        "Developer guide",
        "Results",
        "Reference",
    ]
    listed = {page for entry in nav[2:5] for one in entry[next(iter(entry))] for page in one.values()}
    pages = {str(path.relative_to(ROOT / "docs")) for path in Path(ROOT, "docs").rglob("*.md")}
    assert pages - listed == {"index.md"}
