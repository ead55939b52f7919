"""Compares two commits for people and prompts, with a size limit and without running programs of the repository."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sow.domain.documents.state import Run
from sow.gitwork.repository import Repository
from sow.system import git

# No program chosen by the repository runs. A file of more than ten megabytes is named but not printed.
DIFF_OPTIONS = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short", "--ignore-submodules=none",
)  # fmt: skip
OPTIONS = ("-c", "core.bigFileThreshold=10m", "-c", "diff.context=3")
LONGEST_NAME = 1000  # bytes read per file, at most
WITHOUT_STATE = ("--", ".", ":(exclude).sow/project")  # the paths of a change without the state files of the project
LIST_SHARE = 4  # if the patch is too long, a quarter of the limit goes to the list of files


def changed_paths(repository: Repository, base: str, commit: str) -> list[str]:
    """Returns every path that differs, both old and new names."""
    output = repository.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit)
    return [path for path in output.split("\0") if path]


def patch(repository: Repository, base: str, commit: str, limit: int, paths: Sequence[str] = ()) -> tuple[str, bool]:
    """Returns the difference as a patch of at most `limit` bytes, and whether it is complete."""
    arguments = ["diff-tree", "-p", "-r", *DIFF_OPTIONS, repository.commit_of(base), repository.commit_of(commit)]
    arguments += paths
    return git.read(arguments, cwd=repository.home.root, options=OPTIONS, limit=limit)


def changed_files(
    repository: Repository, base: str, commit: str, limit: int, paths: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], bool]:
    """Returns at most `limit` changed files with added and removed lines (None if binary), and whether that is all."""
    arguments = ["diff-tree", "-r", "-z", "--numstat", "--no-renames"]
    arguments += [repository.commit_of(base), repository.commit_of(commit), *paths]
    output, complete = git.read(arguments, cwd=repository.home.root, options=OPTIONS, limit=limit * LONGEST_NAME)
    rows = [line.split("\t", 2) for line in output.split("\0")]
    files = [
        {"path": path, "added": _count(added), "removed": _count(removed)}
        for added, removed, path in (row for row in rows if len(row) == 3)
    ]
    return files[:limit], complete and len(files) <= limit


def ends_of_run(repository: Repository, run: Run) -> tuple[str, str] | None:
    """Returns the commit on which a run began and the one of its last merge, or None if one of them is not here."""
    base, head = repository.find_commit(run["base"]), repository.find_commit(run.get("head") or run["base"])
    return (base, head) if base and head else None


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def diff(repository: Repository, base: str, commit: str, limit: int) -> str:
    """Returns the difference as a patch of at most `limit` bytes. If it is cut, a list of the files comes first."""
    base, commit = repository.commit_of(base), repository.commit_of(commit)
    text, complete_patch = patch(repository, base, commit, limit)
    if complete_patch:
        return text
    arguments = ["diff-tree", "-r", "--numstat", "--no-renames", base, commit]
    listing, complete = git.read(arguments, cwd=repository.home.root, options=OPTIONS, limit=limit // LIST_SHARE)
    if not complete:
        listing = listing.rpartition("\n")[0] + "\n… and more\n"
    remaining = max(limit - len(listing.encode()), 0)
    beginning = text.encode()[:remaining].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{listing}\n{beginning}\n… cut at {limit} bytes: see 'git diff {base[:12]} {commit[:12]}'\n"
