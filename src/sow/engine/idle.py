"""Finds tasks that nobody continues, for example after a crash, a limit, Ctrl-C or an approval.

Each comes with the command that continues it. After a crash the agent may still run, and its turn must end first.
"""

from __future__ import annotations

from sow.domain.task import is_approved
from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.shapes import Task
    from sow.engine.standpoint import Standpoint
    from sow.store.desk import Desk
    from sow.store.home import Home


def look(tasks: Iterable[tuple[Desk, Task]], standpoint: Standpoint) -> tuple[list[str], dict[str, str]]:
    """Return the idle tasks whose earlier turn still runs, and the command for each of the others.

    A task without a session was started by hand and is left to the user.
    """
    idle = [(folder, task) for folder, task in tasks if _is_idle(folder, task)]
    if not idle:
        return [], {}
    home = idle[0][0].home
    command, in_run, live = _run(home, standpoint)
    if live:  # the run is between two turns of its tasks
        idle = [(folder, task) for folder, task in idle if task["id"] not in in_run]
    running = _left(idle)
    stopped = [(folder, task) for folder, task in idle if task["id"] not in running]
    return running, {
        task["id"]: command if task["id"] in in_run else _door(folder, task, standpoint) for folder, task in stopped
    }


def _left(idle: Iterable[tuple[Desk, Task]]) -> list[str]:
    """List the tasks whose last turn never ended and still has processes."""
    marks = {
        task["id"]: mark for folder, task in idle if task["status"] == "in_progress" and (mark := _mark(folder, task))
    }
    if not marks:
        return []
    from sow.system import tree  # needed only after a crash

    living = tree.living(marks.values())
    return [ident for ident, mark in marks.items() if mark in living]


def _mark(folder: Desk, task: Task) -> str:
    """Return the mark of a session whose last turn has no end, or "" if there is none or it cannot be read."""
    from sow.store import sessions  # needed only after a crash

    try:
        record = sessions.current(folder, task["session_id"])
    except SowError:
        return ""
    return record.session["mark"] if record is not None and record.has_begun else ""


def _run(home: Home, standpoint: Standpoint) -> tuple[str, list[str], bool]:
    """Return the command that continues the unfinished run, its tasks, and whether it is live."""
    from sow.engine import go_on  # seldom needed
    from sow.store import project as projects
    from sow.store import runs

    run = runs.unfinished(home, projects.load(home)["project_id"])
    if run is None:
        return "", [], False
    return go_on.command(run, standpoint), run.run["tasks"], runs.is_live(run)


def _is_idle(folder: Desk, task: Task) -> bool:
    begun = task["status"] == "in_progress" or (task["status"] == "needs_review" and is_approved(task))
    return begun and "session_id" in task and not folder.home.holder(task["id"])


def _door(folder: Desk, task: Task, standpoint: Standpoint) -> str:
    if is_approved(task) and "source" in task:  # its run has ended, so another run must merge it
        import shlex

        root = folder.home.root
        return shlex.join([*standpoint.sow(root), "run", standpoint.path(root, task["source"]["plan"])])
    from sow.engine.go_on import door  # seldom needed

    return door(folder, task)
