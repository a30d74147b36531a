"""Finds sentences that a change adds and that read badly: inverted openings, more than 30 words, home-made terms.

Usage: python tools/check_prose.py [BASE]
       python tools/check_prose.py --score     counts the whole tree, and fails where pages exceed a limit

Reads comments, docstrings, Markdown pages and case files of the working tree. It reports bad sentences that no changed
file held at BASE, so moved and reformatted sentences are not reported. The default of BASE is the commit where this
branch left `main`; on `main` itself it is the parent of the last commit. Tables, code, headings and questions are left
out. Numbers, formulas, code in backticks and citations in parentheses do not count as words. Exits with 1 if it finds a
sentence. If git lacks the history, it prints a note and exits with 0.

The score of all pages has three limits. They bound the share of sentences that open inverted, the mean number of words,
and the lines between two headings, without generated tables. Pages outside of docs/results and docs/notes must have
more words of text than of tables. Pages and comments must not have the terms that HOME_MADE replaces. The glossary has
at most 20 home-made words, with one sentence for each. Other counts of comments, by folder, have no limit yet.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from change import base_of, changed_files, git

LIMIT = 30
#: Limits for all pages: share of sentences with an object or a clause before the subject, mean words per sentence,
#: lines without a heading.
MOST_INVERTED, MOST_WORDS, MOST_LINES = 0.01, 18.0, 40
#: Folders of pages of results, which consist mostly of tables.
RESULTS = ("docs/results/", "docs/notes/")
GENERATED = re.compile(r"(<!-- (?:table|directions): [^\n]*-->\n).*?(?=<!-- end -->)", re.DOTALL)

#: Words of this project for which the field has a term. docs/glossary.md has those that stay.
HOME_MADE = {
    "carriage": "transport",
    "fullness": "share of the memory",
    "landing": "receive buffer",
    "parting": "collective teardown",
    "patience": "timeout",
    "remembered": "cached",
    "sealed": "in packets",
}
HOME_MADE_TERM = re.compile(rf"\b({'|'.join(HOME_MADE)})\b(?! return)", re.IGNORECASE)
GLOSSARY, MOST_TERMS = "docs/glossary.md", 20

#: Pattern of openings that put an object or a clause before the subject, or leave the subject out.
INVERTED = re.compile(
    r"(Of|Who|Whose|Whom|What|Which|Whatever|Whoever|Whichever|Nobody|Beside"
    r"|(By|From|To|In|On|At|For|With|Into) (what|which|whom)|Where nobody)\b"
)

#: Pattern of abbreviations whose full stop ends no sentence.
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|et al|cf|vs|resp|Fig|Eq)\.$")
#: Pattern of the end of a sentence, before a capital, code or the keys of an entry (`key: `). An entry may end with a
#: semicolon, too.
SENTENCE_END = re.compile(r"[.!?][)\"'*_]*\s+(?=[\"'(*_`]*[A-Z`]|--|[\w.]+(?:, [\w.]+)*: )|;\s+(?=[\w.]+: )")

CODE_SPAN = re.compile(r"``[^`]+``|`[^`]+`")
CITATION = re.compile(r"\([^()]*\b(?:1[6-9]|20)\d\d\b[^()]*\)")
#: Pattern of a reference such as `Author: Title, 2017`, which counts as one sentence.
CITES = re.compile(r", (?:1[6-9]|20)\d\d\b(?!-)")
#: Pattern of beginnings of comments that address a tool, not a reader.
PRAGMA = re.compile(r"(noqa|type:|fmt:|ruff:|pragma|NOLINT|clang-format|shellcheck|!|-\*-)")
CODE_LINE = re.compile(r"[\w\".\[\]]+ *(=|\+=) *\S|\$ |>>> |(?!.*[a-z]{2} [a-z]{2,} [a-z]{2}).*[;{}\\]$")
#: Pattern of a line of a table that is laid out with spaces.
TABLE_LINE = re.compile(r"\||.*\S {3,}\S")
ITEM = re.compile(r"[-*+] +")
#: Pattern of a line's beginning that starts an item, if the line before it ends a sentence.
NUMBER_OR_KEY = re.compile(r"(\d+[.)]|`[^`]+`(, `[^`]+`)*:|[\w.-]+(, [\w.-]+)*:) +")


@dataclass(frozen=True)
class Sentence:
    line: int
    text: str

    def faults(self) -> list[str]:
        words = word_count(self.text)
        term = HOME_MADE_TERM.search(CODE_SPAN.sub("", self.text))
        return [
            *([f"'{term[0]}' is {HOME_MADE[term[0].lower()]}"] if term else []),
            *(["opens inverted"] if INVERTED.match(self.text.lstrip("\"'(*_")) and not self.text.endswith("?") else []),
            *([f"{words} words"] if words > LIMIT and not CITES.search(self.text) else []),
        ]


Line = tuple[int, str]


def word_count(text: str) -> int:
    """Number of words as a reader counts them: code is one word; numbers and formulas are none."""
    text = CODE_SPAN.sub(" code ", CITATION.sub(" ", text))
    # Consecutive code spans, such as a list of option names in backticks, count as one word.
    text = re.sub(r"code(?:\s*(?:,|/|and|or|,\s*and|,\s*or)\s*code)+", "code", text)
    return sum(bool(re.search(r"[A-Za-z]{2}", word)) or word in ("a", "A", "I") for word in text.split())


def sentences(paragraph: list[Line]) -> Iterator[Sentence]:
    """The sentences in consecutive lines of a paragraph."""
    text, starts = "", []
    for number, line in paragraph:
        starts.append((len(text), number))
        text += line.strip() + " "
    begin = 0
    ends = [m.end() for m in SENTENCE_END.finditer(text) if not ABBREVIATION.search(text[: m.start() + 1])]
    for end in [*ends, len(text)]:
        if sentence := text[begin:end].strip():
            yield Sentence(next(number for start, number in reversed(starts) if start <= begin), sentence)
        begin = end


def paragraphs(lines: list[Line]) -> Iterator[list[Line]]:
    """Splits the lines of a comment or docstring into paragraphs and items of lists, without code and tables."""
    found: list[Line] = []
    last, ended = None, True
    for number, line in lines:
        bare = line.strip()
        item = ITEM.match(bare) or ended and NUMBER_OR_KEY.match(bare)
        out = not bare or TABLE_LINE.match(bare) or CODE_LINE.match(bare) or bare.startswith("http")
        if out or item or (last is not None and number != last + 1):
            yield found
            found = []
        if not out:
            found.append((number, bare[item.end() :] if item else bare))
        last, ended = number, out or bare[-1] in ".:;,!?"
    yield found


def in_markdown(text: str) -> Iterator[list[Line]]:
    """Paragraphs of a page: without fenced and indented code, tables, headings, pictures and comments."""
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)
    kept, fence, blank = list[Line](), "", True
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        mark = re.match(r"(```+|~~~+)", bare)
        if mark and (not fence or bare.startswith(fence)):
            fence = "" if fence else mark.group(1)
            bare = ""
        elif fence or line.startswith("    ") and blank or bare.startswith(("|", "#", "!", "<")):
            bare = ""
        kept.append((number, re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", bare)))
        blank = not bare
    yield from paragraphs(kept)


CXX = re.compile(
    r'R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    r"|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)",
    re.DOTALL,
)


def in_cxx(text: str) -> Iterator[list[Line]]:
    """Paragraphs of the comments in a C++ text. A comment behind code is a paragraph of its own."""
    whole: list[Line] = []
    for match in CXX.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        if match["line"]:
            comment = (number, match["line"].lstrip("/<!"))
            if text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip():
                yield from _comments([comment])
            else:
                whole.append(comment)
        elif match["block"]:
            lines = match["block"][2:-2].splitlines()
            yield from _comments([(number + n, line.strip(" *")) for n, line in enumerate(lines)])
    yield from _comments(whole)


def _comments(lines: list[Line]) -> Iterator[list[Line]]:
    yield from paragraphs([(number, "" if PRAGMA.match(line.strip()) else line) for number, line in lines])


#: Pattern of a string literal of Python: a prefix, quotes, the text, and the same quotes.
LITERAL = re.compile(r"\A[rRuU]?(\"\"\"|'''|\"|')(.*)\1\Z", re.DOTALL)


def in_python(text: str) -> Iterator[list[Line]]:
    """Paragraphs of the docstrings and comments in a Python text; none if it is not valid Python."""
    try:
        tree = ast.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, tokenize.TokenError):
        return
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, holders) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            lines = LITERAL.sub(r"\2", ast.get_source_segment(text, first)).splitlines()
            yield from _docstring([(first.lineno + n, line) for n, line in enumerate(lines)])
    whole: list[Line] = []
    for token in tokens:
        if token.type == tokenize.COMMENT:
            comment = (token.start[0], token.string.lstrip("#:"))
            if token.line[: token.start[1]].strip():
                yield from _comments([comment])
            else:
                whole.append(comment)
    yield from _comments(whole)


def _docstring(lines: list[Line]) -> Iterator[list[Line]]:
    """Lines of a docstring, without those that are indented more, which are an example."""
    indents = [len(line) - len(line.lstrip()) for _, line in lines[1:] if line.strip()]
    margin = min(indents, default=0)
    kept = [
        (number, "" if n and len(line) - len(line.lstrip()) >= margin + 4 else line)
        for n, (number, line) in enumerate(lines)
    ]
    yield from paragraphs(kept)


TEXT_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|(#.*)')


def in_toml(text: str) -> Iterator[list[Line]]:
    """Paragraphs of the comments in a TOML file. A key that is commented out is not prose, but a comment behind it
    is."""
    whole: list[Line] = []
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"# *[\w\".]+ *=", line):
            line = line[1:]
        comment = next((m[1] for m in TEXT_OR_COMMENT.finditer(line) if m[1]), None)
        if comment is None:
            continue
        if line.strip().startswith("#") or whole and line[: -len(comment)].isspace():
            whole.append((number, comment.lstrip("# ")))
        else:
            yield from _comments([(number, comment.lstrip("# "))])
    yield from _comments(whole)


def in_script(text: str) -> Iterator[list[Line]]:
    """Paragraphs of the comments on lines of their own, in files of the shell, make and CMake."""
    lines = enumerate(text.splitlines(), 1)
    yield from _comments([(number, line.strip().lstrip("#")) for number, line in lines if re.match(r"\s*#", line)])


READERS: dict[str, Callable[[str], Iterator[list[Line]]]] = {
    ".md": in_markdown, ".py": in_python, ".toml": in_toml,
    ".cpp": in_cxx, ".hpp": in_cxx, ".cu": in_cxx, ".h": in_cxx,
    ".sh": in_script, ".cmake": in_script, "CMakeLists.txt": in_script, "Makefile": in_script, ".ci/run": in_script,
}  # fmt: skip


def prose(path: str, text: str) -> Iterator[Sentence]:
    """The sentences of a file's pages or comments; none for kinds of files that are not checked."""
    reader = next((READERS[end] for end in READERS if path.endswith(end)), None)
    for paragraph in reader(text) if reader else ():
        yield from sentences(paragraph)


