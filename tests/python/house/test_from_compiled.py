"""Files that are made from the compiled modules."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

NOTHING: dict[str, object] = {"above": None, "least": None, "most": None, "finite": True, "names": [], "only": []}
NOTHING |= {"shape": [], "expression": False}
TOOL = Path(__file__).parents[3] / "tools" / "from_compiled.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("from_compiled", TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_made_from_the_compiled_modules_are_up_to_date(tool: ModuleType) -> None:
    assert [str(path) for path, text in tool.files() if path.read_text(encoding="utf-8") != text] == []


def test_a_file_that_was_edited_is_named(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = tmp_path / "routes.py"
    edited.write_text("NAMES = ()\n", encoding="utf-8")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "files", lambda: [(edited, tool.routes_module())])
    assert tool.main(["--check"]) == 1 and "routes.py is out of date" in capsys.readouterr().out
    assert edited.read_text(encoding="utf-8") == "NAMES = ()\n"
    assert tool.main([]) == 0 and tool.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("values", "annotation"),
    [
        ({"kind": "integer", "least": 1.0}, "Count"),
        ({"kind": "integer", "least": 0.0, "most": 9.0}, "Annotated[int, Field(ge=0, le=9)]"),
        ({"kind": "integer", "only": [7, 27]}, "Literal[7, 27]"),
        ({"kind": "number", "above": 0.0}, "Positive"),
        ({"kind": "number", "least": 0.0, "finite": False}, "Annotated[float, Field(ge=0)]"),
        ({"kind": "number", "least": -1.0}, "Annotated[float, Field(ge=-1, allow_inf_nan=False)]"),
        ({"kind": "name", "names": ["go on", "stop"]}, 'Literal["go on", "stop"]'),
        ({"kind": "flag"}, "bool"),
        ({"kind": "size"}, "Size"),
        ({"kind": "number", "shape": [0, 3]}, "tuple[Vector, ...]"),
        ({"kind": "integer", "least": 1.0, "shape": [2]}, "tuple[Count, Count]"),
        ({"kind": "number", "above": 0.0, "expression": True}, "Positive | str"),
        ({"kind": "number", "shape": [2], "expression": True}, "tuple[Finite | str, Finite | str]"),
    ],
)
def test_kinds_of_values_become_annotations(tool: ModuleType, values: dict[str, object], annotation: str) -> None:
    assert tool.type_of(NOTHING | values) == annotation


@pytest.mark.parametrize(
    ("values", "annotation"),
    [
        ({"kind": "number", "above": 0.0, "expression": True}, "float | str"),
        ({"kind": "number", "shape": [0, 3]}, "Sequence[Sequence[float]]"),
        ({"kind": "integer", "only": [1, 2]}, "Literal[1, 2]"),
        ({"kind": "size"}, "str"),
    ],
)
def test_kinds_of_values_become_types_of_keywords(tool: ModuleType, values: dict[str, object], annotation: str) -> None:
    assert tool.keyword_type(NOTHING | values) == annotation
