"""Settles the end of a turn: undoes hand edits of state files and infers the task's status."""

from __future__ import annotations

from sow.domain import task as rules
from sow.domain.actor import WORKER, Actor
from sow.errors import SowError
from sow.store import kept, task_acts
from sow.store import project as projects
from sow.store.repair import keep_newer
from sow.store.snapshot import Edit
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Refusal, Task
    from sow.store.desk import Desk
    from sow.store.home import Home
    from sow.store.seen import Seen
    from sow.store.snapshot import Snapshot


def own_moves_only(snapshot: Snapshot, desk: Desk, *, judging: bool = False) -> list[str]:
    """Undo hand edits of state files during a turn, except what its worker may write in its own task folder.

    A judge may write nothing there. The folder of a task that another agent works on is settled when that turn ends.
    """
    remarks = []
    for edit in snapshot.edits(desk.id):
        if edit.task == desk.id and not judging:
            remarks.append(_own_notes(edit, desk) if edit.is_notes else _own_state(edit, desk))
        elif edit.task == desk.id or _is_free(edit, desk.home):
            remarks.append(_foreign(edit, desk.home))
    return remarks


def owed(seen: Seen) -> list[tuple[str, str]]:
    """Undo what ended turns wrote outside their own task folders, if that was deferred; returns tasks and remarks."""
    if seen.owed is None:
        return []
    with seen.home.lock():
        edits = [edit for edit in seen.owed.edits() if _is_free(edit, seen.home)]
        return [(edit.task or "project", _foreign(edit, seen.home)) for edit in edits]


def _is_free(edit: Edit, home: Home) -> bool:
    # Lazy imports here and below, because the start of a worker does not need them.
    from sow.store.at_work import is_at_work

    return not edit.task or not is_at_work(home, edit.task)


def after_crash(desk: Desk, *, at_work: bool) -> list[str]:
    """Settle a turn whose end nobody saw: reset the task's state to its last backup.

    If sow stopped before it wrote the backup of its own change, that change is reset, too, and made again. If no worker
    was at work, the newer state is valid and is backed up.
    """
    with desk.home.lock():
        project_id = projects.load_anywhere(desk.home)["project_id"]
        if not at_work:
            keep_newer(desk, project_id)
            return []
        backup = kept.recall(desk.home, project_id, desk.id)
        current = _text(desk)
        if backup is None or current is None or current == backup:
            return []
        edit = Edit(name=desk.id, task=desk.id, path=desk.state_path, now=current, good=backup)
        return [] if edit.in_conflict else [_own_state(edit, desk)]


def _text(desk: Desk) -> str | None:
    try:
        return desk.home.read(desk.state_path)
    except (FileNotFoundError, SowError):  # the code that needs the state reports the problem and repairs it
        return None


def _foreign(edit: Edit, home: Home) -> str:
    """Restore a state file of another task or of the project. A failure becomes a remark and does not end the turn."""
    path = home.relative(edit.path)
    if edit.task and edit.in_conflict:
        return f"task {edit.task}: {path} has a merge conflict; it is left as it is"
    if edit.good is None:
        return f"{path} appeared during the turn, and not through sow; look at it, or remove it"
    from sow.store import aside

    try:
        edit_path = aside.keep(home, edit.name, edit.text) if edit.text else ""
        edit.take_back(home)
    except SowError as error:
        return f"{path} was edited by hand and cannot be put back: {error.message}"
    subject = f"task {edit.task}: its {'notes were' if edit.is_notes else 'state file was'}" if edit.task else ""
    edit_note = f", the edit is in {edit_path}" if edit_path else ""
    return f"{subject or f'{path} was'} edited by hand; the last good state is back{edit_note}"


def _own_state(edit: Edit, desk: Desk) -> str:
    """Restore the last good state, then apply a legal status from the edited file as if the worker had called sow."""
    status = _status(desk)
    edit.take_back(desk.home)
    task = desk.task()
    if not status or status == task["status"]:
        return f"task {desk.id}: its state file was edited by hand; the last good state is back"
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=desk.id)
    try:
        task_acts.move(desk.home, desk.id, status, actor=actor)
        return f"task {desk.id}: the worker edited its state file; only the status {status} was taken from it"
    except SowError as error:
        return f"task {desk.id}: the worker edited its state file: {error.message}; the last good state is back"


def _status(desk: Desk) -> str:
    """Return the status in a task's file; empty if it cannot be read."""
    try:
        return desk.task()["status"]
    except SowError:
        return ""


def _own_notes(edit: Edit, desk: Desk) -> str:
    """Keep notes that the worker added by hand; restore notes that it removed or closed against the rules."""
    from sow.store import notes

    actor = Actor(kind=WORKER, name="worker", task=desk.id)
    try:
        before = notes.parse(desk, edit.good) if edit.good else None
        session = notes.load(desk)
        if session and (before is None or notes.lawful(before, session, actor)):
            notes.save(desk, session, edit.owner)
            return f"task {desk.id}: the worker wrote notes by hand; they count"
    except SowError:
        pass  # broken notes are restored below
    edit.take_back(desk.home)
    return f"task {desk.id}: the worker edited its notes by hand; the last good ones are back"


def refused(desk: Desk, refused_commands: list[Refusal], *, again: bool = False) -> None:
    """Record on the task what its agent CLI refused; `again` if the turn is read a second time after a crash."""
    from sow.domain import refusals

    loaded = desk.load()
    changed = refusals.record(loaded["task"], refused_commands, again=again)
    if changed is not loaded["task"]:
        desk.save(loaded, {**changed, "updated_at": clock.now()}, desk.owner)


def infer(desk: Desk, *, worked: bool) -> tuple[Task, bool]:
    """Return the task after a turn that ended well. A worker that worked but set no status has handed its work in."""
    from sow.store import notes

    loaded = desk.load()
    task = loaded["task"]
    if task["status"] != "in_progress" or not worked or notes.unresolved(desk):
        return task, False
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=desk.id)
    changed, _ = rules.move(task, "needs_review", actor=actor, now=clock.now())
    desk.save(loaded, changed, desk.owner)
    _note(desk, task, "inferred", "The worker ended its turn without a status: its work counts as handed in")
    return changed, True


def fail(desk: Desk, reason: str) -> Task:
    """Return the task after a turn without a result: failed, if it was in progress."""
    loaded = desk.load()
    task = loaded["task"]
    if task["status"] != "in_progress":
        return task
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=desk.id)
    changed, _ = rules.move(task, "failed", actor=actor, now=clock.now())
    desk.save(loaded, changed, desk.owner)
    _note(desk, task, "failed", reason)
    return changed


def _note(desk: Desk, task: Task, action: str, text: str) -> None:
    from sow.store import log

    entry = {"timestamp": clock.now(), "agent": "sow", "action": action, "result": "info", "files": [], "text": text}
    log.append(desk.home, desk.log_path, entry)  # type: ignore[arg-type]
