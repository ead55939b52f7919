"""Notices edits of a plan while it runs; the run reports them and continues with the plan it began with."""

from __future__ import annotations

import os

from sow.store.projects import plan_import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.documents.state import RunPlan
    from sow.store.files.checkout_home import Home


class PlanWatch:
    """The plan files of a run; each is read again only if its size or time changed, and reported once."""

    __slots__ = ("_digests", "_looks")

    def __init__(self, home: Home, plans: Iterable[RunPlan]) -> None:
        self._digests = {os.path.join(home.root, plan["path"]): (plan["path"], plan["digest"]) for plan in plans}
        self._looks: dict[str, tuple[int, int]] = {}

    def changed(self) -> list[str]:
        """Return the plans that changed and were not reported yet."""
        names = []
        for path, (name, digest) in list(self._digests.items()):
            version = _look(path)
            if self._looks.get(path) != version:
                self._looks[path] = version
                if _digest(path) != digest:
                    names.append(name)
                    del self._digests[path]
        return names


def _look(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _digest(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            return plan_import.digest(file.read())
    except OSError:
        return ""
