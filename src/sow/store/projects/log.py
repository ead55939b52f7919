"""Reads and appends the Markdown texts of a project and of a task: its log, and the feedback on it."""

from __future__ import annotations

from sow.errors import InvalidFile, SowError
from sow.store.files import state_file
from sow.store.files.disk import MAX_READ, list_folder, make_folders
from sow.store.formats.validation import CONFLICT_MARKS, is_timestamp
from sow.store.projects.task_folder import TaskFolder
from sow.store.validators.log_entry import validate
from sow.system.terminal import escape_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.documents.state import LogEntry
    from sow.store.files.checkout_home import Home

HEAD = "### "
DOT = " · "
MAX_BYTES = 64 << 20


def render(entry: LogEntry) -> str:
    """Renders one entry. It starts with an empty line, which separates it from a torn entry before it."""
    head = DOT.join((entry["timestamp"], entry["agent"], entry["action"], entry["result"]))
    files = "".join(f"- {file}\n" for file in entry["files"]) + ("\n" if entry["files"] else "")
    lines = escape_control(entry["text"]).strip("\n").split("\n")
    body = "\n".join(_escape(line, first=not (files or index)) for index, line in enumerate(lines))
    return f"\n{HEAD}{head}\n\n{files}{body}\n"


def append(home: Home, path: str, entry: LogEntry) -> None:
    """Appends one entry without secrets; entries of parallel writers never mix."""
    entry = {**entry, "text": home.redact(entry["text"])}
    state_file.check({**entry, "text": escape_control(entry["text"]).strip("\n")}, "log entry", validate)
    home.append(path, render(entry))


def read(home: Home, path: str) -> list[LogEntry]:
    """Returns all entries, oldest first; an empty list if there is no log. A merge can leave them out of order."""
    try:
        return sorted(parse(home.read(path, MAX_BYTES, torn=True)), key=lambda entry: entry["timestamp"])
    except FileNotFoundError:
        return []


def parse(text: str) -> list[LogEntry]:
    """Parses the entries of a log. Lines above the first entry are a person's heading and are skipped."""
    entries: list[LogEntry] = []
    lines = text.split("\n")
    starts = [index for index, line in enumerate(lines) if _head(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        timestamp, agent, action, result = _head(lines[start])
        body = lines[start + 1 : end - 1 if _torn_head(lines[end - 1]) else end]
        entries.append(_entry(timestamp, agent, action, result, body))
    return entries


def validate_text(text: str, path: str) -> None:
    """Raises an error for the first entry that does not follow the schema, with its line."""
    from sow.store.formats import merge_conflict

    merge_conflict.refuse(text, path)
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines, 1) if line.startswith(HEAD)]
    for number, line in enumerate(lines[: heads[0] - 1 if heads else None], 1):
        if line.strip() and not line.startswith("#"):
            raise InvalidFile(
                f"{path}:{number}: only a heading may be above the first entry", "write an entry with: sow log"
            )
    for number in heads:
        if not _head(lines[number - 1]):
            raise InvalidFile(
                f"{path}:{number}: not the head of a log entry",
                "### TIME · AGENT · ACTION · RESULT, as 'sow log' writes it",
            )
    for number, entry in zip(heads, parse(text), strict=True):
        state_file.check(entry, f"{path}:{number}", validate)


def _entry(timestamp: str, agent: str, action: str, result: str, body: list[str]) -> LogEntry:
    body = _trim(body)
    files = []
    if body and body[0].startswith("- "):
        files_end = body.index("") if "" in body else len(body)
        if all(line.startswith("- ") for line in body[:files_end]) and any(body[files_end:]):
            files = [line[2:] for line in body[:files_end]]
            body = _trim(body[files_end + 1 :])
    text = "\n".join(_unescape(line, first=not (files or index)) for index, line in enumerate(body))
    return {"timestamp": timestamp, "agent": agent, "action": action, "result": result, "files": files, "text": text}


def _trim(lines: list[str]) -> list[str]:
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
    """Returns True for a partial head line that an interrupted writer left after a complete entry."""
    return bool(line) and (HEAD.startswith(line) or line.startswith(HEAD))


