"""Tasks that nobody goes on with, as after a crash, a limit, Ctrl-C or an approval; each with the door to go on by.

After a crash the agent itself may live on: that is no door yet, but a turn to be ended first.
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
    """The tasks of which an earlier turn still runs on its own, and the command for each of the others.

    One without a session was started by hand, and is somebody's own work.
    """
    idle = [(desk, task) for desk, task in tasks if _is_idle(desk, task)]
    if not idle:
        return [], {}
    home = idle[0][0].home
    again, own, live = _run(home, standpoint)
    if live:  # it is between two turns of these
        idle = [(desk, task) for desk, task in idle if task["id"] not in own]
    left = _left(idle)
    rest = [(desk, task) for desk, task in idle if task["id"] not in left]
    return left, {task["id"]: again if task["id"] in own else _door(desk, task, standpoint) for desk, task in rest}


def _left(idle: Iterable[tuple[Desk, Task]]) -> list[str]:
    """Those of some tasks whose last turn never ended, and has processes that live."""
    marks = {task["id"]: mark for desk, task in idle if task["status"] == "in_progress" and (mark := _mark(desk, task))}
    if not marks:
        return []
    from sow.system import tree  # after a crash only

    living = tree.living(marks.values())
    return [ident for ident, mark in marks.items() if mark in living]


def _mark(desk: Desk, task: Task) -> str:
    """The mark of a session whose last turn has no end; a record that cannot be read is no reason to show nothing."""
    from sow.store import sessions  # the same

    try:
        record = sessions.current(desk, task["session_id"])
    except SowError:
        return ""
    return record.session["mark"] if record is not None and record.has_begun else ""


def _run(home: Home, standpoint: Standpoint) -> tuple[str, list[str], bool]:
    """The command that goes on with the run that was not ended, its tasks, and whether it is live; or nothing."""
    from sow.engine import go_on  # here, because it is seldom needed
    from sow.store import project as projects
    from sow.store import runs

    run = runs.unfinished(home, projects.load(home)["project_id"])
    if run is None:
        return "", [], False
    return go_on.command(run, standpoint), run.run["tasks"], runs.is_live(run)


def _is_idle(desk: Desk, task: Task) -> bool:
    begun = task["status"] == "in_progress" or (task["status"] == "needs_review" and is_approved(task))
    return begun and "session_id" in task and not desk.home.holder(task["id"])


def _door(desk: Desk, task: Task, standpoint: Standpoint) -> str:
    if is_approved(task) and "source" in task:  # its run has ended: another one merges it
        import shlex

        root = desk.home.root
        return shlex.join([*standpoint.sow(root), "run", standpoint.path(root, task["source"]["plan"])])
    from sow.engine.go_on import door  # the same

    return door(desk, task)