def findings(path: str, text: str, before: set[str]) -> list[str]:
    """Text `path:line: reason: sentence` for each bad sentence that the old text of the file lacks."""
    return [
        f"{path}:{sentence.line}: {', '.join(faults)}: {sentence.text}"
        for sentence in sorted(prose(path, text), key=lambda sentence: sentence.line)
        if (faults := sentence.faults()) and sentence.text not in before
    ]


def check(root: Path, base: str) -> list[str]:
    """All bad sentences that the working tree adds to a commit, including untracked files."""
    changed = changed_files(root, base).items()
    before = {
        sentence.text
        for path, status in changed
        if status != "A"
        for sentence in prose(path, git(root, "show", f"{base}:{path}"))
    }
    return [
        finding
        for path, status in changed
        if status != "D"
        for finding in findings(path, (root / path).read_text(encoding="utf-8", errors="replace"), before)
    ]


@dataclass
class Count:
    """Numbers of sentences, words and faults over many files."""

    sentences: int = 0
    words: int = 0
    inverted: int = 0
    home_made: int = 0

    def add(self, found: Sentence) -> None:
        self.sentences += 1
        self.home_made += bool(HOME_MADE_TERM.search(CODE_SPAN.sub("", found.text)))
        self.words += word_count(found.text)
        self.inverted += "opens inverted" in found.faults()

    def share(self) -> float:
        return self.inverted / self.sentences if self.sentences else 0

    def mean(self) -> float:
        return self.words / self.sentences if self.sentences else 0

    def __str__(self) -> str:
        inverted = f"{self.inverted} ({100 * self.share():.2f} %) open inverted"
        return f"{self.sentences} sentences, {inverted}, {self.mean():.1f} words each, {self.home_made} home-made terms"


