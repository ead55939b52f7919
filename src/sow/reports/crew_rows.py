"""Presents the agents of a workflow as tasks, for the rows of a report."""

from __future__ import annotations

from sow.domain.workflows.member import is_removed_from_design
from sow.errors import SowError
from sow.store.workflows.folder import WorkflowFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.documents.state import MemberState, Run, Workflow
    from sow.store.files.checkout_home import Home

# Statuses of an agent that have another name for a task.
STATUS = {
    "verified": "completed",
    "session_complete": "completed",
    "ready_for_verification": "needs_review",
    "working": "in_progress",
    "completion_drive_review": "in_progress",
    "blocked": "in_progress",
}


def states(home: Home, workflow_id: str) -> dict[str, dict[str, Any]] | None:
    """Return the current states of the crew, or None if the run belongs to another workflow."""
    folder = WorkflowFolder(home)
    if not folder.exists():
        return None
    workflow = folder.workflow()
    if workflow["id"] != workflow_id:
        return None
    return tasks(workflow)


def tasks(workflow: Workflow) -> dict[str, dict[str, Any]]:
    """Return every agent as a task, by its name."""
    return {
        name: _task(member) if not is_removed_from_design(name, workflow) else {**_task(member), "status": "abandoned"}
        for name, member in workflow["members"].items()
    }


def status_of(word: str) -> str:
    """Return the status of an agent as a task status. A task status stays the same."""
    return STATUS.get(word, word)


def _task(member: MemberState) -> dict[str, Any]:
    asks = "question" in member
    status = "paused" if asks and member["status"] != "failed" else status_of(member["status"])
    task: dict[str, Any] = {
        "name": member["task_id"],
        "assigned_agent": member["agent"],
        "status": status,
        "iteration": member["iteration"],
        "depends_on": member["dependencies"],
        "retry_count": member["rounds"],
    }
    if asks:
        task["question"] = {"number": f"w{member['question']['number']}", "text": member["question"]["text"]}
    return task


def is_workflow_missing(home: Home, run: Run) -> bool:
    """Whether the workflow of a run is not here, because it is archived or on another branch."""
    if not is_workflow_run([plan["path"] for plan in run["plans"]]):
        return False
    folder = WorkflowFolder(home)
    try:
        return not folder.exists() or folder.workflow()["id"] != run["project_id"]
    except SowError:  # the workflow is here but broken
        return False


def is_workflow_run(plans: list[str]) -> bool:
    """Whether a run belongs to a workflow, by its plan."""
    return any(path.endswith("orchestration/workflow_coordination_plan.md") for path in plans)
