"""Case files: parsing, defaults, overrides, the schema, and serialisation."""

import json
import math
from pathlib import Path

import pytest
from conftest import CASES, SMALL, TETRAHEDRON, Cli
from errors import is_error, raises
from slipstream.base import registry
from slipstream.base.errors import CaseError
from slipstream.case.reader import load, schema
from slipstream.case.tables import PATTERNS
from slipstream.lbm.case import LbmCase
from slipstream.machine import discovery
from slipstream.run import engine

BY_MOMENTS = "lbm.representation=moments"


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.glob("*.toml")))
def test_shipped_case_is_good(name: str) -> None:
    load(CASES / name)


@pytest.mark.parametrize(
    ("mark", "end"), [(b"\xef\xbb\xbf", b"\n"), (b"\xef\xbb\xbf", b"\r\n"), (b"", b"\r\n"), (b"", b"\r")]
)
def test_case_written_on_another_system_is_the_same(tmp_path: Path, small: Path, mark: bytes, end: bytes) -> None:
    other = tmp_path / "other.toml"
    other.write_bytes(mark + SMALL.encode().replace(b"\n", end))
    assert load(other) == load(small)
    other.write_bytes(mark + SMALL.replace("cells =", "cels =").encode().replace(b"\n", end))
    with raises(CaseError, "not_found", file=other, line=5, key="grid.cels"):
        load(other)


@pytest.mark.parametrize(
    ("content", "line", "given"),
    [
        (SMALL.encode("utf-16"), None, "UTF-16"),
        (b"\xff\xfe\0\0" + SMALL.encode("utf-32-le"), None, "UTF-32"),
        (b"[case]\ndescription = 'K\xf6rper'\n", 2, "0xf6"),
    ],
    ids=["UTF-16", "UTF-32", "Latin-1"],
)
def test_case_in_another_encoding_is_refused_with_its_name(
    tmp_path: Path, content: bytes, line: int | None, given: str
) -> None:
    (tmp_path / "bad.toml").write_bytes(content)
    with raises(CaseError, "bad_file", file=tmp_path / "bad.toml", line=line, given=given):
        load(tmp_path / "bad.toml")


