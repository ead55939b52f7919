"""What is done to notes, under the same lock as the task that they gate."""

from __future__ import annotations

from sow.domain import ids
from sow.domain import note as rules
from sow.domain import task as rules_of_task
from sow.domain.ids import is_member
from sow.domain.task import ENDED_STATUSES
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import notes
from sow.store import project as projects
from sow.store.repair import load_for
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.actor import Actor
    from sow.domain.shapes import Note, Task
    from sow.store.desk import Desk
    from sow.store.home import Home
    from sow.store.member_desk import MemberDesk


def own(actor: Actor, task: str) -> None:
    """Refuse a worker who writes on another desk than its own."""
    if actor.is_worker and actor.task != task:
        words = [f"{'agent' if is_member(each) else 'task'} {each}" for each in (actor.task, task)]
        raise SowError(f"a worker on {words[0]} may not write on the desk of {words[1]}", "notes go to your own desk")


def _refuse_ended(task: Task) -> None:
    """A note on a task that has ended gates nothing, and its question would wait for ever."""
    if task["status"] in ENDED_STATUSES:
        raise SowError(
            f"task {task['id']} is {task['status']}: it takes no more notes", "create a new task for what is left"
        )


def add(home: Home, task: str, *, description: str, context: str, category: str, actor: Actor) -> Note:
    """Write down an assumption; from here on it gates 'done'."""
    own(actor, task)
    words = {"description": description, "context": context, "category": category}
    if is_member(task):
        from sow.store import member_notes

        return member_notes.add(home, task, **words)
    with home.lock():
        project = projects.load(home)
        desk = desks.find(home, project, task)
        notes.mend_own(desk, actor)
        current = load_for(desk, project["project_id"], actor)[0]["task"]
        _refuse_ended(current)
        epoch = clock.epoch()
        session = notes.load(desk) or notes.begin(ids.slug(current["name"], epoch), epoch)
        return notes.add(desk, session, project["project_id"], **words, epoch=epoch)


def resolve(home: Home, task: str, number: str, *, resolution: str, actor: Actor) -> Note:
    """Close a note with what was decided; the question of a task that is not paused ends with its last such note."""
    own(actor, task)
    if is_member(task):
        from sow.store import member_notes

        return member_notes.resolve(home, task, number, resolution=resolution, actor=actor)
    with home.lock():
        project = projects.load(home)
        desk = desks.find(home, project, task)
        notes.mend_own(desk, actor)
        changed = rules.resolve(notes.find(desk, number), resolution, actor=actor, epoch=clock.epoch())
        notes.replace(desk, [changed], project["project_id"])
        loaded, _ = load_for(desk, project["project_id"], actor)
        waiting = any(each["status"] == "escalated" for each in notes.listed(desk))
        if "question" in loaded["task"] and loaded["task"]["status"] != "paused" and not waiting:
            settled = rules_of_task.settle(loaded["task"], resolution, actor=actor, now=clock.now())
            desk.save(loaded, settled, project["project_id"])
    return changed


def escalate(home: Home, task: str, number: str, *, reason: str, actor: Actor) -> Note:
    """Make a note a question for somebody else; it gets a number in the inbox with its task."""
    own(actor, task)
    if is_member(task):
        from sow.store import member_notes

        return member_notes.escalate(home, task, number, reason=reason)
    now = clock.now()
    with home.lock():
        project = projects.load(home)
        desk = desks.find(home, project, task)
        notes.mend_own(desk, actor)
        loaded, _ = load_for(desk, project["project_id"], actor)
        _refuse_ended(loaded["task"])
        changed = rules.escalate(notes.find(desk, number), reason)
        task_now = loaded["task"]
        known = task_now.get("question")
        given = known["number"] if known else projects.next_question(home, project, now)
        asking = rules_of_task.ask(task_now, changed["description"], number=given, now=now)
        desk.save(loaded, asking, project["project_id"])
        # The note is last: as long as it is open, an interrupted call can be made again.
        notes.replace(desk, [changed], project["project_id"])
    return changed


def listed(home: Home, task: str) -> tuple[Desk | MemberDesk, list[Note]]:
    """The notes on a desk."""
    if is_member(task):
        from sow.store import member_notes

        return member_notes.listed(home, task)
    desk = desks.find(home, projects.load(home), task)
    return desk, notes.listed(desk)
