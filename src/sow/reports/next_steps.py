"""Lists the next steps after or during a run, each as text and as a command."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sow.domain import inbox
from sow.domain.inbox import start_without
from sow.domain.inputs import is_member
from sow.domain.task import FINAL_CHECKS_PREFIX, answer_command
from sow.domain.text.similar_text import without_details
from sow.reports import report_text as words
from sow.store.files.checkout_home import Home
from sow.store.runs.run_folder import RunFolder, is_empty, is_workflow_run

Step = dict[str, str]

MOST = 8


def steps(run: dict[str, Any], rows: Sequence[dict[str, Any]], resume: str, first: str) -> list[Step]:
    """Returns what a person can do, most urgent first. `resume` continues the run, and `first` must be done before."""
    urgent = [*_questions(rows), *_failures(rows, live=run["live"]), *_orphans(rows), *_broken(rows)][:MOST]
    return [*urgent, *_run(run, rows, resume, first)]


def last_step(home: Home, newest_first: Iterable[RunFolder], *, with_review: bool = True) -> Step | None:
    """Returns the step after the last of a project's runs, if that run has ended.

    With a remote whose host shows its forge, that is the request, otherwise a review and the cleanup.
    `with_review` puts the command of the review into the text.
    """
    plan_runs = (folder for folder in newest_first if folder.run["plans"] and not is_workflow_run(folder.run))
    last = next((folder.run for folder in plan_runs if not is_empty(folder)), None)
    if last is None or last["status"] != "ended":
        return None
    from sow.forge.connect import forge_remote  # here, because only a finished run needs it

    remote = forge_remote(home.root)
    delivery = last.get("delivery")
    if delivery is not None:
        from sow.gitwork.delivered_branch import is_merged
        from sow.gitwork.repository import Repository

        if is_merged(Repository(home), delivery):
            return _step(f"request {delivery.get('number', 0)} is merged: clean up", "sow cleanup")
    review = _review_command(last) if with_review and last.get("merges") else ""
    return (inbox.request(last, remote) if remote else None) or inbox.clean_up(review)


def _step(text: str, command: str) -> Step:
    return {"text": text, "command": command}


def _task_label(row: dict[str, Any]) -> str:
    if is_member(row["id"]):
        return f"agent {row['id']}"
    return f"task {row['plan_id']} ({row['id']})" if row["plan_id"] else f"task {row['id']}"


def _questions(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    for row in rows:
        if row["outcome"] == "waiting" or (row["question"] and is_member(row["id"])):
            question = row["question"] or {"number": None, "text": "it is paused"}
            alternatives = ' (or answer "waive" or "stop")' if question["text"].startswith(FINAL_CHECKS_PREFIX) else ""
            command = answer_command(str(question["number"] or row["id"]), question["text"])
            advice_for = " (your answer goes to the worker for its next iteration)" if row.get("accept") else ""
            text = without_details(question["text"])
            yield _step(f"{_task_label(row)} {words.asks(question)}: {text}{alternatives or advice_for}", command)
            yield from _accept(row)


def _has_failed(row: dict[str, Any]) -> bool:
    return row["outcome"] == "failed" and row["status"] in ("failed", None)


def _failures(rows: Sequence[dict[str, Any]], *, live: bool) -> Iterator[Step]:
    for row in rows:
        if _has_failed(row):
            reason = f": {row['why']}" if row["why"] else ""
            command = "sow workflow status" if is_member(row["id"]) else f"sow task show {row['id']}"
            yield _step(f"{_task_label(row)} failed{reason}", command)
            if live and row["status"] and not is_member(row["id"]):  # a run does not retry failed tasks
                yield _step(f"to let {_task_label(row)} be tried again", f"sow task set {row['id']} status in_progress")
            yield from _accept(row)


def _accept(row: dict[str, Any]) -> Iterator[Step]:
    """Yields the command that accepts work against a review or a failed check."""
    if row.get("accept"):
        waived = "; sow then no longer runs the failed check" if "--waive" in row["accept"] else ""
        yield _step(f"or accept the work of {_task_label(row)} as it is{waived}", row["accept"])


def _orphans(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    """Yields the way out for tasks that wait for an abandoned task."""
    for row in rows:
        gone = _abandoned_needs(row)
        if gone:
            kept = [need for need in row["needs"] if need not in gone]
            text = f"{_task_label(row)} waits for {', '.join(gone)}, which was abandoned; to start without it"
            yield _step(text, start_without(row["id"], kept))


def _abandoned_needs(row: dict[str, Any]) -> list[str]:
    """Returns the abandoned tasks that a blocked task waits for."""
    needs = row["waits_for"] if row["outcome"] == "blocked" else ()
    return [need["id"] for need in needs if need["outcome"] == "abandoned"]


def _broken(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    if any(row["outcome"] == "unknown" for row in rows):
        yield _step("of some tasks nothing is known any more", "sow doctor")


def _run(run: dict[str, Any], rows: Sequence[dict[str, Any]], resume: str, first: str) -> Iterator[Step]:
    """Yields the next steps for the run as a whole."""
    ident, is_crew = run["id"], is_workflow_run(run)  # type: ignore[arg-type]
    if run["live"]:
        yield _step("a run is in progress; follow it", "sow watch")
        yield _step("or stop it, and continue later", f"sow runs stop {ident}")
        return
    failed = [row for row in rows if _has_failed(row) and row["status"] and not is_crew]
    if failed:
        what = f"the {len(failed)} failed tasks" if len(failed) > 1 else _task_label(failed[0])
        yield _step(f"{first}, and try {what} again" if first else f"to try {what} again", f"{resume} --retry-failed")
    covered = {"completed", "abandoned", *(("failed", "blocked") if failed else ())}  # by --retry-failed
    if any(row["outcome"] not in covered or row.get("accept") or _abandoned_needs(row) for row in rows):
        why = _continue_text(rows)
        yield _step(f"{first}, and {why.removeprefix('then ')}" if first else why, resume)
    is_open = any(row["outcome"] not in ("completed", "abandoned", "failed") for row in rows)
    delivery = None if is_crew else inbox.delivery(run, is_open=is_open)
    if delivery is not None:
        yield delivery
    if any(row["merges"] for row in rows) and not is_crew:
        yield _step("review the result", _review_command(run))


def _review_command(run: Mapping[str, Any]) -> str:
    return f"git log --stat {run['base'][:12]}..{_branch(run)}"


def _branch(run: Mapping[str, Any]) -> str:
    """Returns the branch of the work: the user's branch once the run is delivered, the run's own before."""
    return shlex.quote(run["branch"]) if run["status"] == "ended" else f"sow/int/{run['id']}"


def _continue_text(rows: Sequence[dict[str, Any]]) -> str:
    open_tasks = sum(row["outcome"] in ("pending", "running") for row in rows)
    if open_tasks:
        return f"continue with the {open_tasks} open tasks" if open_tasks > 1 else "continue with the open task"
    return "then continue"
