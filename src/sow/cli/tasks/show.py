"""Lists tasks and shows one task with everything that a new worker needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sow.cli.context import Context
from sow.cli.output import emit, print_list, table
from sow.domain import task as task_rules
from sow.domain.checks import refusals
from sow.domain.documents.state import Task
from sow.domain.task import current_concerns, shown_result
from sow.domain.text.similar_text import NO_VERDICT_PREFIX
from sow.domain.text.units import counted
from sow.reports.idle_tasks import ProjectRuns, continuation_text, task_document
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.projects.task_folder import TaskFolder
from sow.system.process.exit_code import exit_text
from sow.system.terminal import escape_control, escape_line, out, paint

RECENT = 20
PLACES = {"merge": "merged work", "final": "final tree"}  # of checks that did not run on the task's own work


def list_tasks(context: Context, *, phase: str, status: str, json: bool) -> int:
    home = context.project_home()
    project = projects.load(home)
    phase_name = task_rules.find_name(phase, project["phases"]) if phase else ""
    readable, broken = task_folder.load_readable(home, project)
    selected = [
        (d, t)
        for d, t in readable
        if (not phase_name or d.phase == phase_name) and (not status or t["status"] == status)
    ]
    rows = [("ID", "STATUS", "PHASE", "ROLE", "DEPENDS ON", "NAME")]
    rows += [
        (
            t["id"],
            status_text(t),
            d.phase,
            agent_text(t),
            ", ".join(t["depends_on"]),
            display_name(t),
        )
        for d, t in selected
    ]
    rows += [(ident, "broken", "", "", "", problem) for ident, problem in broken.items()]
    facts = {"tasks": [{**task, "phase": folder.phase} for folder, task in selected], "broken": broken}
    return print_list(facts, rows, "no tasks", json=json)


def display_name(task: Task) -> str:
    """Returns a task's name, with its id in its plan."""
    return f"{task['name']} (task {task['source']['id']} of the plan)" if "source" in task else task["name"]


def status_text(task: Mapping[str, Any]) -> str:
    """Returns a task's status; approved work waits only for a run that merges it."""
    waits = task["status"] == "needs_review" and task_rules.is_approved(task)  # type: ignore[arg-type]
    return "approved, waits for its merge" if waits else str(task["status"])


def agent_text(task: Task) -> str:
    """Returns the role that works on a task, with the iteration after the first."""
    iteration = worked_iteration(task)
    return task["assigned_agent"] + (f", iteration {iteration}" if iteration > 1 else "")


def worked_iteration(task: Mapping[str, Any]) -> int:
    """Returns the iteration of the last work. The approval of a task that asked begins one only for its merge."""
    latest, approval = (task.get("questions") or [{}])[-1], task.get("approval") or {"iteration": 0}
    is_answer = approval["iteration"] == task["iteration"] and latest.get("answered_at") == approval["at"]
    accepted = is_answer and latest["answer"].startswith("accept") and not latest["text"].startswith(NO_VERDICT_PREFIX)
    return max(int(task["iteration"]) - accepted, 1)


