"""Builds the orchestrator's prompt: its role, the state of the work, and the first steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from sow.agents import briefing
from sow.agents.registry import Agent

ROLE = "orchestrator"


@dataclass(kw_only=True)
class Situation:
    """Facts about the work, and steps to take next."""

    root: str
    branch: str
    sow: str
    goal: str = ""
    facts: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)


def new_project(situation: Situation, *, begin: list[str]) -> Situation:
    """Adds the steps for a goal without a project; `begin` are the commands that create one."""
    sow = situation.sow
    situation.facts.append("There is no project on this branch yet.")
    situation.steps += [
        "Is it a project at all? Do trivial one-off work at once, and report it.",
        "Otherwise create it:\n\n" + "\n".join(f"   {line}" for line in begin) + "\n",
        f"Ask the person what only they can decide, cut the first phase into tasks (`{sow} task create`), and show "
        "them before the first worker starts.",
    ]
    return situation


def resume_project(
    situation: Situation, *, name: str, description: str, decisions: list[str], phases: str, step: tuple[str, str]
) -> Situation:
    """Adds the facts of an existing project, and the steps to resume it."""
    sow = situation.sow
    situation.facts += [f"Project: {name}", *([f"What it is for: {description}"] if description else [])]
    situation.facts += [*(f"Decided: {decision}" for decision in decisions), f"Phases: {phases}"]
    situation.facts.append(f"It belongs to branch {situation.branch}, which is checked out: that was checked just now.")
    situation.steps += [
        f"Read the state: `{sow} status`. Which phases and tasks are there, what is done, what waits?",
        f"Read the log: `{sow} log --list`. Which actions were taken, and what was decided?",
        f"See that nobody switched the branch meanwhile: `git branch --show-current` must say {situation.branch}.",
        f"Take the next action. As the state is now, it is: {step[0]} (`{_with_full_path(sow, step[1])}`).",
        f"A worker gets what it needs by its task: look at it first (`{sow} task show 010`), and complete what is "
        "missing there.",
        f"Start a worker on it (`{sow} agent spawn implementer 010`), review its work, and continue with step 1.",
    ]
    return situation


def resume_workflow(situation: Situation, *, name: str) -> Situation:
    """Adds the facts and steps of a workflow without a project."""
    sow = situation.sow
    situation.facts.append(f"A workflow is under way: {name}")
    situation.steps += [
        f"Read its state: `{sow} workflow status` names the next step, and `{sow} inbox` what waits.",
        "Take that step with the person, who approves the design and answers what the crew asks.",
    ]
    return situation


def prompt(agent: Agent, situation: Situation) -> str:
    """Returns the whole prompt."""
    template = briefing.load_role_prompt(agent).strip()
    role_prompt = template if agent.path else briefing.render(template, sow=situation.sow, task=briefing.TASK)
    lines = [role_prompt, "", "## Where you are", ""]
    lines.append(f"- The repository is {situation.root}, on branch {situation.branch or '(none)'}.")
    lines += [f"- Call sow by its full path: {situation.sow}"] if situation.sow != "sow" else []
    lines += [f"- {fact}" for fact in situation.facts]
    if situation.goal:
        lines += ["", "## What the person wants", "", *(f"> {line}" for line in situation.goal.split("\n"))]
    lines += ["", "## Take it up", "", "Trust what is on disk more than what you remember.", ""]
    lines += [f"{number}. {step}" for number, step in enumerate(situation.steps, 1)]
    return "\n".join(lines)


def _with_full_path(sow: str, command: str) -> str:
    return f"{sow} {command.removeprefix('sow ')}" if command.startswith("sow ") else command
