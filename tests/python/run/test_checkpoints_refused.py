"""Checkpoints that a run refuses (other cases, representations and meshes), and changes that are allowed."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL, TETRAHEDRON, Cli
from errors import is_error
from slipstream.case.reader import load
from slipstream.run.checkpoint import Flow, differences
from small_runs import MOMENTS, PLAIN, name, nudge_a_vertex, refusal, start, with_mesh


@pytest.fixture(scope="module")
def one_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A checkpoint of the small case at step 40."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.toml").write_text(SMALL)
    run = start(folder, "run", "small.toml", *PLAIN, "checkpoint.every=40")
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    return (folder / "results" / "small" / "checkpoints" / name(40)).read_bytes()


@pytest.fixture
def made(tmp_path: Path, small: Path, one_checkpoint: bytes) -> Path:
    """Copies the checkpoint `one_checkpoint` into the folder of the small case's checkpoints."""
    path = tmp_path / "results" / "small" / "checkpoints" / name(40)
    path.parent.mkdir(parents=True)
    path.write_bytes(one_checkpoint)
    return path


def test_flipped_byte_is_refused_naming_file_and_dataset(made: Path, cli: Cli) -> None:
    content = bytearray(made.read_bytes())
    content[len(content) // 2] ^= 1  # a byte of the populations, which are most of the file
    made.write_bytes(content)
    said = refusal(cli, None, "--restart", "last", "-n", "2", key="--restart")
    assert f"{name(40)}' is damaged in the dataset /fields/populations: piece" in said


def test_truncated_checkpoint_is_refused(made: Path, cli: Cli) -> None:
    made.write_bytes(made.read_bytes()[:-5000])
    said = refusal(cli, None, "--restart", "last", key="--restart")
    assert f"{name(40)}' cannot be used" in said and "it is truncated" in said


def test_checkpoint_of_another_version_is_refused(made: Path, cli: Cli) -> None:
    made.write_bytes(made.read_bytes().replace(b"version 1\n", b"version 2\n", 1))
    said = refusal(cli, None, "--restart", "last", key="--restart")
    assert "it is of version 2, written by slipstream" in said


def test_checkpoint_of_another_case_is_refused_with_the_difference(made: Path, cli: Cli) -> None:
    words = ["--restart", "last", "lbm.collision=SRT", "physics.reynolds=50", "-n", "2"]
    result = cli("run", "small.toml", *PLAIN, *words)
    is_error(result, "mismatch", key="--restart", file=f"results/small/checkpoints/{name(40)}")
    is_error(result, "mismatch", key="lbm.collision", needed='"TRT"', given='"SRT"')
    is_error(result, "mismatch", key="physics.reynolds", needed="100.0", given="50.0")
    assert len(result.errors) == 3


def test_checkpoint_of_another_coding_is_refused(made: Path, cli: Cli) -> None:
    """A coding affects bits, so checkpoints of another coding are refused; routes do not."""
    result = cli(
        "run", "small.toml", *PLAIN, "--restart", "last", "exchange.coding=zfp, rate 16", 'exchange.routes=["staged"]'
    )
    is_error(result, "mismatch", key="exchange.coding", needed='"raw"', given='"zfp, rate 16"')
    assert len(result.errors) == 2


@pytest.mark.parametrize(
    ("first", "then", "lost"),
    [
        (["lbm.collision=TRT"], MOMENTS, "lost: of the 19 populations of a cell all but density, momentum and"),
        (MOMENTS, ["lbm.collision=TRT"], "lost: terms of third order"),
    ],
)
def test_restart_by_the_other_representation_says_what_is_lost(
    tmp_path: Path, small: Path, cli: Cli, first: list[str], then: list[str], lost: str
) -> None:
    cli("run", "small.toml", *first)
    more = ["run.steps=80", "--restart", "last"]
    refused = cli("run", "small.toml", *then, *more)
    is_error(refused, "mismatch", key="lbm.representation")
    told = is_error(refused, "mismatch", key="--restart").facts["lost"]
    went_on = cli("run", "small.toml", *then, *more, "checkpoint.convert=true")
    assert lost in went_on.stdout and f"lost: {told}" in " ".join(went_on.stdout.split())
    cli("run", "small.toml", *first, "run.steps=80", "output.folder=results/straight")
    converted, straight = (
        np.genfromtxt(tmp_path / "results" / folder / "profiles.csv", delimiter=",", names=True)
        for folder in ("small", "straight")
    )
    for column in straight.dtype.names:
        np.testing.assert_allclose(converted[column], straight[column], atol=0.02, err_msg=column)


@pytest.mark.parametrize(
    ("word", "key", "needed", "given"),
    [
        ("lbm.precision=f32", "lbm.precision", '"f64"', '"f32"'),
        ("physics.reynolds=50", "physics.reynolds", 100.0, 50.0),
    ],
)
@pytest.mark.usefixtures("made")
def test_conversion_allows_no_other_difference(cli: Cli, word: str, key: str, needed: object, given: object) -> None:
    words = ["--restart", "last", *MOMENTS, "checkpoint.convert=true", "run.steps=80", word]
    result = cli("run", "small.toml", *PLAIN, *words)
    is_error(result, "mismatch", key=key, needed=needed, given=given)
    assert [fault.facts["key"] for fault in result.errors] == ["--restart", key]


def test_restart_by_the_other_representation_in_16_bits_on_two_ranks(tmp_path: Path, small: Path, cli: Cli) -> None:
    words = [*PLAIN[1:], "lbm.precision=f16"]
    for more in (
        ["lbm.collision=TRT", "checkpoint.every=40"],
        [*MOMENTS, "run.steps=80", "--restart", "last", "checkpoint.convert=true", "-n", "2"],
        ["lbm.collision=TRT", "run.steps=80", "output.folder=results/straight"],
    ):
        result = cli("run", "small.toml", *words, *more)
        assert result.returncode == 0, result.stderr
    converted, straight = (
        np.genfromtxt(tmp_path / "results" / folder / "profiles.csv", delimiter=",", names=True)
        for folder in ("small", "straight")
    )
    for column in straight.dtype.names:
        np.testing.assert_allclose(converted[column], straight[column], atol=0.02, err_msg=column)


def test_file_that_is_no_checkpoint_is_refused(made: Path, cli: Cli) -> None:
    assert "it is no checkpoint" in refusal(cli, None, "--restart", "small.toml", key="--restart")
    assert "there is no checkpoint 'none.h5'" in refusal(cli, None, "--restart", "none.h5", key="--restart")


def test_last_needs_a_checkpoint(small: Path, cli: Cli) -> None:
    refusal(cli, "not_found", "--restart", "last", key="--restart", file="results/small/checkpoints")


def test_new_run_does_not_replace_checkpoints_unasked(made: Path, cli: Cli) -> None:
    refusal(cli, "wrong_state", key="output.folder", file="results/small", holds=name(40), restart="last")
    assert cli("run", "small.toml", *PLAIN, "--overwrite", "run.steps=20", "checkpoint.every=20").returncode == 0
    assert [path.name for path in made.parent.iterdir()] == [name(20)]


def test_cases_differ_in_what_changes_the_flow_alone(small: Path) -> None:
    before = Flow.of(load(small), "host")
    free = ["run.steps=9", "lbm.layout=aos", "output.folder=x", "checkpoint.every=3", "guard.every=7", "case.name=y"]
    assert differences(before, Flow.of(load(small, free), "host")) == []
    changed = Flow.of(load(small, ["lbm.precision=f64", "grid.cells=[16,16,20]"]), "host")
    assert [each.facts["key"] for each in differences(before, changed)] == ["grid.cells", "lbm.precision"]


@pytest.mark.parametrize(("collision", "differ"), [("TRT", True), ("MRT", True), ("SRT", False), ("recursive", False)])
def test_magic_number_may_change_where_no_collision_reads_it(small: Path, collision: str, differ: bool) -> None:
    method = MOMENTS if collision == "recursive" else [f"lbm.collision={collision}"]
    one, other = (Flow.of(load(small, [*method, f"lbm.magic={magic}"]), "host") for magic in (0.1875, 0.25))
    assert [each.facts["key"] for each in differences(one, other)] == (["lbm.magic"] if differ else [])


def test_key_that_a_checkpoint_does_not_know_yet_has_its_default(small: Path) -> None:
    now = Flow.of(load(small), "host")
    lines = now.text.splitlines()
    # Text that an older version without lbm.streaming would have written.
    older = "\n".join(line for line in lines if not line.startswith("streaming"))
    assert older != now.text
    before = Flow(older, {})
    assert differences(before, now) == []
    changed = Flow.of(load(small, ["lbm.collision=SRT"]), "host")
    without = "\n".join(line for line in lines if not line.startswith(("streaming", "collision")))
    (difference,) = differences(Flow(without, {}), changed)
    assert (difference.facts["key"], difference.facts["given"]) == ("lbm.collision", '"SRT"')


def test_case_with_a_mesh_goes_on_from_another_path(tmp_path: Path, cli: Cli) -> None:
    with_mesh(tmp_path / "here")
    words = ["here/small.toml", *PLAIN, "checkpoint.every=20"]
    assert cli("run", *words).returncode == 0
    right = (tmp_path / "results/small/loads.csv").read_bytes()
    moved = with_mesh(tmp_path / "moved").absolute()
    elsewhere = [str(moved), *PLAIN, "output.folder=other", "--restart", f"results/small/checkpoints/{name(20)}"]
    again = cli("run", *elsewhere)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "other/loads.csv").read_bytes().splitlines()[-1] == right.splitlines()[-1]


