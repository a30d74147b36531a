"""Every mistake of a user gives one message from one rank, exit code 2, and no files."""

from pathlib import Path

import pytest
from conftest import SMALL, Cli
from errors import Done, is_error


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


class Refused:
    """Runs a command line that must be refused, and returns the result."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli = cli
        self.folder = folder

    def __call__(self, *words: str, **environment: str) -> Done:
        before = tree(self.folder)
        result = self.cli(*words, **environment)
        assert result.returncode == 2, result.stdout + result.stderr
        assert tree(self.folder) == before
        assert result.stderr.startswith("slipstream: error: ")
        return result

    def text(self, text: str) -> Done:
        (self.folder / "bad.toml").write_text(text)
        return self("run", "bad.toml")


@pytest.fixture
def refused(cli: Cli, tmp_path: Path, small: Path) -> Refused:
    return Refused(cli, tmp_path)


def test_unknown_key_is_refused_with_the_nearest_name_and_its_line(refused: Refused) -> None:
    result = refused.text(SMALL.replace("cells =", "cels ="))
    is_error(result, "not_found", file="bad.toml", line=5, key="grid.cels", nearest="cells")


def test_unknown_table_is_refused_with_the_nearest_name_and_its_line(refused: Refused) -> None:
    result = refused.text(SMALL + '\n[outptu]\nfolder = "x"\n')
    is_error(result, "not_found", file="bad.toml", line=18, key="outptu", nearest="output")


def test_key_in_the_wrong_table_is_refused_with_the_right_one(refused: Refused) -> None:
    result = refused.text(SMALL.replace("reference_velocity = 0.1", 'reference_velocity = 0.1\nprecision = "f32"'))
    is_error(result, "not_found", file="bad.toml", line=10, key="physics.precision", table="[lbm]")


def test_unknown_key_of_a_wall_is_refused_with_its_line(refused: Refused) -> None:
    result = refused.text(SMALL.replace("velocity =", "velocty ="))
    is_error(result, "not_found", file="bad.toml", line=12, key="walls.y+.velocty", nearest="velocity")


def test_unknown_key_of_an_override_names_the_override(refused: Refused) -> None:
    result = refused("run", "small.toml", "run.stepps=5")
    is_error(result, "not_found", override="run.stepps=5", key="run.stepps", nearest="steps")


def test_wrong_type_is_refused_with_its_line(refused: Refused) -> None:
    result = refused.text(SMALL.replace("steps = 40", 'steps = "many"'))
    is_error(result, "invalid_argument", file="bad.toml", line=15, key="run.steps", given='"many"', allowed="integer")


@pytest.mark.parametrize("name", ["", ".", "..", "...", "a/b", "a b", "\\u001b"])
def test_name_that_is_a_path_or_no_name_is_refused(refused: Refused, name: str) -> None:
    result = refused("run", "small.toml", f'case.name="{name}"', "--overwrite")
    is_error(result, "invalid_argument", key="case.name", given=f'"{name}"')


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("run.steps=9223372036854775808", "run.steps"),
        ("guard.every=99999999999999999999", "guard.every"),
        ("checkpoint.keep=99999999999999999999", "checkpoint.keep"),
        ("exchange.placement_seed=99999999999999999999", "exchange.placement_seed"),
        ("grid.cells=[16,16,99999999999999999999]", "grid.cells[2]"),
        ("machine.devices_per_rank=-99999999999999999999", "machine.devices_per_rank"),
    ],
)
def test_whole_number_beyond_64_bits_is_refused_by_its_key(refused: Refused, override: str, key: str) -> None:
    is_error(refused("run", "small.toml", override), "overflow", key=key, override=override)


def test_fraction_of_a_cell_is_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "grid.cells=[16,16.5,16]")
    is_error(result, "invalid_argument", key="grid.cells[1]", given=16.5, allowed="integer")


def test_unknown_word_is_refused_with_the_words_there_are(refused: Refused) -> None:
    words = "'SRT', 'TRT', 'MRT', 'cumulant', 'regularised' or 'recursive'"
    is_error(refused("run", "small.toml", "lbm.collision=KBC"), "invalid_argument", key="lbm.collision", allowed=words)
    lattice = refused("run", "small.toml", "lbm.lattice=D3Q15")
    is_error(lattice, "invalid_argument", key="lbm.lattice", allowed="'D2Q9', 'D3Q19' or 'D3Q27'")


def test_file_that_is_not_toml_is_refused_with_its_line(refused: Refused) -> None:
    is_error(refused.text("[grid]\ncells = [16, 16\n[run]\n"), "bad_file", file="bad.toml", line=3)


@pytest.mark.parametrize(
    ("cells", "code", "key"),
    [
        ("[16,16]", "not_found", "grid.cells[2]"),
        ("[16,16,16,16]", "invalid_argument", "grid.cells"),
        ("[0,16,16]", "invalid_argument", "grid.cells[0]"),
        ("[16,-16,16]", "invalid_argument", "grid.cells[1]"),
        ("16", "invalid_argument", "grid.cells"),
    ],
)
def test_odd_shape_is_refused(refused: Refused, cells: str, code: str, key: str) -> None:
    is_error(refused("run", "small.toml", f"grid.cells={cells}"), code, key=key)


def test_two_dimensional_lattice_with_depth_is_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "lbm.lattice=D2Q9")
    is_error(result, "unsupported", key="grid.cells", other="lbm.lattice", needed="nz = 1")


def test_three_dimensional_lattice_without_depth_is_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "grid.cells=[16,16,1]")
    is_error(result, "unsupported", key="grid.cells", other="lbm.lattice", needed="nz > 1")


def test_rows_along_z_in_two_dimensions_are_refused(refused: Refused) -> None:
    words = ("lbm.lattice=D2Q9", "grid.cells=[16,16,1]", "lbm.layout=soa_z")
    is_error(refused("run", "small.toml", *words), "unsupported", key="lbm.layout", other="lbm.lattice")


def test_cumulants_on_another_lattice_are_refused_with_what_would_do(refused: Refused) -> None:
    result = refused("run", "small.toml", "lbm.collision=cumulant")
    is_error(result, "unsupported", key="lbm.collision", other="lbm.lattice", needed="D3Q27", allowed="SRT, TRT, MRT")


@pytest.mark.parametrize("constant", ["-0.1", "1.5", "nan"])
def test_constant_of_eddies_out_of_range_is_refused(refused: Refused, constant: str) -> None:
    is_error(refused("run", "small.toml", f"lbm.smagorinsky={constant}"), "invalid_argument", key="lbm.smagorinsky")


def test_force_without_three_parts_is_refused(refused: Refused) -> None:
    is_error(refused("run", "small.toml", "physics.force=[1e-5, 0]"), "not_found", key="physics.force[2]")


def test_force_across_a_plane_is_refused(refused: Refused) -> None:
    words = ["grid.cells=[16,16,1]", "lbm.lattice=D2Q9", "physics.force=[0, 0, 1e-5]"]
    is_error(refused("run", "small.toml", *words), "unsupported", key="physics.force", other="lbm.lattice")


def test_magic_number_out_of_range_is_refused_with_its_range(refused: Refused) -> None:
    result = refused("run", "small.toml", "lbm.magic=1e-8")
    is_error(result, "invalid_argument", key="lbm.magic", allowed="4.8e-07 <= magic <= 4.8e+03")


def test_reynolds_number_with_too_small_tau_is_refused_with_what_would_do(refused: Refused) -> None:
    result = refused("run", "small.toml", "physics.reynolds=100000")
    fault = is_error(result, "invalid_argument", key="physics.reynolds", allowed="0.502 to 2")
    cells, reynolds = fault.facts["remedy"].split(" or ")
    assert cells.endswith("cells along the length") and reynolds.startswith("reynolds <= ")


def test_reynolds_number_with_too_large_tau_is_refused_with_what_would_do(refused: Refused) -> None:
    result = refused("run", "small.toml", "physics.reynolds=0.1")
    fault = is_error(result, "invalid_argument", key="physics.reynolds", allowed="0.502 to 2")
    assert "reference_velocity <= 0.00312" in fault.facts["remedy"].split(" or ")


def test_viscosity_with_unusable_tau_is_refused_with_its_range(refused: Refused) -> None:
    result = refused.text(SMALL.replace("reynolds = 100", "viscosity = 1e-5"))
    facts = {"key": "physics.viscosity", "remedy": "0.00067 <= viscosity <= 0.5"}
    is_error(result, "invalid_argument", file="bad.toml", line=8, **facts)


def test_reference_velocity_with_too_large_mach_number_is_refused_with_its_range(refused: Refused) -> None:
    result = refused("run", "small.toml", "physics.reference_velocity=0.5")
    fault = is_error(result, "invalid_argument", key="physics.reference_velocity", value=0.866, allowed="<= 0.3")
    assert "reference_velocity <= 0.173" in fault.facts["remedy"]


def test_negative_reynolds_number_is_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "physics.reynolds=-100")
    is_error(result, "invalid_argument", key="physics.reynolds", given=-100, allowed="> 0.0")


def test_both_reynolds_number_and_viscosity_are_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "physics.viscosity=0.1")
    is_error(result, "unsupported", key="physics", needed="reynolds or viscosity")


def test_run_without_an_end_is_refused(refused: Refused) -> None:
    result = refused.text(SMALL.replace("steps = 40", "residual = 1e-4"))
    is_error(result, "not_found", key="run", needed="steps or time_units")


def test_wall_on_a_periodic_axis_is_refused_with_its_line(refused: Refused) -> None:
    result = refused.text(SMALL.replace("cells = [16, 16, 16]", "cells = [16, 16, 16]\nperiodic = [true, true, true]"))
    is_error(result, "unsupported", file="bad.toml", line=13, key="walls.y+", other="grid.periodic")


def test_wall_that_leaves_its_plane_is_refused(refused: Refused) -> None:
    result = refused.text(SMALL.replace("[1, 0, 0]", "[1, 1, 0]"))
    is_error(result, "invalid_argument", key="walls.y+.velocity", given="[1, 1, 0]", axis="y")


def test_reference_of_another_flow_is_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "output.reference=ghia1982")
    is_error(result, "unsupported", key="output.reference", given="ghia1982")


def test_reference_without_this_reynolds_number_is_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "output.reference=albensoeder2005")
    is_error(result, "not_found", key="output.reference", given=100, allowed=1000)


def test_more_devices_than_cells_are_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "grid.cells=[2,2,2]", "machine.devices_per_rank=9")
    is_error(result, "unsupported", key="grid.cells", needed=9, available=8)


def test_more_devices_than_an_axis_has_cells_are_refused(refused: Refused) -> None:
    words = ["grid.cells=[4,16,16]", "machine.devices_per_rank=8", "exchange.device_grid=[8,1,1]"]
    is_error(refused("run", "small.toml", *words), "unsupported", key="exchange", axis="x", needed=8, available=4)


def test_device_grid_of_another_number_of_devices_is_refused(refused: Refused) -> None:
    words = ["machine.devices_per_rank=2", "exchange.device_grid=[1,1,3]", "machine.backend=host"]
    is_error(refused("run", "small.toml", *words), None)


def test_grid_too_large_for_memory_is_refused_with_what_would_fit(refused: Refused) -> None:
    words = ["grid.cells=[9000,9000,9000]", "physics.reynolds=1000", "physics.reference_velocity=0.1"]
    result = refused("run", "small.toml", *words, "physics.length=64", "machine.backend=host")
    fault = is_error(result, "out_of_memory", key="grid.cells", given="[9000, 9000, 9000]")
    assert int(fault.facts["needed"]) > int(fault.facts["available"]) > 0
    assert 1 < int(fault.facts["largest"].removesuffix("^3")) < 9000


def test_output_folder_that_cannot_be_made_is_refused(refused: Refused) -> None:
    (refused.folder / "file").write_text("not a folder")
    result = refused("run", "small.toml", "output.folder=file/results")
    is_error(result, "io", key="output.folder", file="file/results")


def test_output_folder_on_a_read_only_place_is_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "output.folder=/proc/results")
    is_error(result, "io", key="output.folder", file="/proc/results")


def test_existing_results_are_refused_and_left_alone(refused: Refused) -> None:
    folder = refused.folder / "results" / "small"
    folder.mkdir(parents=True)
    (folder / "profiles.csv").write_text("precious")
    result = refused("run", "small.toml")
    fault = is_error(result, "wrong_state", key="output.folder", file="results/small", holds="profiles.csv")
    assert "--overwrite" in fault, "the way out"


def test_missing_case_file_is_refused(refused: Refused) -> None:
    is_error(refused("run", "nowhere.toml"), "not_found", file="nowhere.toml")


def test_override_that_is_none_is_refused(refused: Refused) -> None:
    is_error(refused("run", "small.toml", "grid.cells"), "invalid_argument", override="grid.cells")


def test_ranks_without_mpiexec_are_refused(refused: Refused, tmp_path: Path) -> None:
    result = refused("run", "small.toml", "-n", "4", PATH="/nonexistent")
    is_error(result, "unavailable", key="-n", given=4, needed="mpiexec")


def test_ranks_within_ranks_are_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", "-n", "2", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
    is_error(result, "wrong_state", key="-n", given=2)


def test_ranks_of_another_mpi_are_refused(refused: Refused) -> None:
    result = refused("run", "small.toml", OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="0")
    is_error(result, "mismatch", needed=4, given=1)


def test_mistake_is_checked_before_ranks_are_started(refused: Refused) -> None:
    is_error(refused("run", "small.toml", "-n", "2", "grid.cels=[8,8,8]"), "not_found", nearest="cells")


def test_only_rank_0_speaks(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", "nowhere.toml", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="1")
    assert result.returncode == 2
    assert result.stdout + result.stderr == "" and not result.errors


def test_missing_machine_file_is_refused(refused: Refused) -> None:
    is_error(refused("plan", "small.toml", "--machine", "nowhere.toml"), "not_found", file="nowhere.toml")


def test_cuda_where_there_is_none_is_refused(refused: Refused) -> None:
    from slipstream.base.core import core

    if core().available("cuda"):
        pytest.skip("this machine has a GPU")
    is_error(refused("run", "small.toml", "machine.backend=cuda"), "unavailable", key="machine.backend", given="cuda")


@pytest.mark.parametrize(
    ("rim", "code", "facts"),
    [
        ('"wide"', "invalid_argument", {"key": "exchange.rim", "given": '"wide"', "allowed": "'auto'"}),
        ("[1,2]", "not_found", {"key": "exchange.rim[2]"}),
        ("[-1,1,1]", "invalid_argument", {"key": "exchange.rim[0]", "given": -1, "allowed": ">= 0"}),
    ],
)
def test_rim_that_is_no_width_is_refused_in_one_line(
    refused: Refused, rim: str, code: str, facts: dict[str, object]
) -> None:
    result = refused("run", "small.toml", f"exchange.rim={rim}")
    is_error(result, code, **facts)
    assert len(result.stderr.strip().splitlines()) == 1


#: Vertices and faces of a tetrahedron with edges of 6 along the axes from (4, 4, 4).
CORNERS = "v 4 4 4\nv 10 4 4\nv 4 10 4\nv 4 4 10\n"
FACES = ["f 1 3 2", "f 1 2 4", "f 2 3 4", "f 1 4 3"]


@pytest.mark.parametrize(
    ("text", "keys", "key", "said", "ranks"),
    [
        (CORNERS + "\n".join(FACES[:3]), [], "bodies", ["'rock'", "hole"], 2),
        (CORNERS, [], "bodies.rock", ["rock.obj", "no triangles"], 1),
        (CORNERS + "\n".join(FACES), ["bodies.rock.translate=[40,0,0]"], "bodies.rock", ["outside along x"], 1),
        (CORNERS + "\n".join(FACES), ["bodies.rock.scale=1000"], "bodies.rock", ["another scale: 0.001 times"], 1),
        (CORNERS + "\n".join(FACES), ["bodies.rock.scale=0.001"], "bodies.rock", ["smaller than a cell"], 1),
        (
            CORNERS + "\n".join(FACES),
            ["bodies.rock.scale=6.5", "bodies.rock.translate=[-27,-27,-27]"],
            "boundaries.x-",
            [],
            2,
        ),
    ],
    ids=["a hole", "no triangles", "outside", "too large", "too small", "fills the inlet"],
)
def test_body_that_is_none_is_refused_with_the_reason(
    refused: Refused, text: str, keys: list[str], key: str, said: list[str], ranks: int
) -> None:
    (refused.folder / "rock.obj").write_text(text)
    case = SMALL.replace('[walls]\n"y+" = { velocity = [1, 0, 0] }\n', "") + (
        '[boundaries]\n"x-" = { kind = "velocity", velocity = [1, 0, 0] }\n"x+" = { kind = "pressure" }\n'
        '[bodies.rock]\nmesh = "rock.obj"\n[machine]\nbackend = "host"\n'
    )
    (refused.folder / "rock.toml").write_text(case)
    # One rank reads meshes, while all ranks check the boundaries of the domain, so two ranks cover both checks.
    for on in [[], ["-n", "2"]][:ranks]:
        fault = is_error(refused("run", "rock.toml", *keys, *on), None, key=key)
        assert all(part in fault for part in said), fault
