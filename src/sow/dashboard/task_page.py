"""One task's page: its document, its sessions and turns, and what a person can do about it now."""

from __future__ import annotations

import os

from sow.dashboard.missing import Missing
from sow.domain import refusals
from sow.domain.ids import is_member, is_task_id
from sow.engine import report_crew
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import log, notes, sessions, task_document
from sow.store import project as projects
from sow.store.workflow import WorkflowFolder
from sow.system.terminal import harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.store.desk import Desk
    from sow.store.home import Home
    from sow.store.member_desk import MemberDesk
    from sow.store.sessions import Record

    AnyDesk = Desk | MemberDesk
    Document = dict[str, Any]

RECENT = 500  # entries of a log
TURN = ("number", "kind", "started_at", "reason")
MEASURED = (
    "iteration",
    "ended_at",
    "seconds",
    "outcome",
    "cost_usd",
    "input_tokens",
    "output_tokens",
    "exit",
    "status",
)
# What a person can do about a task in each status; a question that it asks can always be answered.
ACTS = {
    "pending": ("abandon",),
    "in_progress": ("abandon",),
    "needs_review": ("approve", "send-back", "abandon"),
    "paused": ("answer", "abandon"),
    "failed": ("retry", "abandon"),
}
CREW_ACTS = {"failed": ("retry",)}


def desk_of(home: Home, ident: str) -> AnyDesk:
    """The desk of a task or of an agent."""
    if is_task_id(ident) and projects.exists(home):
        project = projects.load(home)
        found = [desks.Desk(home, phase["name"], ident, project) for phase in project["phases"]]
        for desk in found:
            if os.path.isdir(desk.folder):
                return desk
    elif is_member(ident) and WorkflowFolder(home).exists():
        loaded = WorkflowFolder(home).load()
        if ident in loaded["workflow"]["members"]:
            return WorkflowFolder(home).desk(ident, loaded)
    raise Missing(f"there is no task {ident!r:.60}", "see which there are: sow task list")


def is_worked_on(home: Home, ident: str) -> bool:
    """Whether a process has this task, or the run that it may be part of: a turn without an end goes on."""
    return bool(home.holder(ident)) or home.claimant("run") is not None


def document(home: Home, ident: str) -> Document:
    """All that is known about a task or an agent, but for its row."""
    desk = desk_of(home, ident)
    known = _of_task(desk) if isinstance(desk, desks.Desk) else _of_agent(desk)
    known["log"] = known["log"][-RECENT:]
    own = sessions.records(desk)
    working = is_worked_on(home, ident)
    return {
        **known,
        "sessions": [_session(each, working=working) for each in own],
        "iterations": known.get("iteration", 0),
        "refusals": [_refusal(each) for each in known.get("refusals", ())],
        "refusals_advice": refusals.advice(known.get("refusals", ())),
        "evidence": [_evidence(each) for each in known.get("evidence", ())],
        "reviews": known.get("reviews", []),
        "branch": _branch(home, ident),
        "worktree": _worktree(home, ident),
    }


def _of_task(desk: Desk) -> Document:
    task = desk.task()
    known = task_document.document(desk, projects.load(desk.home), task)
    acts = ACTS.get(task["status"], ())
    return {**known, "acts": [*acts, *(["answer"] if "question" in task and "answer" not in acts else [])]}


def _of_agent(desk: MemberDesk) -> Document:
    """An agent of a workflow, in the words of a task."""
    workflow = WorkflowFolder(desk.home).workflow()
    member = workflow["members"][desk.id]
    task = report_crew.tasks(workflow)[desk.id]
    said = member.get("feedback")
    found = [{"number": "", "by": member["verifier"], "at": "", "iteration": member["iteration"], "text": said}]
    acts = (*CREW_ACTS.get(member["status"], ()), *(("answer",) if "question" in member else ()))
    return {
        **task,
        "id": desk.id,
        "own_status": member["status"],
        "phase": "workflow",
        "path": desk.folder,
        "description": _description(desk),
        "feedback": found if said else [],
        "notes": notes.listed_or_kept(desk),
        "log": log.read(desk.home, desk.log_path),
        "questions": [each for each in workflow.get("answers", ()) if each["member"] == desk.id],
        "reviews": _verifications(member),
        "next": "",
        "acts": list(acts),
    }


def _description(desk: MemberDesk) -> str:
    try:
        return desk.home.read(desk.description_path)
    except (FileNotFoundError, SowError):
        return ""


def _verifications(member: Any) -> list[Document]:
    """The last word of its verifier, as a review."""
    result = member.get("result")
    if not result:
        return []
    findings = [*result["findings"], *({"text": each} for each in result["missing_evidence"])]
    verdict = "GREEN" if result["result"] == "passed" else "RED"
    who = {"by": result["verifier"], "at": result["at"], "iteration": member["iteration"]}
    return [{**who, "verdict": verdict, "findings": findings}]


def _session(record: Record, *, working: bool) -> Document:
    session: Any = record.session
    facts = {key: session[key] for key in ("number", "executor", "model", "role", "started_at")}
    turns = session["turns"]
    return {**facts, "turns": [_turn(each, working=working and each is turns[-1]) for each in turns]}


def _turn(turn: Any, *, working: bool) -> Document:
    """One turn; one that has no end is live while somebody works."""
    facts = {key: turn[key] for key in TURN} | {key: turn.get(key) for key in MEASURED}
    return {**facts, "live": working and "ended_at" not in turn}


def _evidence(piece: Any) -> Document:
    return {**piece, "digest": piece["output"], "command": harmless_line(piece["command"])}


def _refusal(each: Any) -> Document:
    """A tool call that the agent CLI refused, as one line."""
    return {
        **each,
        "text": refusals.called(each["tool"], each.get("command", "")),
        "reason": harmless_line(each["reason"]),
    }


def _branch(home: Home, ident: str) -> str | None:
    """The branch of a task's newest run, if it is there."""
    from sow.engine.salvage import TASKS, parts_of
    from sow.system import git

    if not is_task_id(ident):
        return None
    names = git.run(["for-each-ref", "--format=%(refname)", TASKS], cwd=home.root, check=False).splitlines()
    own = [name for name in names if parts_of(name)[1] == ident]
    return own[-1].removeprefix("refs/heads/") if own else None


def _worktree(home: Home, ident: str) -> str | None:
    path = f"{home.sow}/local/worktrees/{ident}"
    return path if os.path.isdir(path) else None
