"""Summarizes a workflow for views of the whole checkout."""

from __future__ import annotations

import os

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.store.home import Home


def glance(home: Home) -> dict[str, Any] | None:
    """Returns a summary of the workflow, or None if there is none."""
    if not os.path.lexists(f"{home.root}/orchestration/state.yaml"):
        return None
    from sow.domain import advice_on_workflow
    from sow.domain.workflow_agent import DONE
    from sow.store.workflow import WorkflowFolder

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
    done = sum(status in DONE for status in statuses)
    counts = {"agents": len(statuses), "done": done}
    advice = advice_on_workflow.next_step(workflow, designed=os.path.isfile(folder.plan_path))
    return {"name": workflow["name"], "status": workflow["status"], **counts, "next": advice}
