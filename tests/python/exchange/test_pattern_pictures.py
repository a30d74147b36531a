"""The tool that draws the patterns of docs/exchange.md (tools/pattern_pictures.py)."""

import importlib.util
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"


def test_pictures_of_the_page_are_those_that_the_tool_draws(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("pattern_pictures", ROOT / "tools" / "pattern_pictures.py")
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs" / "exchange.md").read_text(encoding="utf-8")
    for path in tool.draw(tmp_path):
        text = path.read_text(encoding="utf-8")
        assert text == (ROOT / "docs" / "images" / path.name).read_text(encoding="utf-8"), "draw them again"
        assert f"images/{path.name}" in page
        root = ElementTree.fromstring(text)
        assert root.find(f"{SVG}title") is not None
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for box in root.iter(f"{SVG}rect"):
            right = float(box.get("x", 0)) + float(box.attrib["width"])
            low = float(box.get("y", 0)) + float(box.attrib["height"])
            assert right <= width and low <= height
