"""The end of a turn: what the state file says, what git shows, and what the worker was allowed to do."""

from __future__ import annotations

from sow.domain import task as rules
from sow.domain.actor import WORKER, Actor
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import kept, log, notes, state
from sow.store.repair import load_or_repair
from sow.store.validators.task import validate
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import ProjectState, Task, TaskState
    from sow.store.desk import Desk
    from sow.store.home import Home


def own_moves_only(home: Home, project: ProjectState, own: Desk) -> list[str]:
    """Undo what a worker wrote into state files by hand, but for a move of its own task that it may make.

    Every change through `sow` leaves an equal copy in the git folder, so a file that differs from its copy was edited.
    """
    remarks = []
    for desk in desks.desks(home, project):
        good = kept.recall(home, project["project_id"], desk.id)
        if good is None:
            continue
        try:
            if home.read(desk.state_path) == good:
                continue
        except (FileNotFoundError, SowError):
            pass
        remarks.append(_take_back(desk, project, good, mine=desk.id == own.id))
    return remarks


def _take_back(desk: Desk, project: ProjectState, good: str, *, mine: bool) -> str:
    """Put the last good state back; a legal move in the edited file is made on it."""
    loaded: TaskState = state.parse(good, desk.id, validate)  # type: ignore[assignment]
    wanted = ""
    try:
        edited = desk.task()
        wanted = edited["status"] if mine and edited["status"] != loaded["task"]["status"] else ""
    except SowError:
        load_or_repair(desk, project["project_id"])
    desk.home.replace(desk.state_path, good)
    if wanted:
        actor = Actor(kind=WORKER, name=loaded["task"]["assigned_agent"], task=desk.id)
        try:
            changed, _ = rules.move(loaded["task"], wanted, actor=actor, now=clock.now())
            desk.save(loaded, changed, project["project_id"])
            return f"task {desk.id}: the worker edited its state file; only the status {wanted} was taken from it"
        except SowError as error:
            return f"task {desk.id}: the worker edited its state file: {error.message}; the last good state is back"
    return f"task {desk.id}: its state file was edited by hand; the last good state is back"


def infer(desk: Desk, project: ProjectState, *, worked: bool) -> tuple[Task, bool]:
    """The task after a turn that ended well: a worker that said nothing but did something has handed its work in."""
    loaded = desk.load()
    task = loaded["task"]
    if task["status"] != "in_progress" or not worked or notes.unresolved(desk):
        return task, False
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=desk.id)
    changed, _ = rules.move(task, "needs_review", actor=actor, now=clock.now())
    desk.save(loaded, changed, project["project_id"])
    _note(desk, task, "inferred", "The worker ended its turn without a status: its work counts as handed in")
    return changed, True


def fail(desk: Desk, project: ProjectState, reason: str) -> Task:
    """The task after a turn that led to nothing."""
    loaded = desk.load()
    task = loaded["task"]
    if task["status"] != "in_progress":
        return task
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=desk.id)
    changed, _ = rules.move(task, "failed", actor=actor, now=clock.now())
    desk.save(loaded, changed, project["project_id"])
    _note(desk, task, "failed", reason)
    return changed


def _note(desk: Desk, task: Task, action: str, text: str) -> None:
    entry = {"timestamp": clock.now(), "agent": "sow", "action": action, "result": "info", "files": [], "text": text}
    log.append(desk.home, desk.log_path, entry)  # type: ignore[arg-type]
