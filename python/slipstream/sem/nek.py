"""Writes frames of a run as field files of Nek5000, in addition to its own file of fields."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slipstream.base.core import core, part
from slipstream.base.files import write_text
from slipstream.case.solver import Fields

#: Bytes of a number in files of Nek5000, by number format.
WORDS = {"f32": 4, "f64": 8}
NAME = "fields0.f"
#: Number of rows in a chunk of a dataset on elements (src/io/vtkhdf/vtkhdf_hexahedra.cpp).
ROWS_OF_A_CHUNK = 1 << 17


def bytes_on_elements(engine: Any, names: Sequence[str], scalar: str, words: str, frames: int) -> int:
    """Bytes of `frames` frames of f64 fields, in the file of fields and in those of Nek5000. The file of fields holds
    the mesh once, and everything in whole chunks. `scalar`: name of a field of one number a point."""
    known: Mapping[str, int] = core().state_bytes(engine)
    points = known[scalar] // 8

    def in_chunks(rows: int, width: int) -> int:
        return -(-rows // ROWS_OF_A_CHUNK) * ROWS_OF_A_CHUNK * width

    # Four arrays form the mesh in the file: coordinates, connectivity, offsets and types of the elements.
    mesh = sum(in_chunks(points, width) for width in (24, 8)) + sum(in_chunks(1, width) for width in (8, 1))
    values = sum(known[name] // points for name in names)
    fields = sum(in_chunks(points * frames, known[name] // points) for name in names)
    nek = points * WORDS[words] * (values // 8 + 3) * frames if words in WORDS else 0
    return mesh + fields + nek


def _step_of(path: Path) -> int | None:
    """The step of a Nek5000 file; None if it is damaged."""
    try:
        return int(part("sem").NekFile(str(path)).step)
    except RuntimeError:
        return None


class NekFrames:
    """Implements `slipstream.case.solver.Fields`: writes a series, and each frame as fields0.fNNNNN. fields.nek5000
    lists them for ParaView. `items`: names in the file and in the state. Collective."""

    def __init__(self, engine: Any, words: str, series: Fields, folder: Path, items: Sequence[tuple[str, str]]) -> None:
        self._engine, self._words, self._series, self._folder = engine, WORDS[words], series, folder
        self._items = list(items)
        # Steps of the frames that a restart keeps, which are those up to its own step.
        kept: list[int] = []
        for path in sorted(folder.glob(f"{NAME}*")) if core().rank() == 0 else []:
            step = _step_of(path)
            if step is None or step > engine.step:
                path.unlink()
            else:
                kept.append(step)
        kept = [int(step) for step in core().broadcast(" ".join(map(str, kept)), 0).split()]
        self._next = len(kept)
        self._written = kept[-1] if kept else None

    def write(self) -> None:
        """Adds the fields of this step to the files, unless they have them. Collective."""
        self._series.write()
        if self._engine.step == self._written:
            return
        path = self._folder / f"{NAME}{self._next:05d}"
        self._engine.write_nek(str(path), self._words, True, self._items)
        self._written = self._engine.step
        self._next += 1
        if core().rank() == 0:
            told = f"filetemplate: fields%01d.f%05d\nfirsttimestep: 0\nnumtimesteps: {self._next}\n"
            write_text(self._folder / "fields.nek5000", told)

    def close(self) -> None:
        """Closes the files of fields; nothing can be added afterwards."""
        self._series.close()
