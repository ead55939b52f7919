"""shared_status.json: what the crew may read about itself, made from the workflow's state and its notes."""

from __future__ import annotations

from sow.domain import note as rules
from sow.domain.workflow_agent import DONE
from sow.errors import SowError
from sow.store import json_text, state
from sow.store.validators.shared_status import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sow.domain.shapes import MemberState, Note, Workflow
    from sow.domain.view_shapes import SharedStatus, StatusEntry, VerifierEntry

    NotesOf = Mapping[str, Sequence[Note]]

NAME = "shared_status.json"


def document(workflow: Workflow, notes: NotesOf) -> SharedStatus:
    """The whole view, its fields in the order of the protocol."""
    members = workflow["members"]
    shown: SharedStatus = {"task_id": workflow["task_id"], "status": workflow["status"]}  # type: ignore[typeddict-item]
    if "session_start" in workflow:
        shown["session_start"] = workflow["session_start"]
    shown["agents"] = {name: _entry(member, notes.get(name, ())) for name, member in members.items()}
    shown["verification"] = _verification(members)
    shown["overall_completion_drive_gate"] = gate(notes)
    return shown


def text(workflow: Workflow, notes: NotesOf) -> str:
    """The same as the file has it."""
    shown = document(workflow, notes)
    state.check(shown, NAME, validate)
    return json_text.dump(shown)


def gate(notes: NotesOf) -> str:
    """Whether an unresolved note anywhere keeps the workflow from its end."""
    return "blocked" if any(rules.unresolved(each) for each in notes.values()) else "clear"


def claims(edited: str, workflow: Workflow) -> dict[str, str]:
    """The statuses that an edited view has for agents of this workflow, where they differ from the state."""
    shown: SharedStatus = json_text.load(edited, NAME)
    state.check(shown, NAME, validate)
    known = workflow["members"]
    return {
        name: entry["status"]
        for name, entry in shown["agents"].items()
        if name in known and entry["status"] != known[name]["status"]
    }


def readable_claims(edited: str, workflow: Workflow) -> dict[str, str]:
    """The same; a view that cannot be read claims nothing."""
    try:
        return claims(edited, workflow)
    except SowError:
        return {}


def _entry(member: MemberState, notes: Sequence[Note]) -> StatusEntry:
    entry: StatusEntry = {"status": member["status"], "completion_drive_notes_count": len(notes)}  # type: ignore[typeddict-item]
    if notes:
        entry["unresolved_notes"] = len(rules.unresolved(notes))
    if member["dependencies"]:
        entry["dependencies"] = member["dependencies"]
    entry["last_update"] = member["last_update"]
    if member["outputs"]:
        entry["outputs"] = member["outputs"]
    return entry


def _verification(members: Mapping[str, MemberState]) -> dict[str, VerifierEntry]:
    """Each verifier, with those whose work it verifies."""
    found: dict[str, VerifierEntry] = {}
    for name, member in members.items():
        entry = found.setdefault(member["verifier"], {"status": "pending", "assigned_agents": []})
        entry["assigned_agents"].append(name)
    for entry in found.values():
        entry["status"] = _stand([members[name] for name in entry["assigned_agents"]])
    return found


def _stand(assigned: Sequence[MemberState]) -> str:
    """How far a verifier is: at work, done with all, its last word a refusal, or waiting."""
    if any(each["status"] == "ready_for_verification" for each in assigned):
        return "working"
    if all(each["status"] in DONE for each in assigned):
        return "verified"
    refused = any(each.get("result", {}).get("result") == "failed" for each in assigned if each["status"] not in DONE)
    return "failed" if refused else "pending"
