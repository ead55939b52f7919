"""Links a worktree's folder and git's record of it to each other, and repairs whichever was lost."""

from __future__ import annotations

import os

from sow.engine.place import SET_UP, EnvironmentProblem, Place, advice
from sow.errors import SowError
from sow.store.disk import failure, refuse_link
from sow.system import boundary, linked


def stand(worktree: Place, branch: str, commit: str) -> list[str]:
    """Make folder and record exist and point to each other, with HEAD on an existing branch of ours or detached.

    Returns remarks about what was wrong. Existing files stay. The folder may still have to be filled.
    """
    remarks: list[str] = []
    if os.path.lexists(worktree.path):
        _refuse_odd(worktree)
        remarks += _set_repository_aside(worktree)
    if os.path.lexists(_by_way_of(worktree)):
        _remove_left_over(worktree)
    lost = not _has_files(worktree)
    if lost and worktree.record and os.path.exists(worktree.index):
        remarks.append(f"the folder {worktree.name} was gone: it was filled again with what is committed")
        linked.remove(f"{worktree.record}/{SET_UP}")
        linked.remove(worktree.index)
    if not worktree.record:
        _enrol(worktree, branch, commit)
    elif not linked.is_whole(worktree.record, worktree.path):
        if not lost:
            remarks.append("the worktree had lost its tie to the repository: it was tied again")
        _tie(worktree, branch, commit)
    return remarks


def _set_repository_aside(worktree: Place) -> list[str]:
    """Move a repository that replaced the pointer file out of the folder, because it may hold commits."""
    inner = f"{worktree.path}/.git"
    if os.path.islink(inner) or not os.path.isdir(inner):
        return []
    new_path = f"{worktree.path}.found-{len(worktree.found()) + 1}"
    boundary.cross()
    try:
        os.rename(inner, new_path)
    except OSError as error:
        raise failure("move", inner, error) from None
    return [f"somebody made a repository of its own in the worktree: it was moved to {new_path}"]


def _refuse_odd(worktree: Place) -> None:
    try:
        refuse_link(worktree.path)
    except SowError as error:
        raise EnvironmentProblem(error.message, "move it away, and run again") from None


def _has_files(worktree: Place) -> bool:
    """Whether the folder contains anything except git's pointer."""
    try:
        with os.scandir(worktree.path) as entries:
            return any(entry.name != ".git" for entry in entries) or bool(linked.pointer(worktree.path))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise failure("read", worktree.path, error) from None


def _enrol(worktree: Place, branch: str, commit: str) -> None:
    """Have git make the record. If the folder has files but git has lost its record, the files stay as they are."""
    adopted = _has_files(worktree)
    target = _by_way_of(worktree) if adopted else worktree.path
    arguments = ["--", target, branch.removeprefix("refs/heads/")] if branch else ["--detach", "--", target, commit]
    done = worktree.repository.attempt(
        ["worktree", "add", "--quiet", "--no-checkout", *arguments], options=["-c", "worktree.useRelativePaths=false"]
    )
    if done.code:
        raise EnvironmentProblem(f"cannot make the worktree {worktree.name}: {done.words}", advice(done.words))
    worktree.record = linked.record_of(worktree.repository.home.checkout.common, target)
    if adopted:
        worktree.seal(
            worktree.begin(worktree.head() or commit)
        )  # commit the index before linking, because a linked worktree without an index gets filled
        _tie(worktree, branch, commit)
        _remove_left_over(worktree)


def _by_way_of(worktree: Place) -> str:
    """Return the folder of the empty worktree through which an existing folder gets a new record."""
    return f"{worktree.path}.new"


def _remove_left_over(worktree: Place) -> None:
    """Remove that empty worktree. A record that now belongs to the real worktree stays."""
    target = _by_way_of(worktree)
    worktree.repository.attempt(["worktree", "remove", "--force", "--force", "--", target])
    try:
        linked.remove(f"{target}/.git")
        boundary.cross(f"remove {target}")
        os.rmdir(target)
    except OSError:
        return


def _tie(worktree: Place, branch: str, commit: str) -> None:
    """Rewrite the pointers between folder and record."""
    boundary.cross()
    try:
        os.makedirs(worktree.path, exist_ok=True)
    except OSError as error:
        raise failure("make", worktree.path, error) from None
    linked.mend(
        worktree.repository.home.checkout.common,
        worktree.record,
        worktree.path,
        head=f"ref: {branch}" if branch else commit,
    )
