"""Text of a case file is written, shown and read again unchanged."""

import tomllib
from pathlib import Path

from conftest import SMALL, Cli
from small_runs import PLAIN

#: Text of a case with escape, carriage return, backspace and delete, as TOML allows them.
CONTROL = r"a \u001b[1mbold\u001b[0m, \r \b \u007f b"


def test_control_characters_of_a_description_are_shown_and_survive_a_restart(cli: Cli, tmp_path: Path) -> None:
    text = SMALL.replace('name = "small"', f'name = "small"\ndescription = "{CONTROL}"')
    (tmp_path / "small.toml").write_text(text)
    first = cli("run", "small.toml", *PLAIN, "run.steps=4")
    assert first.returncode == 0, first.stderr
    assert r"a \u001b[1mbold\u001b[0m, \u000d \u0008 \u007f b" in first.stdout and "\x1b" not in first.stdout
    written = tomllib.loads((tmp_path / "results" / "small" / "case.resolved.toml").read_text())
    assert written["case"]["description"] == tomllib.loads(text)["case"]["description"]
    again = cli("run", "small.toml", *PLAIN, "run.steps=8", "--restart", "last")
    assert again.returncode == 0, again.stderr
    assert "restarted at step 4" in again.stdout
