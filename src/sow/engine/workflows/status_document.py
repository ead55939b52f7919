"""Describes a workflow's status as one document: its agents, their questions, and the next step."""

from __future__ import annotations

import os
from typing import Any

from sow.domain.documents.state import Workflow, WorkflowState
from sow.domain.workflows import inbox
from sow.engine.workflows import design_check
from sow.store.workflows import note_archive, status_view
from sow.store.workflows.folder import WorkflowFolder


def document(folder: WorkflowFolder, loaded: WorkflowState) -> dict[str, Any]:
    """Returns the view that the crew has of itself, with what a person wants to know besides."""
    workflow = loaded["workflow"]
    plan = design_check.plan_on_disk(folder.home) if workflow["status"] != "completed" else None
    designed, digest = os.path.isfile(folder.plan_path), plan.digest if plan else ""
    return {
        **status_view.document(workflow, folder.notes(loaded)),
        "workflow": workflow["name"],
        "archived_notes": _archived_notes(folder, loaded),
        "questions": questions(workflow),
        "changed": inbox.changed_agents(workflow, plan.sections) if plan else [],
        "next": inbox.next_step(workflow, designed=designed, digest=digest),
    }


def _archived_notes(folder: WorkflowFolder, loaded: WorkflowState) -> dict[str, int]:
    """Returns how many notes of each agent are in the archive."""
    counts: dict[str, int] = {}
    folders = folder.agent_folders(loaded)
    for entry in note_archive.index(folders[0])["archives"] if folders else ():
        counts[entry["agent"]] = counts.get(entry["agent"], 0) + entry["notes"]
    return counts


def questions(workflow: Workflow) -> list[dict[str, str]]:
    """Returns what the agents ask a person, by number."""
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
