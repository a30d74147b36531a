"""Results written by older or newer versions, with missing or additional keys, remain usable."""

import json
from pathlib import Path

import pytest
from conftest import SMALL
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.case.reader import load
from slipstream.results import record
from slipstream.results.results import Results
from slipstream.run.checkpoint import Flow, differences


@pytest.fixture
def flow(small: Path) -> Flow:
    return Flow.of(load(small), "host")


def without(text: str, key: str) -> str:
    kept = [line for line in text.splitlines() if not line.startswith(f"{key} = ")]
    assert len(kept) < len(text.splitlines()), f"{key} is written"
    return "\n".join(kept) + "\n"


@pytest.mark.parametrize("key", ["magic", "streaming", "periodic", "pressure_drop"])
def test_key_that_a_checkpoint_lacks_has_its_default(flow: Flow, key: str) -> None:
    assert differences(Flow(without(flow.text, key), {}), flow) == []


def test_key_that_a_checkpoint_lacks_is_a_difference_where_the_case_has_another_value(small: Path, flow: Flow) -> None:
    now = Flow.of(load(small, ["lbm.magic=0.25"]), "host")
    (said,) = differences(Flow(without(flow.text, "magic"), {}), now)
    assert said.facts == {"key": "lbm.magic", "needed": "0.1875", "given": "0.25"}


def test_key_that_is_not_known_any_more_is_a_difference_of_the_flow_alone(flow: Flow) -> None:
    newer = flow.text.replace("[lbm]", "[lbm]\nswirl = 3").replace("[output]", "[output]\nsmell = true")
    assert newer.count("swirl") == newer.count("smell") == 1
    (said,) = differences(Flow(newer, {}), flow)
    assert said.facts == {"key": "lbm.swirl", "needed": "3", "given": "not given"}


def results(folder: Path, text: str) -> Results:
    folder.mkdir()
    (folder / "case.resolved.toml").write_text(text)
    return Results(folder)


def test_results_of_another_version_can_be_shown(tmp_path: Path, flow: Flow) -> None:
    newer = without(flow.text, "magic").replace("[lbm]", "[lbm]\nswirl = 3") + "\n[weather]\nrain = true\n"
    shown = results(tmp_path / "newer", newer)
    assert shown.case.lbm.magic == 0.1875 and shown.extent == (16, 16, 16)


def test_results_that_today_would_be_refused_can_be_shown(tmp_path: Path) -> None:
    assert (
        results(
            tmp_path / "fast", SMALL.replace("reference_velocity = 0.1", "reference_velocity = 0.4")
        ).case.scales.reference_velocity
        == 0.4
    )


def test_results_without_a_case_are_refused(tmp_path: Path) -> None:
    with raises(CaseError, "not_found", file=tmp_path / "none" / "case.resolved.toml", key="grid"):
        results(tmp_path / "none", "[physics]\nreynolds = 1\n")
    with raises(CaseError, "bad_file", file=tmp_path / "broken" / "case.resolved.toml"):
        results(tmp_path / "broken", "[physics\n")


def test_record_of_another_version_can_be_read(tmp_path: Path) -> None:
    (tmp_path / record.FILE).write_text(json.dumps({"verdict": "good", "smell": "none"}))
    found = record.read(tmp_path)
    assert found is not None and (found.verdict, found.sound) == ("good", True)
    (tmp_path / record.FILE).write_text("[]")
    with raises(CaseError, "bad_file", file=tmp_path / record.FILE):
        record.read(tmp_path)
