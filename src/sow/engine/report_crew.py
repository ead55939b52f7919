"""The agents of a workflow as the rows of a report see them: each in the words of a task."""

from __future__ import annotations

from sow.domain.member import is_dropped
from sow.errors import SowError
from sow.store.workflow import WorkflowFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.shapes import MemberState, Run, Workflow
    from sow.store.home import Home

# The words of an agent's own lifecycle as a task has them; the others are the same.
STATUS = {
    "verified": "completed",
    "session_complete": "completed",
    "ready_for_verification": "needs_review",
    "working": "in_progress",
    "completion_drive_review": "in_progress",
    "blocked": "in_progress",
}


def states(home: Home, workflow_id: str) -> dict[str, dict[str, Any]] | None:
    """The present states of the crew; none where the run is not one of the workflow that is here."""
    folder = WorkflowFolder(home)
    if not folder.exists():
        return None
    workflow = folder.workflow()
    if workflow["id"] != workflow_id:
        return None
    return tasks(workflow)


def tasks(workflow: Workflow) -> dict[str, dict[str, Any]]:
    """Every agent in the words of a task, by its name."""
    return {
        name: _task(member) if not is_dropped(name, workflow) else {**_task(member), "status": "abandoned"}
        for name, member in workflow["members"].items()
    }


def status_of(word: str) -> str:
    """A status of an agent in the words of a task; a task's own word stays."""
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


def is_gone(home: Home, run: Run) -> bool:
    """Whether a run is one of a workflow that is not here: put away, or on another branch."""
    if not is_crew([each["path"] for each in run["plans"]]):
        return False
    folder = WorkflowFolder(home)
    try:
        return not folder.exists() or folder.workflow()["id"] != run["project_id"]
    except SowError:  # it is here, and broken
        return False


def is_crew(plans: list[str]) -> bool:
    """Whether a run is one of a workflow, by the plan that it has."""
    return any(path.endswith("orchestration/workflow_coordination_plan.md") for path in plans)
