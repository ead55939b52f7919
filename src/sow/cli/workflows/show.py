"""Shows the status of a workflow and lists all workflows."""

from __future__ import annotations

import os

from sow.cli.output import emit, table
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.errors import SowError
from sow.store.files import state_file
from sow.store.validators.workflow import validate
from sow.store.workflows import archive
from sow.store.workflows.folder import WorkflowFolder
from sow.system.terminal import escape_control, escape_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.cli.context import Context
    from sow.domain.documents.state import MemberState, Workflow
    from sow.store.files.checkout_home import Home

COLOURS = {"verified": "green", "session_complete": "green", "failed": "red", "blocked": "yellow", "working": "cyan"}
HEAD = ("AGENT", "STATUS", "NOTES", "ROUNDS", "TRIES", "WAITS FOR", "LAST UPDATE")


def status(context: Context, *, json: bool) -> int:
    from sow.engine.workflows import status_document

    folder = WorkflowFolder(context.project_home())
    loaded = folder.load()
    workflow = loaded["workflow"]
    facts = status_document.document(folder, loaded)
    if json:
        return emit(facts)
    name = f"Workflow {workflow['name']} ({workflow['task_id']})"
    out(f"{paint(escape_line(name), 'bold')}: {workflow['status']}, gate {facts['overall_completion_drive_gate']}")
    _members(workflow, facts["agents"])
    for question in facts["questions"]:
        first, *rest = escape_control(question["text"]).split("\n")
        out(f"\n{paint(question['number'], 'bold')} {question['agent']} asks ({question['kind']}): {first}")
        for line in rest:
            out(f"   {line}")
        out(f"   {paint(question['do'], 'cyan')}")
    if facts["changed"]:
        out(f"\nthe design has changed since its approval for {escape_line(', '.join(facts['changed']))}: they wait")
    out(f"\nNext: {paint(facts['next'], 'cyan')}")
    return 0


def _members(workflow: Workflow, entries: dict[str, Any]) -> None:
    """Prints the table of agents, with coloured statuses."""
    members = workflow["members"]
    if not members:
        return
    rows = [_row(name, member, entries[name], members) for name, member in members.items()]
    lines = table([HEAD, *rows], indent="  ").split("\n")
    column = lines[0].index("STATUS")
    out(lines[0])
    for row, line in zip(rows, lines[1:], strict=True):
        colour = COLOURS.get(row[1])
        out(f"{line[:column]}{paint(row[1], colour)}{line[column + len(row[1]) :]}" if colour else line)


def _row(name: str, member: MemberState, entry: Any, members: dict[str, MemberState]) -> tuple[str, ...]:
    waits = [dependency for dependency in member["dependencies"] if members[dependency]["status"] not in DONE_STATUSES]
    count = entry["completion_drive_notes_count"]
    notes = f"{count}, {entry['unresolved_notes']} unresolved" if entry.get("unresolved_notes") else str(count)
    return (
        name,
        member["status"],
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
    if json:
        return emit({"workflows": workflows})
    if not workflows:
        out("no workflows yet; begin one: sow workflow new NAME")
        return 0
    rows = [(w["name"], w["status"], str(w["agents"]), w["created_at"], w["path"]) for w in workflows]
    out(table([("WORKFLOW", "STATUS", "AGENTS", "CREATED", "WHERE"), *rows]))
    return 0
