"""A change in git: its base commit, and the files that it modifies."""

import subprocess
from pathlib import Path


def git(root: Path, *words: str) -> str:
    """Runs git in a folder and returns its output. Raises subprocess.CalledProcessError if git fails."""
    answer = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True)
    return answer.stdout.decode("utf-8", errors="replace")


def base_of(root: Path, asked: str | None) -> str | None:
    """The base of the change: where HEAD left `asked`, by default `main`; on `main` the commit before HEAD. It is None
    without git or if the history is too short, as in a shallow clone.
    """
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
    """Status by path (A, M, D, T) of differences between a commit and the working tree, including untracked files. A
    moved file counts as deleted and added.
    """
    changed = git(root, "-c", "core.quotepath=off", "diff", "--name-status", "--no-renames", base).splitlines()
    unknown = git(root, "-c", "core.quotepath=off", "ls-files", "--others", "--exclude-standard").splitlines()
    found = {path: status for status, path in (line.split("\t") for line in changed)}
    return found | {path: "A" for path in unknown}
