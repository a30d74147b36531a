"""Checks that includes and imports point in one direction, and that vendor names stay in their rooms.

C++:

    bench -> api -> solver, io -> fft -> gather_scatter, collective -> exchange -> route -> node -> mover
        -> coding, pattern, geometry -> grid -> machine -> device

A file may include headers of its own room and of rooms further right. Rooms at the same position do not include each
other. A file of route/ that registers a route is private: only files of the same name include its header. Within a
room includes have one direction, too. Sub-rooms do not include each other. A sub-room and the files next to it
include each other in one direction only. Every public header is in PUBLIC_ROOMS or has a solver's name. Macros,
backend #if and symbols of CUDA, NCCL, NVML and cuFFT are allowed only in device/; symbols also in files named
*_cuda.*. Files of solver/ do not call MPI directly.

Python, the packages python/slipstream and bench/slipstream_bench:

    bench -> cli -> lbm, stencil, dns, sem -> run -> pictures -> results, flow -> geometry, fft -> exchange, case
        -> machine -> base

A module may import modules of its own room and of rooms further right, by their full names, anywhere in the file. Rooms
at the same position do not import each other, and imports have no cycles. A string that names a module counts as an
import, except in base/registry.py: only this table refers to rooms further left. Benchmarks are one room. Outside of
the rooms are __init__.py, which exports the public names, and __main__.py.

Usage: python tools/check_includes.py [ROOT]
"""

import ast
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

RANKS = [
    ["device"], ["machine"], ["grid"], ["coding", "pattern", "geometry"], ["mover"], ["node"], ["route"], ["exchange"],
    ["gather_scatter", "collective"], ["fft"],
    ["solver", "io"], ["api"], ["bench"],
]  # fmt: skip
RANK_OF = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}

#: Names of the solvers. Each has a folder in Python, and public headers with its name.
SOLVERS = re.findall(
    r'"(\w+)": "slipstream\.\1\.solver"',
    (Path(__file__).parents[1] / "python" / "slipstream" / "base" / "registry.py").read_text(encoding="utf-8"),
)

PUBLIC_ROOMS = {
    "device": "error box device buffer arena stream graph launch signal batches copy_rate build_info trace",
    "machine": "communicator machine process",
    "grid": "stencil grid field state cut",
    "pattern": "transfer pattern transpose",
    "coding": "coding own_coding",
    "geometry": "mesh bodies",
    "mover": "route throttle window",
    "exchange": "exchange arena_report tuner",
    "gather_scatter": "gather_scatter",
    "collective": "collective block_sums",
    "fft": "fft",
    "solver": "collision simulation solver guard point_update krylov sem_flow",
    "io": "gather nek_file vtkhdf vtkhdf_hexahedra output checkpoint",
}
ROOM_OF_HEADER = {f"{name}{of}.hpp": "solver" for name in SOLVERS for of in ("", "_solver")} | {
    f"{name}.hpp": room for room, names in PUBLIC_ROOMS.items() for name in names.split()
}

#: Text by which a file of route/ is recognised as one that defines a route.
MAKES_KNOWN = "const KnownRoute "

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
VENDOR = re.compile(
    r"\b(?:cuda[A-Z]|nccl[A-Z]|nvml[A-Z]|cufft[A-Z]|CU[A-Z]*_[A-Z]|cu(?:Mem|Device|Ctx|Stream)[A-Z])\w*"
)
VENDOR_HEADER = re.compile(r"(?:cuda|cu|nccl|nvml|cufft|cooperative_groups|nvtx3/)\w*[./]")
BACKEND_IF = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*\b(?:SLIPSTREAM_CUDA|__CUDA\w*|__NVCC__|__HIP\w*)")
MPI_CALL = re.compile(r"\bMPI_[A-Z]\w*\s*\(")
MACRO = re.compile(r"^\s*#\s*define\b")

PACKAGE = Path("python", "slipstream")
BENCHMARKS = Path("bench", "slipstream_bench")
PYTHON_RANKS = [
    ["base"], ["machine"], ["exchange", "case"], ["geometry", "fft"], ["results", "flow"], ["pictures"], ["run"],
    SOLVERS, ["cli"], ["bench"],
]  # fmt: skip
PYTHON_RANK_OF = {room: rank for rank, rooms in enumerate(PYTHON_RANKS) for room in rooms}
#: File whose table of solvers may refer to folders that it must not import.
REGISTRY = PACKAGE / "base" / "registry.py"
#: Names that modules may import from the package itself.
OF_PACKAGE = {"__version__", "_core", "_collective", "_gather_scatter", "_fft", *(f"_{name}" for name in SOLVERS)}
#: Pattern of module names in strings. `slipstream` alone does not match, because it may be the program.
NAMES_MODULE = re.compile(r"slipstream(\.\w+)+\.?|slipstream_bench(\.\w+)*\.?")


