"""Lists the next steps after or during a run, each as text and as a command."""

from __future__ import annotations

import shlex

from sow.domain.ids import is_member
from sow.domain.wording import FINAL, answer_command, gist
from sow.engine import report_crew

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Step = dict[str, str]

MOST = 8
WAITS = 4  # exit code of a run that still waits for something


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


def _called(row: dict[str, Any]) -> str:
    if is_member(row["id"]):
        return f"agent {row['id']}"
    return f"task {row['plan_id']} ({row['id']})" if row["plan_id"] else f"task {row['id']}"


def _questions(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    for row in rows:
        if row["outcome"] == "waiting":
            question = row["question"] or {"number": None, "text": "it is paused"}
            alternatives = ' (or answer "waive" or "stop")' if question["text"].startswith(FINAL) else ""
            command = answer_command(str(question["number"] or row["id"]), question["text"])
            yield _step(f"{_called(row)} asks: {gist(question['text'])}{alternatives}", command)


def _failures(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    for row in rows:
        if row["outcome"] == "failed" and row["status"] in ("failed", None):
            reason = f": {row['why']}" if row["why"] else ""
            command = "sow workflow status" if is_member(row["id"]) else f"sow task show {row['id']}"
            yield _step(f"{_called(row)} failed{reason}", command)
            if row["status"] and not is_member(row["id"]):  # a run does not retry failed tasks
                yield _step(
                    f"to let {_called(row)} be tried again", f"sow task set --id {row['id']} status in_progress"
                )


def _broken(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    if any(row["outcome"] == "unknown" for row in rows):
        yield _step("of some tasks nothing is known any more", "sow doctor")


def _run(run: dict[str, Any], rows: Sequence[dict[str, Any]], go_on: str, first: str, broken: str) -> Iterator[Step]:
    ident = run["id"]
    if run["live"]:
        yield _step("it goes on; to stop it and go on later", f"sow runs stop {ident}")
        return
    if any(row["outcome"] not in ("completed", "abandoned") for row in rows):
        step = _why_again(rows)
        yield _step(f"{first}, and {step.removeprefix('then ')}" if first else step, go_on)
    elif not report_crew.is_crew(run["plans"]) and run["settings"]["isolation"] != "none":
        if run["exit"] == WAITS and broken:
            text = f"with your new commits `{broken}` fails: merge the run, fix it and commit, then 'sow integrate'"
            yield _step(text, f"sow project save && git merge sow/int/{ident}")
        elif run["exit"] == WAITS:
            yield _step("all is done and not yet on your branch", "sow integrate")
        elif run["status"] == "stopped":
            yield _step("all is done; to check it and bring it to your branch", "sow integrate")
    has_work = any(row["turns"] or row["merges"] for row in rows)
    if has_work and any(row["outcome"] == "completed" for row in rows) and not report_crew.is_crew(run["plans"]):
        yield _step("look at what came of it", f"git log --stat {run['base'][:12]}..{_branch(run)}")


def _branch(run: dict[str, Any]) -> str:
    """Return the branch of the work: the user's branch once the run is delivered, the run's own before."""
    return shlex.quote(run["branch"]) if run["status"] == "ended" else f"sow/int/{run['id']}"


def _why_again(rows: Sequence[dict[str, Any]]) -> str:
    open_tasks = sum(row["outcome"] in ("pending", "running") for row in rows)
    if open_tasks:
        return f"go on with the {open_tasks} that are left" if open_tasks > 1 else "go on with the one that is left"
    return "then go on"