def show_task(context: Context, *, task: str, json: bool) -> int:
    ident = context.task(task)
    home = context.project_home()
    project = projects.load(home)
    folder = task_folder.find(home, project, ident)
    state = folder.task()
    shown = task_document(
        folder, project, state, "" if context.actor().is_worker else _continuation(context, folder, state)
    )
    if json:
        return emit(shown)
    out(paint(f"Task {ident}: {escape_line(shown['name'])}", "bold"))
    out(table(_facts(shown)))
    _section("Description", shown["description"])
    _section("Project", "\n".join(project_lines(shown["project"], shown["memories"])))
    _section("References", "\n".join(_references(shown, home.root)))
    _section(
        "Feedback",
        "\n\n".join(
            f"[{f['number']}, by {f['by'] or 'hand'}, on iteration {f['iteration'] or '?'}]\n{f['text']}"
            for f in shown["feedback"]
        ),
    )
    _section("Reviews", "\n".join(_reviews(shown)))
    _section("Checks", "\n".join(_checks(shown)))
    _section("Notes", "\n".join(_note(note) for note in shown["notes"]))
    _section(
        "Questions answered",
        "\n".join(
            f"{question['number']}. {question['text']}\n   → {question['answer']}" for question in shown["questions"]
        ),
    )
    if "question" in shown:
        _section("Question", f"{shown['question']['number']}. {shown['question']['text']}")
    _section("Refused", "\n".join(_refused(shown)))
    _section("Concerns", "\n".join(_concerns(shown)))
    recent = shown["log"][-RECENT:]
    title = "Log" if len(recent) == len(shown["log"]) else f"Log (the last {RECENT} of {len(shown['log'])})"
    _section(title, "\n".join(_entry(entry, shown["assigned_agent"]) for entry in recent))
    _section("Next", shown["next"])
    return 0


def _continuation(context: Context, folder: TaskFolder, task: Task) -> str:

    return continuation_text(folder, task, ProjectRuns(folder.home, context.hints()))


def _facts(task: dict[str, Any]) -> list[tuple[str, ...]]:
    source = task.get("source")
    facts = [
        ("status", f"{status_text(task)}, {_iteration(task)}"),
        ("agent", task["assigned_agent"]),
        ("phase", task["phase"]),
        ("priority", task["priority"]),
        ("depends on", ", ".join(task["depends_on"])),
        ("follows up", _follows(task)),
        ("result", shown_result(task)),
        ("protected", ", ".join(task.get("protected", ()))),
        ("plan", f"task {source['id']} of {source['plan']}" if source else ""),
        ("session", task.get("session_id", "")),
        ("abandoned", task.get("abandoned_reason", "")),
        ("folder", task["path"]),
    ]
    if "approval" in task:
        approval = task["approval"]
        reason = f": {approval['reason']}" if "reason" in approval else ""
        iteration = min(approval["iteration"], worked_iteration(task))
        approved_by = f"by {approval['by']} at {approval['at']}, iteration {iteration}{reason}"
        facts.append(("approved", approved_by))
    return [row for row in facts if row[1]]


def _iteration(task: dict[str, Any]) -> str:
    """Returns the iteration of a task's work; a task has none before its first start."""
    is_new = task["status"] == "pending" and "started_at" not in task
    return "not started" if is_new else f"iteration {worked_iteration(task)}"


def _follows(task: dict[str, Any]) -> str:
    """Returns what a follow-up task settles, and whose work it is about."""
    follows = task.get("follows")
    if not follows:
        return ""
    owner = f" on task {follows['task']}" if "task" in follows else ""
    return f"{counted(len(follows['findings']), 'finding')} of the request{owner}"


def project_lines(project: Mapping[str, Any], memories: list[str]) -> list[str]:
    """Returns the project's goal and its decisions, which every worker and reviewer is told."""
    goal = [project["name"], *([project["description"].strip()] if project["description"] else [])]
    return [*goal, *(f"- {memory}" for memory in memories)]


def _reviews(task: dict[str, Any]) -> list[str]:
    """Returns one line per review; the last one has the reviewer's words."""
    reviews = task.get("reviews", ())
    lines = [f"iteration {review['iteration']}: {review['verdict']} by {review['by']}" for review in reviews]
    return [*lines[:-1], f"{lines[-1]}: {task['review_feedback']}"] if lines and "review_feedback" in task else lines


def _references(task: dict[str, Any], root: str) -> list[str]:
    """Returns the references of a task with their reasons; .sow paths are absolute, because worktrees lack them."""
    chosen = {entry["path"]: entry for entry in task.get("context", ())}
    lines = []
    for path in task["references"]:
        entry = chosen.get(path)
        part = f", lines {entry['lines']}" if entry and "lines" in entry else ""
        shown_path = f"{root}/{path}" if path.startswith(".sow/") else path
        if path.startswith(".sow/") and not os.path.exists(f"{root}/{path}"):
            shown_path += f" (missing{': sow sinks install' if path.startswith('.sow/sinks/') else ''})"
        lines.append(f"{shown_path}{part} ({entry['kind']}: {entry['reason']})" if entry else shown_path)
    return lines