def room_of(path: Path) -> str | None:
    """Folder that a C++ file belongs to, its room, by its path relative to the root: src/<room>/...,
    include/slipstream/... or bench/native/...; otherwise None."""
    parts = path.parts
    if parts[:2] == ("bench", "native"):
        return "bench"
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("include", "slipstream"):
        return parts[2] if len(parts) > 3 else ROOM_OF_HEADER.get(parts[2])
    return None


def target_of(include: str, source: Path, root: Path) -> Path | None:
    """File that an include names, relative to the root; None for headers of the system or of a library."""
    if include.startswith("slipstream/"):
        return Path("include", include)
    for folder in (source.parent, Path("src"), Path("bench")):
        candidate = (root / folder / include).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root)
    return None


def check_include(source: Path, target: Path, routes: Collection[str]) -> str | None:
    """Text on why `source` must not include `target`, both relative to the root; None if it may. `routes`: the files of
    route/ that define a route, without suffix."""
    here, there = room_of(source), room_of(target)
    if there is None:
        return f"includes {target}, which stands in no room: add it to PUBLIC_ROOMS in tools/check_includes.py"
    if there not in RANK_OF:
        return f"includes {target} of the unknown room {there}/"
    if here == there == "route":
        own_header = target.stem == source.stem.removesuffix("_kernels").removesuffix("_cuda").removesuffix("_nocuda")
        if target.stem in routes and target.parts[0] == "src" and not own_header:
            return f"includes {target}: files of route/ do not know each other"
    elif here != there and RANK_OF[there] >= RANK_OF[here]:
        return f"includes {target}: {here}/ must not know {there}/"
    return None


def blank_comments(text: str) -> str:
    """A C++ text without its comments, with unchanged line numbers."""
    return COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)


def check_vendor(path: Path, line: str) -> str | None:
    """The part of a line that names a vendor's library or a macro, and so belongs in device/; None if there is none.
    The line has no comments."""
    if room_of(path) == "device":
        return None
    if path.parts[0] != "tests" and MACRO.search(line):
        return "defines a macro: only device/ may"
    if BACKEND_IF.search(line):
        return "asks for the backend with #if: only device/ may"
    include = INCLUDE.match(line)
    # Messages for users may name functions such as cudaMalloc; only calls are faults.
    vendor = VENDOR.search(STRING.sub('""', line)) or (include and VENDOR_HEADER.match(include.group(1)))
    if vendor and not path.stem.endswith("_cuda"):
        return f"uses {vendor.group()}: only device/ and files named *_cuda.* may"
    if room_of(path) == "solver" and (call := MPI_CALL.search(STRING.sub('""', line))):
        return f"calls {call.group().rstrip('( ')}: solver/ speaks to other ranks through the rooms below"
    return None


def sub_rooms(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """For each folder that holds both an including and an included file of src/: the sub-folders in which they lie, or
    the folder itself."""
    for folder in source.parents:
        if len(folder.parts) > 1 and folder.parts[0] == "src" and target.is_relative_to(folder):
            names = [str(folder / path.relative_to(folder).parts[0]) for path in (source, target)]
            ends = [name if Path(name) not in (source, target) else f"{folder}/*" for name in names]
            if ends[0] != ends[1]:
                yield ends[0], ends[1]


def check_file(path: Path, root: Path, routes: Collection[str], within: dict[str, dict[str, str]]) -> list[str]:
    """All faults in one C++ file as 'path:line: fault'. Adds the includes between sub-folders to `within`, with their
    location."""
    findings = []
    here = room_of(path)
    if path.parts[0] != "tests" and here not in RANK_OF:
        findings.append(f"{path}:1: stands in no room: add it to PUBLIC_ROOMS in tools/check_includes.py")
    for number, line in enumerate(blank_comments((root / path).read_text(encoding="utf-8")).splitlines(), 1):
        found = [check_vendor(path, line)]
        include = INCLUDE.match(line)
        if include and here in RANK_OF and (target := target_of(include.group(1), path, root)):
            found.append(check_include(path, target, routes))
            for one, other in sub_rooms(path, target):
                within.setdefault(one, {}).setdefault(other, f"{path}:{number}")
        findings += [f"{path}:{number}: {finding}" for finding in found if finding]
    return findings


def module_of(path: Path) -> str:
    """Name of the module in a Python file, such as `slipstream.case.reader`; a package has the name of its folder."""
    return ".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")


