"""What a worker is pointed to when it starts: chosen once, unless somebody chose before."""

from __future__ import annotations

import os

from sow.store import project as projects
from sow.store import task_acts
from sow.store.disk import list_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.actor import Actor
    from sow.domain.shapes import Task
    from sow.engine.work import TaskSeat
    from sow.store.home import Home

USUAL = {"": {"adrs", "designs"}, "/adrs": {"README.md"}, "/designs": {"README.md"}}  # what `sow init` makes


def refer(seat: TaskSeat, task: Task, actor: Actor) -> list[str]:
    """Choose references for a task that has none chosen yet, or a lost one; returns what there is to say about that."""
    config, desk = seat.crew.config, seat.desk
    lost = _lost(seat, task)
    if ("context" in task and not lost) or not config.setting("context", "enabled"):
        return []
    if not lost and not _has_library(seat.crew.home, task):
        return []
    from sow.domain.size import tokens
    from sow.knowledge.compiler import compile_for

    budget = tokens(str(config.setting("context", "budget")), "context.budget")
    folder, environment = seat.cwd or seat.crew.home.root, seat.crew.environment
    project = projects.load(seat.crew.home)
    choice = compile_for(desk, project, task, folder=folder, budget=budget, environment=environment)
    if choice.chosen or lost:
        task_acts.refer(seat.crew.home, desk.id, choice.chosen, actor=actor)
    return [
        *(f"{each} is gone, so the references of task {desk.id} were chosen anew" for each in lost),
        *choice.remarks,
    ]


def _lost(seat: TaskSeat, task: Task) -> list[str]:
    """The first document that was chosen and is not there any more, as after `sow sinks remove`."""
    places = [each for each in (seat.cwd, seat.crew.home.root) if each]
    chosen = [each["path"] for each in task.get("context", ())]
    return [path for path in chosen if not any(os.path.exists(f"{place}/{path}") for place in places)][:1]


def _has_library(home: Home, task: Task) -> bool:
    """Whether there can be anything to choose from: the start of a worker does not wait for a look at nothing."""
    if task["depends_on"] or any(os.path.exists(f"{home.sow}/{each}/index.json") for each in ("sinks", "repos")):
        return True
    if any(set(list_folder(f"{home.sow}/knowledge{each}")) - usual for each, usual in USUAL.items()):
        return True
    try:
        return home.read(f"{home.sow}/config.yaml").count('".sow/knowledge/') < 2  # documents may lie elsewhere
    except FileNotFoundError:
        return False
