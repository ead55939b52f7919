"""Chooses the documents that a worker is pointed to when it starts: once, unless somebody chose before."""

from __future__ import annotations

import os

from sow.store.files.disk import list_folder
from sow.store.projects import project as projects
from sow.store.projects import tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.actor import Actor
    from sow.domain.documents.state import Task
    from sow.engine.turns.task_turn import TaskTurn
    from sow.store.files.checkout_home import Home

USUAL = {"": {"adrs", "designs"}, "/adrs": {"README.md"}, "/designs": {"README.md"}}  # files that `sow init` creates


def choose_references(turn: TaskTurn, task: Task, actor: Actor) -> list[str]:
    """Choose references for a task without any, or with a lost one; returns remarks."""
    config, task_folder = turn.settings.config, turn.folder
    lost = _lost(turn, task)
    if ("context" in task and not lost) or not config.setting("context", "enabled"):
        return []
    if not lost and not _has_library(turn.settings.home, task):
        return []
    from sow.domain.text.units import parse_tokens
    from sow.knowledge.document_choice import choose_for_task

    budget = parse_tokens(str(config.setting("context", "budget")), "context.budget")
    folder, environment = turn.cwd or turn.settings.home.root, turn.settings.environment
    project = projects.load(turn.settings.home)
    choice = choose_for_task(task_folder, project, task, folder=folder, budget=budget, environment=environment)
    if choice.chosen or lost:
        tasks.set_references(turn.settings.home, task_folder.id, choice.chosen, actor=actor)
    return [
        *(f"{path} is gone, so the references of task {task_folder.id} were chosen anew" for path in lost),
        *choice.remarks,
    ]


def _lost(turn: TaskTurn, task: Task) -> list[str]:
    """Return the first chosen document that no longer exists, as after `sow sinks remove`."""
    folders = [folder for folder in (turn.cwd, turn.settings.home.root) if folder]
    chosen = [reference["path"] for reference in task.get("context", ())]
    return [path for path in chosen if not any(os.path.exists(f"{folder}/{path}") for folder in folders)][:1]


def _has_library(home: Home, task: Task) -> bool:
    """Tell whether there can be anything to choose from, so that a worker's start does not wait for nothing."""
    if task["depends_on"] or any(os.path.exists(f"{home.sow}/{name}/index.json") for name in ("sinks", "repos")):
        return True
    if any(set(list_folder(f"{home.sow}/knowledge{folder}")) - usual for folder, usual in USUAL.items()):
        return True
    try:
        return home.read(f"{home.sow}/config.yaml").count('".sow/knowledge/') < 2  # documents may be elsewhere
    except FileNotFoundError:
        return False
