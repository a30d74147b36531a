"""A change as git knows it: the commit before it, and the files that it touches."""

import subprocess
from pathlib import Path


def git(root: Path, *words: str) -> str:
    """Raises subprocess.CalledProcessError where git does not know."""
    answer = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True)
    return answer.stdout.decode("utf-8", errors="replace")


def base_of(root: Path, asked: str | None) -> str | None:
    """The commit before the change: where HEAD left `asked`, else where it left `main`, on `main` itself the last
    commit but one. None where the history does not hold it, as in a shallow clone, or there is no git."""
    try:
        head = git(root, "rev-parse", "HEAD").strip()
        for name in [asked] if asked else ["main", "origin/main"]:
            try:
                found = git(root, "merge-base", "HEAD", name).strip()
            except subprocess.CalledProcessError:
                continue
            if asked or found != head:
                return found
        return None if asked else git(root, "rev-parse", "--verify", "HEAD~1").strip()
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None


def changed_files(root: Path, base: str) -> dict[str, str]:
    """Status by path (A, M, D, T) of what differs between a commit and the working tree, with files that git does not
    know yet. A file that was moved is deleted and added."""
    changed = git(root, "-c", "core.quotepath=off", "diff", "--name-status", "--no-renames", base).splitlines()
    unknown = git(root, "-c", "core.quotepath=off", "ls-files", "--others", "--exclude-standard").splitlines()
    found = {path: status for status, path in (line.split("\t") for line in changed)}
    return found | {path: "A" for path in unknown}
