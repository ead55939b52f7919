"""Writes the message of a task's commit on the delivered branch."""

from __future__ import annotations

from sow.domain.documents.state import Task

LONGEST = 72
MOST_ASKED = 600


def subject(name: str) -> str:
    """Returns the task's name as a subject line of at most 72 characters, cut at a word."""
    line = " ".join(name.split())
    if len(line) <= LONGEST:
        return line
    cut = line[: LONGEST - 1].rpartition(" ")[0] or line[: LONGEST - 1]
    return f"{cut.rstrip(' ,;:.-')}…"


def message(task: Task, description: str) -> str:
    """Returns a message of the subject, a short description, and the task's id and iteration."""
    body = _wrapped(_first_paragraph(description, task["name"]))
    parts = [subject(task["name"]), body, f"Task {task['id']}, iteration {task['iteration']}"]
    return "\n\n".join(part for part in parts if part)


def _first_paragraph(description: str, name: str) -> str:
    """Returns the first paragraph of a description that is not a heading, list or block, and is not just the name."""
    for block in description.split("\n\n"):
        text = " ".join(block.split())
        if text and text != name and not block.lstrip().startswith(("#", "-", "*", "`", ">", "|", "1.")):
            return text if len(text) <= MOST_ASKED else f"{text[:MOST_ASKED].rpartition(' ')[0]} …"
    return ""


def _wrapped(text: str) -> str:
    """Wraps a text at 72 characters. A longer word has a line of its own."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= LONGEST:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)
