"""All state of a project at one moment, as texts: what differs later and was not written by sow was edited by hand."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store import desk as desks
from sow.store import kept
from sow.store import project as projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import ProjectState
    from sow.store.home import Home

UNREADABLE = "\0"  # stands for what is there and no text: equal to itself, and nothing that could be put back


class Edit:
    """One file that was edited by hand, as it is now, and as it was before that; None where there is none."""

    __slots__ = ("good", "name", "now", "path", "task")

    def __init__(self, *, name: str, task: str, path: str, now: str | None, good: str | None) -> None:
        self.name = name  # of its kept copy
        self.task = task  # nothing for the project's own state
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

    def take_back(self, home: Home) -> None:
        """Make the file what it was."""
        if self.good is None:
            home.remove(self.path)
        elif self.good != UNREADABLE:
            home.folder(*os.path.dirname(home.relative(self.path)).split("/")[1:])  # a whole desk may be gone
            home.replace(self.path, self.good)


class Snapshot:
    """Texts and not documents: most are never looked at again, so none is parsed. To be taken under the lock."""

    __slots__ = ("files", "home", "project", "stamps", "texts")

    def __init__(self, home: Home, project: ProjectState) -> None:
        self.home = home
        self.project = project
        self.files = _files(home, project)
        self.texts = {path: _read(home, path) for _, _, path in self.files}
        self.stamps = {path: kept.stamp(home, project["project_id"], name) for name, _, path in self.files}

    def edits(self) -> list[Edit]:
        """What was edited by hand since: the project's own state first, and a task's notes before its state."""
        now = _files(self.home, self.project)
        every = dict.fromkeys((*self.files, *now))
        return [edit for name, task, path in every if (edit := self._edit(name, task, path))]

    def _edit(self, name: str, task: str, path: str) -> Edit | None:
        """How a file differs from what it should be: the copy that sow kept meanwhile, else what it was before."""
        before, now = self.texts.get(path), _read(self.home, path)
        project_id = self.project["project_id"]
        wrote = kept.stamp(self.home, project_id, name) != self.stamps.get(path, (0, 0))
        good = (kept.recall(self.home, project_id, name) if wrote else None) or before
        return None if now == good else Edit(name=name, task=task, path=path, now=now, good=good)


def _files(home: Home, project: ProjectState) -> list[tuple[str, str, str]]:
    """Every state file, with the name of its kept copy and its task."""
    found = [("project", "", projects.path(home))]
    for desk in desks.desks(home, project):
        found.append((kept.of_notes(desk.id), desk.id, desk.notes_path))
        found.append((desk.id, desk.id, desk.state_path))
    return found


def _read(home: Home, path: str) -> str | None:
    try:
        return home.read(path)
    except FileNotFoundError:
        return None
    except SowError:
        return UNREADABLE
