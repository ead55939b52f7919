"""The life of a task: which moves there are, who may make them, and what each changes."""

from __future__ import annotations

from sow.domain import actor as actors
from sow.domain.lifecycle import Lifecycle
from sow.errors import IllegalMove, SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sow.domain.actor import Actor
    from sow.domain.shapes import Answered, Approval, Chosen, Concern, Task

OPEN_STATUSES = ("pending", "in_progress", "needs_review", "paused", "failed")
ENDED_STATUSES = ("completed", "abandoned")
PRIORITIES = ("low", "medium", "high")
DEFAULT_AGENT = "implementer"

TASK = Lifecycle(
    "task",
    start="pending",
    moves={
        ("pending", "in_progress"): "start",
        ("in_progress", "needs_review"): "submit",
        ("in_progress", "paused"): "ask",
        ("in_progress", "failed"): "fail",
        ("needs_review", "completed"): "approve",
        ("needs_review", "in_progress"): "send_back",
        ("paused", "in_progress"): "answer",
        ("failed", "in_progress"): "retry",
        ("completed", "in_progress"): "reopen",
        **{(status, "abandoned"): "abandon" for status in OPEN_STATUSES},
    },
)

# A worker works; judging, answering and giving up belong to those who gave it the work.
WORKER_MOVES = frozenset({"start", "submit", "ask", "fail"})
NEW_ITERATION = frozenset({"send_back", "answer", "retry", "reopen"})


def may_move(actor: Actor, task: Task, event: str) -> None:
    """Refuse a move that this actor may not make."""
    if actor.kind != actors.WORKER:
        return
    if actor.task != task["id"]:
        raise IllegalMove(
            f"a worker on task {actor.task} may not move task {task['id']}",
            'a worker moves only its own task; write what you found to the log: sow agent log "…"',
        )
    if event not in WORKER_MOVES:
        raise IllegalMove(
            f"a worker may not {event.replace('_', ' ')} task {task['id']}",
            "set it to needs_review, paused or failed; the orchestrator or a person decides the rest",
        )


def refuse_ended(task: Task) -> None:
    """Refuse more work on a task that is over."""
    if task["status"] in ENDED_STATUSES:
        raise IllegalMove(
            f"task {task['id']} is {task['status']}", "create a new task for more work on it: sow task create …"
        )


def waits_for(task: Task, statuses: Mapping[str, str]) -> list[str]:
    """The dependencies that are not completed, each with its status."""
    return [
        f"{each} ({statuses.get(each, 'missing')})" for each in task["depends_on"] if statuses.get(each) != "completed"
    ]


def may_start(task: Task, statuses: Mapping[str, str]) -> None:
    """Refuse to start a task whose dependencies are not completed."""
    waiting = waits_for(task, statuses)
    if waiting:
        raise IllegalMove(
            f"task {task['id']} waits for {', '.join(waiting)}",
            f'finish those first, or change them: sow task set --id {task["id"]} depends_on ""',
        )


def gate(task: Task, unresolved: Iterable[str]) -> None:
    """Refuse 'done' while a note on the desk is open or escalated."""
    waiting = list(unresolved)
    if waiting:
        raise IllegalMove(
            f"task {task['id']} has unresolved notes: {', '.join(waiting)}",
            "resolve each ('sow note resolve N --resolution …'), or escalate it and set the task to paused",
        )


def is_approved(task: Task) -> bool:
    """Whether somebody has approved the present iteration; in a run the work may still have to be merged."""
    return "approval" in task and task["approval"]["iteration"] == task["iteration"]


def concerns(task: Task) -> list[Concern]:
    """The concerns that count now: those of the present iteration, and of earlier ones whose merge stays."""
    found: dict[tuple[str, str], Concern] = {}
    for each in task.get("concerns", ()):
        if each["iteration"] == task["iteration"] or each.get("merged"):
            found.setdefault((each["kind"], each["text"]), each)
    return list(found.values())


def approve_apart(task: Task, *, actor: Actor, now: str) -> Task:
    """The task with an approval, still handed in: its work is not where the project is, and a run brings it there."""
    return {**task, "approval": _approval(task, actor, now), "updated_at": now}


