"""The README says what is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_page_is_the_file_in_cases():
    page = re.search(r"<!-- cases/cavity.py -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    assert page == (ROOT / "cases" / "cavity.py").read_text(encoding="utf-8")


def test_python_page_has_at_most_15_lines():
    assert len((ROOT / "cases" / "cavity.py").read_text(encoding="utf-8").splitlines()) <= 15


def test_files_that_readme_and_contributing_link_to_exist():
    text = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
