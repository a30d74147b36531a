"""Finds the test files that a change can break, from includes and imports.

A C++ test depends on the files that it includes, directly or indirectly, and is linked with their rooms and all rooms
below. A Python test depends on the modules that it imports, directly or indirectly, and on the compiled module. Solvers
and benchmarks are loaded by name: a test depends on those that it imports or names. Any other file concerns the tests
that name it or its folder. Tests in `house` may read any file. When in doubt, a test is selected.
"""

import ast
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import check_includes
from check_includes import INCLUDE, SOLVERS, imported, module_of

#: Folders of the Python package whose modules are loaded only by name.
LEAVES = (*SOLVERS, "bench")
#: Solver that computes a case file without a table of a solver.
USUAL = "lbm"
#: Pattern of words that name all cases or solvers: a test with such a word depends on every solver.
EVERY_SOLVER = re.compile(r"\bCASES\b|\bSOLVERS\b|cases/?[\"']")
#: Pattern of the files that affect how all tests are built or run.
EVERYTHING = re.compile(
    r"(.*/)?CMakeLists\.txt|CMakePresets\.json|cmake/.*|pyproject\.toml|Makefile|tools/setup\.sh|tests/python/conftest\.py"
)
#: Pattern of the files that the whole package loads.
BASE = re.compile(r"python/slipstream/(base/|__init__\.py)")
#: Pattern of the files that no test reads.
NOTHING = re.compile(r"LICENSE|\.clang-(format|tidy)|\.pre-commit-config\.yaml|\.github/.*|bench/results/tests/.*")
#: Pattern of files such as documents and cases. A change can break only tests whose text names the file, and those in
#: tests/python/house/.
NAMED = re.compile(r"(docs|cases|machines|tools|bench|bin|\.ci)/.*|[A-Z]+\.(md|cff)|\.gitignore")
PROGRAMS = ("tests/unit/", "tests/mpi/")
HAS_TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)", re.MULTILINE)
INSTALLED = "installed"


