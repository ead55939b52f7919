"""Matches patterns of paths below a repository's root, such as tests/** or *.lock."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_PATTERN = 1000


def folders_above(path: str) -> list[str]:
    """Returns every folder above a path, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def pattern_problem(pattern: str) -> str:
    """Returns why a text is not a pattern of protected paths, or '' if it is one."""
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
    start = part.find("[")
    while start >= 0:
        end = part.find("]", start + 2)
        if end < 0:
            return False
        start = part.find("[", end)
    return True


def matches(pattern: str, path: str) -> bool:
    """Returns whether a path, or a folder that contains it, matches a pattern.

    `*` and `?` match within one folder, `**` matches any number of folders. A pattern without a slash matches in every
    folder.
    """
    from fnmatch import fnmatchcase

    pattern_parts = pattern.rstrip("/").split("/")
    if len(pattern_parts) == 1 and pattern_parts != ["**"]:
        return any(fnmatchcase(part, pattern_parts[0]) for part in path.split("/"))
    return match_parts([*pattern_parts, "**"], path.split("/"))


def match_parts(pattern_parts: Sequence[str], parts: Sequence[str]) -> bool:
    """Matches part by part. After a mismatch only the last `**` takes one more part, so the time is bounded."""
    from fnmatch import fnmatchcase

    pattern_index = part_index = 0
    star, star_end = -1, 0
    while part_index < len(parts):  # `**` also matches no part
        if pattern_index < len(pattern_parts) and pattern_parts[pattern_index] == "**":
            star, star_end = pattern_index, part_index
            pattern_index += 1
        elif pattern_index < len(pattern_parts) and fnmatchcase(parts[part_index], pattern_parts[pattern_index]):
            pattern_index += 1
            part_index += 1
        elif star >= 0:
            star_end += 1
            pattern_index, part_index = star + 1, star_end
        else:
            return False
    while pattern_index < len(pattern_parts) and pattern_parts[pattern_index] == "**":
        pattern_index += 1
    return pattern_index == len(pattern_parts)