def glossary_faults(text: str) -> list[str]:
    """Errors for a glossary with too many home-made words, or with entries longer than a sentence."""
    entries = re.findall(r"^- \*\*(.+?)\*\*: (.*?)(?=\n\n|\n- |\n#|\Z)", text, re.MULTILINE | re.DOTALL)
    many = [f"{GLOSSARY}: {len(entries)} words, at most {MOST_TERMS}"] if len(entries) > MOST_TERMS else []
    long = [word for word, said in entries if len([*sentences([(1, said.replace("\n", " "))])]) != 1]
    return many + [f"{GLOSSARY}: {word} has more than one sentence" for word in long]


def page_faults(path: str, text: str) -> list[str]:
    """Errors for long stretches of a page without a heading, and for pages with more table than text."""
    lines = GENERATED.sub(r"\1", text).splitlines()
    faults, fence, last, table = list[str](), False, 0, 0
    for number, line in enumerate([*lines, "# the end"]):
        fence ^= line.startswith("```")
        if line.startswith("#") and not fence:
            if number - last - 1 > MOST_LINES:
                faults.append(f"{path}: {number - last - 1} lines without a heading: {lines[last]}")
            last = number
        if line.startswith("|") and not fence:
            table += sum(bool(re.search(r"\w", word)) for word in line.split())
    words = sum(len(sentence.text.split()) for sentence in prose(path, text))
    if table > words and not path.startswith(RESULTS):
        faults.append(f"{path}: {table} words of tables, {words} of text")
    return faults


