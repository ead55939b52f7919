"""Writes the text of a pull or merge request from the report of its runs: work, evidence, reviews, notes and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sow.domain.documents.state import Note, Task
from sow.domain.text.units import listed
from sow.reports import report_text as words
from sow.reports.markdown import escape
from sow.store.files.checkout_home import Home
from sow.store.projects import notes, task_folder
from sow.store.projects import project as projects
from sow.system.process.exit_code import exit_text

Facts = dict[str, Any]

BEGIN, END = "<!-- sow: what is between these lines is written again at each delivery -->", "<!-- sow: end -->"
MOST_ROWS = 100
MOST_BODY = 50_000  # characters; GitHub takes 65,536
MOST_TEXT = 300
TOTALS = ("cost", "tokens", "turns", "work")


def body(home: Home, documents: Sequence[Facts], waiting: Sequence[str], closes: Sequence[str]) -> str:
    """Returns the text about these runs; `closes` are references to issues such as `#12`."""
    rows = {row["id"]: row for document in documents for row in document["tasks"]}
    folders = {folder.id: folder for folder in task_folder.all_folders(home, projects.load(home)) if folder.id in rows}
    tasks = task_folder.load_readable_or_raise(home, projects.load(home), list(folders))
    parts = (
        ("What waits", [f"- {escape(text)}" for text in waiting]),
        ("What was done", _tasks(list(rows.values()))),
        ("Evidence", _evidence(tasks)),
        ("Reviews", _reviews(list(rows.values()))),
        ("Notes", _notes({ident: notes.load_notes(folder) for ident, folder in folders.items()})),
        ("Cost", _cost(documents)),
    )
    lines: list[str] = []
    for title, part in parts:
        section = list(part)
        more = [f"- and {len(section) - MOST_ROWS} more"] if len(section) > MOST_ROWS else []
        lines += [f"## {title}", "", *section[:MOST_ROWS], *more, ""] if section else []
    text = "\n".join(lines)[:MOST_BODY]
    links = "".join(f"\nCloses {reference}" for reference in closes)
    return f"{BEGIN}\n{text}{links}\n{END}"


def merged_body(existing: str, section: str) -> str:
    """Returns the text of a request with the section of sow in its place; what people wrote around it stays."""
    before, begin, rest = existing.replace("\r\n", "\n").partition(BEGIN)
    if not begin:
        return f"{existing.rstrip()}\n\n{section}".strip()
    _, _, after = rest.partition(END)
    return f"{before}{section}{after}"


def _tasks(rows: Sequence[Facts]) -> Iterator[str]:
    for row in rows:
        facts = [row["outcome"], *filter(None, [row["result"]])]
        facts += [f"{row['iterations']} iterations"] if row["iterations"] > 1 else []
        facts += [row["why"]] if row["why"] and row["outcome"] != "completed" else []
        yield f"- **{escape(words.task_label(row))}** {escape(row['name'])}: {escape(', '.join(facts))[:MOST_TEXT]}"


def _evidence(tasks: Sequence[Task]) -> Iterator[str]:
    """Yields each command with its last result, and the tasks for which it ran."""
    last: dict[str, tuple[list[str], Any]] = {}
    for task in tasks:
        for result in task.get("evidence", ()):
            owners, _ = last.get(result["command"], ([], None))
            last[result["command"]] = ([*owners, task["id"]] if task["id"] not in owners else owners, result)
    for command, (owners, result) in last.items():
        verdict = "passed" if result["passed"] else "failed"
        count = result.get("tests", {}).get("ran")
        tests = f", {words.plural(count, 'test')}" if count else ""
        tree = f" on tree {result['tree'][:12]}" if result.get("tree") else ""
        place = f"task {listed(owners, 5)}"
        yield f"- {escape(command)[:MOST_TEXT]}: {verdict} ({escape(exit_text(result['exit']))}{tests}){tree}, {place}"


def _reviews(rows: Sequence[Facts]) -> Iterator[str]:
    for row in rows:
        if row["reviews"]:
            verdicts = " → ".join(f"{review['verdict']} by {review['by']}" for review in row["reviews"])
            yield f"- {escape(words.task_label(row))}: {escape(verdicts)}"
        for note in words.task_notes(row):
            yield f"- {escape(words.task_label(row))}: {escape(note)[:MOST_TEXT]}"


def _notes(by_task: dict[str, list[Note]]) -> Iterator[str]:
    for ident, entries in by_task.items():
        for entry in entries:
            answer = entry.get("resolution") or entry["status"]
            yield f"- {ident}: {escape(entry['description'])[:MOST_TEXT]} ({escape(answer)[:MOST_TEXT]})"


def _cost(documents: Sequence[Facts]) -> Iterator[str]:
    for document in documents:
        totals = [f"{name} {value}" for name, value in words.total_rows(document) if name in TOTALS and value != "-"]
        if totals:
            yield f"- run {document['run']['id']}: {escape('; '.join(totals))}"