def _refused(task: dict[str, Any]) -> list[str]:
    """Returns the commands that the agent CLI refused, and the setting that allows them."""
    refused = task.get("refusals", [])
    lines = [_refusal(refusal) for refusal in refused]
    return [*lines, refusals.advice(refused)] if lines else []


def _refusal(refusal: dict[str, Any]) -> str:
    times = f", {refusal['count']} times" if refusal["count"] > 1 else ""
    reason = f": {escape_line(refusal['reason'])}" if refusal["reason"] else ""
    call = refusals.call_text(refusal["tool"], refusal.get("command", ""))
    return f"{call} (iteration {refusal['iteration']}{times}){reason}"


def _concerns(task: dict[str, Any]) -> list[str]:
    """Returns the concerns about the current iteration; refused commands have their own section."""
    return [concern["text"] for concern in current_concerns(task) if concern["kind"] != refusals.KIND]  # type: ignore[arg-type]


def _checks(task: dict[str, Any]) -> list[str]:
    """Returns the check results of the current iteration, and the commands that have no result yet."""
    results = [result for result in task.get("evidence", ()) if result["iteration"] == task["iteration"]]
    waived = {waiver["command"]: waiver for waiver in task.get("waivers", ())}
    ran = {result["command"] for result in results} | waived.keys()
    shown = (f"{_verdict(run)}: {run['command']} ({exit_text(run['exit'])}{_scope(run)})" for run in results)
    return [
        *dict.fromkeys(shown),  # a check may run again on the same tree
        *(_waiver(waiver) for waiver in waived.values()),
        *(f"must pass: {check['command']}" for check in task.get("checks", ()) if check["command"] not in ran),
    ]


def _waiver(waiver: dict[str, Any]) -> str:
    reason = f" ({waiver['reason']})" if "reason" in waiver else ""
    return f"waived by {'you' if waiver['by'] == 'person' else waiver['by']}: {waiver['command']}{reason}"


def _verdict(evidence: dict[str, Any]) -> str:
    verdict = "passed" if evidence["passed"] else "FAILED"
    return f"{verdict} on {evidence['host']}" if "host" in evidence else verdict


def _scope(evidence: dict[str, Any]) -> str:
    if evidence.get("scope") == "folder":
        return ", in the shared folder: it belongs to no commit"
    place = PLACES.get(evidence["kind"], "its work")
    return f", {place}, on tree {evidence['tree'][:10]}" if evidence.get("tree") else ""


def _note(note: dict[str, Any]) -> str:
    category = f", {note['category']}" if "category" in note else ""
    ending = {"resolved": note.get("resolution"), "escalated": note.get("escalation_reason")}.get(note["status"])
    return f"{note['note_id']} [{note['status']}{category}] {note['description']}" + (f" → {ending}" if ending else "")


def _entry(entry: dict[str, Any], role: str) -> str:
    """Returns a log entry as one line, without the action and result that an entry has by default."""
    name, _, iteration = entry["agent"].rpartition("-")
    author = f"{name}, iteration {iteration}" if name == role else entry["agent"]
    facts = [word for word, default in ((entry["action"], "note"), (entry["result"], "info")) if word != default]
    files = f" ({', '.join(entry['files'])})" if entry["files"] else ""
    return f"{entry['timestamp']} {', '.join((author, *facts))}: {entry['text']}{files}"


def _section(title: str, body: str) -> None:
    """Prints a heading and its text, unless the text is empty."""
    if body.strip():
        out(f"\n{paint(title, 'bold')}\n{escape_control(body).strip()}")
