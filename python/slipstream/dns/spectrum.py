"""Initial energy spectrum of a flow with random modes, read from a file."""

import math
import re
from pathlib import Path
from typing import Any

from slipstream.base.errors import CaseError, ErrorCode, Fault

#: Largest energy of the mean velocity, relative to all energy, that counts as rounding.
ROUNDING = 1e-12


def _bad(path: str | Path, said: str, code: ErrorCode = ErrorCode.BAD_FILE, **facts: Any) -> CaseError:
    line = f":{facts['line']}:" if "line" in facts else ""
    return CaseError(f"initial.spectrum: {path}{line} {said}", code, key="initial.spectrum", file=path, **facts)


def read(path: str | Path) -> list[float]:
    """Reads E(k) of the shells 0, 1, 2, ...; shells that the file omits are zero. A line holds k and E(k), separated by
    a comma or blanks, and further columns if there is a header. Empty lines, lines that begin with '#', and rounding
    errors in shell 0 are ignored. The spectrum.csv of a run is such a file. Raises CaseError."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise _bad(path, f"cannot be read: {error.strerror or error}", Fault.of(error).code) from None
    except UnicodeDecodeError:
        raise _bad(path, "is no table of text: give lines of k and E(k)") from None
    found: dict[int, float] = {}
    head, columns = True, 2
    for number, line in enumerate(lines, 1):
        words = [word for word in re.split(r"[,;\s]+", line.strip()) if word]
        if not words or words[0].startswith("#"):
            continue
        if head and not any(map(_is_number, words)):
            head, columns = False, max(2, len(words))
            continue
        head = False
        shell, energy = _entry(words, columns, path, number)
        if shell in found:
            raise _bad(path, f"the shell {shell} stands there twice", line=number, shell=shell)
        found[shell] = energy
    if found.get(0, 0.0) < ROUNDING * sum(found.values()):
        found.pop(0, None)
    if not any(found.values()):
        raise _bad(path, "has no energy in any shell: give lines of k and E(k)", needed="energy")
    return [found.get(shell, 0.0) for shell in range(max(found) + 1)]


def _entry(words: list[str], columns: int, path: str | Path, line: int) -> tuple[int, float]:
    if len(words) != columns or not all(map(_is_number, words)):
        more = "" if columns == 2 else f", and {columns - 2} more as the head says"
        given = " ".join(words)
        said = f"a line holds two numbers, k and E(k){more}; here stands '{given}'"
        raise _bad(path, said, line=line, given=given, needed=columns)
    shell, energy = map(float, words[:2])
    if not (shell >= 0 and shell == round(shell) and shell < 1e6):
        said = f"shells are whole numbers k = 0, 1, 2, ..., not {words[0]}: add up what lies between"
        raise _bad(path, said, line=line, shell=words[0])
    if not (energy >= 0 and math.isfinite(energy)):
        raise _bad(path, f"the energy of a shell is 0 or more, not {words[1]}", line=line, energy=words[1])
    return int(shell), energy


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
