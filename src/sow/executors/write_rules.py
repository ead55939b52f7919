"""Computes the paths that a worker may write, for CLIs whose rules are not globs."""

from __future__ import annotations

from sow.executors.adapter import Request

WILDCARDS = ("*", "?", "[")
REGEX_SPECIAL = frozenset(".^$|+(){}*?[]\\")


def writable_paths(request: Request) -> list[tuple[str, bool]]:
    """Returns folders (ending in a slash) and files with the right to write there, shortest first; the longest wins."""
    writable = {f"{folder}/": True for folder in (request.cwd, *request.writable)}
    for pattern in request.write_protected:
        writable.setdefault(_literal_prefix(pattern), False)
    return sorted(writable.items(), key=lambda item: len(item[0]))


def _literal_prefix(pattern: str) -> str:
    """Returns the part of a pattern before its first wildcard, up to the last slash."""
    parts: list[str] = []
    for part in pattern.split("/"):
        if any(wildcard in part.replace(f"\\{wildcard}", "") for wildcard in WILDCARDS):
            return f"{'/'.join(parts)}/"
        parts.append(part.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\"))
    return "/".join(parts)


def pattern_regex(pattern: str) -> str:
    """Returns a regular expression for the start of a path; for a folder it ends with a slash."""
    characters = iter(pattern.removesuffix("**"))
    regex = ""
    for character in characters:
        if character == "\\":
            regex += _escaped(next(characters))
        elif character == "[":
            regex += character + "".join(iter(lambda: next(characters), "]")) + "]"
        else:
            regex += {"*": "[^/]*", "?": "[^/]"}.get(character) or _escaped(character)
    return regex


def _escaped(character: str) -> str:
    return f"\\{character}" if character in REGEX_SPECIAL else character
