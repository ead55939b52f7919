"""Finds the name that was probably meant for a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

MAX_NAMES = 1000  # comparing more of them takes too long
MAX_LENGTH = 60
MAX_EDITS = 3


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Returns the candidate with the fewest different letters, or one that continues or shortens the name."""
    names = list(islice(candidates, MAX_NAMES))
    lowered = name.lower()
    return closest(name, names, MAX_EDITS) or next(
        (candidate for candidate in names if _shares_prefix(lowered, candidate.lower())), ""
    )


def closest(name: str, candidates: Iterable[str], most: int) -> str:
    """Returns the candidate with the fewest different letters, if they are few; numbers never match."""
    lowered = name.lower()
    if len(name) > MAX_LENGTH or not any(character.isalpha() for character in name):
        return ""
    best, fewest = "", min(most, max(len(name) // 3, 1)) + 1
    for candidate in candidates:
        edits = distance(lowered, candidate.lower(), fewest - 1)
        if edits < fewest:
            best, fewest = candidate, edits
    return best


def _shares_prefix(name: str, candidate: str) -> bool:
    return MAX_LENGTH > min(len(name), len(candidate)) > 2 and (
        candidate.startswith(name) or name.startswith(candidate)
    )


def distance(first: str, second: str, limit: int) -> int:
    """Counts letters that are added, left out, changed or swapped; returns limit + 1 if there are more than limit."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    two_rows_before: list[int] = []
    row_before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        two_rows_before, row_before, row = row_before, row, [i]
        for j, second_letter in enumerate(second, 1):
            edits = min(row_before[j] + 1, row[j - 1] + 1, row_before[j - 1] + (letter != second_letter))
            if i > 1 and j > 1 and letter == second[j - 2] and second_letter == first[i - 2]:
                edits = min(edits, two_rows_before[j - 2] + 1)
            row.append(edits)
        if min(row) > limit and min(row_before) > limit:
            return limit + 1
    return min(row[-1], limit + 1)
