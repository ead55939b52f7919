"""The name that was probably meant, for somebody who mistyped one."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAMES = 1000  # looking at more of them takes longer than it helps
MAX_LENGTH = 60
MAX_EDITS = 3


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name with the fewest other letters, or one that goes on or stops short."""
    names = list(islice(known, MAX_NAMES))
    lowered = name.lower()
    return closest(name, names, MAX_EDITS) or next((each for each in names if _begin_alike(lowered, each.lower())), "")


def closest(name: str, known: Iterable[str], most: int) -> str:
    """The known name with the fewest other letters, if they are few; numbers are never close to each other."""
    lowered = name.lower()
    if len(name) > MAX_LENGTH or not any(letter.isalpha() for letter in name):
        return ""
    best, fewest = "", min(most, max(len(name) // 3, 1)) + 1
    for each in known:
        edits = distance(lowered, each.lower(), fewest - 1)
        if edits < fewest:
            best, fewest = each, edits
    return best


def _begin_alike(name: str, known: str) -> bool:
    return MAX_LENGTH > min(len(name), len(known)) > 2 and (known.startswith(name) or name.startswith(known))


def distance(one: str, other: str, most: int) -> int:
    """How many letters are added, left out, changed or swapped with the next; most + 1 where it is more than most."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    older: list[int] = []
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            edits = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and wanted == one[i - 2]:
                edits = min(edits, older[j - 2] + 1)
            row.append(edits)
        if min(row) > most and min(before) > most:
            return most + 1
    return min(row[-1], most + 1)
