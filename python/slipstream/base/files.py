"""Files that replace others at once: a reader finds the old one or the new one, whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Opens a file that replaces the one at `path` when it is complete. After a failure the old file is unchanged. A
    device or a pipe is written directly.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    new = path.with_name(path.name + ".new")
    try:
        yield new
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def written_next_to(path: Path, text: str) -> Path:
    """Writes a text to a temporary file in the folder of the file that it shall replace; a failure leaves no file
    behind.
    """
    new = path.with_name(path.name + ".new")
    try:
        new.write_text(text, encoding="utf-8")
    except OSError:
        new.unlink(missing_ok=True)
        raise
    return new


def write_text(path: Path, text: str) -> None:
    """Writes a text file, and replaces an existing one."""
    with replaced(path) as new:
        new.write_text(text, encoding="utf-8")
