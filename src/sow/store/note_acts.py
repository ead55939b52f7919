"""What is done to notes, under the same lock as the task that they gate."""

from __future__ import annotations

from sow.domain import note as rules
from sow.domain.task import ENDED_STATUSES
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import notes
from sow.store import project as projects
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.actor import Actor
    from sow.domain.shapes import Note
    from sow.store.desk import Desk
    from sow.store.home import Home


def _own(actor: Actor, task: str) -> None:
    if actor.is_worker and actor.task != task:
        raise SowError(
            f"a worker on task {actor.task} may not write on the desk of task {task}", "notes go to your own desk"
        )


def add(home: Home, task: str, *, description: str, context: str, category: str, actor: Actor) -> Note:
    """Write down an assumption; from here on it gates 'done'."""
    _own(actor, task)
    if category:
        rules.check_category(category)
    with home.lock():
        desk = desks.find(home, projects.load(home), task)
        current = desk.task()
        if current["status"] in ENDED_STATUSES:
            raise SowError(
                f"task {task} is {current['status']}: it takes no more notes", "create a new task for what is left"
            )
        return notes.add(
            desk, current, description=description, context=context, category=category, epoch=clock.epoch()
        )


def resolve(home: Home, task: str, number: str, *, resolution: str, actor: Actor) -> Note:
    """Close a note with what was decided."""
    _own(actor, task)
    with home.lock():
        desk = desks.find(home, projects.load(home), task)
        changed = rules.resolve(notes.find(desk, number), resolution, actor=actor, epoch=clock.epoch())
        notes.replace(desk, [changed])
    return changed


def escalate(home: Home, task: str, number: str, *, reason: str, actor: Actor) -> Note:
    """Make a note a question for somebody else; it gets a number in the inbox with its task."""
    _own(actor, task)
    now = clock.now()
    with home.lock():
        project = projects.load(home)
        desk = desks.find(home, project, task)
        loaded = desk.load()
        changed = rules.escalate(notes.find(desk, number), reason)
        notes.replace(desk, [changed])
        if "question" not in loaded["task"]:
            given = projects.next_question(home, project, now)
            question = {"number": given, "text": changed["description"], "asked_at": now}
            desk.save(loaded, {**loaded["task"], "question": question, "updated_at": now}, project["project_id"])  # type: ignore[typeddict-item]
    return changed


def listed(home: Home, task: str) -> tuple[Desk, list[Note]]:
    """The notes on a desk."""
    desk = desks.find(home, projects.load(home), task)
    return desk, notes.listed(desk)
