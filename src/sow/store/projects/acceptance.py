"""Accepts the work of a task for a person, also against a reviewer or a failed check, and reopens reverted work."""

from __future__ import annotations

from collections.abc import Sequence

from sow.domain import task as rules
from sow.domain.checks import task_checks
from sow.domain.documents.state import Task
from sow.domain.inbox import accept_command
from sow.domain.runs import stages
from sow.domain.task import FINAL_CHECKS_PREFIX, Actor
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.projects import log, task_folder, task_updates, tasks
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskChange, TaskTransaction
from sow.system import clock


def approve(home: Home, ident: str, *, actor: Actor, reason: str, waive: Sequence[str]) -> TaskChange:
    """Accepts the work of a task and waives the named checks, in every task that has them.

    A check that failed must be named. The waivers are written first, so that the same call completes it after a crash.
    """
    project = projects.load(home)
    folder = task_folder.find(home, project, ident)
    task = folder.task()
    rules.move(task, "completed", actor=actor, now=clock.now(), reason=reason, open_notes=folder.open_notes)
    home.refuse_claimed(ident)
    _check_commands(task, waive)
    if waive:
        task_updates.waive(home, project, waive, by=actor.name, reason=reason)
        text = f"task {ident}: {', '.join(f'`{command}`' for command in waive)}{f': {reason}' if reason else ''}"
        tasks.log_act(home, actor, action="waive", text=text, now=clock.now())
    if task["status"] == "needs_review" and stages.missing_checks(task, isolated="work" in task):
        task_updates.add_concern(folder, project, "tests", f"{actor.name} approved it before its checks were done")
    if task.get("question", {}).get("text", "").startswith(FINAL_CHECKS_PREFIX):
        return tasks.answer(home, ident, f"waive: {reason}" if reason else "waive", actor=actor)
    return tasks.set_status(home, ident, "completed", actor=actor, reason=reason)


def _check_commands(task: Task, waive: Sequence[str]) -> None:
    """Raises if a waived command is no check of the task, or if a failed check is not waived."""
    failing = task_checks.failing(task)
    commands = list(dict.fromkeys([*(check["command"] for check in task.get("checks", ())), *failing]))
    for command in waive:
        if command not in commands:
            shown = "; ".join(f"`{command}`" for command in commands)
            raise SowError(
                f"task {task['id']} has no check `{command:.200}`",
                f"its checks are: {shown}" if shown else "it has no checks: leave --waive out",
            )
    left = [command for command in failing if command not in waive]
    if left:
        raise SowError(f"`{left[0]}` fails on the work of task {task['id']}", f"waive it: {accept_command(task)}")


def reopen(home: Home, ident: str, reason: str, *, actor: Actor) -> Task:
    """Opens a completed task again after its work was reverted; its worker gets the reason. All retries are left."""
    now = clock.now()
    with home.lock():
        opened = TaskTransaction(home, ident, actor)
        before = opened.task
        changed, _ = rules.move(before, "in_progress", actor=actor, now=now, may_reopen=True)
        text = (
            f"Your work on task {ident} was merged, and then reverted: {reason}\nIt is not in your worktree any more."
        )
        log.add_feedback(opened.folder, text, by=actor.name, iteration=before["iteration"], now=now)
        changed.pop("work", None)
        changed.pop("retry_count", None)
        tasks.log_act(home, actor, action="revert", text=f"task {ident} ({before['name']}): {reason}", now=now)
        return opened.save(changed).task
