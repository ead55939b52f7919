"""Presents the agents of a workflow as tasks, for the rows of a report."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from sow.domain.documents.state import MemberState, Run, Workflow
from sow.domain.workflows.member import is_removed_from_design
from sow.errors import SowError
from sow.reports.run_history import task_status
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.runs.run_folder import is_workflow_run
from sow.store.workflows import archive
from sow.store.workflows.folder import WorkflowFolder


def states(home: Home, workflow_id: str) -> dict[str, dict[str, Any]] | None:
    """Returns the current states of the crew, or None if the run belongs to another workflow."""
    folder = WorkflowFolder(home)
    if not folder.exists():
        return None
    workflow = folder.workflow()
    if workflow["id"] != workflow_id:
        return None
    return tasks(workflow)


def tasks(workflow: Workflow) -> dict[str, dict[str, Any]]:
    """Returns every agent as a task, by its name, with the questions that were answered."""
    rows = {name: _task(member) for name, member in workflow["members"].items()}
    for name, row in rows.items():
        if is_removed_from_design(name, workflow):
            row["status"] = "abandoned"
    for answer in workflow.get("answers", []):
        if answer["member"] in rows:
            rows[answer["member"]]["questions"].append({**answer, "number": f"w{answer['number']}"})
    return rows


def archived_tasks(home: Home, workflow_id: str) -> dict[str, dict[str, Any]]:
    """Returns the agents of an archived workflow as tasks, or none if it is not in the archive."""
    from sow.store.validators.workflow import validate  # few reports are about an archived workflow

    for name in archive.names(home):
        with suppress(SowError):
            path = f"{WorkflowFolder(home).archive_folder}/{name}/{archive.STATE}"
            workflow: Workflow = state_file.read(home, path, validate)["workflow"]
            if workflow["id"] == workflow_id:
                return tasks(workflow)
    return {}


def _task(member: MemberState) -> dict[str, Any]:
    asks = "question" in member
    status = "paused" if asks and member["status"] != "failed" else task_status(member["status"])
    task: dict[str, Any] = {
        "name": member["task_id"],
        "assigned_agent": member["agent"],
        "status": status,
        "iteration": member["iteration"],
        "depends_on": member["dependencies"],
        "retry_count": member["rounds"],
        "questions": [],
    }
    if asks:
        task["question"] = {"number": f"w{member['question']['number']}", "text": member["question"]["text"]}
    return task


def is_workflow_missing(home: Home, run: Run) -> bool:
    """Returns whether the workflow of a run is not here, because it is archived or on another branch."""
    if not is_workflow_run(run):
        return False
    folder = WorkflowFolder(home)
    try:
        return not folder.exists() or folder.workflow()["id"] != run["project_id"]
    except SowError:  # the workflow is here but broken
        return False
