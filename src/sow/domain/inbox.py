"""Says what waits for a person, most blocking first, and what the next step is."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from sow.domain import task as task_rules
from sow.domain.checks import refusals, task_checks
from sow.domain.documents.state import Phase, Task
from sow.domain.plans import graph
from sow.domain.task import ENDED_STATUSES, answer_command, is_approved, waits_for
from sow.domain.text.similar_text import NO_VERDICT_PREFIX, UNMERGEABLE_PREFIX, without_details

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


RANK = {"high": 0, "medium": 1, "low": 2}
STOP_COMMAND = "sow runs stop"
SHOW_RUN = "sow runs show"
Step = dict[str, "Any"]


def ready(tasks: Sequence[Task]) -> list[Task]:
    """Returns the pending tasks whose dependencies are completed, the most important first."""
    statuses = {task["id"]: task["status"] for task in tasks}
    startable = [task for task in tasks if task["status"] == "pending" and not waits_for(task, statuses)]
    return sorted(startable, key=lambda task: (RANK[task["priority"]], int(task["id"])))


def next_step(
    tasks: Sequence[Task],
    phase_of: Mapping[str, str],
    stages: Sequence[Phase],
    inbox: Sequence[Item],
    idle: Mapping[str, str],
    left: Sequence[str] = (),
    plan_command: Callable[[Task], str] | None = None,
    last_step: Callable[[], Step | None] = lambda: None,
) -> Step:
    """Returns the next step for a person or an agent without history. `phase_of` maps each task to its phase.

    `idle` maps the tasks in progress that nobody works on to the commands that continue them. `left` are tasks with a
    turn that still runs although its sow process has ended. `plan_command` returns the command that runs the plan of an
    imported task. `last_step` returns what follows when the last run has ended.
    """
    if inbox:
        item = inbox[0]
        if item["kind"] == "delivery":
            return _step(item["text"], item["do"])
        other = "the planner" if _asks_planner(item) else "the project"
        agent = f"agent {item['agent']}" if item["agent"] else other
        subject = f"task {item['task']}" if item["task"] else agent
        if item["kind"] == "failed" and item["task"]:
            return _step(f"try {subject} again, which failed: {without_details(item['text'])}", item["do"])
        verb = {
            "question": "answer",
            "review": "review",
            "failed": "decide on",
            "phase": "decide on",
            "broken": "repair",
            "approval": "approve",
            "blocked": "decide on",
        }[item["kind"]]
        number = f"question {item['number']} of " if item["kind"] == "question" and item["number"] else ""
        return _step(f"{verb} {number}{subject}: {without_details(item['text'])}", item["do"])
    if left:
        return _step(f"an earlier turn on task {left[0]} still runs, and nobody supervises it: end it", STOP_COMMAND)
    if idle:
        ident, command = next(iter(idle.items()))
        approved = any(task["id"] == ident and task["status"] == "needs_review" for task in tasks)
        return _step(
            f"task {ident} is approved: merge it" if approved else f"nobody works on task {ident}: continue it", command
        )
    working = [task for task in tasks if task["status"] == "in_progress"]
    if working:
        task = next((task for task in working if "session_id" not in task), working[0])
        if "session_id" in task:
            return _step(f"a worker is on task {task['id']}: {task['name']}", f"sow task show {task['id']}")
        return _step(f"no worker is on task {task['id']}: {task['name']}", resume_command(task, resumes=True))
    begun_phases = {stage["name"] for stage in stages if stage["status"] in ("active", "completed")}
    startable = [task for task in ready(tasks) if phase_of[task["id"]] in begun_phases]
    if startable:
        task = startable[0]
        if plan_command and "source" in task:
            return _step("run the plan", plan_command(task))
        return _step(f"start a worker on task {task['id']}: {task['name']}", resume_command(task, resumes=True))
    stuck = [task for task in tasks if task["status"] == "pending" and phase_of[task["id"]] in begun_phases]
    if stuck:
        ident = stuck[0]["id"]
        waiting = waits_for(stuck[0], {task["id"]: task["status"] for task in tasks})
        return _step(f"task {ident} waits for {', '.join(waiting)}", f"sow task show {ident}")
    current = task_rules.active(stages)
    if current is None:
        return last_step() or clean_up()
    planned = any(task["status"] == "pending" for task in tasks)  # all in phases that have not begun
    if not planned and current["name"] not in phase_of.values():
        return _step(
            f"create the first task of phase {current['name']}", 'sow task create --name "…" --agent implementer'
        )
    if not planned and current is stages[-1]:
        return last_step() or clean_up()
    return _step(f"phase {current['name']} has no open task: start the next phase", "sow phase advance")


def has_open(run: Mapping[str, Any], tasks: Sequence[Task]) -> bool:
    """Tells whether the next call of a run has work to do; it does not retry failed tasks."""
    return not {task["id"] for task in tasks if task["status"] in (*ENDED_STATUSES, "failed")}.issuperset(run["tasks"])


def delivery(run: Mapping[str, Any], *, is_open: bool) -> Step | None:
    """Returns the step that brings a run's result to the user's branch, if the run ended or broke off without it.

    `is_open` tells whether the next call of the run has work to do, and delivers.
    """
    if run["status"] == "ended" or is_open or run["settings"]["isolation"] == "none":
        return None
    if run["status"] != "waiting" and not run.get("merges"):
        return None
    broken = _broken_by_user(run)
    if broken:
        text = f"with your new commits `{broken}` fails: merge the run, fix it and commit, then 'sow integrate'"
        return _step(text, f"sow project save && git merge sow/int/{run['id']}")
    return _step(f"run {run['id']} is done and not yet on your branch", "sow integrate")


def _broken_by_user(run: Mapping[str, Any]) -> str:
    """The check that fails on the last final tree since the user's new commits came in."""
    last = run.get("final", [])[-1:]
    return last[0].get("command", "") if last and last[0].get("cause") == "user" else ""


