"""Names of branches: git's own rules, known before git is asked."""

from __future__ import annotations

LONGEST = 200
NEVER = frozenset(" ~^:?*[\\")


def is_branch_name(text: str) -> bool:
    """Whether git would take a text as the name of a branch, and take it for nothing else."""
    if not 0 < len(text) <= LONGEST or not text.isprintable() or NEVER.intersection(text):
        return False
    if text.startswith("-") or text.endswith(".") or ".." in text or "@{" in text or text in ("@", "HEAD"):
        return False
    return all(part and not part.startswith(".") and not part.endswith(".lock") for part in text.split("/"))
