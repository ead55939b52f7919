"""What is new at the remotes of installed things; all of them are asked at once."""

from __future__ import annotations

import os

from sow.domain import source as sources
from sow.errors import SowError
from sow.knowledge import fetching
from sow.store.catalog import is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

CURRENT, NEW, PINNED, MISSING, FOREIGN, UNREACHABLE, NO_REF, LINKED = (
    "current", "new", "pinned", "missing", "foreign", "unreachable", "no_ref", "linked",
)  # fmt: skip
BAD = (FOREIGN, UNREACHABLE, NO_REF)


class Polled:
    """One entry, what there is to say about it now, and the commit that its ref is at."""

    __slots__ = ("commit", "entry", "problem", "status")

    def __init__(self, entry: Any, status: str, *, commit: str = "", problem: SowError | None = None) -> None:
        self.entry = entry
        self.status = status
        self.commit = commit
        self.problem = problem


def poll(entries: Sequence[Any], mine: list[Any], folder: str, *, seconds: float) -> list[Polled]:
    """The state of each entry; `mine` is what the user has installed ever, and `folder` where the files are."""
    early = [_early(each, mine, folder) for each in entries]
    asked = [each for each, known in zip(entries, early, strict=True) if known is None]
    wanted = [(each["source"]["url"], each["source"]["ref"]) for each in asked]
    found = iter(fetching.resolve_all(wanted, seconds=seconds))
    return [known or _judged(each, next(found), folder) for each, known in zip(entries, early, strict=True)]


def _early(entry: Any, mine: list[Any], folder: str) -> Polled | None:
    """What is known without asking; an index may come from somebody else, so every value of it is looked at again."""
    source = entry["source"]
    try:
        kind = sources.kind_of(source["url"])
        sources.check_ref(source["ref"])
        sources.check_folder(source.get("path", ""))
        if kind == sources.PATH and not os.path.isabs(source["url"]):
            raise SowError(f"{source['url']!r} is no full path", "remove it, and install it again")
    except SowError as error:
        return Polled(entry, UNREACHABLE, problem=error)
    if not is_known(mine, source):
        why = SowError(
            f"{entry['name']} comes from {source['url']}, which you never installed: nothing is fetched from there",
            "look at it; if you want it, remove this one and install it yourself",
        )
        return Polled(entry, FOREIGN, problem=why)
    return Polled(entry, LINKED) if entry.get("mode") == "symlink" else None


def _judged(entry: Any, found: fetching.Found, folder: str) -> Polled:
    if found.problem:
        return Polled(entry, NO_REF if found.reached else UNREACHABLE, problem=found.problem)
    if not os.path.isdir(f"{folder}/{entry['name']}"):
        return Polled(entry, MISSING, commit=found.commit)
    if found.commit != entry.get("pin"):
        return Polled(entry, NEW, commit=found.commit)
    status = PINNED if sources.is_commit(entry["source"]["ref"]) else CURRENT
    return Polled(entry, status, commit=found.commit)
