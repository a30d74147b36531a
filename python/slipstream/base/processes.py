"""Status of other processes, from /proc."""

from pathlib import Path


def status(process: int) -> list[str]:
    """Reads the fields of Linux's proc_pid_stat(5) that follow the name, which may hold blanks: the state, the parent
    and so on. Raises OSError where there is no such process."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()
