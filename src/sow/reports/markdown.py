"""Renders the report of a run as Markdown, and escapes all texts of plans and agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sow.domain.text.similar_text import without_details
from sow.domain.text.units import format_seconds
from sow.reports import report_text as words
from sow.system.terminal import escape_line

Facts = dict[str, Any]

MARKS = {ord(mark): f"\\{mark}" for mark in "\\`*_[]<>|~"}
HEAD = ("Task", "Name", "Outcome", "Result", "Iterations", "Agent", "Executor", "Time", "Cost")
GROUP_HEAD = ("Tasks", "Turns", "Work", "Cost", "Tokens")


def escape(text: object) -> str:
    """Escapes a text so that Markdown shows it unchanged."""
    return escape_line(str(text)).translate(MARKS)


def page(document: Facts) -> str:
    """Returns the whole report."""
    run = document["run"]
    lines = [f"# Run {escape(run['id'])}: {escape(run['name'])}", "", *_head(run), ""]
    lines += [f"- {name}: {escape(value)}" for name, value in words.total_rows(document)]
    for title, part in (
        ("Tasks", _table(HEAD, [_row(row) for row in document["tasks"]]) if document["tasks"] else []),
        ("What is not done", _open(document["tasks"])),
        ("Look at this", _noted(document["tasks"])),
        ("Questions", _questions(document["questions"])),
        ("Limits", _limits(document)),
        ("By agent", _groups("Agent", document["by_agent"])),
        ("By executor", _groups("Executor", document["by_executor"])),
        ("By host", _groups("Host", document["by_host"])),
        ("Remarks", [f"- {escape(remark)}" for remark in document["remarks"]]),
        ("Next", _next(document["next"])),
    ):
        body = list(part)
        lines += ["", f"## {title}", "", *body] if body else []
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(run: Facts) -> list[str]:
    ended = f", ended {run['ended_at']}" if run["ended_at"] else ""
    state = words.run_state(run)
    plans = ", ".join(escape(plan) for plan in run["plans"]) or "no plan"
    return [f"{plans} on branch {escape(run['branch'])}; {state}, started {escape(run['started_at'])}{escape(ended)}."]


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join(escape(cell) for cell in row)} |" for row in rows]


def _row(row: Facts) -> tuple[object, ...]:
    verdicts = " → ".join(review["verdict"] for review in row["reviews"])
    result = words.result(row) + (f" ({verdicts})" if len(row["reviews"]) > 1 else "")
    outcome = words.task_label(row), row["name"], words.outcome(row["outcome"]), result, row["tries"]
    return (*outcome, row["agent"], row["executor"] or "-", words.time_of(row), words.money(row))


def _open(rows: Sequence[Facts]) -> Iterator[str]:
    for row in rows:
        if row["outcome"] in ("completed", "abandoned"):
            continue
        details = [words.outcome(row["outcome"])]
        details += [f"waits for {words.waits_for(row)}"] if row["waits_for"] else []
        if row["question"]:
            details.append(f"{words.asks(row['question'])}: {without_details(row['question']['text'])}")
        is_told = row["question"] or row["outcome"] not in ("failed", "waiting")
        details += [row["why"]] if row["why"] and not is_told else []
        yield f"- {escape(words.task_label(row))} {escape(row['name'])}: {escape('; '.join(details))}"


def _noted(rows: Sequence[Facts]) -> Iterator[str]:
    """Yields results without changes, refused commands and other concerns."""
    for row in rows:
        for note in words.task_notes(row):
            yield f"- {escape(words.task_label(row))} {escape(row['name'])}: {escape(note)}"


def _questions(questions: Sequence[Facts]) -> Iterator[str]:
    for question in questions:
        waited = (
            f" after {format_seconds(question['waited_seconds'])}" if question["waited_seconds"] is not None else ""
        )
        origin = f" by {question['origin']}" if question["origin"] else ""
        answer = f": {question['answer']}" if question.get("answer") else ""
        ending = f"answered{origin}{waited}{answer}" if question["answered_at"] else "open"
        number = f"{question['number']}. " if question["number"] else ""
        yield f"- {escape(number + question['text'])} (task {escape(question['task'])}; {escape(ending)})"


def _limits(document: Facts) -> Iterator[str]:
    for limit in document["limits"]:
        yield f"- {escape(limit['executor'])} at {escape(limit['at'])}: {escape(limit['reason'])}"
    for stop in document["stops"]:
        yield f"- {escape(stop)}"


def _groups(noun: str, rows: Sequence[Facts]) -> list[str]:
    cells = [
        (
            row["name"],
            row["tasks"],
            row["turns"],
            format_seconds(row["work_seconds"]),
            words.money(row),
            words.tokens(row),
        )
        for row in rows
    ]
    return _table((noun, *GROUP_HEAD), cells) if len(rows) > 1 else []  # one row would repeat the totals


def _next(steps: Sequence[Facts]) -> Iterator[str]:
    for step in steps:
        yield f"- {escape(step['text'])}:"
        yield ""
        yield f"      {escape_line(step['command'])}"
        yield ""