def score(root: Path) -> tuple[list[str], list[str]]:
    """Numbers of sentences and faults over all files in git, and errors for pages beyond the limits."""
    faults, pages, comments = list[str](), Count(), dict[str, Count]()
    for path in git(root, "ls-files").splitlines():
        if not (root / path).is_file():
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        count = pages if path.endswith(".md") else comments.setdefault(path.partition("/")[0], Count())
        for sentence in prose(path, text):
            count.add(sentence)
        if path.endswith(".md"):
            faults += page_faults(path, text)
    if pages.share() > MOST_INVERTED:
        faults.append(f"pages: {100 * pages.share():.2f} % of sentences open inverted, at most {100 * MOST_INVERTED:g}")
    if home_made := sum(count.home_made for count in (pages, *comments.values())):
        faults.append(f"{home_made} home-made terms in pages and comments: {', '.join(HOME_MADE)}")
    if (root / GLOSSARY).is_file():
        faults += glossary_faults((root / GLOSSARY).read_text(encoding="utf-8"))
    if pages.mean() > MOST_WORDS:
        faults.append(f"pages: {pages.mean():.1f} words a sentence, at most {MOST_WORDS:g}")
    named = [f"comments in {folder}: {count}" for folder, count in sorted(comments.items()) if count.sentences > 20]
    return [f"pages: {pages}", *named], faults


def main(words: list[str]) -> int:
    root = Path(__file__).resolve().parents[1]
    if words[:1] == ["--score"]:
        counts, faults = score(root)
        print(*counts, *faults, sep="\n")
        print(f"check_prose: pages have {len(faults)} faults; comments are counted, and fail nothing yet")
        return 1 if faults else 0
    asked = words[0] if words else None
    base = base_of(root, asked)
    if base is None:
        print(f"check_prose: git's history does not reach back to {asked or 'the commit before'}: nothing is checked")
        return 0
    found = check(root, base)
    print(*found, sep="\n", end="\n" if found else "")
    advice = f"; write subject, verb, object in at most {LIMIT} words" if found else ""
    print(f"check_prose: since {base[:8]} {len(found)} sentences read badly{advice}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
