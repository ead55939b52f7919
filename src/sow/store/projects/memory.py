"""Reads and appends memories of a project: decisions for all later agents, in .sow/project/context/."""

from __future__ import annotations

from sow.store.formats.validation import CONFLICT_MARKS
from sow.system.terminal import escape_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.files.checkout_home import Home

HEAD = "## "


def path(home: Home) -> str:
    return f"{home.project}/context/memories.md"


def add(home: Home, text: str, *, by: str, now: str) -> str:
    """Appends one memory, and returns the path of the file."""
    home.folder("project", "context")
    body = "\n".join(
        f"\\{line}" if _marked(line) else line for line in escape_control(home.redact(text)).strip().split("\n")
    )
    home.append(path(home), f"\n{HEAD}{now} · {escape_control(by)}\n\n{body}\n")
    return home.relative(path(home))


def read(home: Home) -> list[str]:
    """Returns every memory, oldest first."""
    return [text for _, text in entries(home)]


def entries(home: Home) -> list[tuple[str, str]]:
    """Returns the heading (time and author) and the text of every memory, oldest first."""
    try:
        text = home.read(path(home), torn=True)
    except FileNotFoundError:
        return []
    parts = [part.split("\n") for part in f"\n{text}".split(f"\n{HEAD}")[1:]]
    return [(head, "\n".join(map(_unescape, lines)).strip()) for head, *lines in parts]


def _marked(line: str) -> bool:
    """Returns True if a line looks like a head or a mark of a conflict, with or without backslashes before it."""
    return line.lstrip("\\").startswith((HEAD, *CONFLICT_MARKS))


def _unescape(line: str) -> str:
    return line[1:] if line.startswith("\\") and _marked(line) else line
