"""Keys of earlier versions: their cases still run, and one line says what the keys are called now."""

from pathlib import Path

import pytest
from conftest import SMALL, Cli
from errors import is_error
from slipstream.case.reader import load, stored_case

OLD = SMALL.replace("reference_velocity", "lid_speed")
LINE = "physics.lid_speed is called physics.reference_velocity now"


def test_a_case_with_an_old_key_is_the_same_case(tmp_path: Path, small: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_text(OLD)
    case = load(path)
    assert "lid_speed" in OLD and case.old_keys == ("physics.lid_speed",)
    assert case.to_toml() == load(small).to_toml() and load(small).old_keys == ()
    assert stored_case(OLD, "a case")[1] == []


@pytest.mark.parametrize("text", [OLD, SMALL], ids=["old", "new"])
def test_an_override_may_have_the_old_key(tmp_path: Path, text: str) -> None:
    path = tmp_path / "case.toml"
    path.write_text(text)
    case = load(path, ["physics.lid_speed=0.05"])
    assert case.scales.reference_velocity == 0.05 and case.old_keys[-1:] == ("physics.lid_speed",)


def test_a_variant_may_have_the_old_key(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    path.write_text(SMALL + "[variants.slow]\nphysics.lid_speed = 0.05\n")
    assert load(path, variant="slow").scales.reference_velocity == 0.05


def test_one_line_says_the_new_name(here: Cli, tmp_path: Path, small: Path) -> None:
    (tmp_path / "old.toml").write_text(OLD)
    said = " ".join(here("check", "old.toml").stdout.split())
    assert said.count(LINE) == 1
    assert LINE not in here("check", "small.toml").stdout


def test_both_keys_are_refused(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "both.toml").write_text(SMALL.replace("reynolds", "lid_speed = 0.2\nreynolds"))
    is_error(here("check", "both.toml"), "not_found", key="physics.lid_speed")
