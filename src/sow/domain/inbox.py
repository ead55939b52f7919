"""What waits for a person, most blocking first."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from sow.domain.shapes import Phase, Task

Item = dict[str, "Any"]


def items(tasks: Sequence[Task], phases: Sequence[Phase], broken: Mapping[str, str]) -> list[Item]:
    """Questions, proposals, reviews and failures, ranked by how many tasks each holds up."""
    held = blocked_by(tasks, broken)
    waiting = [
        _of_task(task, held[task["id"]])
        for task in tasks
        if task["status"] in ("paused", "needs_review", "failed") or "question" in task
    ]
    waiting += [_of_phase(phase) for phase in phases if phase["status"] == "proposed"]
    waiting += [
        _item("broken", task=each, text=text, blocks=held[each], do="sow doctor") for each, text in broken.items()
    ]
    return sorted(waiting, key=lambda item: (-item["blocks"], item["since"], item["task"] or ""))


def _item(
    kind: str,
    *,
    text: str,
    do: str,
    task: str | None = None,
    phase: str | None = None,
    number: int | None = None,
    since: str = "",
    blocks: int = 0,
) -> Item:
    return {
        "number": number,
        "kind": kind,
        "task": task,
        "phase": phase,
        "text": text,
        "since": since,
        "blocks": blocks,
        "do": do,
    }


def _of_task(task: Task, blocks: int) -> Item:
    ident, name, since = task["id"], task["name"], task["updated_at"]
    if "question" in task:
        question = task["question"]
        do = f'sow answer {question["number"]} "…"'
        return _item(
            "question",
            task=ident,
            text=question["text"],
            number=question["number"],
            since=question["asked_at"],
            blocks=blocks,
            do=do,
        )
    if task["status"] == "paused":
        return _item(
            "question", task=ident, text=f"paused: {name}", since=since, blocks=blocks, do=f'sow answer {ident} "…"'
        )
    if task["status"] == "failed":
        return _item(
            "failed",
            task=ident,
            text=name,
            since=since,
            blocks=blocks,
            do=f"sow task set --id {ident} status in_progress",
        )
    return _item(
        "review",
        task=ident,
        text=f"{name} (iteration {task['iteration']})",
        since=since,
        blocks=blocks,
        do=f"sow approve {ident}",
    )


def _of_phase(phase: Phase) -> Item:
    text = f"add phase {phase['name']}? {phase.get('reason', '')}".strip()
    return _item(
        "phase",
        text=text,
        phase=phase["name"],
        number=phase.get("question"),
        since=phase["created_at"],
        do=f"sow phase approve {phase['name']}",
    )


def blocked_by(tasks: Sequence[Task], broken: Iterable[str] = ()) -> dict[str, int]:
    """For each task, how many open tasks wait for it, near or far; a broken one holds others up too."""
    dependents: dict[str, list[str]] = {each: [] for each in (*(task["id"] for task in tasks), *broken)}
    for task in tasks:
        for each in task["depends_on"]:
            if each in dependents and task["status"] not in ("completed", "abandoned"):
                dependents[each].append(task["id"])
    return {ident: _reach(ident, dependents) for ident in dependents}


def _reach(start: str, dependents: Mapping[str, Sequence[str]]) -> int:
    if not dependents[start]:
        return 0
    seen = {start}
    waiting = [start]
    while waiting:
        for each in dependents[waiting.pop()]:
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return len(seen) - 1
