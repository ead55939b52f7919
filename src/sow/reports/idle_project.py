"""Finds tasks that nobody continues, for example after a crash, a limit, Ctrl-C or an approval.

Each comes with the command that continues it. After a crash the agent may still run, and its turn must end first.
"""

from __future__ import annotations

from sow.domain.task import is_approved
from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.documents.state import Task
    from sow.reports.hint_context import HintContext
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder


def idle_tasks(tasks: Iterable[tuple[TaskFolder, Task]], hint_context: HintContext) -> tuple[list[str], dict[str, str]]:
    """Return the idle tasks whose earlier turn still runs, and the command for each of the others.

    A task without a session was started by hand and is left to the user.
    """
    idle = [(folder, task) for folder, task in tasks if _is_idle(folder, task)]
    if not idle:
        return [], {}
    command, in_run, live = _unfinished_run(idle[0][0].home, hint_context)
    if live:  # the run is between two turns of its tasks
        idle = [(folder, task) for folder, task in idle if task["id"] not in in_run]
    running = _still_running(idle)
    stopped = [(folder, task) for folder, task in idle if task["id"] not in running]
    return running, {
        task["id"]: command if task["id"] in in_run else _resume_command(folder, task, hint_context)
        for folder, task in stopped
    }


def _still_running(idle: Iterable[tuple[TaskFolder, Task]]) -> list[str]:
    """List the tasks whose last turn never ended and still has processes."""
    marks = {
        task["id"]: mark for folder, task in idle if task["status"] == "in_progress" and (mark := _mark(folder, task))
    }
    if not marks:
        return []
    from sow.system.process import process_tree  # needed only after a crash

    living = process_tree.live_marks(marks.values())
    return [ident for ident, mark in marks.items() if mark in living]


def _mark(folder: TaskFolder, task: Task) -> str:
    """Return the mark of a session whose last turn has no end, or "" if there is none or it cannot be read."""
    from sow.store.runs import sessions  # needed only after a crash

    try:
        record = sessions.current(folder, task["session_id"])
    except SowError:
        return ""
    return record.session["mark"] if record is not None and record.has_open_turn else ""


def _unfinished_run(home: Home, hint_context: HintContext) -> tuple[str, list[str], bool]:
    """Return the command that continues the unfinished run, its tasks, and whether it is live."""
    from sow.reports import resume_command  # seldom needed
    from sow.store.projects import project as projects
    from sow.store.runs import run_folder

    run = run_folder.unfinished_run(home, projects.load(home)["project_id"])
    if run is None:
        return "", [], False
    return resume_command.resume_command(run, hint_context), run.run["tasks"], run_folder.is_live(run)


def _is_idle(folder: TaskFolder, task: Task) -> bool:
    begun = task["status"] == "in_progress" or (task["status"] == "needs_review" and is_approved(task))
    return begun and "session_id" in task and not folder.home.task_holder(task["id"])


def _resume_command(folder: TaskFolder, task: Task, hint_context: HintContext) -> str:
    if is_approved(task) and "source" in task:  # its run has ended, so another run must merge it
        import shlex

        root = folder.home.root
        return shlex.join(
            [*hint_context.sow_command(root), "run", hint_context.plan_path(root, task["source"]["plan"])]
        )
    from sow.reports.resume_command import task_resume_command  # seldom needed

    return task_resume_command(folder, task)
