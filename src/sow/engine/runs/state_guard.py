"""Watches the state files under a running run: refuses another branch and restores files that git removed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from sow.domain.documents.state import ProjectState
from sow.errors import SystemFailure
from sow.store.files.checkout_home import Home
from sow.store.files.file_cache import FileCache, fingerprint
from sow.store.layout import create_missing
from sow.store.projects import project as projects
from sow.store.projects import restore
from sow.store.projects.task_folder import TaskFolder, backup_if_newer

PATIENCE = 5.0
PAUSE = 0.1
LOOK_EVERY = 1.0  # seconds between two checks of tasks that nobody works on


class StateGuard:
    """The state files of a project as they were seen last."""

    def __init__(self, home: Home, project: ProjectState, folders: Iterable[TaskFolder]) -> None:
        self.home = home
        self.project = project
        self.folders = {folder.id: folder for folder in folders}
        self._backup()
        self.seen: FileCache[None] = FileCache()
        self.looked = 0.0

    def _backup(self) -> None:
        """Backs up the state at the start of a run, also what others wrote; later only changes of sow count."""
        with self.home.lock():
            for folder in self.folders.values():
                restore.keep_description(folder, self.project["project_id"])
                if not self.home.task_holder(folder.id):
                    backup_if_newer(folder, self.project["project_id"])

    def check(self, running: Iterable[str] = ()) -> list[str]:
        """Refuses another branch, and restores what is missing or older; returns the names of what was restored.

        A git command that runs there right now may cause a failure, so the check is repeated for some seconds.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._check(running)
            except SystemFailure:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE)

    def restore_task(self, ident: str) -> dict[str, str] | None:
        """Checks one task on which nobody works and set hand edits aside; returns what was done, None for nothing."""
        self.check()
        folder = self.folders.get(ident)
        if folder is None:
            return None
        with self.home.lock():
            aside, is_restored = restore.reconcile(folder, self.project["project_id"])
        return {"aside": aside} if aside else {} if is_restored else None

    def _check(self, running: Iterable[str]) -> list[str]:
        restore.check_branch(self.home, self.project["branch"])
        if not os.path.lexists(f"{self.home.sow}/.gitignore"):
            create_missing(self.home)  # without it, git would show files of this machine as the user's new files
        restored = self._project()
        now, at_work = time.monotonic(), set(running)
        if now >= self.looked + LOOK_EVERY:
            self.looked, running = now, self.folders
        return restored + [
            ident for ident in list(running) if self._task(self.folders[ident], idle=ident not in at_work)
        ]

    def _project(self) -> list[str]:
        if not changed(self.seen, projects.path(self.home)):
            return []
        with self.home.lock():
            return ["project"] if restore.restore_project(self.home, self.project["project_id"]) else []

    def _task(self, folder: TaskFolder, *, idle: bool) -> bool:
        if not changed(self.seen, folder.state_path):
            return False
        with self.home.lock():
            memory = self.home.memory
            edited = memory is not None and idle and bool(memory.restore(folder.id, folder.state_path))
            return restore.restore_task(folder, self.project["project_id"]) or edited


def changed(seen: FileCache[None], path: str) -> bool:
    """Tells whether a file is gone or has changed since it was last `seen`, and records its version there."""
    return seen.refresh(path, fingerprint(path) or object(), lambda: None)
