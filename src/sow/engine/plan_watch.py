"""Notices that somebody edits a plan while it is run: the run goes on with what it began with, and says so."""

from __future__ import annotations

import os

from sow.store import intake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.shapes import RunPlan
    from sow.store.home import Home


class PlanWatch:
    """The plan files of a run; each is read again only when it looks different, and told of once."""

    __slots__ = ("_digests", "_looks")

    def __init__(self, home: Home, plans: Iterable[RunPlan]) -> None:
        self._digests = {os.path.join(home.root, plan["path"]): (plan["path"], plan["digest"]) for plan in plans}
        self._looks: dict[str, tuple[int, int]] = {}

    def changed(self) -> list[str]:
        """The plans that are not what they were, and were not told of yet."""
        found = []
        for path, (name, digest) in list(self._digests.items()):
            look = _look(path)
            if self._looks.get(path) != look:
                self._looks[path] = look
                if _digest(path) != digest:
                    found.append(name)
                    del self._digests[path]
        return found


def _look(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _digest(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            return intake.digest(file.read())
    except OSError:
        return ""