def test_edited_mesh_is_refused_by_the_name_of_its_body(tmp_path: Path, cli: Cli) -> None:
    with_mesh(tmp_path / "here")
    words = ["run", "here/small.toml", *PLAIN, "checkpoint.every=20"]
    assert cli(*words).returncode == 0
    nudge_a_vertex(tmp_path / "here")
    again = cli(*words, "--restart", "last", "-n", "2")
    before, now = (
        f'"here/part.obj" with SHA-256 {hashlib.sha256(text).hexdigest()[:16]}...'
        for text in (TETRAHEDRON.encode(), (tmp_path / "here/part.obj").read_bytes())
    )
    is_error(again, "mismatch", key="bodies.part.mesh", needed=before, given=now)


def test_mesh_is_known_by_its_path_where_a_checkpoint_has_no_checksum(tmp_path: Path) -> None:
    now = Flow.of(load(with_mesh(tmp_path / "here")), "host")
    elsewhere = Flow.of(load(with_mesh(tmp_path / "there")), "host")
    assert now.meshes.keys() == {"part"} and differences(now, elsewhere) == []
    assert differences(Flow(now.text, {}), now) == []
    (said,) = differences(Flow(now.text, {}), elsewhere)
    assert said.facts["key"] == "bodies.part.mesh" and "SHA-256" not in said


