"""Settles the end of a turn: undoes hand edits of state files and infers the task's status."""

from __future__ import annotations

from sow.domain import task as rules
from sow.domain.task import WORKER, Actor
from sow.errors import SowError
from sow.store.files import state_file
from sow.store.projects import project as projects
from sow.store.projects import tasks
from sow.store.projects.task_folder import backup_if_newer
from sow.store.state_watcher import HandEdit
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import Refusal, Task
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder
    from sow.store.state_watcher import Snapshot, StateWatcher


def undo_foreign_edits(snapshot: Snapshot, folder: TaskFolder, *, judging: bool = False) -> list[str]:
    """Undoes hand edits of state files during a turn, except what its worker may write in its own task folder.

    A judge may write nothing there. The folder of a task that another agent works on is settled when that turn ends.
    """
    remarks = []
    for edit in snapshot.hand_edits(folder.id):
        if edit.task == folder.id and not judging:
            remarks.append(_own_notes(edit, folder) if edit.is_notes else _own_state(edit, folder))
        elif edit.task == folder.id or _is_free(edit, folder.home):
            remarks.append(_foreign(edit, folder.home))
    return remarks


def undo_deferred_edits(seen: StateWatcher) -> list[tuple[str, str]]:
    """Undoes what ended turns wrote outside their own task folders, if that was deferred; returns tasks and remarks."""
    if seen.deferred is None:
        return []
    with seen.home.lock():
        edits = [edit for edit in seen.deferred.hand_edits() if _is_free(edit, seen.home)]
        return [(edit.task or "project", _foreign(edit, seen.home)) for edit in edits]


def _is_free(edit: HandEdit, home: Home) -> bool:
    return not edit.task or not home.has_turn(edit.task)


def reset_after_crash(folder: TaskFolder, *, at_work: bool) -> list[str]:
    """Settles a turn whose end nobody saw: resets the task's state to its last backup.

    If sow stopped before it wrote the backup of its own change, that change is reset, too, and made again. If no worker
    was at work, the newer state is valid and is backed up.
    """
    with folder.home.lock():
        project_id = projects.load_anywhere(folder.home)["project_id"]
        if not at_work:
            backup_if_newer(folder, project_id)
            return []
        backup = state_file.load_backup(folder.home, project_id, folder.id)
        current = _text(folder)
        if backup is None or current is None or current == backup:
            return []
        edit = HandEdit(name=folder.id, task=folder.id, path=folder.state_path, now=current, good=backup)
        return [] if edit.in_conflict else [_own_state(edit, folder)]


def _text(folder: TaskFolder) -> str | None:
    try:
        return folder.home.read(folder.state_path)
    except (FileNotFoundError, SowError):  # the code that needs the state reports the problem and repairs it
        return None


def _foreign(edit: HandEdit, home: Home) -> str:
    """Restores a state file of another task or of the project. A failure becomes a remark and does not end the turn."""
    path = home.relative(edit.path)
    if edit.task and edit.in_conflict:
        return f"task {edit.task}: {path} has a merge conflict; it is left as it is"
    if edit.expected is None:
        return f"{path} appeared during the turn, and not through sow; look at it, or remove it"
    from sow.store.files import set_aside

    try:
        edit_path = set_aside.save_copy(home, edit.name, edit.text) if edit.text else ""
        edit.revert(home)
    except SowError as error:
        return f"{path} was edited by hand and cannot be restored: {error.message}"
    subject = f"task {edit.task}: its {'notes were' if edit.is_notes else 'state file was'}" if edit.task else ""
    edit_note = f", the edit is in {edit_path}" if edit_path else ""
    return f"{subject or f'{path} was'} edited by hand; the last good state is back{edit_note}"


def _own_state(edit: HandEdit, folder: TaskFolder) -> str:
    """Restores the last good state, then applies a legal status from the edited file like a call of the worker."""
    status = _status(folder)
    edit.revert(folder.home)
    task = folder.task()
    if not status or status == task["status"]:
        return f"task {folder.id}: its state file was edited by hand; the last good state is back"
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=folder.id)
    try:
        tasks.move(folder.home, folder.id, status, actor=actor)
        return f"task {folder.id}: the worker edited its state file; only the status {status} was taken from it"
    except SowError as error:
        return f"task {folder.id}: the worker edited its state file: {error.message}; the last good state is back"


def _status(folder: TaskFolder) -> str:
    try:
        return folder.task()["status"]
    except SowError:
        return ""


def _own_notes(edit: HandEdit, folder: TaskFolder) -> str:
    """Keeps notes that the worker added by hand; restore notes that it removed or closed against the rules."""
    from sow.store.projects import notes

    actor = Actor(kind=WORKER, name="worker", task=folder.id)
    try:
        before = notes.parse(folder, edit.expected) if edit.expected else None
        session = notes.load(folder)
        if session and (before is None or notes.is_legal_change(before, session, actor)):
            notes.save(folder, session)
            return f"task {folder.id}: the worker wrote notes by hand; they count"
    except SowError:
        pass  # broken notes are restored below
    edit.revert(folder.home)
    return f"task {folder.id}: the worker edited its notes by hand; the last good ones are back"


def record_refusals(folder: TaskFolder, refused_commands: list[Refusal], *, again: bool = False) -> None:
    """Records on the task what its agent CLI refused; `again` if the turn is read a second time after a crash."""
    from sow.domain.checks import refusals

    loaded = folder.load()
    changed = refusals.record(loaded["task"], refused_commands, again=again)
    if changed is not loaded["task"]:
        folder.save(loaded, {**changed, "updated_at": clock.now()}, folder.owner)


def infer_status(folder: TaskFolder, *, worked: bool) -> tuple[Task, bool]:
    """Returns the task after a turn that ended well. A worker that worked but set no status has handed its work in."""
    loaded = folder.load()
    task = loaded["task"]
    if task["status"] != "in_progress" or not worked or folder.open_notes():
        return task, False
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=folder.id)
    changed, _ = rules.move(task, "needs_review", actor=actor, now=clock.now())
    folder.save(loaded, changed, folder.owner)
    _note(folder, task, "inferred", "The worker ended its turn without a status: its work counts as handed in")
    return changed, True


def fail_task(folder: TaskFolder, reason: str) -> Task:
    """Returns the task after a turn without a result: failed, if it was in progress."""
    loaded = folder.load()
    task = loaded["task"]
    if task["status"] != "in_progress":
        return task
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=folder.id)
    changed, _ = rules.move(task, "failed", actor=actor, now=clock.now(), reason=reason)
    folder.save(loaded, changed, folder.owner)
    _note(folder, task, "failed", reason)
    return changed


def _note(folder: TaskFolder, task: Task, action: str, text: str) -> None:
    from sow.store.projects import log

    entry = {"timestamp": clock.now(), "agent": "sow", "action": action, "result": "info", "files": [], "text": text}
    log.append(folder.home, folder.log_path, entry)  # type: ignore[arg-type]