def clean_up(review: str = "") -> Step:
    """Returns the step for work that a person merges by hand. `review` is the command that shows it."""
    shown = f"review the result ({review}), " if review else ""
    return _step(f"all tasks have ended: {shown}clean up, then merge the branch", "sow cleanup")


def request(run: Mapping[str, Any], remote: str) -> Step | None:
    """Returns the step for the request of an ended run, while its project is there. `remote` is on a forge."""
    delivery = run.get("delivery")
    if delivery is None:
        option = "" if remote == "origin" else f" --remote {shlex.quote(remote)}"
        return _step("all tasks have ended: open a request for the branch, before you clean up", f"sow deliver{option}")
    if delivery["state"] != "open" or "number" not in delivery:
        return None
    return _step(f"request {delivery['number']} is open: follow it, before you clean up", "sow deliver watch")


def without_project(
    workflow: Mapping[str, Any] | None, inbox: Sequence[Item], start_command: str, merge_command: str
) -> Step:
    """Returns the next step without a project on this branch. `workflow` is the workflow in the checkout, if any.

    `merge_command` merges the work of a project that was removed from the branch.
    """
    for item in inbox:
        if _asks_planner(item):
            return _step(f"answer the planner: {without_details(item['text'])}", item["do"])
    if workflow:
        return _step(f"the workflow is {workflow['status']}", workflow["next"])
    if merge_command:
        return _step("the project was removed from this branch: merge it", merge_command)
    return _step("start a project on this branch", start_command)


def resume_command(task: Task, *, resumes: bool) -> str:
    """Returns the command that continues a task. `resumes` tells whether its session can be resumed."""
    ident, spawn = task["id"], f"sow agent spawn {task['assigned_agent']} {task['id']}"
    if task["status"] in ENDED_STATUSES:
        return f"sow task show {ident}"
    if "session_id" in task and resumes:
        message = {"paused": "the answer", "needs_review": "what is wrong"}.get(task["status"], "Continue")
        return f'sow agent resume {ident} "{message}"'
    if "question" in task:
        return answer_command(str(task["question"]["number"]), task["question"]["text"])
    return f"{spawn} --fresh" if "session_id" in task else spawn


def _asks_planner(item: Item) -> bool:
    """Returns whether a planner asks: its questions have numbers such as p1."""
    return str(item["number"]).startswith("p")


def _step(text: str, command: str) -> Step:
    return {"text": text, "command": command}
