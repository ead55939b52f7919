"""Who worked on a task last: the run that is followed knows it, and of all others the records of their sessions."""

from __future__ import annotations

from sow.errors import SowError
from sow.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sow.dashboard.run_scene import RunScene
    from sow.store.sessions import Desk

    Mark = tuple[Any, ...]


class WorkerCache:
    """The executors of tasks or agents; records are read again only where the state tells of something new."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[str, tuple[Mark, str | None]] = {}

    def executor(self, desk: Desk, state: Mapping[str, Any], run: RunScene | None) -> str | None:
        """The executor of the last turn that was no review; None where nobody has worked on it here."""
        told = run.executors.get(desk.id) if run else None
        changed = state.get("updated_at") or ""
        if told and run and changed < run.at:
            return told
        mark = (desk.owner, changed, state.get("session_id"))
        known = self.known.get(desk.id)
        if known is None or known[0] != mark:
            known = self.known[desk.id] = (mark, _recorded(desk))
        return known[1] or told


def _recorded(desk: Desk) -> str | None:
    """What the records say; those of an earlier project with a task of the same id are not asked."""
    try:
        records = [each.session for each in sessions.records(desk)]
    except (SowError, OSError):  # the task's own page says what is wrong with them
        return None
    work = [
        (each["turns"][-1]["started_at"], each["number"], each["executor"])
        for each in records
        if each["turns"] and each["turns"][0]["kind"] != "review" and each.get("project_id", desk.owner) == desk.owner
    ]
    return max(work)[2] if work else None
