"""Builds the page of one task: its document, its sessions and turns, and the acts that are possible now."""

from __future__ import annotations

import os
from typing import Any

from sow.dashboard.data.page_errors import PageNotFound
from sow.domain.checks import refusals, task_checks
from sow.domain.inbox import accept_command
from sow.domain.inputs import is_member, is_task_id
from sow.domain.task import is_approved, worktree_name
from sow.domain.workflows.member import shown_status
from sow.errors import SowError
from sow.reports import idle_tasks, run_report
from sow.reports.idle_tasks import ProjectRuns, continuation_text
from sow.store.files.checkout_home import Home
from sow.store.projects import log, notes
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import sessions
from sow.store.runs.sessions import SessionRecord
from sow.store.workflows.folder import AgentFolder, WorkflowFolder
from sow.system.terminal import escape_line

Document = dict[str, Any]

RECENT = 500  # log entries
TURN = ("number", "kind", "started_at", "reason")
MEASURED = (
    "iteration", "ended_at", "seconds", "outcome", "cost_usd", "input_tokens", "output_tokens", "exit", "status",
)  # fmt: skip
# The acts that are possible in each status; a question of the task can always be answered. Feedback is given by
# comments on lines.
ACTS = {
    "pending": ("abandon",),
    "in_progress": ("feedback", "abandon"),
    "needs_review": ("approve", "send-back", "feedback", "abandon"),
    "paused": ("answer", "approve", "feedback", "abandon"),
    "failed": ("retry", "approve", "feedback", "abandon"),
}
CREW_ACTS = {"failed": ("retry",)}


def folder_of(home: Home, ident: str) -> sessions.AnyFolder:
    """Returns the task folder of a task, or the agent folder of an agent."""
    if is_task_id(ident) and projects.exists(home):
        project = projects.load(home)
        folders = [TaskFolder(home, phase["name"], ident, project) for phase in project["phases"]]
        for folder in folders:
            if os.path.isdir(folder.folder):
                return folder
    elif is_member(ident) and WorkflowFolder(home).exists():
        loaded = WorkflowFolder(home).load()
        if ident in loaded["workflow"]["members"]:
            return WorkflowFolder(home).agent_folder(ident, loaded)
    raise PageNotFound(f"there is no task {ident!r:.60}", "list all tasks: sow task list")


def is_worked_on(home: Home, ident: str) -> bool:
    """Returns whether a process holds this task or the run: then a turn without an end is live."""
    return bool(home.task_holder(ident)) or home.claim_holder("run") is not None


def document(home: Home, ident: str, runs: ProjectRuns) -> Document:
    """Returns the document of a task or an agent, without its row."""
    folder = folder_of(home, ident)
    page = _of_task(folder, runs) if isinstance(folder, TaskFolder) else _of_agent(folder)
    page["log"] = page["log"][-RECENT:]
    records = sessions.records(folder)
    working = is_worked_on(home, ident)
    return {
        **page,
        "sessions": [_session(record, working=working) for record in records],
        "iterations": page.get("iteration", 0),
        "refusals": [_refusal(refusal) for refusal in page.get("refusals", ())],
        "refusals_advice": refusals.advice(page.get("refusals", ())),
        "evidence": [_evidence(piece) for piece in page.get("evidence", ())],
        "reviews": page.get("reviews", []),
        "branch": _branch(home, ident),
        "worktree": _worktree(home, worktree_name(folder.task()) if isinstance(folder, TaskFolder) else ident),
    }


def _of_task(folder: TaskFolder, runs: ProjectRuns) -> Document:
    task = folder.task()
    continues = continuation_text(folder, task, runs)
    page = idle_tasks.task_document(folder, projects.load(folder.home), task, continues)
    can_accept = accept_command(task) and not is_approved(task)
    acts = [act for act in ACTS.get(task["status"], ()) if act != "approve" or can_accept]
    answer = ["answer"] if "question" in task and "answer" not in acts else []
    return {**page, "acts": [*acts, *answer], "waive": task_checks.failing(task)}


def _of_agent(folder: AgentFolder) -> Document:
    workflow = WorkflowFolder(folder.home).workflow()
    member = workflow["members"][folder.id]
    task = run_report.crew_tasks(workflow)[folder.id]
    feedback = member.get("feedback")
    entries = [{"number": "", "by": member["verifier"], "at": "", "iteration": member["iteration"], "text": feedback}]
    acts = (*CREW_ACTS.get(member["status"], ()), *(("answer",) if "question" in member else ()))
    return {
        **task,
        "id": folder.id,
        "own_status": shown_status(member),
        "phase": "workflow",
        "path": folder.folder,
        "description": _description(folder),
        "feedback": entries if feedback else [],
        "notes": notes.load_notes_or_backup(folder),
        "log": log.read(folder.home, folder.log_path),
        "reviews": _verifications(member),
        "next": "",
        "acts": list(acts),
    }


def _description(folder: AgentFolder) -> str:
    try:
        return folder.home.read(folder.description_path)
    except (FileNotFoundError, SowError):
        return ""


def _verifications(member: Any) -> list[Document]:
    result = member.get("result")
    if not result:
        return []
    findings = [*result["findings"], *({"text": text} for text in result["missing_evidence"])]
    verdict = "GREEN" if result["result"] == "passed" else "RED"
    review = {"by": result["verifier"], "at": result["at"], "iteration": member["iteration"]}
    return [{**review, "verdict": verdict, "findings": findings}]


def _session(record: SessionRecord, *, working: bool) -> Document:
    session: Any = record.session
    facts = {key: session[key] for key in ("number", "executor", "model", "role", "started_at")}
    turns = session["turns"]
    return {**facts, "turns": [_turn(turn, working=working and turn is turns[-1]) for turn in turns]}


def _turn(turn: Any, *, working: bool) -> Document:
    """Returns one turn; a turn without an end is live while an agent works."""
    facts = {key: turn[key] for key in TURN} | {key: turn.get(key) for key in MEASURED}
    return {**facts, "live": working and "ended_at" not in turn}


def _evidence(piece: Any) -> Document:
    return {**piece, "digest": piece["output"], "command": escape_line(piece["command"])}


def _refusal(refusal: Any) -> Document:
    return {
        **refusal,
        "text": refusals.call_text(refusal["tool"], refusal.get("command", "")),
        "reason": escape_line(refusal["reason"]),
    }


def _branch(home: Home, ident: str) -> str | None:
    from sow.gitwork.salvage import TASKS, parse_ref
    from sow.system import git

    if not is_task_id(ident):
        return None
    names = git.run(["for-each-ref", "--format=%(refname)", TASKS], cwd=home.root, check=False).splitlines()
    branches = [name for name in names if parse_ref(name)[1] == ident]
    return branches[-1].removeprefix("refs/heads/") if branches else None


def _worktree(home: Home, name: str) -> str | None:
    path = f"{home.sow}/local/worktrees/{name}"
    return path if os.path.isdir(path) else None
