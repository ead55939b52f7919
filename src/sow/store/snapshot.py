"""All state at one moment, as texts: what differs later and was not written by sow was edited by hand."""

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
    """One file that was edited by hand, as it is now, and as it was before that; None where there is none."""

    __slots__ = ("good", "name", "now", "owner", "path", "task")

    def __init__(self, *, name: str, task: str, path: str, now: str | None, good: str | None, owner: str = "") -> None:
        self.owner = owner  # the project or the workflow that it belongs to
        self.name = name  # of its kept copy
        self.task = task  # or the agent; nothing for the state of the project or the workflow itself
        self.path = path
        self.now = now
        self.good = good

    @property
    def is_notes(self) -> bool:
        return self.name == kept.of_notes(self.task)

    @property
    def in_conflict(self) -> bool:
        """Whether git left a conflict in it: somebody is at work there."""
        return self.now is not None and "\n<<<<<<< " in f"\n{self.now}"

    @property
    def text(self) -> str:
        """What can be read in it now; nothing where it is gone or no text."""
        return "" if self.now is None or self.now == UNREADABLE else self.now

    def take_back(self, home: Home) -> None:
        """Make the file what it was."""
        if self.good is None:
            home.remove(self.path)
        elif self.good != UNREADABLE:
            make_folders(home.disk, home.root, os.path.dirname(home.relative(self.path)).split("/"))  # it may be gone
            home.replace(self.path, self.good)


class Snapshot:
    """Texts and not documents: most are never looked at again, so none is parsed. To be taken under the lock.

    It is about the project and the workflow of a checkout, whichever of them there is.
    """

    __slots__ = ("__weakref__", "changes", "home", "looks", "over", "project", "seen")

    def __init__(self, home: Home, project: ProjectState | None = None, seen: Seen | None = None) -> None:
        self.home = home
        self.project = project or _project(home)
        self.seen = seen or Seen(home)
        self.looks = self.seen.begin(self, self.project)
        self.changes = len(self.seen.changes)
        self.over = NOT_YET  # since when nobody of this turn can have written anything; now, where nobody says

    def edits(self, own: str = "") -> list[Edit]:
        """What was edited by hand since: the project's own state first, and a task's notes before its state.

        For one who names its own desk, that may be all that is looked at now: the rest is owed.
        """
        self.seen.turns.discard(self)
        if own and self.seen.may_wait(self, own):
            self.seen.owed = self.seen.owed or self
            looks = ((path, self.seen.look(path)) for path in self.seen.desks[own])
            return [edit for path, look in looks if look and (edit := self._edit(path, look))]
        now = self.seen.scan(self.project, self.over)
        changed = sorted(set(self.seen.changes[self.changes :]), key=lambda path: self.seen.files[path].place)
        return [edit for path in changed if (edit := self._edit(path, now[path]))]

    def _edit(self, path: str, now: Look) -> Edit | None:
        """How a file differs from what it should be: the copy that sow kept meanwhile, else what it was before."""
        file = self.seen.files[path]
        before = self.looks.get(path, UNKNOWN)
        wrote = now.copy != before.copy
        if wrote and now.is_kept:
            return None
        good = (kept.recall(self.home, file.owner, file.name) if wrote else None) or before.text
        if now.text != good or now.stamp is None:  # another turn may have written it since, or put it right
            now = self.seen.look(path) or now
        if now.text == good:
            return None
        edit = Edit(owner=file.owner, name=file.name, task=file.task, path=path, now=now.text, good=good)
        if good is not None and good != UNREADABLE and not edit.in_conflict:
            self.seen.expect(path, good, now.copy)
        return edit


def _project(home: Home) -> ProjectState | None:
    """The project beside a workflow, if there is one that can be read."""
    try:
        return projects.load_anywhere(home) if os.path.lexists(projects.path(home)) else None
    except SowError:
        return None
