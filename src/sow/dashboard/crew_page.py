"""The page of a workflow: where it stands, its agents, their notes and what was escalated."""

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
    """All that a person wants to know of a workflow; `rows` are its agents on the board."""
    folder = WorkflowFolder(home)
    if not folder.exists():
        raise Missing("there is no workflow here", "begin one: sow workflow new NAME")
    loaded = folder.load()
    workflow = loaded["workflow"]
    shown = status_document.document(folder, loaded)
    waits = shown["next"] == "sow workflow approve"
    return {
        **shown,
        "members": list(rows),
        "notes": folder.notes(loaded),
        "verifiers": {name: each["verifier"] for name, each in workflow["members"].items()},
        "escalations": workflow["escalations"],
        "answers": workflow.get("answers", []),
        "verified": workflow.get("verified"),
        "approval": workflow.get("approval"),
        "acts": ["approve-workflow"] if waits else [],
    }
