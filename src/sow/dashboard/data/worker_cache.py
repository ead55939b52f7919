"""Caches which executor worked on a task last, from the followed run or from session records."""

from __future__ import annotations

from sow.errors import SowError
from sow.store.runs import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sow.dashboard.data.run_follower import RunFollower
    from sow.store.runs.sessions import AnyFolder

    Mark = tuple[Any, ...]


class ExecutorCache:
    """The executors of tasks or agents; session records are read again only if the state changed."""

    __slots__ = ("by_task",)

    def __init__(self) -> None:
        self.by_task: dict[str, tuple[Mark, str | None]] = {}

    def executor(self, folder: AnyFolder, state: Mapping[str, Any], run: RunFollower | None) -> str | None:
        """Returns the executor of the last turn that was not a review; None if there is none on this machine."""
        from_run = run.executors.get(folder.id) if run else None
        changed = state.get("updated_at") or ""
        if from_run and run and changed < run.last_entry_time:
            return from_run
        mark = (folder.owner, changed, state.get("session_id"))
        cached = self.by_task.get(folder.id)
        if cached is None or cached[0] != mark:
            cached = self.by_task[folder.id] = (mark, _recorded(folder))
        return cached[1] or from_run


def _recorded(folder: AnyFolder) -> str | None:
    """Returns the executor from the session records; ignores records of an earlier project with the same task id."""
    try:
        records = [record.session for record in sessions.records(folder)]
    except (SowError, OSError):  # the task's page says what is wrong with them
        return None
    work = [
        (session["turns"][-1]["started_at"], session["number"], session["executor"])
        for session in records
        if session["turns"]
        and session["turns"][0]["kind"] != "review"
        and session.get("project_id", folder.owner) == folder.owner
    ]
    return max(work)[2] if work else None
