"""Lists what waits for a person, most blocking first."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sow.domain.checks import refusals, task_checks
from sow.domain.documents.state import Phase, Task
from sow.domain.plans import graph
from sow.domain.task import answer_command, is_approved
from sow.domain.text.similar_text import NO_VERDICT_PREFIX, UNMERGEABLE_PREFIX

Item = dict[str, "Any"]


def items(tasks: Sequence[Task], phases: Sequence[Phase], broken: Mapping[str, str]) -> list[Item]:
    """Returns questions, proposals, reviews and failures, ranked by how many tasks each one blocks."""
    abandoned = {task["id"] for task in tasks if task["status"] == "abandoned"}
    asking = [
        task for task in tasks if _asks(task) or (task["status"] == "pending" and abandoned & {*task["depends_on"]})
    ]
    blocked = blocked_task_counts(tasks, broken, only={*(task["id"] for task in asking), *broken})
    entries = [
        _of_orphan(task, abandoned, blocked[task["id"]])
        if task["status"] == "pending"
        else {
            **_with_refusals(_of_task(task, blocked[task["id"]]), task),
            "accept": accept_command(task) if task["status"] != "needs_review" else "",
            "waive": task_checks.failing(task),
        }
        for task in asking
    ]
    entries += [_of_phase(phase) for phase in phases if phase["status"] == "proposed"]
    entries += [
        item("broken", task=task_id, text=text, blocks=blocked[task_id], do="sow doctor")
        for task_id, text in broken.items()
    ]
    return ranked(entries)


def _asks(task: Task) -> bool:
    """Returns whether a task waits for a person. An approved task waits for a run to merge it."""
    if task["status"] == "needs_review" and is_approved(task):
        return False
    return task["status"] in ("paused", "needs_review", "failed") or "question" in task


def ranked(entries: Iterable[Item]) -> list[Item]:
    """Sorts items by how many tasks they block, then by how long they have waited."""
    return sorted(entries, key=lambda entry: (-entry["blocks"], entry["since"], entry["task"] or entry["agent"] or ""))


def item(
    kind: str,
    *,
    text: str,
    do: str,
    task: str | None = None,
    agent: str | None = None,
    phase: str | None = None,
    number: int | str | None = None,
    since: str = "",
    blocks: int = 0,
) -> Item:
    """Returns an item for a task, an agent of a workflow, or a phase. `do` is the command that settles it."""
    return {
        "number": number,
        "kind": kind,
        "task": task,
        "agent": agent,
        "phase": phase,
        "text": text,
        "remark": "",
        "since": since,
        "blocks": blocks,
        "do": do,
        "accept": "",  # the command that accepts the work as it is
        "waive": [],  # the checks that this would waive
    }


def accept_command(task: Task) -> str:
    """Returns the command that accepts the work of a task as it is, or '' if it has handed in no work."""
    question = task.get("question", {}).get("text", "")
    is_red = task.get("result") == "RED" and not question.startswith(UNMERGEABLE_PREFIX)
    is_red = task["status"] == "paused" and (is_red or question.startswith(NO_VERDICT_PREFIX))
    was_spawned = "source" not in task and "session_id" in task  # outside of a run no work is collected
    has_work = was_spawned or bool({"work", "evidence", "reviews"} & task.keys())
    has_failed = task["status"] == "failed" and has_work
    if not is_red and not has_failed and task["status"] != "needs_review":
        return ""
    waived = "".join(f" --waive {shlex.quote(command)}" for command in task_checks.failing(task))
    return f"sow approve {task['id']}{waived}" + (' --reason "…"' if is_red or has_failed or waived else "")


def _of_task(task: Task, blocks: int) -> Item:
    ident, name, since = task["id"], task["name"], task["updated_at"]
    if "question" in task:
        question = task["question"]
        do = answer_command(str(question["number"]), question["text"])
        number, text, asked_at = question["number"], question["text"], question["asked_at"]
        return item("question", task=ident, text=text, number=number, since=asked_at, blocks=blocks, do=do)
    if task["status"] == "paused":
        return item(
            "question", task=ident, text=f"paused: {name}", since=since, blocks=blocks, do=f'sow answer {ident} "…"'
        )
    if task["status"] == "failed":
        do = f"sow task set {ident} status in_progress"
        failing = task_checks.failing(task)
        failure = task.get("failed_reason", "") or (f"`{failing[0]}` fails" if failing else "")
        reason = with_finding(failure, task)
        text = f"{name}: {reason}" if reason else name
        return item("failed", task=ident, text=text, since=since, blocks=blocks, do=do)
    text = f"{name} (iteration {task['iteration']}) waits for your approval"
    return item("review", task=ident, text=text, since=since, blocks=blocks, do=accept_command(task))


def with_finding(reason: str, task: Mapping[str, Any]) -> str:
    """Returns the reason of a failure with the finding of the last review, if that was RED."""
    reviews, feedback = task.get("reviews") or [{}], task.get("review_feedback", "")
    is_red = reviews[-1].get("verdict") == "RED" and feedback and feedback not in reason
    return "; ".join(filter(None, (reason, f"the last review is RED: {feedback}" if is_red else "")))


def _of_orphan(task: Task, abandoned: Collection[str], blocks: int) -> Item:
    """Returns the item for a task that waits for an abandoned one and so can never start."""
    ident, gone = task["id"], [dependency for dependency in task["depends_on"] if dependency in abandoned]
    text = f"{task['name']}: waits for task {', '.join(gone)}, which was abandoned"
    do = start_without(ident, [dependency for dependency in task["depends_on"] if dependency not in abandoned])
    entry = item("blocked", task=ident, text=text, since=task["updated_at"], blocks=blocks, do=do)
    return {
        **entry,
        "remark": f'to start without it: {do}; or abandon it: sow task abandon {ident} --reason "…"',
    }


def start_without(ident: str, kept: Sequence[str]) -> str:
    """Returns the command that leaves a task only some of its dependencies."""
    return f'sow task set {ident} depends_on "{", ".join(kept)}"'


def _with_refusals(entry: Item, task: Task) -> Item:
    """Returns the item with a remark on the commands that the agent CLI refused, and how to allow them."""
    refusal = refusals.current_refusals(task)
    return {**entry, "remark": refusals.summary(refusal)}


def _of_phase(phase: Phase) -> Item:
    name, number, since = phase["name"], phase.get("question"), phase["created_at"]
    text = f"add phase {name}? {phase.get('reason', '')}".strip()
    return item("phase", text=text, phase=name, number=number, since=since, do=f"sow phase approve {name}")


def blocked_task_counts(
    tasks: Sequence[Task], broken: Iterable[str] = (), only: Collection[str] | None = None
) -> dict[str, int]:
    """Returns how many open tasks wait for each task, directly or indirectly. A broken task blocks others too."""
    waits = {task["id"]: task["depends_on"] for task in tasks if task["status"] not in ("completed", "abandoned")}
    return waiting_counts((*(task["id"] for task in tasks), *broken), waits, only)


def waiting_counts(
    names: Iterable[str], waits: Mapping[str, Sequence[str]], only: Collection[str] | None = None
) -> dict[str, int]:
    """Returns for each name how many others wait for it, directly or indirectly.

    `waits` maps each name that is not done to the names that it waits for.
    """
    dependents: dict[str, list[str]] = {name: [] for name in names}
    for name, needed in waits.items():
        for dependency in needed:
            if dependency in dependents:
                dependents[dependency].append(name)
    return {
        name: len(graph.reachable(dependents, name) - {name}) for name in dependents if only is None or name in only
    }
