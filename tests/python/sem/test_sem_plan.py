"""Check and plan of a spectral element case."""

from pathlib import Path

from conftest import ROOT, Cli
from sem_rig import POISSON, case
from slipstream.base.core import core, part
from slipstream.case.reader import load
from slipstream.case.solver import solver_of


def test_check_and_plan_tell_of_the_case(here: Cli, tmp_path: Path) -> None:
    said = " ".join(here("check", case(tmp_path, POISSON)).stdout.split())
    assert (
        "Poisson's equation, spectral elements of order 4, f64" in said and "deformed by 0.05, stored factors" in said
    )
    said = " ".join(here("plan", "a.toml", "machine.devices_per_rank=2").stdout.split())
    assert "conjugate" in said and "gather-scatter" in said
    assert "largest grid that fits" in said and "were timed" in said


def test_plan_counts_the_vectors_of_chebyshevs_polynomial(tmp_path: Path) -> None:
    case(tmp_path, POISSON)

    def vectors(preconditioner: str) -> int:
        read = load(tmp_path / "a.toml", [f"sem.preconditioner={preconditioner}"])
        plan = solver_of(read).plan(read, core().Machine.discover("host", devices_per_rank=2), read.options())
        of_it = [array["bytes"] for array in plan["arrays"] if array["array"] == "conjugate gradients"]
        assert len(of_it) == 2, "on each device"
        return sum(of_it)

    assert 4 * vectors("chebyshev") == 5 * vectors("jacobi")


def test_check_and_plan_tell_of_a_flow(here: Cli) -> None:
    path = str(ROOT / "cases/kovasznay_sem.toml")
    said = " ".join(here("check", path).stdout.split())
    assert "incompressible flow, spectral elements of order" in said and "velocity x- x+" in said
    assert "conjugate gradients, p-multigrid, Chebyshev-Schwarz smoothers of degree 2" in said

    told = here("plan", path, "machine.devices_per_rank=2", "sem.mean_from=0")
    said = " ".join(told.stdout.split())
    assert told.returncode == 0 and "memory of each device, MB" in said and "largest grid that fits" in said
    assert "takes about" in said and "on disk" in said

    def arrays(*words: str) -> dict[str, int]:
        read = load(path, ["sem.order=5", *words])
        plan = part("sem").Flow.plan(core().Machine.discover("host"), read.options())
        return {array["array"]: array["bytes"] for array in plan["arrays"]}

    plain, point = arrays(), 125 * 6**3 * 8
    assert plain["velocity, pressure and their history"] == 11 * point
    for words, more in (
        (["sem.mean_from=0"], {"running means": 10 * point}),
        (["sem.projection=3"], {"earlier solutions": (3 - 10) * point}),
        (["sem.divergence_damping=0"], {"terms of the step": -point}),
        (["sem.force=[1, 0, 'x']"], {"terms of the step": 2 * point}),
        (["sem.preconditioner=jacobi"], {"multigrid": -plain["multigrid"], "conjugate gradients": -point}),
        (["sem.method=fgmres", "sem.restart=5"], {"flexible GMRES": 14 * point, "conjugate gradients": -5 * point}),
    ):
        changed = arrays(*words)
        found = {name: changed.get(name, 0) - plain.get(name, 0) for name in changed | plain}
        assert {name: bytes for name, bytes in found.items() if bytes} == more, words
