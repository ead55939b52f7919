"""Patterns of paths below a repository's root, such as tests/** or *.lock."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_PATTERN = 1000


def problem_with(pattern: str) -> str:
    """Why a text is no pattern of protected paths; '' if it is one."""
    if not pattern.strip() or len(pattern) > LONGEST_PATTERN or not pattern.isprintable():
        return "is empty, too long or not printable"
    if pattern.startswith(("/", "!", "~")) or "\\" in pattern:
        return "is no path below the repository's root"
    parts = pattern.rstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has an empty part, '.' or '..'"
    if any("**" in part and part != "**" for part in parts):
        return "has '**' beside other letters"
    if any(not _closed(part) for part in parts):
        return "has a bracket that is never closed"
    return ""


def _closed(part: str) -> bool:
    at = part.find("[")
    while at >= 0:
        end = part.find("]", at + 2)
        if end < 0:
            return False
        at = part.find("[", end)
    return True


def matches(pattern: str, path: str) -> bool:
    """Whether a path fits a pattern, or lies in a folder that fits it.

    `*` and `?` stay within one folder, `**` spans folders. A pattern without a slash inside fits in every folder.
    """
    from fnmatch import fnmatchcase

    wanted = pattern.rstrip("/").split("/")
    if len(wanted) == 1 and wanted != ["**"]:
        return any(fnmatchcase(part, wanted[0]) for part in path.split("/"))
    return fits([*wanted, "**"], path.split("/"))


def fits(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Match part by part; after a mismatch only the last `**` takes one part more, so the time is bounded."""
    from fnmatch import fnmatchcase

    at = here = 0
    star, marked = -1, 0
    while here < len(parts):  # `**` fits no part, too
        if at < len(wanted) and wanted[at] == "**":
            star, marked = at, here
            at += 1
        elif at < len(wanted) and fnmatchcase(parts[here], wanted[at]):
            at += 1
            here += 1
        elif star >= 0:
            marked += 1
            at, here = star + 1, marked
        else:
            return False
    while at < len(wanted) and wanted[at] == "**":
        at += 1
    return at == len(wanted)
