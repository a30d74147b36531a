"""tools/check_prose.py finds exactly the hard-to-read sentences that a change adds."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

LONG = "The device " + "copies and " * 15 + "waits."
#: A sentence of thirty words, the longest that passes.
FULL = "Ranks " + "copy and " * 14 + "wait."
SHORT = "Ranks " + "copy and " * 8 + "wait."


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return __import__("check_prose")
    finally:
        sys.path.pop(0)


FOUND = {
    "a comment of C++": ("a.cpp", "int a;\n/// Of this step.\nint b;", "a.cpp:2: opens inverted: Of this step."),
    "a comment behind code": ("a.hpp", "int a;  // Which device it is on.", "a.hpp:1: opens inverted"),
    "a comment behind digits": ("a.cpp", "int a = 1'000;  // Of two's", "a.cpp:1: opens inverted: Of two's"),
    "a comment after code": ("a.py", "# The rank\na = 1\n# Of one.", "a.py:3: opens inverted: Of one."),
    "a block comment": ("a.cu", "/* What it\n * returns. */", "a.cu:1: opens inverted: What it returns."),
    "a second sentence": ("a.cpp", "// The rank waits.\n// Then it ends. Nobody\n// asks.", "a.cpp:2: opens inverted"),
    "a long sentence": ("a.cpp", f"// {LONG}", "a.cpp:1: 33 words"),
    "a sentence over lines": ("a.py", "# " + LONG.replace("copies", "\n# copies", 1), "a.py:1: 33 words"),
    "a line that ends with a semicolon": ("a.cpp", f"// {LONG[:60]};\n// {LONG[60:]}", "a.cpp:1: 33"),
    "a docstring": ("a.py", 'def f():\n    """Adds.\n\n    By which rank is not said."""', "a.py:4: opens inverted"),
    "a docstring that begins with R": ("a.py", f'"""{FULL[:-1]} for u"""', "a.py:1: 31 words: Ranks copy"),
    "a raw docstring that begins with U": ("a.py", f'r"""Usually {LONG}"""', "a.py:1: 34 words: Usually The"),
    "a docstring in single quotes": ("a.py", f"R'{FULL[:-1]} for u'", "a.py:1: 31 words: Ranks copy"),
    "an entry of a docstring": ("a.py", f'"""Adds.\n\n    values: {LONG}\n"""', "a.py:3: 33 words"),
    "a page": ("a.md", "# Title\n\nThe rank waits.\nOf all ranks one waits.", "a.md:4: opens inverted"),
    "an item of a list": ("a.md", "- The first.\n- Whoever waits.", "a.md:2: opens inverted"),
    "a case file": ("a.toml", "# The cube.\n[grid]\ncells = [1]  # What is cut.", "a.toml:3: opens inverted"),
    "a key that is commented out": ("a.toml", "# a = 1  # Of the lid", "a.toml:1: opens inverted: Of the lid"),
    "a home-made term": ("a.cpp", "// The patience of a rank.", "a.cpp:1: 'patience' is timeout: The patience"),
    "a script": ("a.sh", "#!/bin/sh\n# Whose tree it is.", "a.sh:2: opens inverted"),
}


@pytest.mark.parametrize(("name", "text", "begins"), FOUND.values(), ids=FOUND)
def test_sentence_is_found(tool: ModuleType, name: str, text: str, begins: str) -> None:
    (finding,) = tool.findings(name, text, set())
    assert finding.startswith(begins)


MANY = ", ".join(f"`key{n}`" for n in range(40))
PASSES = {
    "thirty words": ("a.md", FULL),
    "a question": ("a.md", "What does it cost? Little."),
    "a heading": ("a.md", f"# {LONG}"),
    "a table": ("a.md", f"| what | Of what |\n|---|---|\n| {LONG} | b |"),
    "a fenced block": ("a.md", f"```\n{LONG}\n\nOf code.\n```"),
    "an indented block": ("a.md", f"See:\n\n    {LONG}"),
    "a comment of a page": ("a.md", f"<!-- generated\n{LONG} -->"),
    "a list of keys": ("a.md", f"The keys {MANY} and `last` are read."),
    "entries of keys": ("a.cpp", "// " + "; ".join(f"key{n}: the number of a rank" for n in range(12))),
    "an entry of two keys": ("a.py", f'"""{SHORT} one, two: {SHORT}"""'),
    "an entry of two keys on its line": ("a.py", f'"""{SHORT}\none, two: {SHORT}"""'),
    "entries of a docstring": ("a.py", '"""Adds. ' + "key: a number. " * 20 + '"""'),
    "a citation in parentheses": ("a.md", f"The scheme is old (by {LONG.rstrip('.')} 1987)."),
    "a citation": ("a.py", f'"""Author: {LONG.rstrip(".")}, Journal, 2017, 6."""'),
    "a formula": ("a.cpp", "// The sum is " + " + ".join(f"a{n} * {n}" for n in range(40)) + "."),
    "lines after an abbreviation": ("a.md", "It is fast (e.g. `What`), cf. Which Way et al. Of Who."),
    "columns": ("a.cpp", f"// Of one     {LONG}"),
    "code in a comment": ("a.cpp", f"// Of = {LONG};"),
    "a statement in a comment": ("a.cpp", "// Of(other, rank);\n// Whose{1};"),
    "words for tools": ("a.py", f"a = 1  # noqa: {LONG}"),
    "a text that is no docstring": ("a.py", f'a = """Of one. {LONG}"""\nb = "# Of two."'),
    "an example in a docstring": ("a.py", f'"""Adds.\n\n    Thus:\n        {LONG}\n    """'),
    "an address": ("a.cpp", f'auto a = "https://Of this. {LONG}";'),
    "a raw text": ("a.cpp", 'auto a = R"(" // Of three)"\n;'),
    "a text of a case": ("a.toml", 'a = "# Of three"'),
    "a capital within a sentence": ("a.md", "The norm is that\nOf Euler."),
    "Python that cannot be read": ("a.py", "def f(:\n    # Of one."),
    "a home-made term in code": ("a.md", "The key `patience` and a carriage return are others."),
    "another kind of file": ("a.json", "Of one."),
}


@pytest.mark.parametrize(("name", "text"), PASSES.values(), ids=PASSES)
def test_text_passes(tool: ModuleType, name: str, text: str) -> None:
    assert tool.findings(name, text, set()) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one bad sentence in its first commit on main."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.md").write_text("Of old times.\n\nThe rest stays.\n")
    commit(tmp_path)
    return tmp_path


def git(tree: Path, *words: str) -> None:
    given = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *given, *words], cwd=tree, check=True, capture_output=True)


def commit(tree: Path) -> None:
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "A change")


def in_tree(tool: ModuleType, tree: Path, asked: str | None = None) -> list[str]:
    return tool.check(tree, tool.base_of(tree, asked))


def test_sentences_that_were_there_before_are_not_of_the_change(tool: ModuleType, tree: Path) -> None:
    (tree / "b.md").write_text("Some words, then more. Of\nold times. Of new times.\n")
    (tree / "a.md").unlink()
    commit(tree)
    assert in_tree(tool, tree) == ["b.md:2: opens inverted: Of new times."]


def test_change_of_a_branch_begins_where_it_left_main(tool: ModuleType, tree: Path) -> None:
    git(tree, "switch", "-qc", "branch")
    for name in ("b", "c"):
        (tree / f"{name}.md").write_text(f"Of {name}.\n")
        commit(tree)
    (tree / "d.md").write_text("Of what is not committed.\n")
    assert [finding[:4] for finding in in_tree(tool, tree)] == ["b.md", "c.md", "d.md"]
    assert [finding[:4] for finding in in_tree(tool, tree, "HEAD~1")] == ["c.md", "d.md"]


def test_clone_without_history_is_not_checked(
    tool: ModuleType, tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tree / "b.md").write_text("Of new times.\n")
    commit(tree)
    shallow = tmp_path_factory.mktemp("clones") / "shallow"
    git(tree, "clone", "-q", "--depth", "1", f"file://{tree}", str(shallow))
    assert tool.base_of(shallow, None) is None
    assert tool.base_of(shallow, "HEAD~1") is None


def test_program_says_what_it_found(tree: Path) -> None:
    (tree / "tools").mkdir()
    for name in ("change.py", "check_prose.py"):
        (tree / "tools" / name).write_text((ROOT / "tools" / name).read_text())
    commit(tree)
    (tree / "a.md").write_text("Of new times.\n")

    def said(*words: str) -> tuple[int, str]:
        ended = subprocess.run(
            [sys.executable, "tools/check_prose.py", *words], cwd=tree, capture_output=True, text=True
        )
        return ended.returncode, ended.stdout

    code, text = said("HEAD")
    assert code == 1 and text.startswith("a.md:1: opens inverted: Of new times.\ncheck_prose: since ")
    code, text = said("no_such_commit")
    assert code == 0 and "no_such_commit: nothing is checked" in text
    git(tree, "checkout", "-q", "a.md")
    assert said("HEAD")[0] == 0


PAGES = {
    "a long stretch": ("docs/a.md", "# A\n" + "The rank waits.\n" * 41, ["docs/a.md: 41 lines without a heading: # A"]),
    "forty lines": ("docs/a.md", "# A\n" + "The rank waits.\n" * 40, []),
    "a heading in code": (
        "docs/a.md",
        "# A\n```\n" + "# b\n" * 41 + "```\n",
        ["docs/a.md: 43 lines without a heading: # A"],
    ),
    "a generated table": (
        "docs/results/a.md",
        "# A\n<!-- table: lbm -->\n" + "| one |\n" * 60 + "<!-- end -->\n",
        [],
    ),
    "more table than text": (
        "docs/a.md",
        "# A\n\nTwo words.\n\n| a b | c |\n|---|---|\n",
        ["docs/a.md: 3 words of tables, 2 of text"],
    ),
    "more text than table": ("docs/a.md", "# A\n\nThere are four words.\n\n| a b | c |\n|---|---|\n", []),
}


@pytest.mark.parametrize(("path", "text", "faults"), PAGES.values(), ids=PAGES)
def test_pages_have_headings_and_more_text_than_tables(
    tool: ModuleType, path: str, text: str, faults: list[str]
) -> None:
    assert tool.page_faults(path, text) == faults


def test_score_fails_for_pages_and_counts_comments(tool: ModuleType, tree: Path) -> None:
    (tree / "src").mkdir()
    (tree / "src" / "a.cpp").write_text("// Of one.\n\n// The rank waits.\n" * 11)
    commit(tree)
    counts, faults = tool.score(tree)
    assert counts == [
        "pages: 2 sentences, 1 (50.00 %) open inverted, 3.0 words each, 0 home-made terms",
        "comments in src: 22 sentences, 11 (50.00 %) open inverted, 2.5 words each, 0 home-made terms",
    ]
    assert faults == ["pages: 50.00 % of sentences open inverted, at most 1"]
    (tree / "a.md").write_text(
        "# A\n\n"
        + "A rank waits for the other ranks of its node and then it copies the values of its own blocks.\n\n" * 4
    )
    counts, faults = tool.score(tree)
    assert faults == ["pages: 20.0 words a sentence, at most 18"]
    (tree / "a.md").write_text("# A\n\nThe landing is full.\n")
    (tree / "docs").mkdir()
    (tree / "docs" / "glossary.md").write_text("# G\n\n- **item**: One. Two.\n")
    counts, faults = tool.score(tree)
    assert counts[0].endswith("1 home-made terms")
    assert faults[0].startswith("1 home-made terms in pages and comments: ")
    assert faults[1:] == ["docs/glossary.md: item has more than one sentence"]


def test_the_glossary_has_one_sentence_for_each_of_twenty_words(tool: ModuleType) -> None:
    entries = [f"- **word{n}**: A rank that waits\n  for others.\n" for n in range(21)]
    assert tool.glossary_faults("".join(entries[:20])) == []
    assert tool.glossary_faults("".join(entries)) == ["docs/glossary.md: 21 words, at most 20"]
    assert tool.glossary_faults((ROOT / "docs" / "glossary.md").read_text()) == []