class Tree:
    """The files of a source tree and their dependencies, by paths relative to its root."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.includes = {path: self._includes(path) for path in self._files("src include tests examples", "*.[ch]pp")}

    def _files(self, folders: str, pattern: str) -> list[str]:
        found = (path for folder in folders.split() for path in (self.root / folder).rglob(pattern))
        return sorted(str(path.relative_to(self.root)) for path in found)

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def _includes(self, path: str) -> set[str]:
        found = set()
        for line in self.text(path).splitlines():
            if not (match := INCLUDE.match(line)):
                continue
            target = check_includes.target_of(match[1], Path(path), self.root) or Path("tests", match[1])
            if (self.root / target).is_file():
                found.add(str(target))
        return found

    @cached_property
    def cxx_tests(self) -> dict[str, set[str]]:
        """C++ test files, each with the files and folders of src/ that it depends on."""
        tests = [path for path in self.includes if path.startswith(PROGRAMS) and HAS_TEST.search(self.text(path))]
        return {path: self._depends(path) for path in tests}

    @cached_property
    def below(self) -> dict[str, set[str]]:
        """For each folder of src/, the folders whose files its own files include directly."""
        found: dict[str, set[str]] = {}
        for path, targets in self.includes.items():
            if room := room_of(path):
                found.setdefault(room, set()).update(filter(None, map(room_of, targets)))
        return found

    def _depends(self, test: str) -> set[str]:
        files = reached({test}, self.includes)
        return files | reached(set(filter(None, map(room_of, files))), self.below)

    @cached_property
    def modules(self) -> dict[str, Path]:
        packages = (check_includes.PACKAGE, check_includes.BENCHMARKS)
        files = (path for package in packages for path in self._files(str(package), "*.py"))
        return {module_of(Path(path)): Path(path) for path in files}

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """Python modules that each module imports or names, except solvers and benchmarks, which are loaded by name."""
        found = {}
        for module, path in self.modules.items():
            targets = self._imported(self.text(str(path)))
            found[module] = {to for to in targets if leaf(to) in (None, leaf(module))}
        return found

    def _imported(self, text: str) -> set[str]:
        """Modules that a Python text imports or names. Includes the packages around each module, which are loaded
        before it. Excludes slipstream itself, which loads others on demand."""
        tree = ast.parse(text)
        names = {name for _, name in imported(tree, self.modules)}
        plain = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
        names |= {alias.name for node in plain for alias in node.names if alias.name == "slipstream"}
        parents = {name.rsplit(".", n)[0] for name in names for n in range(1, name.count("."))}
        return (names | parents) & self.modules.keys()

    @cached_property
    def python_tests(self) -> dict[str, "PythonTest"]:
        helpers = {path: self.text(path) for path in self._files("tests/python", "*.py") if "/test_" not in path}
        shared = helpers.pop("tests/python/conftest.py", "")
        fixtures = re.findall(r"^def (\w+)", shared, re.MULTILINE)
        found = {}
        for path in self._files("tests/python", "test_*.py"):
            files, text = [path], self.text(path)
            # A test imports helpers, or starts them by name as processes.
            while new := [name for name in helpers if name not in files and names(text, Path(name).stem)]:
                files += new
                text += "".join(helpers[name] for name in new)
            direct = set().union(*(self._imported(self.text(name)) for name in files))
            runs_cases = any(re.search(rf"\b{name}\b", text) for name in fixtures)
            if runs_cases:
                direct |= {to for to in self._imported(shared) if leaf(to) is None}
            found[path] = PythonTest(path, set(files), text, reached(direct, self.imports), runs_cases)
        return found

    def breaks(self, changed: str) -> set[str]:
        """The test files that a changed file can break, and INSTALLED for the test of the installed package."""
        if NOTHING.fullmatch(changed):
            return set()
        house = {path for path in self.python_tests if path.startswith("tests/python/house/")}
        return house | self._named(changed) | self._depending(changed)

    def _depending(self, changed: str) -> set[str]:
        if EVERYTHING.fullmatch(changed):
            return {*self.cxx_tests, *self.python_tests, INSTALLED}
        if changed.startswith(("src/", "include/", "bench/native/")):
            return self._broken_by_cxx(changed)
        if changed.startswith(PROGRAMS) and changed.endswith(".cpp") and changed not in self.cxx_tests:
            # The changed file is a helper of all C++ tests in its folder, or was deleted: all of them may break.
            return {path for path in self.cxx_tests if path.split("/")[1] == changed.split("/")[1]}
        if changed.startswith("tests/python/"):
            return {path for path, test in self.python_tests.items() if changed in test.files}
        if changed.startswith("tests/"):
            return {path for path, depends in self.cxx_tests.items() if changed in depends}
        if changed.startswith(("python/slipstream/", "bench/slipstream_bench/")):
            return self._broken_by_module(changed)
        if changed.startswith("examples/"):
            return {INSTALLED}
        return set() if NAMED.fullmatch(changed) else {*self.cxx_tests, *self.python_tests, INSTALLED}

    def _broken_by_cxx(self, changed: str) -> set[str]:
        room = room_of(changed)
        if room is None:
            return {*self.cxx_tests, *self.python_tests, INSTALLED}
        cxx = {path for path, depends in self.cxx_tests.items() if room in depends}
        if leaf_room := leaf_of_cxx(changed):
            above = {other for other in self.below if room in reached({other}, self.below)} if room != "api" else set()
            leaves = {leaf_room, *(Path(other).name for other in above if other.startswith("solver/"))}
            return cxx | {path for path, test in self.python_tests.items() if any(map(test.meets, leaves))}
        python = {path for path, test in self.python_tests.items() if "slipstream.base.core" in test.modules}
        return cxx | python | ({INSTALLED} if changed.startswith("include/") else set())

    def _broken_by_module(self, changed: str) -> set[str]:
        if not changed.endswith(".py") or BASE.match(changed):
            return set(self.python_tests)
        module = module_of(Path(changed))
        room = leaf(module)
        return {
            path
            for path, test in self.python_tests.items()
            if module in test.modules or (room is not None and test.meets(room))
        }

    def _named(self, changed: str) -> set[str]:
        """The Python tests that name a file or its folder."""
        path = Path(changed)
        words = {path.name if path.suffix else changed}
        if changed.startswith(("cases/", "machines/", "tools/")):
            words.add(path.stem)
        if not changed.startswith(("src/", "include/", "python/", "tests/")):
            folders = path.parts[: 2 if path.parts[0] == "bench" else 1] if len(path.parts) > 1 else ()
            words |= {"/".join(folders) + "/", " / ".join(f'"{part}"' for part in folders)} if folders else set()
            words |= {"CASES"} if path.parts[0] == "cases" else set()
        return {test for test, of in self.python_tests.items() if any(names(of.text, word) for word in words)}


class PythonTest:
    def __init__(self, path: str, files: set[str], text: str, modules: set[str], runs_cases: bool) -> None:
        self.path, self.files, self.text, self.modules, self.runs_cases = path, files, text, modules, runs_cases

    def meets(self, room: str) -> bool:
        """Whether a test depends on a solver or on the benchmarks, which are loaded by name."""
        return (
            self.path.startswith(f"tests/python/{room}/")
            or any(leaf(module) == room for module in self.modules)
            or bool(re.search(rf"(?<![A-Za-z]){room}(?![a-z])", self.text, re.IGNORECASE))
            or (room == USUAL and self.runs_cases)
            or (room in SOLVERS and bool(EVERY_SOLVER.search(self.text)))
        )


def names(text: str, word: str) -> bool:
    """Whether a text contains a word, or a part of a path, as a whole word."""
    return (
        re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])" if word[-1].isalnum() else re.escape(word), text) is not None
    )


def reached(start: Iterable[str], graph: dict[str, set[str]]) -> set[str]:
    found, new = set[str](), set(start)
    while new:
        found |= new
        new = set().union(*(graph.get(name, set()) for name in new)) - found
    return found


def leaf(module: str) -> str | None:
    """Folder of a module of a solver or a benchmark, which are loaded by name; None for other modules."""
    room = check_includes.python_room(module)
    return room if room in LEAVES else None


def room_of(path: str) -> str | None:
    """Folder of src/ that a file belongs to, as in check_includes, but with each solver as a folder of its own."""
    room = check_includes.room_of(Path(path))
    if room == "solver" and (solver := leaf_of_cxx(path)):
        return f"solver/{solver}"
    return room


def leaf_of_cxx(path: str) -> str | None:
    """Name of the solver that a C++ file belongs to, or "bench"; None for common files."""
    parts = Path(path).parts
    if parts[0] == "src" and parts[1] == "solver" and parts[2] in SOLVERS:
        return parts[2]
    if parts[:2] == ("bench", "native"):
        return "bench"
    if parts[0] == "include" or parts[:2] == ("src", "api"):
        words = re.split(r"[_.]", parts[-1])
        inside = parts[2] if len(parts) > 3 else ""
        return next((solver for solver in SOLVERS if inside == solver or solver in words), None)
    return None


def suites(text: str) -> list[str]:
    """Names of the GoogleTest suites that a C++ file defines."""
    return sorted(set(HAS_TEST.findall(text)))


def google_filter(texts: Iterable[str]) -> str:
    """A GoogleTest filter for all tests in these texts, with and without parameters."""
    found = sorted({suite for text in texts for suite in suites(text)})
    return ":".join(f"{suite}.*:*/{suite}.*:{suite}/*" for suite in found)


def described(files: set[str], tree: Tree) -> str:
    """Text on the chosen test files: the number of each kind, or their folders and names."""
    kinds = {
        "C++ on one rank": (PROGRAMS[0], tree.cxx_tests),
        "C++ on several": (PROGRAMS[1], tree.cxx_tests),
        "Python": ("tests/python/", tree.python_tests),
    }
    said = []
    for kind, (folder, every) in kinds.items():
        there = {path for path in every if path.startswith(folder)}
        if found := files & there:
            rooms = {path.rpartition("/")[0] for path in there}
            whole = {room for room in rooms if all(path in found for path in there if path.startswith(f"{room}/"))}
            rest = {path for path in found if not path.startswith(tuple(f"{room}/" for room in whole))}
            listed = ", ".join(name.removeprefix(folder) for name in sorted(whole | rest))
            brief = "all" if found == there else f"{len(found)} of {len(there)} files"
            said.append(f"{kind}: {listed if len(whole | rest) <= 10 and found != there else brief}")
    said += ["the installed package"] if INSTALLED in files else []
    return "; ".join(said) or "no test"
