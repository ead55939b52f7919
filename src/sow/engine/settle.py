"""The end of a turn: what the state file says, what git shows, and what the worker was allowed to do."""

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


def own_moves_only(snapshot: Snapshot, own: Desk, *, judging: bool = False) -> list[str]:
    """Undo what was written into state files by hand during a turn, but for what its worker may do on its own desk.

    Who judges the work on a desk may do nothing there. A desk that somebody else works on is left to the end of that
    turn.
    """
    remarks = []
    for edit in snapshot.edits(own.id):
        if edit.task == own.id and not judging:
            remarks.append(_own_notes(edit, own) if edit.is_notes else _own_state(edit, own))
        elif edit.task == own.id or _is_free(edit, own.home):
            remarks.append(_foreign(edit, own.home))
    return remarks


def owed(seen: Seen) -> list[tuple[str, str]]:
    """Undo what turns that are over wrote beyond their own desks, where that was left for later: tasks and remarks."""
    if seen.owed is None:
        return []
    with seen.home.lock():
        edits = [edit for edit in seen.owed.edits() if _is_free(edit, seen.home)]
        return [(edit.task or "project", _foreign(edit, seen.home)) for edit in edits]


def _is_free(edit: Edit, home: Home) -> bool:
    # Here and below, because the start of a worker should not wait for what only its end needs.
    from sow.store.at_work import is_at_work

    return not edit.task or not is_at_work(home, edit.task)


def after_crash(desk: Desk, *, at_work: bool) -> list[str]:
    """The same where nobody saw the end of a turn: its task's state must be the last copy, or is taken back to it.

    A change of our own that was cut off before its copy was kept is taken back, too, and simply made again; where no
    worker was at work, it stays and is kept.
    """
    with desk.home.lock():
        project_id = projects.load_anywhere(desk.home)["project_id"]
        if not at_work:
            keep_newer(desk, project_id)
            return []
        good = kept.recall(desk.home, project_id, desk.id)
        now = _text(desk)
        if good is None or now is None or now == good:
            return []
        edit = Edit(name=desk.id, task=desk.id, path=desk.state_path, now=now, good=good)
        return [] if edit.in_conflict else [_own_state(edit, desk)]


def _text(desk: Desk) -> str | None:
    try:
        return desk.home.read(desk.state_path)
    except (FileNotFoundError, SowError):  # whoever needs it says what is wrong, and repairs it
        return None


def _foreign(edit: Edit, home: Home) -> str:
    """The file of another desk, or of the project; whatever is wrong with it does not end this turn."""
    shown = home.relative(edit.path)
    if edit.task and edit.in_conflict:
        return f"task {edit.task}: {shown} has a merge conflict; it is left as it is"
    if edit.good is None:
        return f"{shown} appeared during the turn, and not through sow; look at it, or remove it"
    from sow.store import aside

    try:
        where = aside.keep(home, edit.name, edit.text) if edit.text else ""
        edit.take_back(home)
    except SowError as error:
        return f"{shown} was edited by hand and cannot be put back: {error.message}"
    subject = f"task {edit.task}: its {'notes were' if edit.is_notes else 'state file was'}" if edit.task else ""
    edit_is = f", the edit is in {where}" if where else ""
    return f"{subject or f'{shown} was'} edited by hand; the last good state is back{edit_is}"


def _own_state(edit: Edit, own: Desk) -> str:
    """Put the last good state back; a legal move in the edited file is made on it, as if the worker had called sow."""
    wanted = _status(own)
    edit.take_back(own.home)
    task = own.task()
    if not wanted or wanted == task["status"]:
        return f"task {own.id}: its state file was edited by hand; the last good state is back"
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=own.id)
    try:
        task_acts.move(own.home, own.id, wanted, actor=actor)
        return f"task {own.id}: the worker edited its state file; only the status {wanted} was taken from it"
    except SowError as error:
        return f"task {own.id}: the worker edited its state file: {error.message}; the last good state is back"


def _status(desk: Desk) -> str:
    """The status in a task's file, or nothing where it cannot be read."""
    try:
        return desk.task()["status"]
    except SowError:
        return ""


def _own_notes(edit: Edit, own: Desk) -> str:
    """Notes that the worker added by hand stay; a note that it took away or closed against the rules comes back."""
    from sow.store import notes

    actor = Actor(kind=WORKER, name="worker", task=own.id)
    try:
        before = notes.parse(own, edit.good) if edit.good else None
        session = notes.load(own)
        if session and (before is None or notes.lawful(before, session, actor)):
            notes.save(own, session, edit.owner)
            return f"task {own.id}: the worker wrote notes by hand; they count"
    except SowError:
        pass  # broken, and so of no use to anybody
    edit.take_back(own.home)
    return f"task {own.id}: the worker edited its notes by hand; the last good ones are back"


def refused(desk: Desk, found: list[Refusal], *, again: bool = False) -> None:
    """Record on the task what its agent CLI refused; `again` where a turn is read a second time after a crash."""
    from sow.domain import refusals

    loaded = desk.load()
    changed = refusals.record(loaded["task"], found, again=again)
    if changed is not loaded["task"]:
        desk.save(loaded, {**changed, "updated_at": clock.now()}, desk.owner)


def infer(desk: Desk, *, worked: bool) -> tuple[Task, bool]:
    """The task after a turn that ended well: a worker that said nothing but did something has handed its work in."""
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
    """The task after a turn that led to nothing."""
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
