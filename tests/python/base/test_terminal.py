"""The console prints foreign text literally, without interpreting markup."""

import io

import pytest
from rich.text import Text
from slipstream.base import terminal


@pytest.mark.parametrize(
    "shape",
    [
        lambda text: text,
        lambda text: terminal.banner([("case", text)]),
        lambda text: terminal.table("title", ["", ""], [("case", text)]),
        lambda text: terminal.table(text, ["a"], [(1,)]),
        lambda text: terminal.table("title", [text], [(1,)]),
    ],
    ids=["line", "banner", "cell", "title", "heading"],
)
def test_control_characters_and_brackets_of_a_text_are_shown(shape, capsys: pytest.CaptureFixture[str]) -> None:
    console = terminal.console(0)
    console.print(shape("[red]a\x1b[1mb\rc\x9bd\x00[/]"))
    shown = capsys.readouterr().out
    assert "[red]a\\u001b[1mb\\u000dc\\u009bd\\u0000[/]" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)


def test_cell_with_a_style_of_its_own_keeps_it() -> None:
    table = terminal.table("title", [""], [(Text("fine", style="green"),)])
    file = io.StringIO()
    console = terminal.Console(file=file, force_terminal=True, color_system="standard", width=40)
    console.print(table)
    assert "\x1b[32mfine" in file.getvalue()
