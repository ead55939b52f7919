"""The log of a project or a task: Markdown that a person likes to read, appended entry by entry."""

from __future__ import annotations

from sow.errors import InvalidFile
from sow.store import state
from sow.store.formats import is_timestamp
from sow.store.validators.log_entry import validate
from sow.system.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import LogEntry
    from sow.store.home import Home

HEAD = "### "
DOT = " · "
MAX_BYTES = 64 << 20


def render(entry: LogEntry) -> str:
    """One entry as text. It starts with an empty line, so that a torn entry before it stays alone."""
    head = DOT.join((entry["timestamp"], entry["agent"], entry["action"], entry["result"]))
    files = "".join(f"- {file}\n" for file in entry["files"]) + ("\n" if entry["files"] else "")
    lines = harmless(entry["text"]).strip("\n").split("\n")
    body = "\n".join(_escape(line, first=not (files or index)) for index, line in enumerate(lines))
    return f"\n{HEAD}{head}\n\n{files}{body}\n"


def append(home: Home, path: str, entry: LogEntry) -> None:
    """Add one entry without secrets; entries of parallel writers never mix."""
    entry = {**entry, "text": home.struck(entry["text"])}
    state.check({**entry, "text": harmless(entry["text"]).strip("\n")}, "log entry", validate)
    home.append(path, render(entry))


def read(home: Home, path: str) -> list[LogEntry]:
    """All entries, oldest first; no log yet is an empty one."""
    try:
        return parse(home.read(path, MAX_BYTES, torn=True))
    except FileNotFoundError:
        return []


def parse(text: str) -> list[LogEntry]:
    """The entries in a text; a line above the first entry is a person's heading and stays out."""
    entries: list[LogEntry] = []
    lines = text.split("\n")
    starts = [index for index, line in enumerate(lines) if _head(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        timestamp, agent, action, result = _head(lines[start])
        body = lines[start + 1 : end - 1 if _torn_head(lines[end - 1]) else end]
        entries.append(_entry(timestamp, agent, action, result, body))
    return entries


def validate_text(text: str, path: str) -> None:
    """Complain about the first entry that does not follow the schema, with its line."""
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines, 1) if line.startswith(HEAD)]
    for number in heads:
        if not _head(lines[number - 1]):
            raise InvalidFile(
                f"{path}:{number}: not the head of a log entry",
                "### TIME · AGENT · ACTION · RESULT, as 'sow log' writes it",
            )
    for number, entry in zip(heads, parse(text), strict=True):
        state.check(entry, f"{path}:{number}", validate)


def _entry(timestamp: str, agent: str, action: str, result: str, body: list[str]) -> LogEntry:
    body = _trim(body)
    files = []
    if body and body[0].startswith("- "):
        listed = body.index("") if "" in body else len(body)
        if all(line.startswith("- ") for line in body[:listed]) and any(body[listed:]):
            files = [line[2:] for line in body[:listed]]
            body = _trim(body[listed + 1 :])
    text = "\n".join(_unescape(line, first=not (files or index)) for index, line in enumerate(body))
    return {"timestamp": timestamp, "agent": agent, "action": action, "result": result, "files": files, "text": text}


def _trim(lines: list[str]) -> list[str]:
    """The lines without the empty ones before and behind."""
    start, end = 0, len(lines)
    while start < end and not lines[start]:
        start += 1
    while start < end and not lines[end - 1]:
        end -= 1
    return lines[start:end]


def _head(line: str) -> list[str]:
    parts = line.removeprefix(HEAD).split(DOT)
    return parts if line.startswith(HEAD) and len(parts) == 4 and is_timestamp(parts[0]) else []


def _torn_head(line: str) -> bool:
    """Whether an interrupted writer left this behind a whole entry, which ends with an empty line."""
    return bool(line) and (HEAD.startswith(line) or line.startswith(HEAD))


def _marked(line: str, first: bool) -> bool:
    """Whether a line of the text looks like a head, or, where no files are listed, like the first of them."""
    bare = line.lstrip("\\")
    return bare.startswith(HEAD) or (first and bare.startswith("- "))


def _escape(line: str, *, first: bool) -> str:
    """A line that could be misread gets a backslash, which Markdown does not show."""
    return f"\\{line}" if _marked(line, first) else line


def _unescape(line: str, *, first: bool) -> str:
    return line[1:] if line.startswith("\\") and _marked(line, first) else line
