"""Renders the report of a run as Markdown, and escapes all texts of plans and agents."""

from __future__ import annotations

from sow.domain.duration import span
from sow.domain.wording import gist
from sow.engine import report_words as words
from sow.system.terminal import harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Facts = dict[str, Any]

MARKS = {ord(mark): f"\\{mark}" for mark in "\\`*_[]<>|~"}
HEAD = ("Task", "Name", "Outcome", "Result", "Tries", "Agent", "Executor", "Time", "Cost")
GROUP_HEAD = ("Tasks", "Turns", "Work", "Cost", "Tokens")


def plain(text: object) -> str:
    """Escape a text so that Markdown shows it unchanged."""
    return harmless_line(str(text)).translate(MARKS)


def page(document: Facts) -> str:
    """Return the whole report."""
    run = document["run"]
    lines = [f"# Run {plain(run['id'])}: {plain(run['name'])}", "", *_head(run), ""]
    lines += [f"- {name}: {plain(value)}" for name, value in words.figures(document)]
    for title, part in (
        ("Tasks", _tasks(document["tasks"])),
        ("What is not done", _open(document["tasks"])),
        ("Look at this", _noted(document["tasks"])),
        ("Questions", _questions(document["questions"])),
        ("Limits", _limits(document)),
        ("By agent", _groups("Agent", document["by_agent"])),
        ("By executor", _groups("Executor", document["by_executor"])),
        ("Remarks", [f"- {plain(remark)}" for remark in document["remarks"]]),
        ("Next", _next(document["next"])),
    ):
        body = list(part)
        lines += ["", f"## {title}", "", *body] if body else []
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(run: Facts) -> list[str]:
    ended = f", ended {run['ended_at']}" if run["ended_at"] else ""
    state = "is running" if run["live"] else run["status"]
    plans = ", ".join(plain(plan) for plan in run["plans"]) or "no plan"
    return [f"{plans} on branch {plain(run['branch'])}; {state}, started {plain(run['started_at'])}{plain(ended)}."]


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join(plain(cell) for cell in row)} |" for row in rows]


def _tasks(rows: Sequence[Facts]) -> list[str]:
    return _table(HEAD, [_row(row) for row in rows]) if rows else []


def _row(row: Facts) -> tuple[object, ...]:
    verdicts = " → ".join(review["verdict"] for review in row["reviews"])
    result = f"{row['result'] or '-'}" + (f" ({verdicts})" if len(row["reviews"]) > 1 else "")
    return (
        words.called(row),
        row["name"],
        row["outcome"],
        result,
        row["tries"],
        row["agent"],
        row["executor"] or "-",
        words.time_of(row),
        words.money(row),
    )


def _open(rows: Sequence[Facts]) -> Iterator[str]:
    for row in rows:
        if row["outcome"] in ("completed", "abandoned"):
            continue
        details = [row["outcome"]]
        details += [f"waits for {words.waits_for(row)}"] if row["waits_for"] else []
        details += [f"asks: {gist(row['question']['text'])}"] if row["question"] else []
        details += [row["why"]] if row["why"] and row["outcome"] in ("failed", "waiting") else []
        yield f"- {plain(words.called(row))} {plain(row['name'])}: {plain('; '.join(details))}"


def _noted(rows: Sequence[Facts]) -> Iterator[str]:
    """Yield results without changes, refused commands and other concerns."""
    for row in rows:
        for note in words.noted(row):
            yield f"- {plain(words.called(row))} {plain(row['name'])}: {plain(note)}"


def _questions(questions: Sequence[Facts]) -> Iterator[str]:
    for question in questions:
        waited = f" after {span(question['waited_seconds'])}" if question["waited_seconds"] is not None else ""
        origin = f" by {question['origin']}" if question["origin"] else ""
        ending = f"answered{origin}{waited}" if question["answered_at"] else "open"
        number = f"{question['number']}. " if question["number"] else ""
        yield f"- {plain(number + question['text'])} (task {plain(question['task'])}; {plain(ending)})"


def _limits(document: Facts) -> Iterator[str]:
    for limit in document["limits"]:
        yield f"- {plain(limit['executor'])} at {plain(limit['at'])}: {plain(limit['reason'])}"
    for stop in document["stops"]:
        yield f"- {plain(stop)}"


def _groups(noun: str, rows: Sequence[Facts]) -> list[str]:
    cells = [
        (row["name"], row["tasks"], row["turns"], span(row["work_seconds"]), words.money(row), words.tokens(row))
        for row in rows
    ]
    return _table((noun, *GROUP_HEAD), cells) if rows else []


def _next(steps: Sequence[Facts]) -> Iterator[str]:
    for step in steps:
        yield f"- {plain(step['text'])}:"
        yield ""
        yield f"      {harmless_line(step['command'])}"
        yield ""
