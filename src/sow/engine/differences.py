"""Differences between two commits, for people and prompts: bounded, and without any program of the repository."""

from __future__ import annotations

from sow.system import git

TYPE_CHECKING = False
if TYPE_CHECKING:
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
LIST_SHARE = 4  # where all does not fit, a quarter goes to the list of what there is


def changed_paths(repository: Repository, base: str, commit: str) -> list[str]:
    """Every path that differs, old and new names alike."""
    listed = repository.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit)
    return [path for path in listed.split("\0") if path]


def diff(repository: Repository, base: str, commit: str, limit: int) -> str:
    """The difference as a patch of at most so many bytes; what is cut off is said, and named by a list before it."""
    base, commit = repository.commit_of(base), repository.commit_of(commit)
    cwd = repository.home.root
    text, whole = git.read(["diff-tree", "-p", "-r", *PLAIN, base, commit], cwd=cwd, options=OPTIONS, limit=limit)
    if whole:
        return text
    words = ["diff-tree", "-r", "--numstat", "--no-renames", base, commit]
    names, all_named = git.read(words, cwd=cwd, options=OPTIONS, limit=limit // LIST_SHARE)
    if not all_named:
        names = names.rpartition("\n")[0] + "\n… and more\n"
    rest = max(limit - len(names.encode()), 0)
    patch = text.encode()[:rest].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{names}\n{patch}\n… cut at {limit} bytes: see 'git diff {base[:12]} {commit[:12]}'\n"
