"""Every mistake of a user: one message from one rank, exit code 2, nothing written."""

from pathlib import Path

import pytest
from conftest import SMALL, Cli


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


class Refused:
    """Runs a command line that must be refused, and returns the message."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli = cli
        self.folder = folder

    def __call__(self, *words: str, **environment: str) -> str:
        before = tree(self.folder)
        result = self.cli(*words, **environment)
        assert result.returncode == 2, result.stdout + result.stderr
        assert tree(self.folder) == before
        assert result.stderr.count("error:") == 1, result.stderr
        assert result.stderr.startswith("slipstream: error: ")
        assert "Traceback" not in result.stderr
        return result.stderr

    def text(self, text: str) -> str:
        (self.folder / "bad.toml").write_text(text)
        return self("run", "bad.toml")


@pytest.fixture
def refused(cli: Cli, tmp_path: Path, small: Path) -> Refused:
    return Refused(cli, tmp_path)


def test_unknown_key_is_refused_with_the_nearest_name_and_its_line(refused: Refused) -> None:
    message = refused.text(SMALL.replace("cells =", "cels ="))
    assert "bad.toml:5: grid.cels: unknown key; did you mean 'cells'?" in message


def test_unknown_table_is_refused_with_the_nearest_name_and_its_line(refused: Refused) -> None:
    message = refused.text(SMALL + '\n[outptu]\nfolder = "x"\n')
    assert "bad.toml:18: outptu: unknown key; did you mean 'output'?" in message


def test_key_in_the_wrong_table_is_refused_with_the_right_one(refused: Refused) -> None:
    message = refused.text(SMALL.replace("lid_speed = 0.1", 'lid_speed = 0.1\nprecision = "f32"'))
    assert "bad.toml:10: physics.precision: unknown key; 'precision' belongs in [lbm]" in message


def test_unknown_key_of_a_wall_is_refused_with_its_line(refused: Refused) -> None:
    message = refused.text(SMALL.replace("velocity =", "velocty ="))
    assert "bad.toml:12: walls.y+.velocty: unknown key; did you mean 'velocity'?" in message


def test_unknown_key_of_an_override_names_the_override(refused: Refused) -> None:
    message = refused("run", "small.toml", "run.stepps=5")
    assert "override 'run.stepps=5': run.stepps: unknown key; did you mean 'steps'?" in message


def test_wrong_type_is_refused_with_its_line(refused: Refused) -> None:
    message = refused.text(SMALL.replace("steps = 40", 'steps = "many"'))
    assert "bad.toml:15: run.steps: should be a valid integer" in message


@pytest.mark.parametrize("name", ["", ".", "..", "...", "a/b", "a b", "\\u001b"])
def test_name_that_is_a_path_or_no_name_is_refused(refused: Refused, name: str) -> None:
    assert "case.name: should " in refused("run", "small.toml", f'case.name="{name}"', "--overwrite")


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
    message = refused("run", "small.toml", override)
    assert f"{key}: " in message and "is beyond 64 bits" in message


def test_fraction_of_a_cell_is_refused(refused: Refused) -> None:
    assert "grid.cells[1]: should be a valid integer" in refused("run", "small.toml", "grid.cells=[16,16.5,16]")


def test_unknown_word_is_refused_with_the_words_there_are(refused: Refused) -> None:
    words = "'SRT', 'TRT', 'MRT', 'cumulant', 'regularised' or 'recursive'"
    assert words in refused("run", "small.toml", "lbm.collision=KBC")
    assert "'D2Q9', 'D3Q19' or 'D3Q27'" in refused("run", "small.toml", "lbm.lattice=D3Q15")


def test_file_that_is_not_toml_is_refused_with_its_line(refused: Refused) -> None:
    assert "line 3" in refused.text("[grid]\ncells = [16, 16\n[run]\n")


@pytest.mark.parametrize("cells", ["[16,16]", "[16,16,16,16]", "[0,16,16]", "[16,-16,16]", "16"])
def test_odd_shape_is_refused(refused: Refused, cells: str) -> None:
    assert "grid.cells" in refused("run", "small.toml", f"grid.cells={cells}")


def test_two_dimensional_lattice_with_depth_is_refused(refused: Refused) -> None:
    assert "needs nz = 1, it is 16" in refused("run", "small.toml", "lbm.lattice=D2Q9")


def test_three_dimensional_lattice_without_depth_is_refused(refused: Refused) -> None:
    assert "needs nz > 1" in refused("run", "small.toml", "grid.cells=[16,16,1]")


def test_rows_along_z_in_two_dimensions_are_refused(refused: Refused) -> None:
    words = ("lbm.lattice=D2Q9", "grid.cells=[16,16,1]", "lbm.layout=soa_z")
    assert "lbm.layout: rows along z are one cell long in 2-D" in refused("run", "small.toml", *words)


def test_cumulants_on_another_lattice_are_refused_with_what_would_do(refused: Refused) -> None:
    message = refused("run", "small.toml", "lbm.collision=cumulant")
    assert 'lbm.collision: "cumulant" runs on lbm.lattice = "D3Q27", not on "D3Q19"' in message
    assert '"SRT", "TRT" or "MRT"' in message


@pytest.mark.parametrize("constant", ["-0.1", "1.5", "nan"])
def test_constant_of_eddies_out_of_range_is_refused(refused: Refused, constant: str) -> None:
    assert "lbm.smagorinsky: should be " in refused("run", "small.toml", f"lbm.smagorinsky={constant}")


def test_force_without_three_parts_is_refused(refused: Refused) -> None:
    assert "physics.force" in refused("run", "small.toml", "physics.force=[1e-5, 0]")


def test_force_across_a_plane_is_refused(refused: Refused) -> None:
    words = ["grid.cells=[16,16,1]", "lbm.lattice=D2Q9", "physics.force=[0, 0, 1e-5]"]
    assert "physics.force: in 2-D no force acts along z" in refused("run", "small.toml", *words)


def test_magic_number_out_of_range_is_refused_with_its_range(refused: Refused) -> None:
    message = refused("run", "small.toml", "lbm.magic=1e-8")
    assert "lbm.magic: the odd moments relax" in message and "4.8e-07 <= magic <= 4.8e+03" in message


def test_reynolds_number_with_too_small_tau_is_refused_with_what_would_do(refused: Refused) -> None:
    message = refused("run", "small.toml", "physics.reynolds=100000")
    assert "outside the usable range 0.502 to 2" in message
    assert "reynolds <=" in message and "cells along the length" in message


def test_reynolds_number_with_too_large_tau_is_refused_with_what_would_do(refused: Refused) -> None:
    message = refused("run", "small.toml", "physics.reynolds=0.1")
    assert "outside the usable range 0.502 to 2" in message and "lid_speed <= 0.00312" in message


def test_viscosity_with_unusable_tau_is_refused_with_its_range(refused: Refused) -> None:
    message = refused.text(SMALL.replace("reynolds = 100", "viscosity = 1e-5"))
    assert "bad.toml:8: physics.viscosity" in message and "0.00067 <= viscosity <= 0.5" in message


def test_lid_speed_with_too_large_mach_number_is_refused_with_its_range(refused: Refused) -> None:
    message = refused("run", "small.toml", "physics.lid_speed=0.5")
    assert "Mach number 0.866 is above 0.3" in message and "lid_speed <= 0.173" in message


def test_negative_reynolds_number_is_refused(refused: Refused) -> None:
    assert "physics.reynolds: should be greater than 0" in refused("run", "small.toml", "physics.reynolds=-100")


def test_both_reynolds_number_and_viscosity_are_refused(refused: Refused) -> None:
    assert "give only one of them" in refused("run", "small.toml", "physics.viscosity=0.1")


def test_run_without_an_end_is_refused(refused: Refused) -> None:
    assert "give steps or time_units" in refused.text(SMALL.replace("steps = 40", "residual = 1e-4"))


def test_wall_on_a_periodic_axis_is_refused_with_its_line(refused: Refused) -> None:
    message = refused.text(SMALL.replace("cells = [16, 16, 16]", "cells = [16, 16, 16]\nperiodic = [true, true, true]"))
    assert "bad.toml:13: walls.y+: the y axis is periodic" in message


def test_wall_that_leaves_its_plane_is_refused(refused: Refused) -> None:
    assert "the y component must be 0" in refused.text(SMALL.replace("[1, 0, 0]", "[1, 1, 0]"))


def test_reference_of_another_flow_is_refused(refused: Refused) -> None:
    assert "output.reference: 'ghia1982'" in refused("run", "small.toml", "output.reference=ghia1982")


def test_reference_without_this_reynolds_number_is_refused(refused: Refused) -> None:
    assert "it has 1000" in refused("run", "small.toml", "output.reference=albensoeder2005")


def test_more_devices_than_cells_are_refused(refused: Refused) -> None:
    message = refused("run", "small.toml", "grid.cells=[2,2,2]", "machine.devices_per_rank=9")
    assert "9 devices with 1 blocks each make 9 blocks" in message


def test_more_devices_than_an_axis_has_cells_are_refused(refused: Refused) -> None:
    words = ["grid.cells=[4,16,16]", "machine.devices_per_rank=8", "exchange.device_grid=[8,1,1]"]
    assert "cut the x axis into 8 blocks, but it has only 4 cells" in refused("run", "small.toml", *words)


def test_device_grid_of_another_number_of_devices_is_refused(refused: Refused) -> None:
    words = ["machine.devices_per_rank=2", "exchange.device_grid=[1,1,3]", "machine.backend=host"]
    refused("run", "small.toml", *words)


def test_grid_too_large_for_memory_is_refused_with_what_would_fit(refused: Refused) -> None:
    words = ["grid.cells=[9000,9000,9000]", "physics.reynolds=1000", "physics.lid_speed=0.1"]
    message = refused("run", "small.toml", *words, "physics.length=64", "machine.backend=host")
    assert "needs 1 x " in message and ", has 1 x " in message and "the largest grid that fits is" in message


def test_output_folder_that_cannot_be_made_is_refused(refused: Refused) -> None:
    (refused.folder / "file").write_text("not a folder")
    message = refused("run", "small.toml", "output.folder=file/results")
    assert "output.folder: cannot write to file/results" in message


def test_output_folder_on_a_read_only_place_is_refused(refused: Refused) -> None:
    assert "output.folder: cannot write to /proc/results" in refused("run", "small.toml", "output.folder=/proc/results")


def test_existing_results_are_refused_and_left_alone(refused: Refused) -> None:
    folder = refused.folder / "results" / "small"
    folder.mkdir(parents=True)
    (folder / "profiles.csv").write_text("precious")
    message = refused("run", "small.toml")
    assert "already holds results (profiles.csv)" in message and "--overwrite" in message


def test_missing_case_file_is_refused(refused: Refused) -> None:
    assert "nowhere.toml: no such case file" in refused("run", "nowhere.toml")


def test_override_that_is_none_is_refused(refused: Refused) -> None:
    assert "'grid.cells' is not an override" in refused("run", "small.toml", "grid.cells")


def test_ranks_without_mpiexec_are_refused(refused: Refused, tmp_path: Path) -> None:
    assert "-n 4 needs mpiexec, which is not on PATH" in refused("run", "small.toml", "-n", "4", PATH="/nonexistent")


def test_ranks_within_ranks_are_refused(refused: Refused) -> None:
    message = refused("run", "small.toml", "-n", "2", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
    assert "-n 2 inside mpiexec" in message


def test_ranks_of_another_mpi_are_refused(refused: Refused) -> None:
    message = refused("run", "small.toml", OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="0")
    assert "mpiexec started 4 processes, but each sees only 1" in message


def test_mistake_is_checked_before_ranks_are_started(refused: Refused) -> None:
    assert "did you mean 'cells'?" in refused("run", "small.toml", "-n", "2", "grid.cels=[8,8,8]")


def test_only_rank_0_speaks(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", "nowhere.toml", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="1")
    assert result.returncode == 2
    assert result.stdout + result.stderr == ""


def test_missing_machine_file_is_refused(refused: Refused) -> None:
    assert "nowhere.toml: no such machine file" in refused("plan", "small.toml", "--machine", "nowhere.toml")


def test_cuda_where_there_is_none_is_refused(refused: Refused) -> None:
    from slipstream.base.core import core

    if core().available("cuda"):
        pytest.skip("this machine has a GPU")
    assert 'machine.backend = "cuda"' in refused("run", "small.toml", "machine.backend=cuda")


@pytest.mark.parametrize(
    ("rim", "said"),
    [
        ('"wide"', "exchange.rim: should be 'auto' (it is \"wide\")"),
        ("[1,2]", "exchange.rim[2]: missing"),
        ("[-1,1,1]", "exchange.rim[0]: should be greater than or equal to 0"),
    ],
)
def test_rim_that_is_no_width_is_refused_in_one_line(refused: Refused, rim: str, said: str) -> None:
    message = refused("run", "small.toml", f"exchange.rim={rim}")
    assert said in message and len(message.strip().splitlines()) == 1


#: A tetrahedron whose corners are 6 apart, from (4, 4, 4), and its faces.
CORNERS = "v 4 4 4\nv 10 4 4\nv 4 10 4\nv 4 4 10\n"
FACES = ["f 1 3 2", "f 1 2 4", "f 2 3 4", "f 1 4 3"]


@pytest.mark.parametrize(
    ("text", "keys", "said"),
    [
        (CORNERS + "\n".join(FACES[:3]), [], ["bodies: ", "'rock'", "hole"]),
        (CORNERS, [], ["bodies.rock: ", "rock.obj", "no triangles"]),
        (CORNERS + "\n".join(FACES), ["bodies.rock.translate=[40,0,0]"], ["bodies.rock: ", "outside along x"]),
        (CORNERS + "\n".join(FACES), ["bodies.rock.scale=1000"], ["bodies.rock: ", "another scale: 0.001 times"]),
        (CORNERS + "\n".join(FACES), ["bodies.rock.scale=0.001"], ["bodies.rock: ", "smaller than a cell"]),
        (
            CORNERS + "\n".join(FACES),
            ["bodies.rock.scale=6.5", "bodies.rock.translate=[-27,-27,-27]"],
            ["boundaries.x-: bodies fill all cells of this side"],
        ),
    ],
    ids=["a hole", "no triangles", "outside", "too large", "too small", "fills the inlet"],
)
def test_body_that_is_none_is_refused_with_the_reason(
    refused: Refused, text: str, keys: list[str], said: list[str]
) -> None:
    (refused.folder / "rock.obj").write_text(text)
    case = SMALL.replace('[walls]\n"y+" = { velocity = [1, 0, 0] }\n', "") + (
        '[boundaries]\n"x-" = { kind = "velocity", velocity = [1, 0, 0] }\n"x+" = { kind = "pressure" }\n'
        '[bodies.rock]\nmesh = "rock.obj"\n[machine]\nbackend = "host"\n'
    )
    (refused.folder / "rock.toml").write_text(case)
    # One rank reads meshes, and sides are looked at by all of them: two say what one does of the one and the other.
    on_two = [["-n", "2"]] if "hole" in said or "boundaries" in said[0] else []
    for ranks in [[], *on_two]:
        message = refused("run", "rock.toml", *keys, *ranks)
        assert all(part in message for part in said), message
