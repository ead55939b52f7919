"""What a person does next about a workflow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.domain.shapes import Workflow


def changed(workflow: Workflow, sections: Mapping[str, str]) -> list[str]:
    """The agents whose part of the design is another one than the person has approved, or is there no more."""
    word = workflow.get("approval", {}).get("sections", {})
    return [name for name in {**word, **sections} if word and word.get(name) != sections.get(name)]


def next_step(workflow: Workflow, *, designed: bool, digest: str = "") -> str:
    """The command that leads on; `digest` is that of the design as it is on disk, if anybody looked."""
    asked = [each["question"]["number"] for each in workflow["members"].values() if "question" in each]
    if workflow["status"] == "completed":
        return "sow workflow archive"
    if not designed:
        return "sow workflow design"
    if asked:
        return f'sow answer w{min(asked)} "…"'
    verified = workflow.get("verified")
    if not verified or not verified["passed"] or (digest and digest != verified["digest"]):
        return "sow workflow verify"
    if workflow.get("approval", {}).get("digest") != verified["digest"]:
        return "sow workflow approve"
    return "sow workflow run"
