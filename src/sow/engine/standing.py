"""Standing: a worktree's folder and git's record of it are there and know each other, whatever was lost."""

from __future__ import annotations

import os

from sow.engine.place import SET_UP, EnvironmentProblem, Place, advice
from sow.errors import SowError
from sow.store.disk import failure, refuse_link
from sow.system import boundary, linked


def stand(place: Place, branch: str, commit: str) -> list[str]:
    """Let folder and record be there and know each other, with HEAD on a branch of ours that exists, or detached.

    Returns what was odd. Files that are there stay; whether the folder is filled is another question.
    """
    remarks: list[str] = []
    if os.path.lexists(place.path):
        _refuse_odd(place)
        remarks += _set_repository_aside(place)
    if os.path.lexists(_by_way_of(place)):
        _remove_left_over(place)
    lost = not _has_files(place)
    if lost and place.record and os.path.exists(place.index):
        remarks.append(f"the folder {place.name} was gone: it was filled again with what is committed")
        linked.remove(f"{place.record}/{SET_UP}")
        linked.remove(place.index)
    if not place.record:
        _enrol(place, branch, commit)
    elif not linked.is_whole(place.record, place.path):
        if not lost:
            remarks.append("the worktree had lost its tie to the repository: it was tied again")
        _tie(place, branch, commit)
    return remarks


def _set_repository_aside(place: Place) -> list[str]:
    """Move a repository out of the folder that somebody made in place of the pointer: it may hold commits."""
    inner = f"{place.path}/.git"
    if os.path.islink(inner) or not os.path.isdir(inner):
        return []
    aside = f"{place.path}.found-{len(place.found()) + 1}"
    boundary.cross()
    try:
        os.rename(inner, aside)
    except OSError as error:
        raise failure("move", inner, error) from None
    return [f"somebody made a repository of its own in the worktree: it was moved to {aside}"]


def _refuse_odd(place: Place) -> None:
    try:
        refuse_link(place.path)
    except SowError as error:
        raise EnvironmentProblem(error.message, "move it away, and run again") from None


def _has_files(place: Place) -> bool:
    """Whether anything is in the folder, but for git's pointer."""
    try:
        with os.scandir(place.path) as entries:
            return any(entry.name != ".git" for entry in entries) or bool(linked.pointer(place.path))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise failure("read", place.path, error) from None


def _enrol(place: Place, branch: str, commit: str) -> None:
    """Have git make the record; a folder with files that git has forgotten is taken as it is."""
    adopted = _has_files(place)
    target = _by_way_of(place) if adopted else place.path
    words = ["--", target, branch.removeprefix("refs/heads/")] if branch else ["--detach", "--", target, commit]
    done = place.repository.attempt(
        ["worktree", "add", "--quiet", "--no-checkout", *words], options=["-c", "worktree.useRelativePaths=false"]
    )
    if done.code:
        raise EnvironmentProblem(f"cannot make the worktree {place.name}: {done.words}", advice(done.words))
    place.record = linked.record_of(place.repository.home.checkout.common, target)
    if adopted:
        place.seal(place.begin(place.head() or commit))  # before the tie: what is tied and not sealed is filled
        _tie(place, branch, commit)
        _remove_left_over(place)


def _by_way_of(place: Place) -> str:
    """The folder of the empty worktree through which a forgotten folder gets its record."""
    return f"{place.path}.new"


def _remove_left_over(place: Place) -> None:
    """Remove that empty worktree; a record that is the place's own by now stays."""
    target = _by_way_of(place)
    place.repository.attempt(["worktree", "remove", "--force", "--force", "--", target])
    try:
        linked.remove(f"{target}/.git")
        boundary.cross(f"remove {target}")
        os.rmdir(target)
    except OSError:
        return


def _tie(place: Place, branch: str, commit: str) -> None:
    """Write the pointers of folder and record anew."""
    boundary.cross()
    try:
        os.makedirs(place.path, exist_ok=True)
    except OSError as error:
        raise failure("make", place.path, error) from None
    linked.mend(
        place.repository.home.checkout.common, place.record, place.path, head=f"ref: {branch}" if branch else commit
    )