def _needs_escape(line: str, first: bool) -> bool:
    """Returns True if a line looks like a head, a mark of a conflict or, where no files are listed, the first file."""
    unescaped = line.lstrip("\\")
    return unescaped.startswith((HEAD, *CONFLICT_MARKS)) or (first and unescaped.startswith("- "))


def _escape(line: str, *, first: bool) -> str:
    """Escapes a line that could be misread with a backslash, which Markdown does not show."""
    return f"\\{line}" if _needs_escape(line, first) else line


def _unescape(line: str, *, first: bool) -> str:
    return line[1:] if line.startswith("\\") and _needs_escape(line, first) else line


def feedback_numbers(folder: TaskFolder) -> list[int]:
    """Returns the numbers of the feedback files, in order."""
    names = list_folder(folder.feedback_folder)
    return sorted(
        int(name[:-3]) for name in names if name.endswith(".md") and name[:-3].isascii() and name[:-3].isdigit()
    )


def feedback_path(folder: TaskFolder, number: int) -> str:
    return f"{folder.feedback_folder}/{number:03d}.md"


def add_feedback(
    folder: TaskFolder, text: str, *, by: str, iteration: int, now: str, comments: int = 0, tree: str = ""
) -> str:
    """Writes the next feedback file and returns its path. A repeated call with the same text writes the same file.

    `comments` is the number of comments on lines in the text, and `tree` the tree that the lines are from, if known.
    """
    clean_text = escape_control(folder.home.redact(text)).strip()
    number = max(feedback_numbers(folder), default=0)
    fields = {"by": escape_control(by), "on iteration": str(iteration)}
    fields |= {"comments": str(comments)} if comments else {}
    fields |= {"tree": tree} if tree else {}
    if not number or not _is_same(folder, number, fields, clean_text):
        number += 1
    head = "".join(f"- {name}: {value}\n" for name, value in {"by": fields.pop("by"), "at": now, **fields}.items())
    page = f"# Feedback {number:03d}\n\n{head}\n{clean_text}\n"
    if len(page.encode()) > MAX_READ:
        raise SowError("the feedback is too long to be read back", "put most of it into a file, and name that file")
    make_folders(folder.home.disk, folder.folder, ("feedback",))
    folder.home.replace(feedback_path(folder, number), page)
    return folder.home.relative(feedback_path(folder, number))


def _is_same(folder: TaskFolder, number: int, fields: dict[str, str], text: str) -> bool:
    """Returns True if a feedback file has this text by the same author on the same iteration and tree."""
    try:
        head, body = _split(folder.home.read(feedback_path(folder, number)))
    except SowError:  # sow did not write the file
        return False
    head.pop("at", None)
    return (head, body) == (fields, text)


def read_feedback(folder: TaskFolder) -> list[dict[str, Any]]:
    """Returns every feedback with its number, head and text, and the comments on lines that are in its text."""
    entries: list[dict[str, Any]] = []
    for number in feedback_numbers(folder):
        fields, text = _split(folder.home.read(feedback_path(folder, number)))
        by, at, iteration = (fields.get(key, "") for key in ("by", "at", "on iteration"))
        entry: dict[str, Any] = {"number": f"{number:03d}", "by": by, "at": at, "iteration": iteration, "text": text}
        if "comments" in fields:
            from sow.domain.reviews import line_comment  # imported here because few feedbacks have comments

            comments = [vars(comment) for comment in line_comment.split(text)[1]]
            entry |= {"tree": fields.get("tree", ""), "comments": comments}
        entries.append(entry)
    return entries


def is_repeated_feedback(folder: TaskFolder, text: str, iteration: int) -> bool:
    """Returns True if this exact text was feedback on an iteration."""
    key = (str(iteration), escape_control(folder.home.redact(text)).strip())
    return any((entry["iteration"], entry["text"]) == key for entry in read_feedback(folder))


def _split(text: str) -> tuple[dict[str, str], str]:
    """Splits a file into the fields of its head and its text; a file written by hand is all text."""
    head, _, body = text.partition("\n\n")
    head_fields, _, rest = body.partition("\n\n")
    lines = head_fields.splitlines()
    if not head.startswith("# Feedback ") or not all(line.startswith("- ") and ": " in line for line in lines):
        return {}, text.strip()
    return dict(line[2:].split(": ", 1) for line in lines), rest.strip()
