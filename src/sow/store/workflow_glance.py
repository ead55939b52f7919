"""A workflow in a few facts, for whoever looks at the whole checkout."""

from __future__ import annotations

import os

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.store.home import Home


def glance(home: Home) -> dict[str, Any] | None:
    """A workflow in a few facts; None where there is none, which costs nothing."""
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
    statuses = [each["status"] for each in workflow["members"].values()]
    done = sum(each in DONE for each in statuses)
    counts = {"agents": len(statuses), "done": done}
    advice = advice_on_workflow.next_step(workflow, designed=os.path.isfile(folder.plan_path))
    return {"name": workflow["name"], "status": workflow["status"], **counts, "next": advice}
