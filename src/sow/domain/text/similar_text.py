"""Compares texts without regard to letter case, spacing and punctuation."""

from __future__ import annotations

ENOUGH = 0.85  # share of the words of the longer question
MAX_TEXT = 20_000
DETAILS = "\n\nWhat was found:\n"  # In a question of a run, the text after this differs each time.

# Parts of a text that differ each time a command runs.
CHANGING = (
    r"0x[0-9a-f]+",
    r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s'\"<>():,;]+",
    r"(?<=worktrees/slot)-\d+",
    r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?)?",
    r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?",
    r"\b(?:\d+h ?)?(?:\d+m ?)?\d+(?:[.,]\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?)\b",
    r"\b(?:pid|process)\b[^\w\n]{0,3}\d+",
    r"(?<=\w)\[\d+\](?=:)",
)

NO_VERDICT_PREFIX = "no verdict: "  # begins a question about a review whose verdict cannot be read
UNMERGEABLE_PREFIX = "it could not be merged"  # begins the question about a conflict


def words(text: str) -> list[str]:
    """Returns the words of a text, in lowercase."""
    return "".join(letter if letter.isalnum() else " " for letter in text[:MAX_TEXT].casefold()).split()


def without_changing_parts(text: str) -> str:
    """A text in lower case without times, durations, temporary paths, process ids and addresses."""
    import re

    return re.sub("|".join(CHANGING), "", text[:MAX_TEXT].casefold())


def without_details(question: str) -> str:
    """Returns a question without the details that a run adds."""
    return question.partition(DETAILS)[0]


def similar(question_a: str, question_b: str) -> bool:
    """Returns whether two questions are the same: equal but for spacing and case, or with nearly the same words.

    The details that a run adds do not count, because they differ each time.
    """
    question_a, question_b = without_details(question_a), without_details(question_b)
    if question_a.casefold().split() == question_b.casefold().split():
        return True
    first, second = set(words(question_a)), set(words(question_b))
    longer = max(len(first), len(second))
    return longer > 0 and len(first & second) >= ENOUGH * longer
