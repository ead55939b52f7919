"""Finds conflicts that git left in a text, says how the two sides differ, and keeps one side or both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sow.errors import MergeConflict, SowError
from sow.store.formats.validation import CONFLICT_MARKS

OURS, THEIRS, BOTH = "ours", "theirs", "both"
RESOLVE = "sow project resolve"
IGNORED_FIELDS = ("revision", "updated_at", "task.updated_at")  # every change sets these
MOST_SHOWN = 6


def refuse(text: str, path: str, load: Callable[[str, str], Any] | None = None) -> None:
    """Raises for a text with a conflict; says how to keep a side and, with a reader of state, how the sides differ."""
    marks = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.startswith(CONFLICT_MARKS)]
    if not marks:
        return
    steps = ["edit the file: keep the lines of one side, and delete the lines <<<<<<<, ======= and >>>>>>>"]
    if path.startswith(".sow/"):
        ours, theirs = (
            next((line[8:20] for _, line in marks if line.startswith(mark)), "?") for mark in CONFLICT_MARKS
        )
        steps = [f"keep ours ({ours}): {RESOLVE} ours", f"or keep theirs ({theirs}): {RESOLVE} theirs"]
    hint = "\n".join([*_differences(text, path, load), *steps])
    raise MergeConflict(f"{path}:{marks[0][0]}: git left a merge conflict here", hint)


def keep(text: str, side: str) -> str:
    """Returns the text with one side of each conflict, or with both."""
    kept: list[str] = []
    part = ""
    for line in text.splitlines(keepends=True):
        if line.startswith("<<<<<<< "):
            part = OURS
        elif part and line.startswith("||||||| "):
            part = "base"
        elif part and line.rstrip("\r\n") == "=======":
            part = THEIRS
        elif part and line.startswith(">>>>>>> "):
            part = ""
        elif not part or part == side or (side == BOTH and part != "base"):
            kept.append(line)
    return "".join(kept)


def _differences(text: str, path: str, load: Callable[[str, str], Any] | None) -> Iterator[str]:
    """Yields one line per field that differs between the two sides of a state file."""
    if load is None or keep(text, OURS) == text:
        return
    try:
        ours, theirs = (load(keep(text, side), path) for side in (OURS, THEIRS))
    except SowError:  # only the file itself can show such a side
        return
    lines = list(_compare(ours, theirs, ""))
    if any(line.startswith("task.created_at: ours is ") for line in lines):
        yield "two people added this task: both stay, and the one of the side that you do not keep gets a new id"
    yield from lines[:MOST_SHOWN]
    if len(lines) > MOST_SHOWN:
        yield f"and {len(lines) - MOST_SHOWN} more fields differ"
    if not lines:
        yield "both sides say the same and differ only in the time of the change"


def _compare(ours: Any, theirs: Any, field: str) -> Iterator[str]:
    if isinstance(ours, list) and isinstance(theirs, list) and all(isinstance(item, dict) for item in ours + theirs):
        ours, theirs = ({str(item.get("name", at)): item for at, item in enumerate(items)} for items in (ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in ours | theirs:
            yield from _compare(ours.get(key), theirs.get(key), f"{field}.{key}" if field else str(key))
    elif ours != theirs and field not in IGNORED_FIELDS:
        if ours is None or theirs is None:
            yield f"{field}: only {OURS if theirs is None else THEIRS} has it"
        else:
            yield f"{field}: ours is {ours!r:.80}, theirs is {theirs!r:.80}"
