"""Lattice Boltzmann as the registry has it."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rich.console import RenderableType

from slipstream.base.core import as_case_error, on_all_ranks, part
from slipstream.base.errors import CaseError, ErrorCode, Fault
from slipstream.case.solver import Solver, Table, Tiles, said_of
from slipstream.flow import energy, load_series, profiles
from slipstream.geometry import bodies, domain
from slipstream.lbm import cautions, checks, report
from slipstream.lbm.case import LbmCase
from slipstream.lbm.tables import BY_MOMENTS, LbmTable
from slipstream.machine.told import Plan

if TYPE_CHECKING:
    from slipstream._core import Machine


#: Number formats that take less memory than `lbm.precision`, the most accurate first.
_SMALLER_FORMATS = {"f64": ("f32", "f16"), "f32": ("f16",)}


class LbmSolver(Solver[LbmCase]):
    """The lattice Boltzmann solver."""

    compiled = ("lbm", "Lbm")
    runs = ("slipstream.lbm.running", "started")
    case_type = LbmCase
    unit_of_rate = "MLUPS"
    files = ("profiles.csv", "comparison.json", "loads.csv", energy.FILE)
    pictures = {
        load_series.PICTURE: "Loads on bodies, and the spectrum of what swings",
        "profiles.png": "Velocity along the centrelines",
        "streamlines.png": "Streamlines in the mid-plane",
        energy.PICTURE: "Energy and its decay",
    }
    collisions = {
        name: {"lbm.representation": "moments" if name in BY_MOMENTS else "populations", "lbm.collision": name}
        for name in get_args(LbmTable.model_fields["collision"].annotation)
    }

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Replaces the table [domain] of a case by the keys grid.cells and exchange.block, which follow from it."""
        return domain.fitted(data) if "domain" in data else data

    def check_before_start(self, case: LbmCase) -> None:
        """Raises CaseError if the case asks for a comparison with a published flow that does not exist here."""
        profiles.reference_for(case)

    def check_at_length(self, case: LbmCase) -> None:
        """Raises CaseError if a mesh encloses no volume, or a body lies outside of the box."""
        if case.bodies:
            bodies.make(case)

    def inputs(self, case: LbmCase) -> dict[str, str | int]:
        lbm = case.lbm
        return {"lattice": lbm.lattice, "collision": lbm.collision, "precision": lbm.precision}

    def title(self, case: LbmCase) -> str:
        lbm = case.lbm
        return f"Re {case.scales.reynolds:.4g}, {lbm.lattice} {lbm.collision} {lbm.precision}"

    def tiles(self, case: LbmCase, figures: Mapping[str, Any]) -> tuple[Tiles, Tiles]:
        found = [("mass drift", f"{figures['mass_drift']:+.1e}")] if figures else []
        for name in case.bodies if len(case.bodies) < 3 else ():
            mean = f"{name}.{load_series.stream_axis(case)}.mean"
            found += said_of(figures, {mean: f"drag coefficient of {name}, mean"}, ".4g")
            found += said_of(figures, {f"{name}.strouhal": f"Strouhal number of {name}"}, ".4f")
        largest = {"reference.largest_error_percent": "largest error, % of the reference velocity"}
        found += said_of(figures, largest, ".2f")
        zigzag = figures.get("zigzag", {}).get("share")
        if zigzag is not None:
            found.append(("zigzag, % of the mean speed", f"{100 * zigzag:.2g}"))
        return [("Reynolds number", f"{case.scales.reynolds:.6g}")], found

    def answer(self, case: LbmCase, folder: Path) -> tuple[Sequence[Table], Sequence[str]]:
        """Tables and pictures of the forces on bodies, which a report shows first."""
        path = folder / "loads.csv"
        try:
            found = load_series.read(path, case)
        except (ValueError, KeyError) as error:
            raise CaseError(
                f"{path}: is not a file of loads, or is damaged: {error}", ErrorCode.BAD_FILE, file=path
            ) from None
        words = "Loads on bodies, over the last half of the run"
        return [(words, *load_series.table(found, case))] if found else (), [load_series.PICTURE]

    def conversions(self, case: LbmCase) -> Sequence[RenderableType]:
        table = report.conversion(case)
        return [table] if table else []

    def checksums(self, case: LbmCase) -> dict[str, str]:
        """SHA-256 of the mesh files of bodies, by the name of the body."""
        return bodies.checksums(case)

    def plan(self, case: LbmCase, machine: "Machine", options: Mapping[str, Any], thorough: bool = False) -> Plan:
        """Plan of a case. It includes the memory of bodies only if `thorough`, because the search for their cells takes
        time."""
        made = None
        moments = case.lbm.representation == "moments"  # the moment representation stores all cells, solid ones too
        if thorough and case.bodies and options["solids"] != "dense" and not moments:
            with on_all_ranks():
                made = bodies.make(case)
        with as_case_error():
            found: Plan = part("lbm").Lbm.plan(machine, options, made, bodies.kinds_of_links(case))
        if case.bodies and not made:
            with on_all_ranks():
                links = bodies.link_memory(
                    case, found["blocks"], case.lbm.lattice, case.lbm.representation, case.lbm.precision
                )
            found["arrays"] += [{"device": d, "array": "links of bodies", "bytes": n} for d, n in links.items()]
        return found

    def smaller(self, case: LbmCase) -> Iterator[dict[str, str]]:
        """Changes of [lbm] that would take less memory, the least costly first: streaming in place changes no bit."""
        is_least = case.lbm.streaming == "in_place" or case.lbm.representation == "moments"
        ways: list[dict[str, str]] = [{}] if is_least else [{}, {"streaming": "in_place"}]
        formats = [{}, *({"precision": precision} for precision in _SMALLER_FORMATS.get(case.lbm.precision, ()))]
        yield from [precision | way for precision in formats for way in ways][1:]

    def quantities(self, case: LbmCase) -> Mapping[str, Any]:
        # Imported late, because code that draws is loaded only when something is drawn.
        found: Mapping[str, Any] = import_module("slipstream.pictures.flow_quantities").quantities(case)
        return found

    def curves(self, shown: Any, folder: Path) -> list[Path]:
        """Draws the centreline profiles, if the run has written them."""
        source = shown.folder / "profiles.csv"
        if not source.exists():
            return []
        path, lines = folder / "profiles.png", profiles.read_profiles(source, shown.case)
        import_module("slipstream.pictures.overview").profiles(
            path, lines, profiles.reference_for(shown.case), shown.case
        )
        return [path]

    def artist(self, case: LbmCase) -> Any:
        return import_module("slipstream.pictures.flow_scenes").FlowArtist

    def compared(self, folder: Path) -> Sequence[Table]:
        return report.compared(folder)

    def facts(self, case: LbmCase) -> list[tuple[str, str]]:
        return report.facts(case)

    def problems(self, case: LbmCase) -> list[Fault]:
        return checks.problems(case)

    def warnings(self, case: LbmCase) -> list[str]:
        return cautions.warnings(case)


SOLVER = LbmSolver()
