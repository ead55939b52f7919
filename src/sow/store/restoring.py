"""Restores state files from backup copies during a run, if a stash or a clean removed or reset them."""

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
UNREADABLE = f"{FIELD}{1 << 60}\n"  # the text of a file that exists but cannot be read; newer than any other
ANY = 1 << 70  # more than any revision
LONGEST = 19  # digits of a revision


class Elsewhere(Waiting):
    """Raised if the user's checkout is not on the project's branch: its state must not be written there."""


def refuse_elsewhere(home: Home, branch: str) -> None:
    """Raises while another branch than the project's is checked out."""
    current = home.checkout.branch()
    if current != branch:
        location = f"on {current}" if current else "on no branch"
        raise Elsewhere(
            f"{home.root} is {location}, and the run belongs to {branch}",
            f"git switch {branch}, then run the same command again",
        )


def mend(desk: Desk, project_id: str) -> tuple[str, bool]:
    """Restores a task of a run under the lock: only what sow wrote has an equal copy, and only that counts.

    Returns the path of an edit by hand that was set aside, if any, and whether something was missing or reset. If
    another process works on the task, an edit is left to the end of that turn.
    """
    memory, aside_path = desk.home.memory, ""
    copy, current = kept.recall(desk.home, project_id, desk.id), _read(desk.home, desk.state_path)
    if memory is not None and current not in (None, memory.texts.get(desk.id)) and not desk.home.holder(desk.id):
        aside_path = memory.put_back(desk.id, desk.state_path)
        copy, current = kept.recall(desk.home, project_id, desk.id), _read(desk.home, desk.state_path)
    is_newest = not kept.is_behind(desk.home, project_id, desk.id)
    if (
        copy
        and current is not None
        and _is_edited(current, copy, is_newest=is_newest)
        and not desk.home.holder(desk.id)
    ):
        aside_path = _set_aside(desk, current)
        desk.home.replace(desk.state_path, copy)
        current = copy
    restored = _bring_back(desk.home, desk.state_path, copy, current)
    return aside_path, _bring_rest_back(desk, project_id) or restored


def bring_task_back(desk: Desk, project_id: str) -> bool:
    """Restores a task's state, notes and description if they are missing or older than the copy; under the lock."""
    restored = bring_back(desk.home, project_id, desk.id, desk.state_path)
    return _bring_rest_back(desk, project_id) or restored


def _bring_rest_back(desk: Desk, project_id: str) -> bool:
    """Restores the files without a revision, which can only be missing."""
    restored = False
    paths = {kept.of_notes(desk.id): desk.notes_path, kept.of_description(desk.id): desk.description_path}
    for name, path in paths.items():
        if not os.path.lexists(path):
            restored = _bring_back(desk.home, path, kept.recall(desk.home, project_id, name), None) or restored
    return restored


def keep_description(desk: Desk, project_id: str) -> None:
    """Keeps a copy of a task's description, unless there is an equal one."""
    name, text = kept.of_description(desk.id), _read(desk.home, desk.description_path)
    if text is not None and text != kept.recall(desk.home, project_id, name):
        kept.keep(desk.home, project_id, name, text)


def bring_project_back(home: Home, project_id: str) -> bool:
    """Restores the project's own state."""
    return bring_back(home, project_id, "project", projects.path(home))


def bring_run_back(home: Home) -> list[str]:
    """Before a run: restores the project of this branch if its run has not ended; returns what was restored."""
    copy = kept.project_copy(home, home.checkout.branch())
    project_id = os.path.basename(os.path.dirname(copy))
    run = runs.kept_copy(home, project_id) if copy else None
    if run is None or run["run"]["status"] == "ended" or _is_over(home, project_id):
        return []
    with home.lock():
        restored = ["project"] if bring_project_back(home, project_id) else []
        project = projects.load_anywhere(home)
        restored += [ident for ident in run["run"]["tasks"] if bring_task_back(_desk(home, project, ident), project_id)]
        if runs.bring_back(home, run):
            restored.append("run")
    return restored


def _is_over(home: Home, project_id: str) -> bool:
    """Returns whether another project has begun here since, or this one was removed on purpose."""
    from sow.store.removal import removed  # imported here, because only the start of a run needs it

    text = _read(home, projects.path(home))
    return (text is not None and f"\nproject_id: {scalar(project_id)}\n" not in text) or project_id in removed(home)


def _desk(home: Home, project: ProjectState, ident: str) -> Desk:
    """Returns a task's folder; for a missing one, the folder it would have in the plan's phase."""
    try:
        return desks.find(home, project, ident)
    except SowError:
        names = [phase["name"] for phase in project["phases"]]
        return Desk(home, DEFAULT_PHASE if DEFAULT_PHASE in names else names[-1], ident)


def bring_back(home: Home, project_id: str, name: str, path: str, *, edited: bool = False, newer: bool = False) -> bool:
    """Restores a missing file or one older than its copy (`edited`: or as old; `newer`: or newer); under the lock."""
    copy, current = kept.recall(home, project_id, name), _read(home, path)
    return _bring_back(home, path, copy, current, ahead=ANY if newer else int(edited))


def _bring_back(home: Home, path: str, copy: str | None, current: str | None, *, ahead: int = 0) -> bool:
    if copy is None or current == copy or not _is_behind(current, copy, ahead=ahead):
        return False
    make_folders(home.disk, home.root, os.path.dirname(home.relative(path)).split("/"))  # may be missing
    home.replace(path, copy)
    return True


def _is_behind(text: str | None, copy: str, *, ahead: int) -> bool:
    """Returns whether a file is missing, or its revision is less than the copy's plus `ahead`.

    A merge conflict is left to the person who resolves it.
    """
    if text is None:
        return True
    return not _in_conflict(text) and _revision(text) < _revision(copy) + ahead


def _is_edited(text: str, copy: str, *, is_newest: bool) -> bool:
    """Returns whether a file differs from its copy with the same revision, or is newer than sow's newest."""
    if text == copy or _in_conflict(text):
        return False
    ahead = _revision(text) - _revision(copy)
    return ahead == 0 or (ahead > 0 and is_newest)


def _set_aside(desk: Desk, text: str) -> str:
    """Keeps an edited state aside, and returns its path."""
    return move_aside(desk.home, desk.state_path) if text == UNREADABLE else aside.keep(desk.home, desk.id, text)


def _in_conflict(text: str) -> bool:
    return "\n<<<<<<< " in f"\n{text}"


def _revision(text: str) -> int:
    """Returns the revision in a text that sow wrote, or zero if there is none."""
    number = text.partition(FIELD)[2].partition("\n")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) <= LONGEST else 0


def _read(home: Home, path: str) -> str | None:
    """Reads a state file; returns None if it is missing and a marker if it cannot be read."""
    try:
        return home.read(path)
    except FileNotFoundError:
        return None
    except SowError:
        return UNREADABLE