def python_room(module: str) -> str | None:
    """Folder of the package that a module belongs to; None for the package itself and for other modules."""
    parts = module.split(".")
    if parts[0] == BENCHMARKS.name:
        return BENCHMARKS.parts[0]
    return parts[1] if len(parts) > 1 and not parts[1].startswith("_") else None


def imported(tree: ast.Module, modules: Mapping[str, Path]) -> Iterator[tuple[int, str]]:
    """Line and name of each module of the package that a file imports, or names in a string. `slipstream.NAME` without
    a module NAME stands for an attribute of the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if NAMES_MODULE.fullmatch(alias.name))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (PACKAGE.name, BENCHMARKS.name):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield node.lineno, full if full in modules or node.module == "slipstream" else str(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMES_MODULE.fullmatch(node.value):
            yield node.lineno, node.value.rstrip(".")


def check_import(source: Path, module: str) -> str | None:
    """Text on why `source` must not import a module of the package; None if it may."""
    here, there = python_room(module_of(source)), python_room(module)
    if here is None or module.removeprefix("slipstream.") in OF_PACKAGE:
        return None
    if there not in PYTHON_RANK_OF:
        return f"imports {module}, which stands in no room"
    if here != there and PYTHON_RANK_OF[there] >= PYTHON_RANK_OF[here]:
        return f"imports {module}: {here}/ must not know {there}/"
    return None


def circles(graph: Mapping[str, Mapping[str, object]]) -> Iterator[list[str]]:
    """Cycles of modules or sub-folders in a graph of imports or includes; each belongs to at most one cycle."""
    done: set[str] = set()

    def visit(module: str, way: list[str]) -> list[str]:
        if module in way:
            return way[way.index(module) :]
        if module in done:
            return []
        done.add(module)
        return next(filter(None, (visit(target, [*way, module]) for target in graph.get(module, ()))), [])

    for module in graph:
        if found := visit(module, []):
            yield found


def check_python(root: Path) -> tuple[int, list[str]]:
    """Number of files in the Python packages, and all faults of their imports."""
    folders = (root / PACKAGE, root / BENCHMARKS)
    files = sorted(file.relative_to(root) for folder in folders for file in folder.rglob("*.py"))
    modules = {module_of(path): path for path in files}
    graph: dict[str, dict[str, int]] = {}  # the line of each import, by importing and imported module
    findings = []
    for module, path in modules.items():
        here = python_room(module)
        beside = path.parent == PACKAGE and path.name in ("__init__.py", "__main__.py")
        if here not in PYTHON_RANK_OF and not beside:
            findings.append(f"{path}:1: stands in no room: add its room to PYTHON_RANKS in tools/check_includes.py")
            continue
        tree = ast.parse((root / path).read_text(encoding="utf-8"))
        relative = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
        findings += [f"{path}:{line}: imports by a relative name: begin with the package" for line in relative]
        for line, target in imported(tree, modules) if path != REGISTRY else ():
            if finding := check_import(path, target):
                findings.append(f"{path}:{line}: {finding}")
            if here and target != module:
                graph.setdefault(module, {}).setdefault(target, line)
    for circle in circles(graph):
        line = graph[circle[0]][circle[1]]
        findings.append(f"{modules[circle[0]]}:{line}: imports go round: {' -> '.join([*circle, circle[0]])}")
    return len(files), findings


def check_tree(root: Path) -> tuple[int, list[str]]:
    """Number of source files that were read, and all faults of includes and imports."""
    root = root.resolve()
    folders = ("include", "src", "bench/native", "tests")
    files = sorted(
        file.relative_to(root)
        for folder in folders
        for kind in ("*.hpp", "*.cpp")
        for file in (root / folder).rglob(kind)
    )
    routes = {
        file.stem
        for file in files
        if file.parts[:2] == ("src", "route") and MAKES_KNOWN in (root / file).read_text(encoding="utf-8")
    }
    within: dict[str, dict[str, str]] = {}
    findings = [finding for file in files for finding in check_file(file, root, routes, within)]
    for circle in circles(within):
        around = " -> ".join([*circle, circle[0]])
        findings.append(f"{within[circle[-1]][circle[0]]}: includes go round in a room: {around}")
    python_files, in_python = check_python(root)
    return len(files) + python_files, findings + in_python


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    count, findings = check_tree(root)
    print(*findings, sep="\n", end="\n" if findings else "")
    print(f"check_includes: {count} files, {len(findings)} findings")
    return 1 if findings or not count else 0


if __name__ == "__main__":
    sys.exit(main())