@pytest.fixture
def with_mesh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A case whose mesh has no folder in its path, for use from another working directory."""
    for folder in ("there", "here"):
        (tmp_path / folder).mkdir()
    (tmp_path / "there" / "case.toml").write_text(SMALL + '[bodies.rock]\nmesh = "rock.obj"\nscale = 20\n')
    monkeypatch.chdir(tmp_path / "here")
    return Path("../there/case.toml")


@pytest.mark.parametrize(
    ("there", "here", "words", "taken"),
    [
        (True, False, [], "there"),
        (False, True, [], "here"),
        (True, True, [], "there"),
        (True, False, ['bodies.rock.mesh="rock.obj"'], "there"),
        (True, True, ['bodies.rock.mesh="rock.obj"'], "here"),
    ],
)
def test_mesh_is_looked_for_beside_the_case_then_here(
    with_mesh: Path, there: bool, here: bool, words: list[str], taken: str
) -> None:
    for folder, has in (("there", there), ("here", here)):
        if has:
            (Path("..") / folder / "rock.obj").write_text(TETRAHEDRON)
    found = load(with_mesh, words).bodies["rock"].mesh
    assert found and Path(found).samefile(Path("..") / taken / "rock.obj")


def test_mesh_that_is_nowhere_is_told_with_both_places(with_mesh: Path, tmp_path: Path) -> None:
    where = {"file": "../there/case.toml", "line": 18, "key": "bodies.rock.mesh", "given": "rock.obj"}
    looked = [Path("../there/rock.obj").absolute(), tmp_path / "here" / "rock.obj"]
    with raises(CaseError, "not_found", **where, looked=" and ".join(map(str, looked))):
        load(with_mesh)


def test_case_with_a_mesh_beside_it_runs_from_another_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "rock.obj").write_text(TETRAHEDRON)
    body = '[bodies.rock]\nmesh = "rock.obj"\nscale = 20\n'
    (tmp_path / "cases" / "small.toml").write_text(SMALL + body)
    out = cli("run", "cases/small.toml", "run.steps=2", "output.pictures=false", "machine.backend=host")
    assert out.returncode == 0, out.stdout + out.stderr
    assert 'mesh = "../../cases/rock.obj"' in (tmp_path / "results" / "small" / "case.resolved.toml").read_text()


def test_viscosity_follows_from_reynolds_number(small: Path) -> None:
    scales = load(small).scales
    assert scales.viscosity == pytest.approx(0.1 * 16 / 100)
    assert scales.tau == pytest.approx(3 * 0.016 + 0.5)
    assert scales.mach == pytest.approx(0.1 * math.sqrt(3))


def test_reference_velocity_left_out_scales_with_the_grid(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    path.write_text(SMALL.replace("reference_velocity = 0.1\n", ""))
    speeds = [load(path, [f"grid.cells=[{n},{n},{n}]"]).scales.reference_velocity for n in (32, 64, 128)]
    assert speeds == pytest.approx([0.1, 0.1, 0.05])


def test_length_is_the_distance_of_the_lid_from_its_opposite(small: Path) -> None:
    assert load(small, ["grid.cells=[16,24,32]"]).scales.length == 24


def test_walls_reach_the_solver_in_lattice_units(small: Path) -> None:
    assert load(small).options()["walls"] == {"y+": (0.1, 0.0, 0.0)}


def test_options_hold_every_key_of_the_solver(small: Path) -> None:
    keys = {"cells", "periodic", "lattice", "collision", "magic", "viscosity", "precision", "layout", "alignment"}
    keys |= {"streaming", "solids", "density_drop", "coding", "measure_errors", "representation", "tile", "tile_planes"}
    keys |= {
        "smagorinsky",
        "force",
        "walls",
        "boundaries",
        "blocks_per_device",
        "node_grid",
        "device_grid",
        "placement",
        "routes",
        "overlap",
        "rim",
        "rim_processors",
    }
    assert set(load(small).options()) == keys | {"placement_seed", "wait_limit", "tune", "retune", "poison"}


def test_what_a_user_pins_of_an_exchange_reaches_the_solver(small: Path) -> None:
    pins = {"pack": "memcpy3d", "streams": "one", "sync": True, "grouping": "nodes", "teams": 8, "chunk": 65536}
    options = load(small, [f"exchange.{key}={json.dumps(value)}" for key, value in pins.items()]).options()
    assert {key: options[key] for key in pins} == pins


def test_tile_and_chunk_of_a_step_reach_the_solver_beside_the_chunk_of_an_exchange(small: Path) -> None:
    words = ["lbm.representation=moments", "grid.cells=[64,16,16]", "lbm.tile=64x4", "lbm.chunk=8"]
    options = load(small, [*words, "exchange.chunk=65536"]).options()
    assert (options["tile"], options["tile_planes"], options["chunk"]) == ((64, 4), 8, 65536)


def test_eddies_and_force_reach_the_solver(small: Path) -> None:
    options = load(small, ["lbm.smagorinsky=0.1", "physics.force=[1e-5, 0, 0]"]).options()
    assert options["smagorinsky"] == 0.1
    assert options["force"] == (1e-5, 0, 0)


def test_eddies_allow_a_smaller_viscosity(small: Path) -> None:
    words = ["physics.reynolds=4000"]
    with raises(CaseError, "invalid_argument", key="physics.reynolds", allowed="0.502 to 2"):
        load(small, words)
    load(small, [*words, "lbm.smagorinsky=0.1"])
    with raises(CaseError, "invalid_argument", key="physics.reynolds", allowed="0.5001 to 2"):
        load(small, ["physics.reynolds=100000", "lbm.smagorinsky=0.1"])


def test_last_step_is_the_earlier_of_two_limits(small: Path) -> None:
    assert load(small, ["run.time_units=0.1"]).last_step == 16
    assert load(small, ["run.time_units=10.0"]).last_step == 40


def test_whole_numbers_serve_as_fractions(small: Path) -> None:
    assert load(small, ["run.time_units=10"]).last_step == 40


def test_override_wins_over_the_file(small: Path) -> None:
    assert load(small, ["grid.cells=[8, 9, 10]"]).grid.cells == (8, 9, 10)


def test_override_makes_a_table_that_the_file_lacks(small: Path) -> None:
    assert load(small, ["lbm.precision=f64"]).lbm.precision == "f64"


def test_override_of_a_quoted_key(small: Path) -> None:
    case = load(small, ['walls."y+".velocity=[0,0,1]'])
    assert case.walls.velocity("y+") == (0, 0, 1)


def test_side_with_a_plus_needs_no_quotes_in_an_override_and_is_told_to_need_them_in_a_file(small: Path) -> None:
    case = load(small, ["boundaries.x+.kind=slip", "boundaries.x-.kind=slip"])
    assert [side for side, _ in case.boundaries.given()] == ["x-", "x+"]
    for line in ("[boundaries.x+]", "[boundaries]\nx+ = {}", "[walls]\nx+.velocity = [0, 0, 0]"):
        small.write_text(f"{SMALL.replace('[walls]', '[w]')}\n{line}\n")
        with raises(CaseError, "bad_file", file=small, nearest='"x+"'):
            load(small)


@pytest.mark.parametrize(
    ("override", "key", "given"),
    [
        ("case.name=a b", "case.name", '"a b"'),
        ('bodies."a b".shape=sphere', "bodies.a b", '"a b"'),
        ('exchange.routes=["pigeon"]', "exchange.routes[0]", '"pigeon"'),
    ],
)
def test_word_of_the_wrong_letters_is_told_in_words(small: Path, override: str, key: str, given: str) -> None:
    with raises(CaseError, "invalid_argument", key=key, given=given) as caught:
        load(small, [override])
    assert caught.value.facts["allowed"] in PATTERNS.values(), "and not a regular expression"


def test_override_through_a_value_is_refused(small: Path) -> None:
    with raises(CaseError, "invalid_argument", key="grid.cells.x", value="grid.cells"):
        load(small, ["grid.cells.x=3"])


def test_every_fault_is_reported_at_once(small: Path) -> None:
    with pytest.raises(CaseError) as caught:
        load(small, ["grid.cels=1", "run.steps=0"])
    assert {fault.facts["key"] for fault in caught.value.faults} == {"grid.cels", "run.steps"}
    assert len(str(caught.value).splitlines()) == 2


def test_resolved_case_reads_back_equal(small: Path, tmp_path: Path) -> None:
    resolved = load(small, ['case.description=a "quoted" \\ name', "output.every=0.5"]).resolved("host")
    copy = tmp_path / "copy.toml"
    copy.write_text(resolved.to_toml("two\nlines"))
    assert load(copy) == resolved


def test_resolved_case_keeps_what_depends_on_other_keys(small: Path) -> None:
    resolved = load(small, ["run.time_units=0.1"]).resolved("host")
    assert (resolved.run.steps, resolved.physics.length, resolved.machine.backend) == (16, 16.0, "host")
    assert resolved.output.folder == "results/small"


def test_schema_knows_every_table_and_forbids_others() -> None:
    described = schema()
    assert len(described["anyOf"]) == len(registry.SOLVERS)
    (flow,) = [one for one in described["anyOf"] if "lbm" in one["properties"]]
    assert set(flow["properties"]) == {*LbmCase.model_fields, "variants"}
    assert all(one["additionalProperties"] is False for one in described["anyOf"])
    assert "y+" in described["$defs"]["WallsTable"]["properties"]


def test_good_case_is_called_good(cli: Cli, small: Path) -> None:
    result = cli("check", "small.toml")
    assert result.returncode == 0
    assert "a good case" in result.stdout and "0.54800" in result.stdout


def test_check_shows_eddies_and_force(cli: Cli, small: Path) -> None:
    result = cli("check", "small.toml", "lbm.smagorinsky=0.1", "physics.force=[1e-5, 0, 0]", "lbm.lattice=D3Q27")
    assert result.returncode == 0
    assert "D3Q27 TRT f32, Smagorinsky's constant 0.1" in result.stdout
    assert "(1e-05, 0, 0) a volume" in result.stdout


def test_force_that_drives_too_fast_a_flow_is_a_warning(cli: Cli, small: Path) -> None:
    warning = "physics.force drives a laminar flow between walls 16 cells apart"
    for periodic in (True, False):
        words = ["physics.force=[1e-3, 0, 0]", f"grid.periodic=[{str(periodic).lower()}, false, false]"]
        result = cli("check", "small.toml", *words)
        assert result.returncode == 0
        assert (warning in " ".join(result.stdout.split())) == periodic


def test_in_place_needs_about_half_the_memory(small: Path) -> None:
    def populations(*words: str) -> int:
        case = load(small, ["machine.backend=host", *words])
        plan = engine.prepare(case, discovery.discover(case.machine)).plan
        return sum(array["bytes"] for array in plan["arrays"] if "population" in array["array"])

    two, one = populations(), populations("lbm.streaming=in_place")
    assert 0.5 * two < one < (0.5 + 1 / 19) * two


@pytest.mark.parametrize(
    ("words", "bytes_a_cell"),
    [((), 152), (("lbm.lattice=D3Q27",), 216), (("lbm.lattice=D3Q27", "lbm.precision=f64"), 432)],
)
def test_plan_of_a_lattice_counts_its_populations(small: Path, words: tuple[str, ...], bytes_a_cell: int) -> None:
    case = load(small, ["machine.backend=host", *words])
    plan = engine.prepare(case, discovery.discover(case.machine)).plan
    assert plan["bytes_per_cell"] == bytes_a_cell
    populations = sum(array["bytes"] for array in plan["arrays"] if array["array"].startswith("populations"))
    assert populations >= bytes_a_cell * 16**3


def test_moments_move_twenty_numbers_a_cell_and_are_recursive_unless_told(small: Path) -> None:
    case = load(small, ["machine.backend=host", "lbm.representation=moments"])
    assert isinstance(case, LbmCase)
    assert case.lbm.collision == "recursive"
    plan = engine.prepare(case, discovery.discover(case.machine)).plan
    assert plan["bytes_per_cell"] == 80
    assert sum(array["bytes"] for array in plan["arrays"] if array["array"].startswith("moments")) >= 80 * 16**3


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        *(
            ([BY_MOMENTS, f"lbm.collision={one}"], "unsupported", {"key": "lbm.collision", "given": f'"{one}"'})
            for one in ("SRT", "TRT", "MRT", "cumulant")
        ),
        (["lbm.collision=recursive"], "unsupported", {"key": "lbm.collision", "allowed": "SRT, TRT, MRT"}),
        ([BY_MOMENTS, "lbm.lattice=D3Q27"], "unsupported", {"key": "lbm.lattice", "given": '"D3Q27"'}),
        (
            [BY_MOMENTS, "lbm.lattice=D2Q9", "grid.cells=[16,16,1]"],
            "unsupported",
            {"key": "lbm.lattice", "given": '"D2Q9"'},
        ),
        ([BY_MOMENTS, "lbm.streaming=in_place"], "unsupported", {"key": "lbm.streaming", "allowed": "two"}),
        ([BY_MOMENTS, "lbm.solids=sparse"], "unsupported", {"key": "lbm.solids", "allowed": "auto, dense, flags"}),
        ([BY_MOMENTS, "lbm.layout=soa_z"], "unsupported", {"key": "lbm.layout", "allowed": "auto, soa"}),
        ([BY_MOMENTS, "lbm.layout=aos"], "unsupported", {"key": "lbm.layout", "allowed": "auto, soa"}),
        ([BY_MOMENTS, "lbm.tile=64x4"], "mismatch", {"key": "lbm.tile", "other": "grid.cells"}),
        (
            [BY_MOMENTS, "lbm.tile=16x4"],
            "invalid_argument",
            {"key": "lbm.tile", "allowed": "'auto', '64x4', '32x8', '64x8' or '32x16'"},
        ),
        (
            [BY_MOMENTS, "lbm.precision=f16", "lbm.tile=64x4"],
            "unsupported",
            {"key": "lbm.tile", "allowed": "64x8, 32x16"},
        ),
        ([BY_MOMENTS, "lbm.tile=32x16"], "unsupported", {"key": "lbm.tile", "allowed": "64x4, 32x8"}),
        ([BY_MOMENTS, "lbm.chunk=17"], "mismatch", {"key": "lbm.chunk", "given": 17, "available": 16}),
        (["lbm.chunk=8"], "unsupported", {"key": "lbm.chunk", "other": "lbm.representation"}),
    ],
)
def test_what_ten_moments_cannot_do_is_an_error(
    small: Path, words: list[str], code: str, facts: dict[str, object]
) -> None:
    with raises(CaseError, code, **facts):
        load(small, words)


def test_cumulants_by_moments_are_one_error_with_what_runs_on_the_lattice(cli: Cli, small: Path) -> None:
    words = [BY_MOMENTS, "lbm.collision=cumulant", "machine.backend=host"]
    result = cli("run", "small.toml", *words, "-n", "2")
    fault = is_error(result, "unsupported", key="lbm.collision", allowed="recursive, regularised")
    assert "D3Q27" not in fault, "which would not help"
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


def test_large_grid_reynolds_number_is_a_warning(cli: Cli, small: Path) -> None:
    result = cli("check", "small.toml", "physics.reynolds=1000")
    assert result.returncode == 0
    assert "grid Reynolds number 62.5 is above 20" in " ".join(result.stdout.split())
