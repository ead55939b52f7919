"""Reads and writes feedback on a task: numbered Markdown files that the next iteration reads.

A feedback can have comments on lines. The head of its file says how many, and which tree the lines are from.
"""

from __future__ import annotations

from sow.errors import SowError
from sow.store.files.disk import MAX_READ, list_folder, make_folders
from sow.store.projects.task_folder import TaskFolder
from sow.system.terminal import escape_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def numbers(folder: TaskFolder) -> list[int]:
    """Returns the numbers of the feedback files, in order."""
    names = list_folder(folder.feedback_folder)
    return sorted(
        int(name[:-3]) for name in names if name.endswith(".md") and name[:-3].isascii() and name[:-3].isdigit()
    )


def path(folder: TaskFolder, number: int) -> str:
    return f"{folder.feedback_folder}/{number:03d}.md"


def add(folder: TaskFolder, text: str, *, by: str, iteration: int, now: str, comments: int = 0, tree: str = "") -> str:
    """Writes the next feedback file and returns its path. A repeated call with the same text writes the same file.

    `comments` is the number of comments on lines in the text, and `tree` the tree that the lines are from, if known.
    """
    clean_text = escape_control(folder.home.redact(text)).strip()
    number = max(numbers(folder), default=0)
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
    folder.home.replace(path(folder, number), page)
    return folder.home.relative(path(folder, number))


def _is_same(folder: TaskFolder, number: int, fields: dict[str, str], text: str) -> bool:
    """Returns True if a feedback file has this text by the same author on the same iteration and tree."""
    try:
        head, body = _split(folder.home.read(path(folder, number)))
    except SowError:  # sow did not write the file
        return False
    head.pop("at", None)
    return (head, body) == (fields, text)


def read(folder: TaskFolder) -> list[dict[str, Any]]:
    """Returns every feedback with its number, head and text, and the comments on lines that are in its text."""
    entries: list[dict[str, Any]] = []
    for number in numbers(folder):
        fields, text = _split(folder.home.read(path(folder, number)))
        by, at, iteration = (fields.get(key, "") for key in ("by", "at", "on iteration"))
        entry: dict[str, Any] = {"number": f"{number:03d}", "by": by, "at": at, "iteration": iteration, "text": text}
        if "comments" in fields:
            from sow.domain.reviews import line_comment  # imported here because few feedbacks have comments

            comments = [vars(comment) for comment in line_comment.split(text)[1]]
            entry |= {"tree": fields.get("tree", ""), "comments": comments}
        entries.append(entry)
    return entries


def is_repeated(folder: TaskFolder, text: str, iteration: int) -> bool:
    """Returns True if this exact text was feedback on an iteration."""
    key = (str(iteration), escape_control(folder.home.redact(text)).strip())
    return any((entry["iteration"], entry["text"]) == key for entry in read(folder))


def _split(text: str) -> tuple[dict[str, str], str]:
    """Splits a file into the fields of its head and its text; a file written by hand is all text."""
    head, _, body = text.partition("\n\n")
    head_fields, _, rest = body.partition("\n\n")
    lines = head_fields.splitlines()
    if not head.startswith("# Feedback ") or not all(line.startswith("- ") and ": " in line for line in lines):
        return {}, text.strip()
    return dict(line[2:].split(": ", 1) for line in lines), rest.strip()
