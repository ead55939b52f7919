"""The data of a workflow's plan: the agents of the crew, their verifiers, their files and their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sow.domain.inputs import is_session_id, plain_path
from sow.domain.plans.plan import PlanFinding
from sow.domain.workflows.lifecycle import ARCHITECT as ARCHITECT
from sow.domain.workflows.lifecycle import DOER as DOER

PLAN_FILE = "workflow_coordination_plan.md"
KINDS = (DOER, ARCHITECT)
ARCHITECT_NAME, ARCHITECT_VERIFIER = "solution_architect_agent", "solution_verifier"
ON_CALL_NAME = "solution_architect_on_call"  # for questions, if the usual agent folder has a task of the plan
ARCHIVIST = "archival_agent"
RESERVED = (ARCHIVIST, ON_CALL_NAME)
OUTPUT_FOLDER = "task_output"
TIMEOUT = 3600.0  # seconds of one turn
MAX_MEMBERS = 200
MAX_TASK_ID = 120


class DesignProblem(PlanFinding):
    """An error or a warning about a line of a plan or of an agent's instructions, with the rule it breaks."""

    def __init__(self, file: str, line: int, rule: str, text: str, hint: str, *, error: bool = True) -> None:
        super().__init__(file, line, text, hint=hint, error=error)
        self.rule = rule

    @property
    def text(self) -> str:
        return self.message

    def document(self) -> dict[str, object]:
        """Returns the complaint as JSON."""
        return {
            "rule": self.rule,
            "severity": "error" if self.error else "warning",
            "file": self.file,
            "line": self.line,
            "text": self.message,
            "hint": self.hint,
        }


@dataclass
class Member:
    """An agent of the crew that works: a doer, or the solution architect."""

    name: str
    task_id: str = ""
    verifier: str = ""
    agent: str = ""  # the role that plays it; empty if the plan does not say
    kind: str = DOER
    dependencies: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    criteria: list[str] = field(default_factory=list)
    timeout: float = TIMEOUT
    line: int = 0
    lines: dict[str, int] = field(default_factory=dict)  # the line of each field

    def line_of(self, key: str) -> int:
        """Returns the line of a field, or of the entry if it does not have that field."""
        return self.lines.get(key, self.line)


@dataclass(frozen=True)
class Verifier:
    """An agent of the crew that verifies the work of others."""

    name: str
    agent: str = "verifier"
    verifies: Sequence[str] = ()
    line: int = 0


@dataclass(frozen=True)
class RequiredAgent:
    """An agent type that the plan needs and that may not exist yet, with its specification."""

    name: str
    description: str = ""
    capabilities: str = ""
    prompt: str = ""
    line: int = 0


@dataclass
class WorkflowPlan:
    """A plan as it was read, with the errors and warnings of the reader."""

    file: str = PLAN_FILE
    name: str = ""
    task_id: str = ""
    members: list[Member] = field(default_factory=list)
    verifiers: list[Verifier] = field(default_factory=list)
    order: list[list[str]] = field(default_factory=list)  # a group starts when the one before it is verified
    groups_line: int = 0  # 0 if the plan names no groups
    required: list[RequiredAgent] = field(default_factory=list)
    prose: str = ""
    prose_line: int = 1  # the first line of the prose
    digest: str = ""
    sections: dict[str, str] = field(default_factory=dict)  # a digest of all in the plan that concerns one member
    complaints: list[DesignProblem] = field(default_factory=list)  # of the reader

    @property
    def errors(self) -> list[DesignProblem]:
        return [complaint for complaint in self.complaints if complaint.error]

    def member(self, name: str) -> Member | None:
        """Returns the member with this name."""
        return next((member for member in self.members if member.name == name), None)

    def checker(self, name: str) -> Verifier | None:
        """Returns the verifier with this name."""
        return next((checker for checker in self.verifiers if checker.name == name), None)

    def is_on_call(self, member: Member) -> bool:
        """Returns whether a member is not in the order: a solution architect that works only when it is asked."""
        return member.kind == ARCHITECT and not any(member.name in group for group in self.order)

    def technical_advisor(self) -> str:
        """Returns the name of the agent that answers technical questions and has no other task in the order."""
        on_call = next((member.name for member in self.members if self.is_on_call(member)), "")
        is_used = self.member(ARCHITECT_NAME) is not None or self.checker(ARCHITECT_NAME) is not None
        return on_call or (ON_CALL_NAME if is_used else ARCHITECT_NAME)

    def needs(self) -> dict[str, list[str]]:
        """Returns for each member those of its dependencies that exist."""
        names = {member.name for member in self.members}
        return {member.name: [name for name in member.dependencies if name in names] for member in self.members}

    def waits_for(self) -> dict[str, list[str]]:
        """Returns for each member all that must be verified first: its dependencies, and every group before its own."""
        waits = {name: list(before) for name, before in self.needs().items()}
        earlier: list[str] = []
        for group in self.order:
            for name in group:
                if name in waits:
                    waits[name] += [earlier_name for earlier_name in earlier if earlier_name not in waits[name]]
            earlier += group
        return waits


def is_task_id(text: str) -> bool:
    """Returns whether this is {slug}_{unix_epoch_timestamp}: a-z, 0-9 and _, then six to twelve digits."""
    return len(text) <= MAX_TASK_ID and is_session_id(text)


def role_of(member: Member, known_agents: Sequence[str] | set[str] | frozenset[str]) -> str:
    """Returns the role that plays a member: from the plan, else a role with the member's name, else implementer."""
    if member.agent:
        return member.agent
    if member.kind == ARCHITECT:
        return "solution-architect"
    return member.name if member.name in known_agents else "implementer"


def split_agent_path(path: str) -> tuple[str, str]:
    """Returns the agent whose folder a path is in, and the path in that folder. No agent for other paths."""
    parts = path.removeprefix("orchestration/").split("/")
    if parts[0] == "agents" and len(parts) > 2:
        return parts[1], "/".join(parts[2:])
    return "", path


def is_own_output(path: str) -> bool:
    """Returns whether an output is in the member's own agent folder."""
    return path.split("/")[0] == OUTPUT_FOLDER


def shared_output_paths(member: Member) -> list[str]:
    """Returns the member's outputs as others name them: agents/<name>/task_output/… or a path in the repository."""
    return [f"agents/{member.name}/{path}" if is_own_output(path) else comparable_path(path) for path in member.outputs]


def comparable_path(path: str) -> str:
    """Returns a path in the form used for comparison: without orchestration/ if it is in an agent folder."""
    return path.removeprefix("orchestration/") if path.startswith("orchestration/agents/") else path


def normalized_path(path: str) -> str:
    """Returns a path without ./ and doubled slashes, and without orchestration/ in an agent folder. /x is unchanged."""
    if path.startswith("/"):
        return path
    return comparable_path(plain_path(path) or path)


def own_path(name: str, path: str) -> str:
    """Returns a member's output path, relative to its agent folder if it is there."""
    agent, agent_path = split_agent_path(normalized_path(path))
    return agent_path if agent == name else normalized_path(path)
