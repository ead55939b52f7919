"""Finds lines of files in trees, and where a line of one tree is in a later one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from sow.domain.documents.state import Task
from sow.domain.reviews.line_comment import LineComment
from sow.domain.task import worktree_name
from sow.errors import SowError
from sow.gitwork.repository import OPTIONS, Repository
from sow.store.files.disk import Disk, read_text
from sow.system import git

Place = tuple[str, int]

MOST = 8 << 20  # bytes of a file or of a comparison
TREE = re.compile("[0-9a-f]{7,64}")  # an id, or its beginning
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def with_quotes(
    repository: Repository, task: Task, comments: Iterable[LineComment], tree: str = ""
) -> tuple[str, list[LineComment]]:
    """Returns the tree that the lines are from, and the comments with the lines that they are about.

    Without a tree, the lines are those of the task's last collected work. If there is none, they are those of the
    files in its worktree, or else in the checkout; then the tree is "".
    """
    if tree and not TREE.fullmatch(tree):
        raise SowError(f"--tree: {tree!r:.60} is not the id of a tree", "leave --tree out for the last work")
    name = tree or (task["work"]["commit"] if "work" in task else "")
    if not name:
        worktree = f"{repository.home.sow}/local/worktrees/{worktree_name(task)}"
        folder = worktree if os.path.isdir(worktree) else repository.home.root
        return "", [comment.quoting(_line(_file(folder, comment.file), comment)) for comment in comments]
    oid = repository.run_git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{tree}}"]).out.strip()
    if not oid:
        raise SowError(f"there is no tree {name!r:.60} in {repository.home.root}", "leave --tree out for the last work")
    return oid, [with_quote(repository, oid, comment) for comment in comments]


def with_quote(repository: Repository, tree: str, comment: LineComment) -> LineComment:
    """Returns the comment with the line of a tree that it is about."""
    return comment.quoting(_line(_blob_text(repository, tree, comment.file), comment))


def _file(folder: str, path: str) -> str:
    try:
        return read_text(Disk(), os.path.join(folder, path), MOST)
    except FileNotFoundError:
        raise _no_file(path) from None


def _blob_text(repository: Repository, tree: str, path: str) -> str:
    blob = _blob(repository, tree, path)
    if not blob:
        raise _no_file(path)
    return git.read(["cat-file", "blob", blob], cwd=repository.home.root, limit=MOST)[0]


def _no_file(path: str) -> SowError:
    return SowError(f"there is no file {path} in the task's work", "write its path from the repository's root")


def _line(text: str, comment: LineComment) -> str:
    """Returns the line that a comment is about, or raises an error if the file has no such line."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if comment.line > len(lines):
        has = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
        raise SowError(
            f"{comment.file} has {has}, and no line {comment.line}", "look at the file, and correct the line"
        )
    return lines[comment.line - 1]


def map_lines(repository: Repository, old: str, new: str, places: Iterable[Place]) -> dict[Place, Place | None]:
    """Returns for each line of the old tree where it is in the new one, or None if it was changed or is gone."""
    by_path: dict[str, list[int]] = {}
    for path, line in places:
        by_path.setdefault(path, []).append(line)
    if old == new or not by_path:
        return {(path, line): (path, line) for path, lines in by_path.items() for line in lines}
    renames: dict[str, str] | None = None
    mapped: dict[Place, Place | None] = {}
    for path, lines in by_path.items():
        target = path if _blob(repository, new, path) else ""
        if not target:
            renames = _renames(repository, old, new) if renames is None else renames
            target = renames.get(path, "")
        hunks = _hunks(repository, _blob(repository, old, path), _blob(repository, new, target)) if target else None
        for line in lines:
            number = None if hunks is None else _shifted(hunks, line)
            mapped[path, line] = None if number is None else (target, number)
    return mapped


def _blob(repository: Repository, tree: str, path: str) -> str:
    output = repository.run_git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{tree}:{path}"]).out.strip()
    return output if output and repository.git("cat-file", "-t", output).strip() == "blob" else ""


def _renames(repository: Repository, old: str, new: str) -> dict[str, str]:
    """Returns the new name of each renamed file."""
    arguments = ["diff-tree", "-r", "-z", "-M", "--name-status", "--diff-filter=R", old, new]
    parts = git.read(arguments, cwd=repository.home.root, options=OPTIONS, limit=MOST)[0].split("\0")
    return {parts[at + 1]: parts[at + 2] for at in range(0, len(parts) - 2, 3)}


def _hunks(repository: Repository, old: str, new: str) -> list[tuple[int, int, int]] | None:
    """Returns the first old line, the number of old lines and the number of new lines of each change of a file.

    Returns None if the files cannot be compared.
    """
    if old == new:
        return []
    if not old or not new:
        return None
    arguments = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=0"]
    arguments += ["--inter-hunk-context=0", old, new]
    text, complete = git.read(arguments, cwd=repository.home.root, options=OPTIONS, limit=MOST)
    if not complete or not text:
        return None
    hunks = []
    for first, count, _, added in HUNK.findall(text):
        removed = int(count or 1)
        hunks.append((int(first) + (removed == 0), removed, int(added or 1)))
    return hunks or None


def _shifted(hunks: list[tuple[int, int, int]], line: int) -> int | None:
    """Returns the new number of a line, or None if a change took it away."""
    moved = line
    for first, removed, added in hunks:
        if first > line:
            break
        if line < first + removed:
            return None
        moved += added - removed
    return moved
