"""Differences between two commits, for people and prompts: bounded, and without any program of the repository."""

from __future__ import annotations

from sow.system import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.engine.repository import Repository

# No program of the repository's choice runs, and a file of more than ten megabytes is named and not printed.
PLAIN = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--submodule=short",
    "--ignore-submodules=none",
)
OPTIONS = ("-c", "core.bigFileThreshold=10m", "-c", "diff.context=3")
LONGEST_NAME = 1000  # bytes that are read for each file at the most
LIST_SHARE = 4  # where all does not fit, a quarter goes to the list of what there is


def changed_paths(repository: Repository, base: str, commit: str) -> list[str]:
    """Every path that differs, old and new names alike."""
    listed = repository.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit)
    return [path for path in listed.split("\0") if path]


def patch(repository: Repository, base: str, commit: str, limit: int) -> tuple[str, bool]:
    """The beginning of the difference as a patch, of at most so many bytes, and whether that is all of it."""
    words = ["diff-tree", "-p", "-r", *PLAIN, repository.commit_of(base), repository.commit_of(commit)]
    return git.read(words, cwd=repository.home.root, options=OPTIONS, limit=limit)


def counts(repository: Repository, base: str, commit: str, most: int) -> tuple[list[dict[str, Any]], bool]:
    """So many files that differ, with the lines added and removed (None for a binary file), and whether that is all."""
    words = ["diff-tree", "-r", "-z", "--numstat", "--no-renames"]
    words += [repository.commit_of(base), repository.commit_of(commit)]
    listed, whole = git.read(words, cwd=repository.home.root, options=OPTIONS, limit=most * LONGEST_NAME)
    rows = [each.split("\t", 2) for each in listed.split("\0")]
    found = [
        {"path": path, "added": _count(added), "removed": _count(removed)}
        for added, removed, path in (row for row in rows if len(row) == 3)
    ]
    return found[:most], whole and len(found) <= most


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def diff(repository: Repository, base: str, commit: str, limit: int) -> str:
    """The difference as a patch of at most so many bytes; what is cut off is said, and named by a list before it."""
    base, commit = repository.commit_of(base), repository.commit_of(commit)
    text, whole = patch(repository, base, commit, limit)
    if whole:
        return text
    words = ["diff-tree", "-r", "--numstat", "--no-renames", base, commit]
    names, all_named = git.read(words, cwd=repository.home.root, options=OPTIONS, limit=limit // LIST_SHARE)
    if not all_named:
        names = names.rpartition("\n")[0] + "\n… and more\n"
    rest = max(limit - len(names.encode()), 0)
    begin = text.encode()[:rest].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{names}\n{begin}\n… cut at {limit} bytes: see 'git diff {base[:12]} {commit[:12]}'\n"
