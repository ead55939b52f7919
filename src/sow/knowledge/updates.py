"""Asks the remotes of installed sinks and repositories for new commits, all in parallel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sow.errors import SowError
from sow.knowledge import fetcher
from sow.knowledge import source_rules as sources
from sow.store.knowledge.index import has_source

CURRENT, NEW, PINNED, MISSING, FOREIGN, UNREACHABLE, NO_REF, LINKED = (
    "current", "new", "pinned", "missing", "foreign", "unreachable", "no_ref", "linked",
)  # fmt: skip
BAD = (FOREIGN, UNREACHABLE, NO_REF)


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One entry, its status, and the current commit of its ref."""

    entry: Any
    status: str
    commit: str = ""
    problem: SowError | None = None


def poll(entries: Sequence[Any], user_entries: list[Any], folder: str, *, seconds: float) -> list[SourceStatus]:
    """Returns the state of each entry; `user_entries` is the user's list of sources, `folder` holds the files."""
    known_states = [_status_without_remote(entry, user_entries, folder) for entry in entries]
    unknown = [entry for entry, state in zip(entries, known_states, strict=True) if state is None]
    refs = [(entry["source"]["url"], entry["source"]["ref"]) for entry in unknown]
    answers = iter(fetcher.resolve_all(refs, seconds=seconds))
    return [
        state or _status_of_answer(entry, next(answers), folder)
        for entry, state in zip(entries, known_states, strict=True)
    ]


def _status_without_remote(entry: Any, user_entries: list[Any], folder: str) -> SourceStatus | None:
    """Returns a state that needs no remote. An index may come from somebody else, so its values are checked again."""
    source = entry["source"]
    try:
        kind = sources.kind_of(source["url"])
        sources.check_ref(source["ref"])
        sources.check_folder(source.get("path", ""))
        if kind == sources.PATH and not os.path.isabs(source["url"]):
            raise SowError(f"{source['url']!r} is no full path", "remove it, and install it again")
    except SowError as error:
        return SourceStatus(entry, UNREACHABLE, problem=error)
    if not has_source(user_entries, source):
        problem = SowError(
            f"{entry['name']} comes from {source['url']}, which you never installed: nothing is fetched from there",
            "look at it; if you want it, remove this one and install it yourself",
        )
        return SourceStatus(entry, FOREIGN, problem=problem)
    return SourceStatus(entry, LINKED) if entry.get("mode") == "symlink" else None


def _status_of_answer(entry: Any, answer: fetcher.ResolvedRef, folder: str) -> SourceStatus:
    if answer.problem:
        return SourceStatus(entry, NO_REF if answer.reached else UNREACHABLE, problem=answer.problem)
    if not os.path.isdir(f"{folder}/{entry['name']}"):
        return SourceStatus(entry, MISSING, commit=answer.commit)
    if answer.commit != entry.get("pin"):
        return SourceStatus(entry, NEW, commit=answer.commit)
    status = PINNED if sources.is_commit(entry["source"]["ref"]) else CURRENT
    return SourceStatus(entry, status, commit=answer.commit)
