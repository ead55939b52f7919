"""Watches the state files under a running run: refuses another branch and restores files that git removed."""

from __future__ import annotations

import os
import time

from sow.errors import Failed
from sow.store import project as projects
from sow.store import restoring
from sow.store.layout import lay_out
from sow.store.repair import keep_newer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.shapes import ProjectState
    from sow.store.desk import Desk
    from sow.store.home import Home

PATIENCE = 5.0
PAUSE = 0.1
LOOK_EVERY = 1.0  # seconds between two checks of tasks that nobody works on


class HomeGuard:
    """The state files of a project as they were seen last."""

    __slots__ = ("desks", "home", "looked", "project", "seen")

    def __init__(self, home: Home, project: ProjectState, desks: Iterable[Desk]) -> None:
        self.home = home
        self.project = project
        self.desks = {desk.id: desk for desk in desks}
        self._keep()
        self.seen: dict[str, tuple[int, int]] = {}
        self.looked = 0.0

    def _keep(self) -> None:
        """Back up the state at the start of a run, whoever wrote it; later changes count only if sow made them."""
        with self.home.lock():
            for desk in self.desks.values():
                restoring.keep_description(desk, self.project["project_id"])
                if not self.home.holder(desk.id):
                    keep_newer(desk, self.project["project_id"])

    def check(self, running: Iterable[str] = ()) -> list[str]:
        """Refuse another branch, and restore what is missing or older; returns the names of what was restored.

        A git command that runs there right now may cause a failure, so the check is repeated for some seconds.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._check(running)
            except Failed:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE)

    def mend(self, ident: str) -> dict[str, str] | None:
        """Check one task on which nobody works and set hand edits aside; returns what was done, None for nothing."""
        self.check()
        desk = self.desks.get(ident)
        if desk is None:
            return None
        with self.home.lock():
            aside, is_restored = restoring.mend(desk, self.project["project_id"])
        return {"aside": aside} if aside else {} if is_restored else None

    def _check(self, running: Iterable[str]) -> list[str]:
        restoring.refuse_elsewhere(self.home, self.project["branch"])
        if not os.path.lexists(f"{self.home.sow}/.gitignore"):
            lay_out(self.home)  # without it, git would show files of this machine as the user's new files
        restored = self._project()
        now, at_work = time.monotonic(), set(running)
        if now >= self.looked + LOOK_EVERY:
            self.looked, running = now, self.desks
        return restored + [ident for ident in list(running) if self._task(self.desks[ident], idle=ident not in at_work)]

    def _project(self) -> list[str]:
        if not self._changed(projects.path(self.home)):
            return []
        with self.home.lock():
            return ["project"] if restoring.bring_project_back(self.home, self.project["project_id"]) else []

    def _task(self, desk: Desk, *, idle: bool) -> bool:
        if not self._changed(desk.state_path):
            return False
        with self.home.lock():
            memory = self.home.memory
            edited = memory is not None and idle and bool(memory.put_back(desk.id, desk.state_path))
            return restoring.bring_task_back(desk, self.project["project_id"]) or edited

    def _changed(self, path: str) -> bool:
        """Tell whether a file is gone or has changed since the last check."""
        try:
            status = os.stat(path)
        except OSError:
            return True
        version = (status.st_ino, status.st_mtime_ns)
        same = self.seen.get(path) == version
        self.seen[path] = version
        return not same
