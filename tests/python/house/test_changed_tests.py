"""tools/changed_tests.py selects the tests that a change can break; tools/test_all.py runs them."""

import re
import sys
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def tools() -> dict[str, ModuleType]:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return {name: __import__(name) for name in ("changed_tests", "test_all")}
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def tree(tools: dict[str, ModuleType]) -> Any:
    return tools["changed_tests"].Tree(ROOT)


#: Kinds of changed files. Each has a path, which need not exist, tests in tests/ that the change can break, and tests
#: that it cannot break.
BREAKS = {
    "a room that all use": ("src/device/new.cpp", ["unit/grid/grid_test", "python/run/test_run"], []),
    "a room that some use": (
        "src/fft/new_kernels.cpp",
        ["mpi/fft/fft_test", "mpi/solver/dns/dns_test", "python/fft/test_fft"],
        ["unit/grid/grid_test", "mpi/solver/lbm/lbm_tuner_test", "mpi/solver/sem/sem_test"],
    ),
    "a header that some use": (
        "include/slipstream/krylov.hpp",
        ["mpi/solver/stencil/implicit_test", "python/stencil/test_stencil_solver"],
        ["unit/grid/grid_test", "mpi/fft/fft_test"],
    ),
    "a solver": (
        "src/solver/dns/new.cpp",
        ["mpi/solver/dns/dns_test", "python/dns/test_dns_solver", "python/bench/test_bench_dns", "python/run/test_run"],
        ["mpi/solver/lbm/lbm_tuner_test", "mpi/fft/fft_test", "python/fft/test_fft", "python/machine/test_topology"],
    ),
    "a solver's public header": (
        "include/slipstream/sem_solver.hpp",
        ["mpi/solver/sem/sem_solver_test", "python/sem/test_sem_runs"],
        ["mpi/solver/dns/dns_test", "python/fft/test_fft"],
    ),
    "a solver's binding": (
        "src/api/solver/python_dns.cpp",
        ["python/dns/test_dns_solver"],
        ["mpi/solver/dns/dns_test", "python/fft/test_fft"],
    ),
    "the usual solver": (
        "src/solver/lbm/new.cpp",
        ["python/run/test_march", "python/base/test_errors"],
        ["mpi/solver/dns/dns_test"],
    ),
    "a binding of all": ("src/api/python.cpp", ["python/fft/test_fft"], ["unit/grid/grid_test"]),
    "what benchmarks time": (
        "bench/native/new.cpp",
        ["python/bench/test_bench_fft"],
        ["python/fft/test_gpu_fft", "unit/grid/grid_test"],
    ),
    "a header of tests": ("tests/support/fft_rig.hpp", ["mpi/fft/fft_test"], ["unit/grid/grid_test"]),
    "a test": ("tests/mpi/fft/fft_test.cpp", ["mpi/fft/fft_test"], ["mpi/fft/radix_test", "python/fft/test_fft"]),
    "the table of ranks": ("tests/mpi/rank_table.cpp", ["mpi/fft/fft_test"], ["unit/grid/grid_test"]),
    "a module that few import": (
        "python/slipstream/fft/plan.py",
        ["python/fft/test_fft"],
        ["python/geometry/test_surfaces", "mpi/fft/fft_test"],
    ),
    "a module that all import": (
        "python/slipstream/base/core.py",
        ["python/geometry/test_beads"],
        ["mpi/fft/fft_test"],
    ),
    "a module behind the command line": (
        "python/slipstream/run/march.py",
        ["python/run/test_march", "python/base/test_errors"],
        ["python/case/test_expression"],
    ),
    "a solver's module": (
        "python/slipstream/dns/solver.py",
        ["python/dns/test_dns_solver", "python/run/test_compare_solvers"],
        ["python/fft/test_fft", "python/machine/test_topology"],
    ),
    "a kernel of benchmarks": (
        "bench/native/team_copy_kernels.cpp",
        ["unit/bench/team_copy_test", "python/bench/test_bench_messages"],
        ["python/fft/test_gpu_fft", "unit/grid/grid_test"],
    ),
    "a benchmark": ("bench/slipstream_bench/fft.py", ["python/bench/test_bench_fft"], ["python/geometry/test_beads"]),
    "a Python test": ("tests/python/fft/test_fft.py", ["python/fft/test_fft"], ["python/geometry/test_beads"]),
    "a helper of Python tests": ("tests/python/ranks.py", ["python/machine/test_guest"], ["python/case/test_units"]),
    "a program of Python tests": (
        "tests/python/fft/drawn_plans.py",
        ["python/exchange/test_drawn_options"],
        ["python/fft/test_fft"],
    ),
    "fixtures": ("tests/python/conftest.py", ["python/geometry/test_beads", "unit/grid/grid_test"], []),
    "a case": (
        "cases/cavity.toml",
        ["python/case/test_variants", "python/lbm/test_advice"],
        ["python/fft/test_fft", "unit/grid/grid_test"],
    ),
    "a machine": ("machines/summit.toml", ["python/machine/test_machine_file"], ["python/fft/test_fft"]),
    "a page": ("docs/lbm.md", ["python/house/test_readme"], ["python/fft/test_fft"]),
    "results": ("bench/results/fft/new.json", ["python/bench/test_tables"], ["python/fft/test_fft"]),
    "a tool": ("tools/make_car.py", ["python/geometry/test_make_car"], ["python/fft/test_fft"]),
    "the build": ("cmake/slipstream.cmake", ["unit/grid/grid_test", "python/fft/test_fft"], []),
    "a kind of file that is not known": ("new/file.xyz", ["unit/grid/grid_test", "python/fft/test_fft"], []),
    "the licence": ("LICENSE", [], ["unit/grid/grid_test", "python/house/test_readme"]),
}


