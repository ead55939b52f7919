"""Checks names of branches by git's rules, without starting git."""

from __future__ import annotations

LONGEST = 200
NEVER = frozenset(" ~^:?*[\\")


def is_branch_name(text: str) -> bool:
    """Returns whether git accepts a text as the name of a branch and as nothing else."""
    if not 0 < len(text) <= LONGEST or not text.isprintable() or NEVER.intersection(text):
        return False
    if text.startswith("-") or text.endswith(".") or ".." in text or "@{" in text or text in ("@", "HEAD"):
        return False
    return all(part and not part.startswith(".") and not part.endswith(".lock") for part in text.split("/"))
