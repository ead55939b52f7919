"""Computes the next step, a sentence and a command, from the recorded state."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sow.domain import phase as phases
from sow.domain.documents.state import Phase, Task
from sow.domain.inbox import Item
from sow.domain.task import ENDED_STATUSES, answer_command, waits_for
from sow.domain.text.similar_text import without_details

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
    current = phases.active(stages)
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
    shown = f" ({review})" if review else ""
    return _step(f"all tasks have ended: review the result{shown}, clean up, then merge the branch", "sow cleanup")


def request(run: Mapping[str, Any], remote: str) -> Step | None:
    """Returns the step for the request of an ended run, while its project is there. `remote` is on a forge."""
    delivery = run.get("delivery")
    if delivery is None:
        option = "" if remote == "origin" else f" --remote {shlex.quote(remote)}"
        return _step("all tasks have ended: open a request for the branch, before you clean up", f"sow deliver{option}")
    if delivery["state"] != "open" or "number" not in delivery:
        return None
    return _step(f"request {delivery['number']} is open: follow it, before you clean up", "sow deliver watch")


def without_project(workflow: Mapping[str, Any] | None, inbox: Sequence[Item], start_command: str) -> Step:
    """Returns the next step without a project on this branch. `workflow` is the workflow in the checkout, if any."""
    for item in inbox:
        if _asks_planner(item):
            return _step(f"answer the planner: {without_details(item['text'])}", item["do"])
    if workflow:
        return _step(f"the workflow is {workflow['status']}", workflow["next"])
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
