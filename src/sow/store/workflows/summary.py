"""Summarizes a workflow for views of the whole checkout."""

from __future__ import annotations

import os
from typing import Any

from sow.errors import SowError
from sow.store.files.checkout_home import Home


def summary(home: Home) -> dict[str, Any] | None:
    """Returns a summary of the workflow, or None if there is none."""
    if not os.path.lexists(f"{home.root}/orchestration/state.yaml"):
        return None
    from sow.domain.workflows import inbox
    from sow.domain.workflows.lifecycle import DONE_STATUSES
    from sow.store.workflows.folder import WorkflowFolder

    folder = WorkflowFolder(home)
    try:
        workflow = folder.workflow()
    except SowError as error:
        return {
            "name": None,
            "status": "broken",
            "problem": error.message,
            "agents": 0,
            "done": 0,
            "next": "sow doctor",
        }
    statuses = [member["status"] for member in workflow["members"].values()]
    counts = {"agents": len(statuses), "done": sum(status in DONE_STATUSES for status in statuses)}
    advice = inbox.next_step(workflow, designed=os.path.isfile(folder.plan_path))
    return {"name": workflow["name"], "status": workflow["status"], **counts, "next": advice}
