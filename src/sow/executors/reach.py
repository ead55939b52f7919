"""How far a worker's writing goes, for CLIs whose rules are no globs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.executors.adapter import Request

LOOSE = ("*", "?", "[")
IN_EXPRESSIONS = frozenset(".^$|+(){}*?[]\\")


def places(request: Request) -> list[tuple[str, bool]]:
    """Folders (with a slash at their end) and files, from wide to narrow: the narrowest says whether it may write."""
    found = {f"{each}/": True for each in (request.cwd, *request.folders)}
    for pattern in request.closed:
        found.setdefault(_fixed(pattern), False)
    return sorted(found.items(), key=lambda place: len(place[0]))


def _fixed(pattern: str) -> str:
    """The beginning of a pattern that fits one path only: where a part is loose, the folder before it."""
    taken: list[str] = []
    for part in pattern.split("/"):
        if any(mark in part.replace(f"\\{mark}", "") for mark in LOOSE):
            return f"{'/'.join(taken)}/"
        taken.append(part.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\"))
    return "/".join(taken)


def expression(pattern: str) -> str:
    """A pattern as a regular expression that fits a path from its beginning; a folder's ends with a slash."""
    letters = iter(pattern.removesuffix("**"))
    found = ""
    for letter in letters:
        if letter == "\\":
            found += _escaped(next(letters))
        elif letter == "[":
            found += letter + "".join(iter(lambda: next(letters), "]")) + "]"
        else:
            found += {"*": "[^/]*", "?": "[^/]"}.get(letter) or _escaped(letter)
    return found


def _escaped(letter: str) -> str:
    return f"\\{letter}" if letter in IN_EXPRESSIONS else letter
