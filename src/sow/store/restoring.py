"""Bringing state back during a run: what a stash or a clean took away, or set back, comes from its last copy."""

from __future__ import annotations

import os

from sow.domain.phase import DEFAULT_PHASE
from sow.errors import SowError, Waiting
from sow.store import aside, kept, runs
from sow.store import desk as desks
from sow.store import project as projects
from sow.store.desk import Desk
from sow.store.disk import make_folders
from sow.store.repair import move_aside
from sow.store.yaml_text import scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import ProjectState
    from sow.store.home import Home

FIELD = "\nrevision: "
UNREADABLE = f"{FIELD}{1 << 60}\n"  # stands for what is there and no text: newer than any other
ANY = 1 << 70  # more than any revision has
LONGEST = 19  # digits of a revision


class Elsewhere(Waiting):
    """The home checkout is not on the project's branch: its state must not be written there."""


def refuse_elsewhere(home: Home, branch: str) -> None:
    """Nothing of a project is written while another branch is checked out."""
    current = home.checkout.branch()
    if current != branch:
        where = f"on {current}" if current else "on no branch"
        raise Elsewhere(
            f"{home.root} is {where}, and the run belongs to {branch}",
            f"git switch {branch}, then run the same command again",
        )


def mend(desk: Desk, project_id: str) -> tuple[str, bool]:
    """Set a task of a run right, under the lock: what sow itself writes leaves an equal copy, and nothing else counts.

    Returns where its state is now if that was edited by hand, and whether something was missing or set back. On a desk
    where another process works, an edit is left to the end of that turn.
    """
    memory, where = desk.home.memory, ""
    good, now = kept.recall(desk.home, project_id, desk.id), _read(desk.home, desk.state_path)
    if memory is not None and now not in (None, memory.texts.get(desk.id)) and not desk.home.holder(desk.id):
        where = memory.put_back(desk.id, desk.state_path)
        good, now = kept.recall(desk.home, project_id, desk.id), _read(desk.home, desk.state_path)
    newest = not kept.is_behind(desk.home, project_id, desk.id)
    if good and now is not None and _is_edited(now, good, newest=newest) and not desk.home.holder(desk.id):
        where = _set_aside(desk, now)
        desk.home.replace(desk.state_path, good)
        now = good
    back = _bring_back(desk.home, desk.state_path, good, now)
    return where, _bring_rest_back(desk, project_id) or back


def bring_task_back(desk: Desk, project_id: str) -> bool:
    """Restore what is missing of a task, or older than its last copy: state, notes, description; under the lock."""
    back = bring_back(desk.home, project_id, desk.id, desk.state_path)
    return _bring_rest_back(desk, project_id) or back


def _bring_rest_back(desk: Desk, project_id: str) -> bool:
    """The same for what has no revision: it can only be missing."""
    found = False
    rest = {kept.of_notes(desk.id): desk.notes_path, kept.of_description(desk.id): desk.description_path}
    for name, path in rest.items():
        if not os.path.lexists(path):
            found = _bring_back(desk.home, path, kept.recall(desk.home, project_id, name), None) or found
    return found


def keep_description(desk: Desk, project_id: str) -> None:
    """Keep a copy of what a task is about, unless there is an equal one."""
    name, text = kept.of_description(desk.id), _read(desk.home, desk.description_path)
    if text is not None and text != kept.recall(desk.home, project_id, name):
        kept.keep(desk.home, project_id, name, text)


def bring_project_back(home: Home, project_id: str) -> bool:
    """The same for the project's own state."""
    return bring_back(home, project_id, "project", projects.path(home))


def bring_run_back(home: Home) -> list[str]:
    """Before a run: what is missing or older of the project whose run on this branch was not ended; what came back."""
    copy = kept.project_copy(home, home.checkout.branch())
    project_id = os.path.basename(os.path.dirname(copy))
    run = runs.kept_copy(home, project_id) if copy else None
    if run is None or run["run"]["status"] == "ended" or _is_over(home, project_id):
        return []
    with home.lock():
        found = ["project"] if bring_project_back(home, project_id) else []
        project = projects.load_anywhere(home)
        found += [ident for ident in run["run"]["tasks"] if bring_task_back(_desk(home, project, ident), project_id)]
        if runs.bring_back(home, run):
            found.append("run")
    return found


def _is_over(home: Home, project_id: str) -> bool:
    """Whether another project has begun here since then, or this one was removed on purpose."""
    from sow.store.removal import removed  # here, because only the start of a run asks

    now = _read(home, projects.path(home))
    return (now is not None and f"\nproject_id: {scalar(project_id)}\n" not in now) or project_id in removed(home)


def _desk(home: Home, project: ProjectState, ident: str) -> Desk:
    """The desk of a task; of one that is gone altogether, the one that it would have in a plan's phase."""
    try:
        return desks.find(home, project, ident)
    except SowError:
        names = [each["name"] for each in project["phases"]]
        return Desk(home, DEFAULT_PHASE if DEFAULT_PHASE in names else names[-1], ident)


def bring_back(home: Home, project_id: str, name: str, path: str, *, edited: bool = False, newer: bool = False) -> bool:
    """Restore a file that is gone or older than its copy, with `edited` as old, with `newer` any; under the lock."""
    good, now = kept.recall(home, project_id, name), _read(home, path)
    return _bring_back(home, path, good, now, ahead=ANY if newer else int(edited))


def _bring_back(home: Home, path: str, good: str | None, now: str | None, *, ahead: int = 0) -> bool:
    if good is None or now == good or not _is_behind(now, good, ahead=ahead):
        return False
    make_folders(home.disk, home.root, os.path.dirname(home.relative(path)).split("/"))  # it may be gone as a whole
    home.replace(path, good)
    return True


def _is_behind(text: str | None, good: str, *, ahead: int) -> bool:
    """Whether a file is gone, or its revision is less than so many `ahead` of its copy's; notes only come back.

    A merge conflict is left to the person who is at work there.
    """
    if text is None:
        return True
    return not _in_conflict(text) and _revision(text) < _revision(good) + ahead


def _is_edited(text: str, good: str, *, newest: bool) -> bool:
    """Whether it differs from its copy and is as old, or newer than what is known to be the newest of our writing."""
    if text == good or _in_conflict(text):
        return False
    ahead = _revision(text) - _revision(good)
    return ahead == 0 or (ahead > 0 and newest)


def _set_aside(desk: Desk, text: str) -> str:
    """Keep what somebody made of a state, and say where it is."""
    return move_aside(desk.home, desk.state_path) if text == UNREADABLE else aside.keep(desk.home, desk.id, text)


def _in_conflict(text: str) -> bool:
    return "\n<<<<<<< " in f"\n{text}"


def _revision(text: str) -> int:
    """The revision in a text of our writing; zero where none can be read."""
    number = text.partition(FIELD)[2].partition("\n")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) <= LONGEST else 0


def _read(home: Home, path: str) -> str | None:
    """The text of a state file; one that cannot be read counts as there, and is another one's business."""
    try:
        return home.read(path)
    except FileNotFoundError:
        return None
    except SowError:
        return UNREADABLE
