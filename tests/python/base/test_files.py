"""Files are replaced atomically: readers see the old or the new contents."""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from slipstream.base import files, rows
from slipstream.pictures import film, style


def picture(path: Path) -> None:
    style.save(plt.figure(), path)


def gif(path: Path) -> None:
    film.write(path, [np.zeros((8, 8, 3), np.uint8)] * 2, 5.0)


WRITERS = {
    "text.html": lambda path: files.write_text(path, "text " * 40_000),
    "table.csv": lambda path: rows.replace(path, ["a"], [[n] for n in range(40_000)]),
    "picture.png": picture,
    "film.gif": gif,
}


class Full(OSError):
    pass


@pytest.mark.parametrize("name", WRITERS)
def test_file_that_cannot_be_written_whole_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    before = path.read_bytes()
    assert len(before) > 10 and [entry.name for entry in tmp_path.iterdir()] == [name]

    def no_room(self: Path, *_: object) -> None:
        assert self.stat().st_size > 10
        raise Full

    with monkeypatch.context() as change:
        change.setattr(Path, "replace", no_room)
        with pytest.raises(Full):
            WRITERS[name](path)
    assert path.read_bytes() == before and [entry.name for entry in tmp_path.iterdir()] == [name]


def test_device_is_written_itself() -> None:
    files.write_text(Path(os.devnull), "text")
    assert Path(os.devnull).is_char_device()
