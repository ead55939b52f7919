"""Builds shared_status.json, the crew's view of the workflow, from its state and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sow.domain import task
from sow.domain.documents.state import MemberState, Note, SharedStatus, StatusEntry, VerifierEntry, Workflow
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.domain.workflows.member import shown_status
from sow.errors import SowError
from sow.store.files import state_file
from sow.store.formats import json_text
from sow.store.validators.shared_status import validate

NotesOf = Mapping[str, Sequence[Note]]

NAME = "shared_status.json"


def document(workflow: Workflow, notes: NotesOf) -> SharedStatus:
    """Returns the whole view, its fields in the order of the protocol."""
    members = workflow["members"]
    shown: SharedStatus = {"task_id": workflow["task_id"], "status": workflow["status"]}  # type: ignore[typeddict-item]
    if "session_start" in workflow:
        shown["session_start"] = workflow["session_start"]
    shown["agents"] = {name: _entry(member, notes.get(name, ())) for name, member in members.items()}
    shown["verification"] = _verification(members)
    shown["overall_completion_drive_gate"] = gate(notes)
    return shown


def text(workflow: Workflow, notes: NotesOf) -> str:
    """Returns the view as the text of its file."""
    shown = document(workflow, notes)
    state_file.check(shown, NAME, validate)
    return json_text.dump(shown)


def gate(notes: NotesOf) -> str:
    """Returns `blocked` if an unresolved note keeps the workflow from ending, else `clear`."""
    return "blocked" if any(task.unresolved_notes(member_notes) for member_notes in notes.values()) else "clear"


def claims(edited: str, workflow: Workflow) -> dict[str, str]:
    """Returns the statuses in an edited view that differ from the state, by agent; none if it cannot be read."""
    try:
        shown: SharedStatus = json_text.load(edited, NAME)
        state_file.check(shown, NAME, validate)
    except SowError:
        return {}
    members = workflow["members"]
    return {
        name: entry["status"]
        for name, entry in shown["agents"].items()
        if name in members and entry["status"] != shown_status(members[name])
    }


def _entry(member: MemberState, notes: Sequence[Note]) -> StatusEntry:
    entry: StatusEntry = {"status": shown_status(member), "completion_drive_notes_count": len(notes)}  # type: ignore[typeddict-item]
    if notes:
        entry["unresolved_notes"] = len(task.unresolved_notes(notes))
    if member["dependencies"]:
        entry["dependencies"] = member["dependencies"]
    entry["last_update"] = member["last_update"]
    if member["outputs"]:
        entry["outputs"] = member["outputs"]
    return entry


def _verification(members: Mapping[str, MemberState]) -> dict[str, VerifierEntry]:
    """Returns each verifier, with the agents whose work it verifies."""
    entries: dict[str, VerifierEntry] = {}
    for name, member in members.items():
        entry = entries.setdefault(member["verifier"], {"status": "pending", "assigned_agents": []})
        entry["assigned_agents"].append(name)
    for entry in entries.values():
        entry["status"] = _verifier_status([members[name] for name in entry["assigned_agents"]])
    return entries


def _verifier_status(assigned: Sequence[MemberState]) -> str:
    """Returns a verifier's status: working, verified, failed or pending."""
    if any(shown_status(member) == "ready_for_verification" for member in assigned):
        return "working"
    if all(member["status"] in DONE_STATUSES for member in assigned):
        return "verified"
    refused = any(
        member.get("result", {}).get("result") == "failed"
        for member in assigned
        if member["status"] not in DONE_STATUSES
    )
    return "failed" if refused else "pending"
