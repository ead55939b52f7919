"""Records the text of all state files at one moment, to find later edits by hand."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store import kept
from sow.store import project as projects
from sow.store.disk import make_folders
from sow.store.seen import NOT_YET, UNKNOWN, UNREADABLE, Look, Seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import ProjectState
    from sow.store.home import Home


class Edit:
    """One file edited by hand: its text now and its correct text; None if it is missing."""

    __slots__ = ("good", "name", "now", "owner", "path", "task")

    def __init__(self, *, name: str, task: str, path: str, now: str | None, good: str | None, owner: str = "") -> None:
        self.owner = owner  # the project or workflow to which it belongs
        self.name = name  # the name of its backup copy
        self.task = task  # or the agent; empty for the state of the project or the workflow itself
        self.path = path
        self.now = now
        self.good = good

    @property
    def is_notes(self) -> bool:
        return self.name == kept.of_notes(self.task)

    @property
    def in_conflict(self) -> bool:
        """Returns whether git left a conflict in it, which a person resolves."""
        return self.now is not None and "\n<<<<<<< " in f"\n{self.now}"

    @property
    def text(self) -> str:
        """Returns its readable text; empty if it is missing or unreadable."""
        return "" if self.now is None or self.now == UNREADABLE else self.now

    def take_back(self, home: Home) -> None:
        """Restores the file to its correct text."""
        if self.good is None:
            home.remove(self.path)
        elif self.good != UNREADABLE:
            make_folders(home.disk, home.root, os.path.dirname(home.relative(self.path)).split("/"))  # may be missing
            home.replace(self.path, self.good)


class Snapshot:
    """The texts of the state files of a checkout's project and workflow, if there are any; take it under the lock.

    The texts are not parsed, because most are never needed again.
    """

    __slots__ = ("__weakref__", "changes", "home", "looks", "over", "project", "seen")

    def __init__(self, home: Home, project: ProjectState | None = None, seen: Seen | None = None) -> None:
        self.home = home
        self.project = project or _project(home)
        self.seen = seen or Seen(home)
        self.looks = self.seen.begin(self, self.project)
        self.changes = len(self.seen.changes)
        self.over = NOT_YET  # the time after which this turn can have written nothing

    def edits(self, own: str = "") -> list[Edit]:
        """Returns the edits by hand since then: the project's state first, and a task's notes before its state.

        With `own`, possibly only that task folder is checked now, and the rest of the scan is deferred.
        """
        self.seen.turns.discard(self)
        if own and self.seen.may_wait(self, own):
            self.seen.owed = self.seen.owed or self
            looks = ((path, self.seen.look(path)) for path in self.seen.desks[own])
            return [edit for path, look in looks if look and (edit := self._edit(path, look))]
        looks_now = self.seen.scan(self.project, self.over)
        changed = sorted(set(self.seen.changes[self.changes :]), key=lambda path: self.seen.files[path].place)
        return [edit for path in changed if (edit := self._edit(path, looks_now[path]))]

    def _edit(self, path: str, now: Look) -> Edit | None:
        """Compares a file with its correct text: the copy that sow wrote meanwhile, else the text before."""
        file = self.seen.files[path]
        before = self.looks.get(path, UNKNOWN)
        was_written = now.copy != before.copy
        if was_written and now.is_kept:
            return None
        good = (kept.recall(self.home, file.owner, file.name) if was_written else None) or before.text
        if now.text != good or now.stamp is None:  # another turn may have written or restored it since
            now = self.seen.look(path) or now
        if now.text == good:
            return None
        edit = Edit(owner=file.owner, name=file.name, task=file.task, path=path, now=now.text, good=good)
        if good is not None and good != UNREADABLE and not edit.in_conflict:
            self.seen.expect(path, good, now.copy)
        return edit


def _project(home: Home) -> ProjectState | None:
    """Returns the project of the checkout, if there is one that can be read."""
    try:
        return projects.load_anywhere(home) if os.path.lexists(projects.path(home)) else None
    except SowError:
        return None
