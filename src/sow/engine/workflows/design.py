"""Designs a workflow without a person: the architect writes, sub-roles add details, code checks and sends back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sow.agents import briefing
from sow.agents.registry import AgentRegistry
from sow.domain.text.units import counted
from sow.domain.workflows.crew_plan import DesignProblem, RequiredAgent
from sow.domain.workflows.design_checks import MISSING_AGENT
from sow.engine.turns.allowed_commands import sow_command
from sow.engine.workflows import design_check
from sow.engine.workflows.conversation import Conversation, RoleConversations
from sow.engine.workflows.design_check import Design
from sow.engine.workflows.prompts import quoted
from sow.errors import SystemFailure
from sow.store.files.checkout_home import Home
from sow.store.workflows.folder import WorkflowFolder
from sow.system.process.steps import Steps

ARCHITECT = "workflow-architect"
SUB_ROLES = ("file-structure-designer", "checkpoint-designer", "instruction-writer")
DELEGATE_FROM = 5  # number of agents from which the details are delegated
MAX_ITERATIONS = 3  # how often findings go back to the architect
MOST = 50  # findings in one prompt


def prompt(home: Home, agents: AgentRegistry, *, name: str, delegate: bool, alone: bool) -> str:
    """Returns the architect's first prompt; `alone` means that no person can be asked."""
    folder = WorkflowFolder(home)
    lines = [
        f"Design the workflow {name}. The repository is {home.root}; call sow by its full path: {sow_command()}",
        f"What is wanted: {folder.summary_path(name)}",
        f"Write the plan to {folder.plan_path} (workflow: {name}),",
        f"and the instructions of each agent and each verifier to {folder.path}/agents/NAME/agent_instructions.md.",
    ]
    if alone:
        lines.append(
            "You work alone: nobody answers now. What is open becomes a part of the plan, as your guidance says."
        )
    if delegate:
        lines.append(
            "The details are delegated: in this turn write the plan's roster, order, dependencies and verifiers only. "
            "Sub-roles then work out files, checkpoints and instructions, and you integrate what they write."
        )
    return f"{_role_prompt(home, agents, ARCHITECT)}\n\n" + "\n".join([*lines, *_failed_verification(folder)])


def _role_prompt(home: Home, agents: AgentRegistry, role: str) -> str:
    """Returns a role's prompt, followed by the project's goal and decisions."""
    agent = agents.get(role)
    text = briefing.load_role_prompt(agent).strip()
    role_text = text if agent.path else briefing.render(text, sow=sow_command(), task=role.replace("-", "_"))
    return "\n\n".join(filter(None, (role_text, briefing.project_part(home))))


def _failed_verification(folder: WorkflowFolder) -> list[str]:
    """Returns the report on a design that did not pass its verification, for the architect who designs it again."""
    if folder.workflow().get("verified", {"passed": True})["passed"]:
        return []
    try:
        report = folder.home.read(folder.report_path)
    except FileNotFoundError:
        return []
    order = "The design that is there did not pass its verification. Fix every finding of this report:"
    return ["", order, quoted(report)]


def design_alone(
    conversations: RoleConversations, *, name: str, delegate: bool, tell: Callable[[str], None]
) -> Steps[Design]:
    """Has the design made and checked; findings of code go back to the architect, three times at most."""
    home = conversations.settings.home
    conversation = conversations.open(ARCHITECT)
    tell(f"{ARCHITECT} designs")
    yield from conversation.send(prompt(home, conversations.agents, name=name, delegate=delegate, alone=True))
    _tell_refused(conversation, tell)
    design = read_design(conversations)
    if delegate or (design is not None and len(design.plan.members) >= DELEGATE_FROM):
        design = yield from _delegate(conversations, conversation, name, tell)
    findings: list[str] = []
    for number in range(1, MAX_ITERATIONS + 1):
        before, findings = findings, complaints(home, design)
        if not findings or (findings == before and conversation.refused()):  # a refused turn would be refused again
            break
        tell(f"{counted(len(findings), 'finding')} sent back to {ARCHITECT} (iteration {number} of {MAX_ITERATIONS})")
        yield from conversation.send(_send_back(findings))
        _tell_refused(conversation, tell)
        design = read_design(conversations)
    return _settled(home, design, conversation.refused())


