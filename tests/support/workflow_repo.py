"""A repository with a workflow: the example's design, or one of a few agents, with scripted roles."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml
from conftest import Repo

from support.paths import ROOT

EXAMPLE = ROOT / "examples" / "workflow-user-management"
PLAN = "orchestration/workflow_coordination_plan.md"
INSTRUCTIONS = """\
# {name}

## Task
Write what is asked for.

## Input Requirements
{inputs}

## Output Requirements
{outputs}

## Success Criteria
- the file is there and holds one line

## Completion Drive
Escalate what is a requirement.
"""
PROSE = """\

# A small crew

## Validation checkpoints
Every output is read by its verifier before the next agent starts; a failed check goes back to the agent.

## Escalation
Requirements go to the person, technology to the solution architect, order and gaps to the workflow architect.
"""


class WorkflowRepo:
    """A repository after `sow workflow new`, and the next steps."""

    def __init__(self, repo: Repo, folder: Path) -> None:
        self.repo = repo
        self.folder = folder

    @property
    def orchestration(self) -> Path:
        return self.repo.root / "orchestration"

    def begin(self, name: str = "user_management") -> WorkflowRepo:
        self.repo.ok("workflow", "new", name, "--summary", str(EXAMPLE / "summary.md"))
        return self

    def design(self) -> WorkflowRepo:
        """Writes the example's design, as its architect does."""
        shutil.copytree(EXAMPLE / "design", self.orchestration, dirs_exist_ok=True)
        return self

    def crew(self, needs: dict[str, list[str]], **fields: Any) -> WorkflowRepo:
        """Writes a design of agents that depend on each other, each with an output and a verifier of its own."""
        agents = []
        for number, (name, before) in enumerate(needs.items()):
            inputs = [f"agents/{item}/task_output/{item}.txt" for item in before]
            entry = {
                "name": name,
                "agent": "implementer",
                "task_id": f"do_{name}_{1727539200 + number}",
                "dependencies": before,
                "verifier": f"{name}_verifier",
                "inputs": inputs,
                "outputs": [f"task_output/{name}.txt"],
                "criteria": [f"{name}.txt holds one line"],
            }
            agents.append(entry)
            listed = "\n".join(f"- {item}" for item in inputs) or "- none"
            text = INSTRUCTIONS.format(name=name, inputs=listed, outputs=f"- task_output/{name}.txt: text, one line")
            self.write(f"agents/{name}/agent_instructions.md", text)
        verifiers = [{"name": f"{name}_verifier", "agent": "verifier"} for name in needs]
        head = {"workflow": "user_management", "task_id": "implement_user_management", "agents": agents}
        self.plan({**head, "verifiers": verifiers, **fields})
        return self

    def plan(self, head: dict[str, Any], prose: str = PROSE) -> None:
        self.write("workflow_coordination_plan.md", f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n{prose}")

    def head(self) -> dict[str, Any]:
        """Returns the frontmatter of the plan on disk."""
        text = (self.repo.root / PLAN).read_text()
        data: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
        return data

    def write(self, path: str, text: str) -> None:
        place = self.orchestration / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def scripted(self, turns: dict[str, list[list[dict[str, Any]]]]) -> WorkflowRepo:
        """Lets scripts play every role, turn by turn."""
        path = self.folder / "scenario.yaml"
        path.write_text(yaml.safe_dump({"tasks": turns}))
        executor = {"type": "simulated", "settings": {"scenario": str(path)}}
        config = Path(self.repo.environment["HOME"]) / ".config/sow/config.yaml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(yaml.safe_dump({"agents": {"executors": {"script": executor}}}))
        return self

    @property
    def status(self) -> dict[str, Any]:
        """Returns shared_status.json."""
        data: dict[str, Any] = json.loads((self.orchestration / "shared_status.json").read_text())
        return data

    @property
    def state(self) -> dict[str, Any]:
        """Returns the workflow in state.yaml."""
        workflow: dict[str, Any] = yaml.safe_load((self.orchestration / "state.yaml").read_text())["workflow"]
        return workflow
