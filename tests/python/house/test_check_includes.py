"""The tool that checks the direction of includes and where vendor names may occur (tools/check_includes.py)."""

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("check_includes", ROOT / "tools" / "check_includes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def findings(tool, tmp_path):
    """Writes files to an empty tree and returns the tool's findings."""

    def check(**files):
        for name, text in files["tree"].items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tool.check_tree(tmp_path)[1]

    return check


ALLOWED = {
    "a room further right": ("src/io/vtkhdf/vtkhdf.cpp", "#include <slipstream/exchange.hpp>"),
    "its own room": ("src/grid/partition.cpp", "#include <slipstream/grid.hpp>"),
    "a library": ("src/io/vtkhdf/vtkhdf.cpp", "#include <hdf5.h>"),
    "a route's shared header": ("src/route/kernel.cpp", "#include <slipstream/route.hpp>"),
    "what a route carries": ("include/slipstream/route.hpp", "#include <slipstream/transfer.hpp>"),
    "benchmarks anything": ("bench/native/fft.cpp", '#include <slipstream/lbm.hpp>\n#include "native/loops.hpp"'),
    "api anything": ("src/api/python.cpp", "#include <slipstream/lbm.hpp>\n#include <slipstream/device.hpp>"),
    "vendor calls in device": ("src/device/cuda/stream.cpp", "#include <cuda_runtime.h>\nauto a = cudaStreamCreate;"),
    "vendor calls in a file named so": ("src/machine/links_cuda.cpp", "#include <nvml.h>\nauto a = nvmlInit_v2;"),
    "vendor names in comments": ("src/grid/grid.cpp", "// as cudaMalloc aligns\n/* cudaFree\n cudaFree */"),
    "vendor names in text for users": ("src/route/direct.cpp", 'auto a = "memory of cudaMalloc";'),
    "MPI's types in a solver": ("src/solver/dns/dns.cpp", "MPI_Comm c; // MPI_Barrier(c)\nauto a = comm.mpi();"),
    "MPI below the solvers": ("src/io/gather.cpp", "MPI_Gather(a);"),
    "macros in device": ("include/slipstream/launch.hpp", "#define SLIP_FN inline"),
    "a name that only begins alike": ("src/grid/grid.cpp", "int cuda = 0; int custom_value = cuda;"),
}


@pytest.mark.parametrize("path, text", ALLOWED.values(), ids=ALLOWED.keys())
def test_accepts(findings, path, text):
    assert findings(tree={path: text}) == []


REFUSED = {
    "a room further left": (
        "src/grid/grid.cpp",
        "#include <slipstream/exchange.hpp>",
        "grid/ must not know exchange/",
    ),
    "a room of the same place": (
        "src/io/vtkhdf/vtkhdf.cpp",
        "#include <slipstream/lbm.hpp>",
        "io/ must not know solver/",
    ),
    "a pattern that knows routes": ("src/pattern/halo.cpp", "#include <slipstream/route.hpp>", "not know mover/"),
    "physics below the solver": ("src/exchange/plan.cpp", "#include <slipstream/lbm.hpp>", "must not know solver/"),
    "a public header that looks up": (
        "include/slipstream/device.hpp",
        "\n#include <slipstream/machine.hpp>",
        "device.hpp:2: includes include/slipstream/machine.hpp: device/ must not know machine/",
    ),
    "a header in no room": ("src/api/c.cpp", "#include <slipstream/mystery.hpp>", "stands in no room"),
    "a new public header": ("include/slipstream/mystery.hpp", "", "stands in no room"),
    "a new room": ("src/attic/old.cpp", "", "stands in no room"),
    "vendor calls elsewhere": ("src/grid/field.cpp", "cudaMemcpy(a, b, c);", "uses cudaMemcpy"),
    "vendor headers elsewhere": ("src/grid/field.cpp", "#include <cuda_runtime.h>", "*_cuda.* may"),
    "vendor calls in tests": ("tests/unit/field_test.cpp", "ncclCommInitAll(a);", "uses ncclCommInitAll"),
    "a backend #if elsewhere": ("src/grid/field.cpp", "#if defined(__CUDACC__)", "only device/ may"),
    "MPI in a solver": ("src/solver/dns/dns.cpp", "MPI_Allreduce(a, b);", "calls MPI_Allreduce: solver/ speaks"),
    "a macro elsewhere": ("src/grid/field.cpp", "  # define MAX 3", "defines a macro"),
}


@pytest.mark.parametrize("path, text, expected", REFUSED.values(), ids=REFUSED.keys())
def test_refuses(findings, path, text, expected):
    found = findings(tree={path: text})
    assert len(found) == 1
    assert expected in found[0]


def test_refuses_one_route_that_includes_another(findings):
    tree = {
        "src/route/peer.hpp": "",
        "src/route/peer.cpp": "const KnownRoute peer_is_known(peer_route);",
        "src/route/kernel.cpp": '#include "peer.hpp"',
    }
    assert findings(tree=tree) == [
        "src/route/kernel.cpp:1: includes src/route/peer.hpp: files of route/ do not know each other"
    ]


def test_accepts_a_route_that_includes_its_own_header_and_shared_ones(findings):
    tree = {
        "src/route/peer.hpp": "",
        "src/route/peer.cpp": '#include "route/peer.hpp"\n#include "route/sequence_number.hpp"\nconst KnownRoute '
        "known(route);",
        "src/route/peer_kernels.cpp": '#include "route/peer.hpp"',
        "src/route/sequence_number.hpp": "",
    }
    assert findings(tree=tree) == []


def test_refuses_sub_rooms_that_include_each_other(findings):
    one_way = {
        "src/solver/lbm/step/step.cpp": '#include "solver/lbm/links/links.hpp"\n#include "solver/lbm/lbm.hpp"',
        "src/solver/lbm/links/links.hpp": '#include "solver/lbm/links/kinds.hpp"',
        "src/solver/lbm/links/kinds.hpp": "",
        "src/solver/lbm/lbm.hpp": "",
    }
    assert findings(tree=one_way) == []
    back = one_way | {
        "src/solver/lbm/links/kinds.hpp": '#include "solver/lbm/step/step.hpp"',
        "src/solver/lbm/step/step.hpp": "",
    }
    room = "src/solver/lbm"
    (found,) = findings(tree=back)
    assert "includes go round in a room" in found
    assert f"{room}/links -> {room}/step" in found


def test_refuses_a_sub_room_and_files_beside_it_that_include_each_other(findings):
    tree = {
        "src/io/pieces.cpp": '#include "io/checkpoint/file.hpp"',
        "src/io/pieces.hpp": "",
        "src/io/checkpoint/file.hpp": '#include "io/pieces.hpp"',
    }
    (found,) = findings(tree=tree)
    assert "src/io/checkpoint -> src/io/*" in found or "src/io/* -> src/io/checkpoint" in found


def test_refuses_includes_of_benchmarks(findings):
    tree = {"bench/native/loops.hpp": "", "src/api/python.cpp": '#include "native/loops.hpp"'}
    assert findings(tree=tree) == ["src/api/python.cpp:1: includes bench/native/loops.hpp: api/ must not know bench/"]


def test_finds_includes_relative_to_src(findings):
    tree = {"src/exchange/plan.hpp": "", "src/grid/grid.cpp": '#include "exchange/plan.hpp"'}
    assert findings(tree=tree) == ["src/grid/grid.cpp:1: includes src/exchange/plan.hpp: grid/ must not know exchange/"]


PYTHON_ALLOWED = {
    "a room further right": ("run/run.py", "from slipstream.flow import energy"),
    "its own room": ("flow/loads.py", "from slipstream.flow.energy import read"),
    "the version": ("cli/parser.py", "from slipstream import __version__"),
    "the compiled module": ("base/core.py", 'import_module("slipstream._core")'),
    "other packages": ("base/core.py", "import slipstreams.run\nfrom os import path"),
    "rooms further left in the registry": ("base/registry.py", 'SOLVERS = {"lbm": "slipstream.lbm.solver"}'),
    "all rooms in the package itself": ("__init__.py", 'from slipstream import lbm\nNAME = "slipstream.exchange.halo"'),
    "a sentence that names a module": ("base/core.py", '"""Who wants to run uses slipstream.run.run."""'),
}


@pytest.mark.parametrize("path, text", PYTHON_ALLOWED.values(), ids=PYTHON_ALLOWED.keys())
def test_accepts_imports_of(findings, path, text):
    assert findings(tree={f"python/slipstream/{path}": text}) == []


PYTHON_REFUSED = {
    "a room further left": ("flow/energy.py", "from slipstream.pictures import style", "flow/ must not know pictures/"),
    "a room of the same place": ("case/case.py", "import slipstream.exchange.halo", "case/ must not know exchange/"),
    "a room as a whole": ("run/run.py", "from slipstream import lbm", "run/ must not know lbm/"),
    "an import inside of a function": ("case/reader.py", "def f():\n    from slipstream.run import run", ":2: imports"),
    "an import for types alone": (
        "exchange/report.py",
        "if TYPE_CHECKING:\n    from slipstream.run.run import Row",
        "exchange/ must not know run/",
    ),
    "a module by its name": ("case/reader.py", 'import_module("slipstream.lbm.checks")', "case/ must not know lbm/"),
    "modules by a part of their names": ("run/run.py", 'import_module(f"slipstream.lbm.{name}")', "not know lbm/"),
    "benchmarks": ("cli/parser.py", "def f():\n    from slipstream_bench import registry", "cli/ must not know bench/"),
    "benchmarks as a whole": ("cli/parser.py", "import slipstream_bench", "cli/ must not know bench/"),
    "benchmarks by their name": ("cli/parser.py", 'NAME = f"slipstream_bench.{name}"', "cli/ must not know bench/"),
    "what the package hands to users": ("lbm/simulation.py", "from slipstream import Grid", "stands in no room"),
    "a relative name": ("run/run.py", "from . import march", "imports by a relative name"),
    "a module in no room": ("energy.py", "", "energy.py:1: stands in no room"),
    "an unknown room": ("attic/__init__.py", "", "__init__.py:1: stands in no room"),
}


@pytest.mark.parametrize("path, text, expected", PYTHON_REFUSED.values(), ids=PYTHON_REFUSED.keys())
def test_refuses_imports_of(findings, path, text, expected):
    found = findings(tree={f"python/slipstream/{path}": text})
    assert len(found) == 1
    assert expected in found[0]


def test_benchmarks_import_what_they_like_and_are_checked_too(findings):
    good = "import slipstream as slip\nfrom slipstream.cli.main import main\nfrom slipstream_bench import record"
    assert findings(tree={"bench/slipstream_bench/fft.py": good, "bench/slipstream_bench/record.py": ""}) == []
    bad = findings(tree={"bench/slipstream_bench/dns.py": "from slipstream.attic import old\nfrom . import record"})
    assert [line.partition(": ")[2] for line in bad] == [
        "imports by a relative name: begin with the package",
        "imports slipstream.attic, which stands in no room",
    ]


def test_refuses_imports_that_go_round(findings):
    ring = {"a": "from slipstream.flow import b", "b": "def f():\n    from slipstream.flow.c import x", "c": ""}
    tree = {f"python/slipstream/flow/{name}.py": text for name, text in ring.items()}
    assert findings(tree=tree) == []
    tree["python/slipstream/flow/c.py"] = "import slipstream.flow.a"
    assert findings(tree=tree) == [
        "python/slipstream/flow/a.py:1: imports go round: "
        "slipstream.flow.a -> slipstream.flow.b -> slipstream.flow.c -> slipstream.flow.a"
    ]


def test_the_registry_leads_to_what_it_promises():
    from slipstream.base import registry
    from slipstream.case.solver import Solver

    promised = [name for name, member in vars(Solver).items() if callable(member) and name[0] != "_"]
    assert len(promised) > 10
    for table in registry.SOLVERS:
        solver = registry.solver(table)
        assert isinstance(solver, Solver) and all(callable(getattr(solver, name)) for name in promised)
        assert all(hasattr(solver, name) for name in Solver.__annotations__)
        case_type = solver.case_type
        assert (case_type.registered or case_type.solver) == table and case_type.solver == table.partition(".")[0]
    assert all(callable(registry.picture(subject).draw) for subject in registry.PICTURES)


def test_an_empty_tree_is_a_failure(tool, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["check_includes.py", str(tmp_path)])
    assert tool.main() == 1


def test_this_tree_is_in_order(tool):
    count, found = tool.check_tree(ROOT)
    assert count > 0
    assert found == []


#: Modules in shared folders that may name solvers: pictures of one solver, and modules with an entry for each.
OWN = {"flow_quantities", "flow_scenes", "overview", "seismograms", "spectra", "surfaces"}
OWN |= {"out_of_core", "registry", "sem_thesis", "sentinel_probes", "wave"}


@pytest.mark.parametrize("room", ["bench", "cli", "exchange", "machine", "pictures", "results", "run"])
def test_what_solvers_share_names_none_of_them(tool, room: str) -> None:
    from slipstream.base import registry

    names, own = "|".join(tool.SOLVERS), OWN.union(tool.SOLVERS)
    left = Counter(file for name in registry.SOLVERS for file in registry.solver(name).files)
    files = "|".join(re.escape(file) for file, solvers in left.items() if solvers == 1)
    words = re.compile(
        rf"\"(?:{names})[\".]|\bslipstream\.(?:{names})\b|\b(?:Flow|Lbm|Stencil|Dns|Sem)Case\b|\"(?:{files})\""
    )
    folder = ROOT / (tool.BENCHMARKS if room == "bench" else tool.PACKAGE / room)
    shared = [path for path in folder.glob("*.py") if path.stem not in own]
    assert shared
    code = {path.name: re.sub(r'"""(?s:.*?)"""|#.*', "", path.read_text(encoding="utf-8")) for path in shared}
    assert {name: words.findall(text) for name, text in code.items() if words.search(text)} == {}
