"""The HTML report of a run."""

import json
import os
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import SMALL, Cli, command
from errors import is_error


class Page(HTMLParser):
    """Collects text, headings and references of an HTML page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.words: list[str] = []
        self.titles: list[str] = []
        self.sources: list[str] = []
        self.tags: set[str] = set()
        self._tag = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        self.tags.add(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        if self._tag != "style":
            self.words.append(data)
        if self._tag == "h2" and data.strip():
            self.titles.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run on two ranks with checkpoints and pictures."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "small.toml").write_text(SMALL)
    result = command(folder, "run", "small.toml", "-n", "2", "machine.backend=host", "checkpoint.every=20")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def results(ran: Path, tmp_path: Path) -> Path:
    """A copy of the results that a test may modify."""
    return shutil.copytree(ran, tmp_path, dirs_exist_ok=True) / "results" / "small"


def test_page_says_what_the_run_was_and_did(results: Path) -> None:
    page = Page(results / "report.html")
    assert page.titles == [
        "Pictures", "Comparison", "Speed", "Exchange", "Facts", "Log of the guard and of checkpoints", "Case",
    ]  # fmt: skip
    for said in (
        "stopped at step 40",
        "MLUPS",
        "mass drift",
        "zigzag, % of the mean speed",
        "grid Reynolds number",
        "u_min",
        "compute",
        "direct",
    ):
        assert said in page.text, said
    assert "reynolds = 100" in page.text


def test_page_holds_everything_itself(results: Path) -> None:
    page = Page(results / "report.html")
    # Pictures of the page: planes, profiles, streamlines, the exchange.
    assert len(page.sources) == 4 and all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert not page.tags & {"script", "link", "iframe"}


def test_log_names_the_checkpoints_and_the_guard(results: Path) -> None:
    page = Page(results / "report.html")
    assert "checkpoint-000000000020.h5" in page.text and "checkpoint-000000000040.h5" in page.text
    assert "guard: sound, inspected every 100 steps, density 0.2 to 5, zigzag " in page.text


def test_report_makes_the_same_page_again(cli: Cli, results: Path) -> None:
    before = (results / "report.html").read_text()
    (results / "report.html").unlink()
    result = cli("report", "results/small")
    assert result.returncode == 0 and "written: results/small/report.html" in result.stdout
    assert (results / "report.html").read_text() == before


def test_report_shows_what_was_plotted_since_but_nothing_older(cli: Cli, results: Path) -> None:
    pictures = results / "pictures"
    pictures.mkdir()
    for name in ("old", "new_view"):
        shutil.copy(results / "profiles.png", pictures / f"{name}.png")
    os.utime(pictures / "old.png", (1e9, 1e9))
    assert cli("report", "results/small", "-o", "page.html").returncode == 0
    page = Page(results.parents[1] / "page.html")
    assert "new view" in page.words and "old" not in page.words


def test_run_that_was_given_up_says_so_on_its_page(cli: Cli, small: Path) -> None:
    unstable = ["physics.reference_velocity=0.17", "physics.reynolds=3500", "run.steps=4000", "lbm.collision=SRT"]
    assert cli("run", "small.toml", *unstable).returncode == 3
    path = small.parent / "results" / "small" / "report.html"
    page = Page(path)
    assert "the flow is no longer sound: density" in page.text and "given up" in page.text
    assert 'class="verdict bad"' in path.read_text()


def test_page_of_a_run_that_was_killed_says_what_is_known(cli: Cli, results: Path) -> None:
    known = json.loads((results / "run.json").read_text())
    begun = {"facts": known["facts"], "began": known["began"]}
    (results / "run.json").write_text(json.dumps(begun))
    for name in ("comparison.json", "fields.vtkhdf", "exchange.json"):
        (results / name).unlink()
    assert cli("report", "results/small").returncode == 0
    page = Page(results / "report.html")
    assert "This run has not ended yet, or was killed." in page.text and "grid Reynolds number" in page.text


def test_log_of_a_restarted_run_goes_on(cli: Cli, results: Path) -> None:
    result = cli("run", "small.toml", "machine.backend=host", "run.steps=60", "--restart", "last")
    assert result.returncode == 0, result.stderr
    log = json.loads((results / "run.json").read_text())["log"]
    said = [entry["what"] for entry in log]
    assert any("checkpoint-000000000020" in what for what in said)
    assert any(what.startswith("restarted from") for what in said)
    assert [entry["step"] for entry in log][-1] == 60


def test_words_of_the_case_cannot_break_the_page(cli: Cli, tmp_path: Path) -> None:
    odd = SMALL.replace('name = "small"', 'name = "small"\ndescription = "<script>alert(1)</script> & more"')
    (tmp_path / "odd.toml").write_text(odd)
    assert cli("run", "odd.toml", "output.pictures=false", "output.fields=false").returncode == 0
    page = Page(tmp_path / "results" / "small" / "report.html")
    assert "script" not in page.tags and "<script>alert(1)</script> & more" in page.text


def test_page_can_be_left_out(cli: Cli, small: Path) -> None:
    assert cli("run", "small.toml", "output.report=false", "output.pictures=false").returncode == 0
    assert not (small.parent / "results" / "small" / "report.html").exists()


@pytest.mark.parametrize("name", ["run.json", "comparison.json"])
def test_report_of_damaged_files_is_an_error(cli: Cli, results: Path, name: str) -> None:
    (results / name).write_text('{"run"')
    result = cli("report", "results/small")
    is_error(result, "bad_file", file=f"results/small/{name}")