def _tell_refused(conversation: Conversation, tell: Callable[[str], None]) -> None:
    """Reports what the CLI refused in the last turn, before the role is asked again."""
    if conversation.refused():
        tell(conversation.refused())


def read_design(conversations: RoleConversations) -> Design | None:
    """Returns the design as it is on disk; None if there is no plan."""
    try:
        return design_check.read(conversations.settings.home, conversations.agents.names())
    except FileNotFoundError:
        return None


def complaints(home: Home, design: Design | None) -> list[str]:
    """Returns what the architect must fix before the design can be verified, one line each."""
    if design is None:
        return [f"{home.relative(WorkflowFolder(home).plan_path)}: {design_check.NO_PLAN}"]
    return [line(complaint) for complaint in design.errors if complaint.rule != MISSING_AGENT]


def line(complaint: DesignProblem) -> str:
    """Returns a complaint with its location and hint."""
    return f"{complaint.file}:{complaint.line}: {complaint.text} ({complaint.hint})"


def _delegate(
    conversations: RoleConversations, conversation: Conversation, name: str, tell: Callable[[str], None]
) -> Steps[Design | None]:
    """Has each sub-role write its part, one after the other, and the architect integrate them."""
    folder = WorkflowFolder(conversations.settings.home)
    folder.make_folder("design")
    parts = []
    for role in SUB_ROLES:
        tell(f"{role} works out the details")
        reply = yield from conversations.open(role).send(_sub_prompt(conversations, role, name))
        parts.append(f"{role} ({folder.path}/design/{role}.md):\n{quoted(reply[:2000])}")
    tell(f"{ARCHITECT} integrates")
    yield from conversation.send(
        "Your sub-roles have done their parts. Read what they wrote, decide where they differ, and bring it into one "
        "design: the plan's frontmatter and prose, and the instructions of every agent. The design stays yours.\n\n"
        + "\n\n".join(parts)
    )
    return read_design(conversations)


def _sub_prompt(conversations: RoleConversations, role: str, name: str) -> str:
    home = conversations.settings.home
    folder = WorkflowFolder(home)
    lines = (
        f"The workflow is {name}, the repository {home.root}; call sow by its full path: {sow_command()}",
        f"What is wanted: {folder.summary_path(name)}",
        f"The architect's plan: {folder.plan_path}",
        f"Your part: {folder.path}/design/{role}.md",
    )
    return f"{_role_prompt(home, conversations.agents, role)}\n\n" + "\n".join(lines)


def _send_back(findings: Sequence[str]) -> str:
    more = f"\n… and {len(findings) - MOST} more" if len(findings) > MOST else ""
    return (
        "The design was checked, and these findings must be fixed before anybody else looks at it:\n"
        + "\n".join(f"- {finding}" for finding in findings[:MOST])
        + more
    )


def _settled(home: Home, design: Design | None, refused: str) -> Design:
    """Returns a design that can be verified, with the contract in every agent's instructions."""
    findings = complaints(home, design)
    if findings or design is None:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        start = f"{ARCHITECT} was refused commands, and" if refused else f"after {MAX_ITERATIONS} iterations"
        raise SystemFailure(
            f"{start} the design still has errors: {findings[0]}{more}",
            "see all: sow workflow verify --no-agent; fix them by hand, or design again"
            + (f"\n{refused}" if refused else ""),
        )
    design_check.write_contracts(home, design)
    return design


def missing(design: Design, agent_names: Sequence[str]) -> list[RequiredAgent]:
    """Returns the agent types of the plan that do not exist yet."""
    return [required for required in design.plan.required if required.name not in agent_names]
