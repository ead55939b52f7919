"""Writes the file of a role from a description or from a workflow's plan (`sow agent new`)."""

from __future__ import annotations

from sow.agents.registry import FOLDER, split
from sow.cli.context import Context
from sow.domain import inputs
from sow.domain.inputs import is_role_name
from sow.domain.workflows.crew_plan import RequiredAgent
from sow.engine.workflows import design_check
from sow.engine.workflows.design import missing
from sow.errors import SowError
from sow.store import layout
from sow.store.files.checkout_home import Home
from sow.store.formats import yaml_text
from sow.system.terminal import escape_line, out

MOST = 1 << 18
FORM = """\
You are {name}. {description}

## What you know
[the field, the tools, the habits of this repository]

## What you do
[how you work, step by step]

## When you are done
[what exists then, and how one sees it]
"""


def new(context: Context, *, name: str, description: str, prompt: str, from_workflow: bool) -> int:
    if from_workflow:
        return _from_workflow(context, name)
    context.require_non_worker("write a role")
    if not name:
        raise SowError("sow agent new: NAME is missing", 'sow agent new database-specialist --description "…"')
    if not description:
        raise SowError("--description is required", f'say when to use it: sow agent new {name:.60} --description "…"')
    prompt_text = context.checked_text(prompt, "--prompt", MOST) if prompt else ""
    home = context.checkout()
    _write(home, name, inputs.checked_line(description, "--description", 1000), prompt_text)
    return 0


def _from_workflow(context: Context, name: str) -> int:
    """Writes the agent types that the plan requires and that are not there."""
    context.require_non_worker("write a role")
    home = context.project_home()
    config = context.config()
    agents = config.agents(home.root, context.environment)
    design = design_check.of_checkout(home, agents.names())
    missing_agents = missing(design, agents.names())
    if name:
        missing_agents = [agent for agent in missing_agents if agent.name == name]
        if not missing_agents:
            names = ", ".join(agent.name for agent in design.plan.required) or "none"
            raise SowError(f"the plan requires no missing agent type {name!r:.60}", f"the plan requires: {names}")
    if not missing_agents:
        out("every agent type of the plan exists")
    write_required(home, missing_agents)
    return 0


def write_required(home: Home, required_agents: list[RequiredAgent]) -> None:
    """Writes agent types as a workflow's plan specifies them."""
    for agent in required_agents:
        _write(home, agent.name, _line(agent), _prompt(agent))


def _line(required: RequiredAgent) -> str:
    return inputs.checked_line(" ".join(required.description.split()) or f"Plays {required.name}", "description", 1000)


def _prompt(required: RequiredAgent) -> str:
    parts = [required.prompt.strip() or f"You are {required.name}. {required.description.strip()}"]
    if required.capabilities.strip():
        parts.append(f"## Capabilities\n\n{required.capabilities.strip()}")
    return "\n\n".join(parts)


def _write(home: Home, name: str, description: str, prompt: str) -> None:
    """Writes the role as Markdown with front matter, the form that every agent CLI reads."""
    if not is_role_name(name):
        raise SowError(f"{name!r:.80} is not a role name", "use lower case with hyphens, such as database-specialist")
    body = prompt.strip() or FORM.format(name=name, description=description).strip()
    page = f"---\nname: {name}\ndescription: {yaml_text.scalar(description)}\n---\n\n{body}\n"
    split(page, name)
    path = layout.create(home, FOLDER, name, page)
    note = "" if prompt.strip() else "; fill in its prompt"
    out(escape_line(f"created {path}{note}"))
