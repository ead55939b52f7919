"""Lists what waits for a person, most blocking first."""

from __future__ import annotations

from sow.domain.checks import refusals
from sow.domain.task import is_approved
from sow.domain.text.similar_text import answer_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from sow.domain.documents.state import Phase, Task

Item = dict[str, "Any"]


def items(tasks: Sequence[Task], phases: Sequence[Phase], broken: Mapping[str, str]) -> list[Item]:
    """Return questions, proposals, reviews and failures, ranked by how many tasks each one blocks."""
    asking = [task for task in tasks if _asks(task)]
    blocked = blocked_task_counts(tasks, broken, only={*(task["id"] for task in asking), *broken})
    entries = [_with_refusals(_of_task(task, blocked[task["id"]]), task) for task in asking]
    entries += [_of_phase(phase) for phase in phases if phase["status"] == "proposed"]
    entries += [
        item("broken", task=task_id, text=text, blocks=blocked[task_id], do="sow doctor")
        for task_id, text in broken.items()
    ]
    return ranked(entries)


def _asks(task: Task) -> bool:
    """Return whether a task waits for a person. An approved task waits for a run to merge it."""
    if task["status"] == "needs_review" and is_approved(task):
        return False
    return task["status"] in ("paused", "needs_review", "failed") or "question" in task


def ranked(entries: Iterable[Item]) -> list[Item]:
    """Sort items by how many tasks they block, then by how long they have waited."""
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
    """Return an item for a task, an agent of a workflow, or a phase. `do` is the command that settles it."""
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
    }


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
        do = f"sow task set --id {ident} status in_progress"
        return item("failed", task=ident, text=name, since=since, blocks=blocks, do=do)
    text = f"{name} (iteration {task['iteration']})"
    return item("review", task=ident, text=text, since=since, blocks=blocks, do=f"sow approve {ident}")


def _with_refusals(entry: Item, task: Task) -> Item:
    """Return the item with a remark on the commands that the agent CLI refused, and how to allow them."""
    refusal = refusals.current_refusals(task)
    return {**entry, "remark": f"{refusals.sentence(refusal)}; {refusals.advice(refusal)}" if refusal else ""}


def _of_phase(phase: Phase) -> Item:
    name, number, since = phase["name"], phase.get("question"), phase["created_at"]
    text = f"add phase {name}? {phase.get('reason', '')}".strip()
    return item("phase", text=text, phase=name, number=number, since=since, do=f"sow phase approve {name}")


def blocked_task_counts(
    tasks: Sequence[Task], broken: Iterable[str] = (), only: Collection[str] | None = None
) -> dict[str, int]:
    """Return how many open tasks wait for each task, directly or indirectly. A broken task blocks others too."""
    waits = {task["id"]: task["depends_on"] for task in tasks if task["status"] not in ("completed", "abandoned")}
    return waiting_counts((*(task["id"] for task in tasks), *broken), waits, only)


def waiting_counts(
    names: Iterable[str], waits: Mapping[str, Sequence[str]], only: Collection[str] | None = None
) -> dict[str, int]:
    """Return for each name how many others wait for it, directly or indirectly.

    `waits` maps each name that is not done to the names that it waits for.
    """
    dependents: dict[str, list[str]] = {name: [] for name in names}
    for name, needed in waits.items():
        for dependency in needed:
            if dependency in dependents:
                dependents[dependency].append(name)
    return {name: _count_dependents(name, dependents) for name in dependents if only is None or name in only}


def _count_dependents(start: str, dependents: Mapping[str, Sequence[str]]) -> int:
    if not dependents[start]:
        return 0
    seen = {start}
    stack = [start]
    while stack:
        for dependent in dependents[stack.pop()]:
            if dependent not in seen:
                seen.add(dependent)
                stack.append(dependent)
    return len(seen) - 1
