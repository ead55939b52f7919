"""Computes the next command for a person with a workflow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.domain.documents.state import Workflow


def changed_agents(workflow: Workflow, sections: Mapping[str, str]) -> list[str]:
    """Return the agents whose part of the design differs from the approved one, or was removed."""
    approved = workflow.get("approval", {}).get("sections", {})
    return [name for name in {**approved, **sections} if approved and approved.get(name) != sections.get(name)]


def next_step(workflow: Workflow, *, designed: bool, digest: str = "") -> str:
    """Return the next command. `digest` is that of the design on disk, if the caller has read it."""
    numbers = [member["question"]["number"] for member in workflow["members"].values() if "question" in member]
    if workflow["status"] == "completed":
        return "sow workflow archive"
    if not designed:
        return "sow workflow design"
    if numbers:
        return f'sow answer w{min(numbers)} "…"'
    verified = workflow.get("verified")
    if not verified or not verified["passed"] or (digest and digest != verified["digest"]):
        return "sow workflow verify"
    if workflow.get("approval", {}).get("digest") != verified["digest"]:
        return "sow workflow approve"
    return "sow workflow run"
