"""Describes a workflow's status as one document: its agents, their questions, and the next step."""

from __future__ import annotations

import os

from sow.domain.workflows import advice
from sow.engine.workflows import design_check
from sow.store.workflows import status_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.documents.state import Workflow, WorkflowState
    from sow.store.workflows.folder import WorkflowFolder


def document(folder: WorkflowFolder, loaded: WorkflowState) -> dict[str, Any]:
    """Return the view that the crew has of itself, with what a person wants to know besides."""
    workflow = loaded["workflow"]
    plan = design_check.plan_on_disk(folder.home) if workflow["status"] != "completed" else None
    designed, digest = os.path.isfile(folder.plan_path), plan.digest if plan else ""
    return {
        **status_view.document(workflow, folder.notes(loaded)),
        "workflow": workflow["name"],
        "questions": questions(workflow),
        "changed": advice.changed_agents(workflow, plan.sections) if plan else [],
        "next": advice.next_step(workflow, designed=designed, digest=digest),
    }


def questions(workflow: Workflow) -> list[dict[str, str]]:
    """Return what the agents ask a person, by number."""
    rows = []
    for name, member in workflow["members"].items():
        if "question" in member:
            question = member["question"]
            number = f"w{question['number']}"
            rows.append(
                {
                    "number": number,
                    "agent": name,
                    "kind": question["kind"],
                    "text": question["text"],
                    "asked_at": question["asked_at"],
                    "do": f'sow answer {number} "…"',
                }
            )
    return sorted(rows, key=lambda row: int(row["number"][1:]))