def test_area_of_a_body_may_change_and_counts_for_the_rows_before(tmp_path: Path, cli: Cli) -> None:
    with_mesh(tmp_path / "here", "area = 32\n")
    words = ["here/small.toml", *PLAIN, "run.check_every=10"]
    assert cli("run", *words, "bodies.part.area=8").returncode == 0
    loads = tmp_path / "results/small/loads.csv"
    right = loads.read_bytes()
    assert cli("run", *words, "--overwrite", "checkpoint.every=20").returncode == 0
    assert loads.read_bytes() != right
    last = f"results/small/checkpoints/{name(20)}"
    again = cli("run", *words, "bodies.part.area=8", "--restart", last)
    assert again.returncode == 0, again.stderr
    assert loads.read_bytes() == right


def test_shared_folder_of_checkpoints_keeps_those_of_another_flow(tmp_path: Path, small: Path, cli: Cli) -> None:
    words = ["run", "small.toml", *PLAIN, "output.report=false", "run.steps=4", "checkpoint.folder=kept"]
    first = tmp_path / "kept/small" / name(4)
    assert cli(*words).returncode == 0
    made = first.read_bytes()
    facts = {"key": "checkpoint.folder", "file": "kept/small", "holds": name(4)}
    said = is_error(cli(*words, "output.folder=other"), "wrong_state", **facts)
    assert "output.folder" not in said
    for more in (
        ["output.folder=other", "physics.reynolds=50"],
        ["output.folder=other", "physics.reynolds=50", "-n", "2"],
    ):
        refused = cli(*words, *more, "--overwrite")
        is_error(refused, "mismatch", **facts)
    assert first.read_bytes() == made and not (tmp_path / "other").exists()
    # Checkpoints are accepted from the same flow, or from the run whose results are replaced.
    assert cli(*words, "output.folder=other", "--overwrite", "run.steps=3").returncode == 0
    assert [path.name for path in first.parent.iterdir()] == [name(3)]
    assert cli(*words, "output.folder=other", "--overwrite", "physics.reynolds=50").returncode == 0
    assert [path.name for path in first.parent.iterdir()] == [name(4)]
