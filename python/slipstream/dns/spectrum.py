"""Initial energy spectrum of a flow with random modes, read from a file."""

import math
import re
from pathlib import Path
from typing import Any

from slipstream.base.errors import CaseError, ErrorCode, Fault

#: Largest energy of the mean velocity, relative to all energy, that counts as rounding.
ROUNDING = 1e-12


def read(path: str | Path) -> list[float]:
    """Reads E(k) of the shells 0, 1, 2, ...; shells that the file omits are zero. A line holds k and E(k), separated by
    a comma or blanks, and further columns if there is a header. Empty lines, lines that begin with '#', and rounding
    errors in shell 0 are ignored. The spectrum.csv of a run is such a file. Raises CaseError."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CaseError(
            f"initial.spectrum: {path} cannot be read: {error.strerror or error}",
            Fault.of(error).code,
            key="initial.spectrum",
            file=path,
        ) from None
    except UnicodeDecodeError:
        raise CaseError(
            f"initial.spectrum: {path} is no table of text: give lines of k and E(k)",
            ErrorCode.BAD_FILE,
            key="initial.spectrum",
            file=path,
        ) from None
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
            raise CaseError(
                f"initial.spectrum: {path}:{number}: the shell {shell} stands there twice",
                ErrorCode.BAD_FILE,
                key="initial.spectrum",
                file=path,
                line=number,
                shell=shell,
            )
        found[shell] = energy
    if found.get(0, 0.0) < ROUNDING * sum(found.values()):
        found.pop(0, None)
    if not any(found.values()):
        raise CaseError(
            f"initial.spectrum: {path} has no energy in any shell: give lines of k and E(k)",
            ErrorCode.BAD_FILE,
            key="initial.spectrum",
            file=path,
            needed="energy",
        )
    return [found.get(shell, 0.0) for shell in range(max(found) + 1)]


def _entry(words: list[str], columns: int, path: str | Path, line: int) -> tuple[int, float]:
    def bad(said: str, **facts: Any) -> CaseError:
        text, code = f"initial.spectrum: {path}:{line}: {said}", ErrorCode.BAD_FILE
        return CaseError(text, code, key="initial.spectrum", file=path, line=line, **facts)

    if len(words) != columns or not all(map(_is_number, words)):
        more = "" if columns == 2 else f", and {columns - 2} more as the head says"
        given = " ".join(words)
        raise bad(f"a line holds two numbers, k and E(k){more}; here stands '{given}'", given=given, needed=columns)
    shell, energy = map(float, words[:2])
    if not (shell >= 0 and shell == round(shell) and shell < 1e6):
        said = f"shells are whole numbers k = 0, 1, 2, ..., not {words[0]}: add up what lies between"
        raise bad(said, shell=words[0])
    if not (energy >= 0 and math.isfinite(energy)):
        raise bad(f"the energy of a shell is 0 or more, not {words[1]}", energy=words[1])
    return int(shell), energy


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
