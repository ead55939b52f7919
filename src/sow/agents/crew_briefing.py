"""Builds the prompts of a workflow's agents: role, agent folder, and what changed since the last turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sow.agents import briefing
from sow.agents.briefing import load_role_prompt
from sow.agents.registry import Agent
from sow.domain.workflows import contract_block

CONTRACT = "protocol/agent-contract"
ROLE_GUIDANCE = "guidance/{role}/workflow"


def with_contract(instructions: str) -> str:
    """Returns an agent's instructions with the current contract at the end."""
    return contract_block.set_contract(instructions, briefing.load_template(CONTRACT))


def workflow_role_prompt(agent: Agent, sow: str, name: str) -> str:
    """Returns a role's prompt for workflows: its file's text, else its packaged guidance, else one line."""
    if agent.path:
        return load_role_prompt(agent).strip()
    guidance = ROLE_GUIDANCE.format(role=agent.name)
    if guidance in briefing.template_names():
        return briefing.render(briefing.load_template(guidance), sow=sow, task=name).strip()
    return f"You play the role of {agent.name}: {agent.description}."


def first_prompt(agent: Agent, *, name: str, workflow: str, folder: str, task_id: str, sow: str) -> str:
    """Returns the first prompt of an agent's session; `folder` is its agent folder."""
    return "\n".join(
        [
            workflow_role_prompt(agent, sow, name),
            "",
            f"You are {name} in the workflow {workflow}; your task is {task_id}.",
            f"Your folder: {folder}/",
            f"Call sow by its full path: {sow}",
            f"Read first, and follow: {folder}/agent_instructions.md (the agent contract is at its end; "
            f"`{sow} prompt {CONTRACT}` prints it too).",
            *end_of_turn(sow),
        ]
    )


def end_of_turn(sow: str) -> list[str]:
    """Returns the lines that say how to end a turn."""
    return [
        f"When the work is done: `{sow} workflow set status completion_drive_review`, settle your notes, then",
        f"`{sow} workflow set status ready_for_verification`. When you need an answer: escalate notes, then",
        f"`{sow} workflow set status blocked`. Then stop.",
    ]


def changes_since_last_turn(
    *,
    feedback: str = "",
    resolutions: Mapping[str, str] | None = None,
    outputs: Sequence[str] = (),
    why: str = "",
) -> str:
    """Lists what changed since the agent's last turn; empty if nothing did."""
    parts = [f"An earlier session of yours is gone ({why}); what it left is on disk. Do not start over."] if why else []
    if resolutions:
        answers = "\n".join(f"- {note}: {text}" for note, text in resolutions.items())
        parts.append(
            f"Your escalated notes are resolved. Follow these answers, and do not ask the same again:\n{answers}"
        )
    if feedback:
        parts.append(f"Your work was sent back. Do first what this asks for:\n{feedback.strip()}")
    if outputs:
        changed = "\n".join(f"- {path}" for path in outputs)
        parts.append(f"Inputs that have changed since you read them; read them again:\n{changed}")
    return "\n\n".join(parts)


def next_prompt(news_text: str, *, name: str, sow: str) -> str:
    """Returns the prompt that continues an agent's session."""
    return "\n".join([news_text or "Continue with your task.", "", f"(You are {name}.)", *end_of_turn(sow)])


def reminder(name: str, sow: str) -> str:
    """Returns the reminder for an agent that ended its turn without a status."""
    return "\n".join(
        [
            f"Your turn ended, {name}, but you are still at work by your status.",
            f"Every note must be resolved or escalated (`{sow} note list`), every output written.",
            *end_of_turn(sow),
        ]
    )