@pytest.mark.parametrize(("changed", "broken", "kept"), BREAKS.values(), ids=BREAKS)
def test_change_leads_to_the_tests_that_it_can_break(
    tree: Any, changed: str, broken: list[str], kept: list[str]
) -> None:
    there, found = (
        {path.removeprefix("tests/").rpartition(".")[0] for path in paths}
        for paths in (tree.cxx_tests.keys() | tree.python_tests.keys(), tree.breaks(changed))
    )
    assert there.issuperset(broken + kept), "a name of the table is no test's"
    assert found.issuperset(broken) and found.isdisjoint(kept)


def test_examples_and_public_headers_lead_to_the_installed_package(tree: Any) -> None:
    changed = ["examples/fft.cpp", "include/slipstream/grid.hpp", "src/grid/partition.cpp"]
    assert ["installed" in tree.breaks(path) for path in changed] == [True, True, False]


def test_every_cpp_file_of_tests_belongs_to_a_program_or_is_shared(tree: Any) -> None:
    shared = {path for path in tree.includes if re.match(r"tests/(unit|mpi)/.*\.cpp", path)} - tree.cxx_tests.keys()
    assert all(len(tree.breaks(path) & tree.cxx_tests.keys()) > 60 for path in shared)


def test_filter_names_the_suites_of_a_file(tools: dict[str, ModuleType]) -> None:
    text = "TEST(Plain, A) {}\n  TEST_F(Fixed, A) {}\nTEST_P(Drawn, A) {}\nTYPED_TEST(Typed, A) {}\n// TEST(None, A)\n"
    every = tools["changed_tests"].google_filter([text]).split(":")
    assert {"Plain.*", "Fixed.*", "*/Drawn.*", "Typed/*"} <= set(every) and not any("None" in name for name in every)


def test_parts_hold_the_tests_of_the_chosen_files_alone(tools: dict[str, ModuleType], tree: Any) -> None:
    chosen = {"tests/mpi/fft/fft_test.cpp", "tests/python/fft/test_fft.py", *tree.cxx_tests} - {
        path for path in tree.cxx_tests if path.startswith("tests/mpi/") and path != "tests/mpi/fft/fft_test.cpp"
    }
    parts = {part.name: part for part in tools["test_all"].parts_of(chosen, tree)}
    assert set(parts) == {"changed_unit", "changed_python_exchange", *(f"changed_mpi_{n}" for n in (1, 2, 4, 8))}
    assert parts["changed_python_exchange"].command[-1] == "tests/python/fft/test_fft.py"
    assert "GTEST_FILTER" not in parts["changed_unit"].environment
    some = parts["changed_mpi_2"].environment
    assert "*/FourierTransforms.*" in some["GTEST_FILTER"] and "Mismatch" not in some["GTEST_FILTER"]
    assert some["SLIPSTREAM_TESTS"] == "quick", "the table of ranks holds for them"


def test_all_tests_run_where_the_change_is_not_known(
    tools: dict[str, ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    test_all = tools["test_all"]
    assert list(test_all.changed_parts("no_such_commit")) == test_all.quick_parts()
    assert "no_such_commit: all tests run" in capsys.readouterr().out
