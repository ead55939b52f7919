"""Lists the next steps after or during a run, each as text and as a command."""

from __future__ import annotations

import shlex

from sow.domain import advice
from sow.domain.ids import is_member
from sow.domain.text.similar_text import FINAL_CHECKS_PREFIX, answer_command, without_details
from sow.reports import crew_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Step = dict[str, str]

MOST = 8


def steps(
    run: dict[str, Any], rows: Sequence[dict[str, Any]], go_on: str, first: str, *, broken: str = ""
) -> list[Step]:
    """Return what a person can do, most urgent first. `go_on` continues the run, and `first` must be done before it.

    `broken` is a check that fails since the user's new commits came in.
    """
    urgent = [*_questions(rows), *_failures(rows), *_broken(rows)][:MOST]
    return [*urgent, *_run(run, rows, go_on, first, broken)]


def _step(text: str, command: str) -> Step:
    return {"text": text, "command": command}


def _task_label(row: dict[str, Any]) -> str:
    if is_member(row["id"]):
        return f"agent {row['id']}"
    return f"task {row['plan_id']} ({row['id']})" if row["plan_id"] else f"task {row['id']}"


def _questions(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    for row in rows:
        if row["outcome"] == "waiting":
            question = row["question"] or {"number": None, "text": "it is paused"}
            alternatives = ' (or answer "waive" or "stop")' if question["text"].startswith(FINAL_CHECKS_PREFIX) else ""
            command = answer_command(str(question["number"] or row["id"]), question["text"])
            yield _step(f"{_task_label(row)} asks: {without_details(question['text'])}{alternatives}", command)


def _failures(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    for row in rows:
        if row["outcome"] == "failed" and row["status"] in ("failed", None):
            reason = f": {row['why']}" if row["why"] else ""
            command = "sow workflow status" if is_member(row["id"]) else f"sow task show {row['id']}"
            yield _step(f"{_task_label(row)} failed{reason}", command)
            if row["status"] and not is_member(row["id"]):  # a run does not retry failed tasks
                yield _step(
                    f"to let {_task_label(row)} be tried again", f"sow task set --id {row['id']} status in_progress"
                )


def _broken(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    if any(row["outcome"] == "unknown" for row in rows):
        yield _step("of some tasks nothing is known any more", "sow doctor")


def _run(run: dict[str, Any], rows: Sequence[dict[str, Any]], go_on: str, first: str, broken: str) -> Iterator[Step]:
    """What there is to do with the run as a whole."""
    ident, is_crew = run["id"], crew_rows.is_workflow_run(run["plans"])
    if run["live"]:
        yield _step("it goes on; to stop it and go on later", f"sow runs stop {ident}")
        return
    if any(row["outcome"] not in ("completed", "abandoned") for row in rows):
        why = _continue_text(rows)
        yield _step(f"{first}, and {why.removeprefix('then ')}" if first else why, go_on)
    elif run["status"] == "stopped" and not is_crew and run["settings"]["isolation"] != "none":
        yield _step("all is done; to check it and bring it to your branch", "sow integrate")
    is_open = any(row["outcome"] not in ("completed", "abandoned", "failed") for row in rows)
    delivery = None if is_crew else advice.delivery(run, is_open=is_open, broken=broken)
    if delivery is not None:
        yield delivery
    news = any(row["turns"] or row["merges"] for row in rows)
    if news and any(row["outcome"] == "completed" for row in rows) and not is_crew:
        yield _step("review the result", f"git log --stat {run['base'][:12]}..{_branch(run)}")


def _branch(run: dict[str, Any]) -> str:
    """Return the branch of the work: the user's branch once the run is delivered, the run's own before."""
    return shlex.quote(run["branch"]) if run["status"] == "ended" else f"sow/int/{run['id']}"


def _continue_text(rows: Sequence[dict[str, Any]]) -> str:
    open_tasks = sum(row["outcome"] in ("pending", "running") for row in rows)
    if open_tasks:
        return f"go on with the {open_tasks} that are left" if open_tasks > 1 else "go on with the one that is left"
    return "then go on"
