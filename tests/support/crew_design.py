"""A small valid design of a workflow, and ways to break it."""

from __future__ import annotations

from sow.domain.workflows import design_checks
from sow.domain.workflows.crew_plan import DesignProblem, WorkflowPlan
from sow.plans import workflow_plan

FILE = "workflow_coordination_plan.md"
KNOWN = frozenset({"implementer", "verifier", "solution-architect", "design-verifier", "documenter"})

HEAD = """\
workflow: user_management
task_id: implement_user_management
agents:
  - name: database_agent
    agent: implementer
    task_id: create_user_table_1727539200
    dependencies: []
    verifier: database_verifier
    outputs: [task_output/schema.sql]
    criteria: ["schema.sql runs on an empty database without an error"]
    timeout: 90m
  - name: api_agent
    task_id: user_endpoints_1727539284
    dependencies: [database_agent]
    verifier: api_verifier
    inputs: [agents/database_agent/task_output/schema.sql, docs/api.md]
    outputs: [src/api.py, task_output/contract.json]
    criteria: ["tests/test_api.py passes"]
  - name: frontend_agent
    task_id: user_pages_1727539300
    dependencies: [api_agent]
    verifier: api_verifier
    inputs: [agents/api_agent/task_output/contract.json]
    outputs: [src/pages.js]
    criteria: ["npm test ends with 0 failures"]
verifiers:
  - name: database_verifier
    verifies: [database_agent]
  - name: api_verifier
    agent: verifier
groups:
  - database_agent
  - [api_agent]
  - frontend_agent
"""
PROSE = """\
# User management

## Validation checkpoints
Each handoff is checked by its verifier; what fails goes back with findings.

## Escalation
Requirements go to the user, technology to the solution architect.
"""
TEXT = f"---\n{HEAD}---\n{PROSE}"


def instructions(name: str, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> str:
    """Returns the instructions of an agent, with all their sections."""
    reads = "\n".join(f"- {path}" for path in inputs) or "- nothing"
    writes = "\n".join(f"- {path}" for path in outputs)
    return (
        f"# {name}\n\n## Input Requirements\n{reads}\n\n## Output Requirements\n{writes}\n\n"
        "## Success Criteria\n- the tests pass\n\n## Completion Drive\nWrite down what you assume.\n"
    )


INSTRUCTIONS: dict[str, str | None] = {
    "database_agent": instructions("database_agent", (), ("task_output/schema.sql",)),
    "api_agent": instructions(
        "api_agent",
        ("agents/database_agent/task_output/schema.sql", "docs/api.md"),
        ("src/api.py", "task_output/contract.json"),
    ),
    "frontend_agent": instructions(
        "frontend_agent", ("agents/api_agent/task_output/contract.json",), ("src/pages.js",)
    ),
}


def plan(*edits: tuple[str, str], text: str = TEXT) -> WorkflowPlan:
    """Returns the plan with some of its text replaced; each edit must match."""
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return workflow_plan.read(text)


def findings(design: WorkflowPlan, told: dict[str, str | None] | None = None, **options: object) -> list[DesignProblem]:
    """Returns all findings about a plan with these instructions."""
    given = {**INSTRUCTIONS, **(told or {})}
    existing = options.get("existing", {"docs/api.md"})
    return design_checks.findings(design, given, KNOWN, existing=existing)  # type: ignore[arg-type]


def places(found: list[DesignProblem], *, error: bool = True) -> list[str]:
    """Returns `file:line rule` of each finding."""
    return [f"{finding.location} {finding.rule}" for finding in found if finding.error is error]
