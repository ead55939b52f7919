"""Builds the page of a workflow: its state, its agents, their notes and its escalations."""

from __future__ import annotations

from sow.dashboard.missing import Missing
from sow.store.workflow import WorkflowFolder
from sow.workflows import status_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sow.store.home import Home


def document(home: Home, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the document of the page; `rows` are the agents' rows."""
    folder = WorkflowFolder(home)
    if not folder.exists():
        raise Missing("there is no workflow here", "begin one: sow workflow new NAME")
    loaded = folder.load()
    workflow = loaded["workflow"]
    status = status_document.document(folder, loaded)
    awaits_approval = status["next"] == "sow workflow approve"
    return {
        **status,
        "members": list(rows),
        "notes": folder.notes(loaded),
        "verifiers": {name: member["verifier"] for name, member in workflow["members"].items()},
        "escalations": workflow["escalations"],
        "answers": workflow.get("answers", []),
        "verified": workflow.get("verified"),
        "approval": workflow.get("approval"),
        "acts": ["approve-workflow"] if awaits_approval else [],
    }
