"""Adds, lists, approves and changes the phases of a project (`sow phase`)."""

from __future__ import annotations

from typing import Any

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import print_list
from sow.domain import inputs
from sow.domain.documents.state import Phase
from sow.domain.task import ENDED_STATUSES, active
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.projects import phases, task_folder
from sow.store.projects import project as projects
from sow.system.terminal import out


def add(context: Context, *, name: str, reason: str, before: str, after: str, now: bool, yes: bool) -> int:
    actor = context.require_person("add a phase at once", asked=True) if yes else context.actor()
    home = context.project_home()
    before = _place(home, before, after) if now else before
    reason_text = inputs.checked_line(reason, "--reason", 2000)
    added = phases.add(home, name, reason=reason_text, before=before, after=after, approved=yes, actor=actor)
    if added["status"] == "proposed":
        out(f"phase {added['name']} is proposed as question {added['question']}")
        out(f"to approve it, a person runs: sow phase approve {added['name']}")
        return 0
    out(f"phase {added['name']} is {added['status']}")
    return 0


def _place(home: Home, before: str, after: str) -> str:
    """Returns the phase before which --now places one: the active one, if there is one."""
    if before or after:
        raise SowError("more than one place is given", "use one of --before, --after and --now")
    current = active(projects.load(home)["phases"])
    return current["name"] if current else ""


def move(context: Context, *, name: str, before: str, after: str, now: bool) -> int:
    actor = context.require_non_worker("move a phase")
    home = context.project_home()
    before = _place(home, before, after) if now else before
    return _tell(phases.move(home, name, before=before, after=after, actor=actor))


def list_phases(context: Context, *, json: bool) -> int:
    home = context.project_home()
    project = projects.load(home)
    readable, broken = task_folder.load_readable(home, project)
    rows: list[dict[str, Any]] = []
    for phase in project["phases"]:
        statuses = [task["status"] for folder, task in readable if folder.phase == phase["name"]]
        rows.append({**phase, "tasks": len(statuses), **{status: statuses.count(status) for status in ENDED_STATUSES}})
    lines = [("PHASE", "STATUS", "TASKS", "DONE")]
    lines += [(row["name"], row["status"], str(row["tasks"]), str(row["completed"])) for row in rows]
    return print_list({"phases": rows, "broken": broken}, lines, "no phases", json=json)


def advance(context: Context) -> int:
    actor = context.require_non_worker("advance the phase")
    return _tell(phases.advance(context.project_home(), actor=actor))


def back(context: Context, *, name: str) -> int:
    actor = context.require_non_worker("go back to an earlier phase")
    return _tell(phases.go_back(context.project_home(), name, actor=actor))


def approve(context: Context, *, name: str) -> int:
    actor = context.require_person("approve a phase", asked=True)
    home = context.project_home()
    out(f"phase {phases.decide(home, name, yes=True, actor=actor)} is approved")
    return _tell(projects.load(home)["phases"])


def _tell(phases: list[Phase]) -> int:
    current = next((phase["name"] for phase in phases if phase["status"] == "active"), "")
    out(f"active phase: {current}" if current else "all phases are completed")
    return 0


NOW = Option("--now", help="Put it before the active phase, so that it becomes active")

COMMANDS = (
    Command(
        "phase add",
        add,
        "Propose a phase, for a person to approve",
        Argument("name", "The phase's name, such as discovery"),
        Option("--reason", "TEXT", "Why the project needs it", required=True),
        Option("--after", "PHASE", "Put it after this phase (default: the active one)", completes="phases"),
        Option("--before", "PHASE", "Put it before this phase", completes="phases"),
        NOW,
        Option("--yes", help="Approve it now, as a person"),
        details="An approved phase before the active one becomes the active one.",
        forwarded=True,
    ),
    Command(
        "phase move",
        move,
        "Move a phase",
        Argument("name", "The phase", completes="phases"),
        Option("--after", "PHASE", "Put it after this phase", completes="phases"),
        Option("--before", "PHASE", "Put it before this phase", completes="phases"),
        NOW,
        details="The first phase that is not completed becomes the active one.",
    ),
    Command("phase list", list_phases, "List the phases and their progress", json=True),
    Command("phase advance", advance, "Complete the active phase, and begin the next one"),
    Command(
        "phase back",
        back,
        "Go back to an earlier phase",
        Argument("name", "The phase; without it, the previous one", optional=True, completes="phases"),
    ),
    Command(
        "phase approve", approve, "Approve a proposed phase", Argument("name", "The proposed phase", completes="phases")
    ),
)
