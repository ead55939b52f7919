"""Records the text of all state files at one moment, to find later edits by hand."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store.files import backup
from sow.store.files.disk import make_folders
from sow.store.formats.yaml_text import has_conflict
from sow.store.projects import project as projects
from sow.store.state_watcher import NEVER, UNKNOWN, UNREADABLE, FileVersion, StateWatcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import ProjectState
    from sow.store.files.checkout_home import Home


class HandEdit:
    """One file edited by hand: its text now and its correct text; None if it is missing."""

    __slots__ = ("current", "expected", "name", "owner", "path", "task")

    def __init__(self, *, name: str, task: str, path: str, now: str | None, good: str | None, owner: str = "") -> None:
        self.owner = owner  # the project or workflow to which it belongs
        self.name = name  # the name of its backup copy
        self.task = task  # or the agent; empty for the state of the project or the workflow itself
        self.path = path
        self.current = now
        self.expected = good

    @property
    def is_notes(self) -> bool:
        return self.name == backup.notes_key(self.task)

    @property
    def in_conflict(self) -> bool:
        """Returns whether git left a conflict in it, which a person resolves."""
        return self.current is not None and has_conflict(self.current)

    @property
    def text(self) -> str:
        """Returns its readable text; empty if it is missing or unreadable."""
        return "" if self.current is None or self.current == UNREADABLE else self.current

    def revert(self, home: Home) -> None:
        """Restores the file to its correct text."""
        if self.expected is None:
            home.remove(self.path)
        elif self.expected != UNREADABLE:
            make_folders(home.disk, home.root, os.path.dirname(home.relative(self.path)).split("/"))  # may be missing
            home.replace(self.path, self.expected)


class Snapshot:
    """The texts of the state files of a checkout's project and workflow, if there are any; take it under the lock.

    The texts are not parsed, because most are never needed again.
    """

    __slots__ = ("__weakref__", "changes", "ended_at", "home", "looks", "project", "watcher")

    def __init__(self, home: Home, project: ProjectState | None = None, seen: StateWatcher | None = None) -> None:
        self.home = home
        self.project = project or _project(home)
        self.watcher = seen or StateWatcher(home)
        self.looks = self.watcher.begin(self, self.project)
        self.changes = len(self.watcher.changes)
        self.ended_at = NEVER  # the time after which this turn can have written nothing

    def hand_edits(self, own: str = "") -> list[HandEdit]:
        """Returns the edits by hand since then: the project's state first, and a task's notes before its state.

        With `own`, possibly only that task folder is checked now, and the rest of the scan is deferred.
        """
        self.watcher.turns.discard(self)
        if own and self.watcher.can_defer(self, own):
            self.watcher.deferred = self.watcher.deferred or self
            looks = ((path, self.watcher.read_version(path)) for path in self.watcher.paths_by_task[own])
            return [edit for path, look in looks if look and (edit := self._edit(path, look))]
        looks_now = self.watcher.scan(self.project, self.ended_at)
        changed = sorted(set(self.watcher.changes[self.changes :]), key=lambda path: self.watcher.files[path].order)
        return [edit for path in changed if (edit := self._edit(path, looks_now[path]))]

    def _edit(self, path: str, now: FileVersion) -> HandEdit | None:
        """Compares a file with its correct text: the copy that sow wrote meanwhile, else the text before."""
        file = self.watcher.files[path]
        before = self.looks.get(path, UNKNOWN)
        was_written = now.copy != before.copy
        if was_written and now.is_kept:
            return None
        good = (backup.load(self.home, file.owner, file.name) if was_written else None) or before.text
        if now.text != good or now.stamp is None:  # another turn may have written or restored it since
            now = self.watcher.read_version(path) or now
        if now.text == good:
            return None
        edit = HandEdit(owner=file.owner, name=file.name, task=file.task, path=path, now=now.text, good=good)
        if good is not None and good != UNREADABLE and not edit.in_conflict:
            self.watcher.expect_text(path, good, now.copy)
        return edit


def _project(home: Home) -> ProjectState | None:
    try:
        return projects.load_anywhere(home) if os.path.lexists(projects.path(home)) else None
    except SowError:
        return None