def _approval(task: Task, actor: Actor, now: str) -> Approval:
    """Somebody's word for the present iteration."""
    return {"by": actor.name, "at": now, "iteration": task["iteration"]}


def move(
    task: Task, to: str, *, actor: Actor, now: str, reason: str = "", may_reopen: bool = False
) -> tuple[Task, str]:
    """The task after the move, and the move's name; the given task is not changed.

    `may_reopen` is for a run whose final checks found that a completed task broke another one.
    """
    event = TASK.move(f"task {task['id']}", task["status"], to)
    may_move(actor, task, event)
    if event == "reopen" and not may_reopen:
        refuse_ended(task)
    changed: Task = {**task, "status": to, "updated_at": now}
    if event == "start":
        changed["started_at"] = now
    if event in NEW_ITERATION:
        changed["iteration"] = task["iteration"] + 1
        changed.pop("approval", None)
        changed.pop("result", None)  # it was the last attempt's
        changed.pop("completed_at", None)
    if event == "approve":
        changed["completed_at"] = now
        changed["approval"] = _approval(task, actor, now)
    if event == "abandon":
        if not reason:
            raise SowError(
                f"task {task['id']} is abandoned only with a reason", f'sow task abandon {task["id"]} --reason "…"'
            )
        changed["abandoned_reason"] = reason
    if to in ENDED_STATUSES:
        changed.pop("session_id", None)
        changed.pop("question", None)
    return changed, event


def ask(task: Task, text: str, *, number: int, now: str) -> Task:
    """The task with something to ask: a second question is added to the first, so that one answer sees both."""
    before = task.get("question")
    if before is None:
        return {**task, "question": {"number": number, "text": text, "asked_at": now}, "updated_at": now}
    words = before["text"] if text in before["text"].split("\n") else f"{before['text']}\n{text}"
    return {**task, "question": {**before, "text": words}, "updated_at": now}


def settle(task: Task, answer: str, *, actor: Actor, now: str) -> Task:
    """The task with its question answered and kept among those that were."""
    settled: Task = {**task, "updated_at": now}
    question = settled.pop("question", None)
    if question is not None:
        answered: Answered = {**question, "answer": answer, "answered_at": now, "answered_by": actor.name}
        settled["questions"] = [*settled["questions"], answered]
    return settled


def check_dependencies(task: str, depends_on: Iterable[str], graph: Mapping[str, Iterable[str]]) -> None:
    """Refuse a dependency that is unknown, on itself, or that closes a circle."""
    for each in depends_on:
        if each == task:
            raise SowError(f"task {task} cannot depend on itself", "leave it out of --depends-on")
        if each not in graph:
            raise SowError(f"task {task} depends on {each}, which does not exist", "see 'sow task list' for the ids")
        path = _path(each, task, graph)
        if path:
            raise SowError(
                f"task {task} would wait for itself: {' → '.join([task, *path])}", "remove one of these dependencies"
            )


def _path(start: str, goal: str, graph: Mapping[str, Iterable[str]]) -> list[str]:
    """A path of dependencies from start to goal, or nothing."""
    came_from: dict[str, str] = {start: ""}
    waiting = [start]
    while waiting:
        here = waiting.pop()
        if here == goal:
            path = [here]
            while came_from[path[0]]:
                path.insert(0, came_from[path[0]])
            return path
        for each in graph.get(here, ()):
            if each not in came_from:
                came_from[each] = here
                waiting.append(each)
    return []


def by_hand(task: Task) -> list[str]:
    """The references that somebody gave the task, without those that were chosen for it."""
    chosen = {each["path"] for each in task.get("context", ())}
    return [each for each in task["references"] if each not in chosen]


def refer(task: Task, chosen: list[Chosen], *, now: str) -> Task:
    """The task with other chosen references; those that were given by hand stay, and come first."""
    given = by_hand(task)
    kept = [each for each in chosen if each["path"] not in given]
    references = [*given, *(each["path"] for each in kept)]
    return {**task, "references": references, "context": kept, "updated_at": now}
