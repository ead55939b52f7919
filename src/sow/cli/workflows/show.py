"""Shows the status of a workflow and lists all workflows."""

from __future__ import annotations

import os
from typing import Any

from sow.cli.context import Context
from sow.cli.output import coloured_table, emit, print_list
from sow.domain.documents.state import MemberState, Workflow
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.engine.workflows import status_document
from sow.errors import SowError
from sow.reports.idle_tasks import ProjectRuns
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.validators.workflow import validate
from sow.store.workflows import archive
from sow.store.workflows.folder import WorkflowFolder
from sow.system.terminal import escape_control, escape_line, out, paint

COLOURS = {"verified": "green", "session_complete": "green", "failed": "red", "blocked": "yellow", "working": "cyan"}
RUN = "sow workflow run"
HEAD = ("AGENT", "STATUS", "NOTES", "REFUSED", "FAILED TURNS", "WAITS FOR", "LAST UPDATE")


def status(context: Context, *, json: bool) -> int:
    folder = WorkflowFolder(context.project_home())
    loaded = folder.load()
    workflow = loaded["workflow"]
    facts = status_document.document(folder, loaded)
    if json:
        return emit(facts)
    name = f"Workflow {workflow['name']} ({workflow['task_id']})"
    notes = "all notes resolved" if facts["overall_completion_drive_gate"] == "clear" else "open notes"
    out(f"{paint(escape_line(name), 'bold')}: {workflow['status']}, {notes}")
    _members(workflow, facts["agents"], facts["archived_notes"])
    for question in facts["questions"]:
        first, *rest = escape_control(question["text"]).split("\n")
        out(f"\n{paint(question['number'], 'bold')} {question['agent']} asks ({question['kind']}): {first}")
        for line in rest:
            out(f"   {line}")
        out(f"   {paint(question['do'], 'cyan')}")
    if facts["changed"]:
        names = escape_line(", ".join(facts["changed"]))
        out(f"\nthe design has changed since its approval for {names}; approve it again")
    step = run_command(context, folder.home) if facts["next"] == RUN else facts["next"]
    out(f"\nNext: {paint(escape_line(step), 'cyan')}")
    return 0


def run_command(context: Context, home: Home) -> str:
    """Returns the command that runs the workflow, with the options of a run that it continues."""
    workflow_id, hint_context = WorkflowFolder(home).workflow()["id"], context.hints()
    runs = ProjectRuns(home, hint_context, owner=workflow_id)
    return runs.command(runs.unfinished()) or RUN


def _members(workflow: Workflow, entries: dict[str, Any], archived: dict[str, int]) -> None:
    """Prints the table of agents, with coloured statuses."""
    members = workflow["members"]
    if not members:
        return
    rows = [_row(name, member, entries[name], archived.get(name, 0), members) for name, member in members.items()]
    out("\n".join(coloured_table([HEAD, *rows], "STATUS", COLOURS)))


def _row(name: str, member: MemberState, entry: Any, archived: int, members: dict[str, MemberState]) -> tuple[str, ...]:
    waits = [dependency for dependency in member["dependencies"] if members[dependency]["status"] not in DONE_STATUSES]
    count = entry["completion_drive_notes_count"]
    notes = f"{count}, {entry['unresolved_notes']} open" if entry.get("unresolved_notes") else str(count + archived)
    return (
        name,
        entry["status"],
        notes,
        str(member["rounds"]),
        str(member["tries"]),
        ", ".join(waits) or "-",
        member["last_update"] or "-",
    )


def _workflows(home: Home) -> list[dict[str, Any]]:
    """Returns the current workflow, then the archived ones; an unreadable one is marked."""
    folder = WorkflowFolder(home)
    paths = [folder.state_path] if folder.exists() else []
    paths += [f"{folder.archive_folder}/{name}/{archive.STATE}" for name in archive.names(home)]
    return [_facts(home, path) for path in paths]


def _facts(home: Home, path: str) -> dict[str, Any]:
    folder = os.path.dirname(path)
    try:
        workflow: Any = state_file.read(home, path, validate)["workflow"]
    except SowError:
        unknown = {"status": "unreadable", "agents": 0, "created_at": ""}
        return {"name": os.path.basename(folder), **unknown, "path": home.relative(folder)}
    return {
        "name": workflow["name"],
        "status": workflow["status"],
        "agents": len(workflow["members"]),
        "created_at": workflow["created_at"],
        "path": home.relative(folder),
    }


def list_workflows(context: Context, *, json: bool) -> int:
    workflows = _workflows(context.project_home())
    rows = [("WORKFLOW", "STATUS", "AGENTS", "CREATED", "WHERE")]
    rows += [(w["name"], w["status"], str(w["agents"]), w["created_at"], w["path"]) for w in workflows]
    empty = "no workflows yet; create one: sow workflow new NAME"
    return print_list({"workflows": workflows}, rows, empty, json=json)
