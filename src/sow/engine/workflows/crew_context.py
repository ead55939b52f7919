"""Holds what all jobs of a workflow's run share: the crew's state, plan, roles, listeners and digests of files."""

from __future__ import annotations

import hashlib
import os

from sow.domain.workflows import escalation, stages
from sow.domain.workflows.crew_plan import ARCHITECT_VERIFIER, TIMEOUT
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.engine.turns.turn import AgentTurn
from sow.engine.turns.turn_settings import TurnSettings
from sow.store.projects import notes
from sow.store.workflows.folder import AgentFolder, DesignFolder, WorkflowFolder
from sow.system import plain_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sow.agents.agent import Agent
    from sow.config import ExecutorConfig
    from sow.domain.documents.state import MemberState, Note, Workflow
    from sow.domain.workflows.crew_plan import WorkflowPlan
    from sow.engine.runs.run_context import RunContext
    from sow.executors.events import Event
    from sow.store.files.checkout_home import Home

WORKFLOW_ARCHITECT = "workflow-architect"
ARCHITECT_FOLDER = "workflow_architect"
VERIFIER, DESIGN_VERIFIER = "verifier", "design-verifier"
SOLUTION_ARCHITECT = "solution-architect"
DEFAULT_ROLE = "implementer"


class ArchitectQueue:
    """The queue for the workflow architect: one agent at a time, in the order in which they were blocked."""

    __slots__ = ("holder", "waiting")

    def __init__(self) -> None:
        self.holder = ""
        self.waiting: set[str] = set()

    def enqueue(self, name: str) -> None:
        """Add an agent to the queue."""
        self.waiting.add(name)

    def acquire(self, name: str, order: Sequence[str]) -> bool:
        """Tell whether it is this agent's turn; `order` lists the agents by when they were blocked."""
        if not self.holder and name == next((ident for ident in order if ident in self.waiting), name):
            self.holder = name
        return self.holder == name

    def release(self, name: str) -> None:
        """Release the queue for the next agent."""
        self.waiting.discard(name)
        if self.holder == name:
            self.holder = ""


class CrewContext:
    """The context of one workflow run, without its loop."""

    __slots__ = (
        "_read", "_seen", "approves_changes", "at_work", "context", "digested", "folder", "line", "plan",
        "turn_class",
    )  # fmt: skip

    def __init__(
        self, context: RunContext, plan: WorkflowPlan, *, yes: bool = False, turn: type[AgentTurn] = AgentTurn
    ) -> None:
        self.context = context
        self.plan = plan
        self.approves_changes = yes  # the design is approved as it is, and so are changes of it during this run
        self.turn_class = turn  # class that takes the turns
        self.folder = WorkflowFolder(context.home)
        self.line = ArchitectQueue()
        self.digested = DigestCache()
        self.at_work: set[str] = set()  # agents whose jobs run at this moment
        self._seen: tuple[int, int] | None = None
        self._read: Workflow | None = None

    @property
    def home(self) -> Home:
        return self.context.home

    def workflow(self) -> Workflow:
        """Return the state on disk, to be read only; an unchanged file is not read again."""
        try:
            status = os.stat(self.folder.state_path)
        except OSError:
            return self.folder.workflow()
        version = (status.st_ino, status.st_mtime_ns)
        if self._read is None or version != self._seen:
            self._read = self.folder.workflow()
            memory = self.home.memory  # a doubted state may become valid as soon as its backup is written
            self._seen = None if memory is not None and memory.was_rejected else version
        return self._read

    def member(self, name: str) -> MemberState:
        return self.workflow()["members"][name]

    def notes(self, name: str) -> list[Note]:
        """Return the valid notes of an agent."""
        return notes.load_notes_or_backup(self.agent_folder(name))

    def agent_folder(self, name: str) -> AgentFolder:
        return AgentFolder(self.home, self.workflow()["id"], name)

    def architect_folder(self) -> DesignFolder:
        """Return the workflow architect's folder; it may write the plan and instructions."""
        return DesignFolder(self.home, self.workflow()["id"], ARCHITECT_FOLDER)

    def stage(self, name: str) -> tuple[str, str]:
        """Return what comes next for an agent, and why."""
        workflow = self.workflow()
        state = workflow["members"][name]
        needed = self.needs().get(name, [])
        done = {ident for ident, member in workflow["members"].items() if member["status"] in DONE_STATUSES}
        waiting = [ident for ident in needed if ident not in done]
        return stages.next_stage(state, self.notes(name), waiting=waiting, approved=self.approved(name))

    def needs(self) -> dict[str, list[str]]:
        """Return which agents each agent of the plan waits for; agents that work only on request are left out."""
        doers = {member.name for member in self.plan.members if not self.plan.is_on_call(member)}
        dependencies = self.plan.waits_for()
        return {
            name: [needed for needed in dependencies[name] if needed in doers] for name in dependencies if name in doers
        }

    def active_agents(self) -> list[str]:
        """Return the agents that the plan starts, in its order, then dropped ones whose removal is not approved yet."""
        workflow = self.workflow()
        members, approval = workflow["members"], workflow.get("approval")
        planned = [
            member.name for member in self.plan.members if not self.plan.is_on_call(member) and member.name in members
        ]
        dropped = [
            name for name in members if name not in self.plan.sections and approval and name in approval["sections"]
        ]
        return [*planned, *(name for name in dropped if name != self.solution_architect())]

    def approved(self, name: str) -> bool:
        """Tell whether an agent's part of the plan is approved as it is now."""
        approval = self.workflow().get("approval")
        return (approval["sections"].get(name) if approval is not None else None) == self.plan.sections.get(name)

    def solution_architect(self) -> str:
        """Return the name of the agent that decides technical questions."""
        return self.plan.technical_advisor()

    def blocked_agents(self) -> list[str]:
        """Return the blocked agents, longest blocked first."""
        return escalation.queue(self.workflow()["members"])

    def role(self, name: str) -> Agent:
        """Return the role that plays an agent; an unknown role is replaced by the default."""
        agents = self.context.agents
        return agents.agents.get(self.member(name)["agent"]) or agents.get(DEFAULT_ROLE)

    def verifier(self, name: str) -> tuple[str, Agent]:
        """Return the name of an agent's verifier and the judging role that plays it."""
        verifier = self.member(name)["verifier"] or ARCHITECT_VERIFIER
        checker = self.plan.checker(verifier)
        default = DESIGN_VERIFIER if verifier == ARCHITECT_VERIFIER and checker is None else VERIFIER
        role = self.context.agents.agents.get(checker.agent) if checker is not None else None
        return verifier, role if role is not None and role.is_judge else self.context.agents.get(default)

    def executors_of(self, role: str) -> list[ExecutorConfig]:
        return self.context.executors_of(role)

    def timeout(self, name: str) -> float:
        """Return how long one turn of an agent may take."""
        planned = self.plan.member(name)
        return self.context.settings.get("timeout") or (planned.timeout if planned is not None else TIMEOUT)

    def turn_settings(self, tell: Callable[[Event], None], *, timeout: float = 0) -> TurnSettings:
        context = self.context
        limit = timeout or context.settings.get("timeout", 0.0)
        return TurnSettings(context.home, context.config, context.environment, tell=tell, timeout=limit)

    def listener(self, name: str) -> Callable[[Event], None]:
        """Return a listener that shows the last line of an agent's output in the run."""

        def listener(event: Event) -> None:
            if event.kind in ("tool", "text") and event.text:
                self.context.progress(name, event.text.strip().split("\n")[0][:120])

        return listener


BLOCK = 1 << 20
Facts = tuple[int, int, int, int]


class DigestCache:
    """Digests by inode, size and times; nobody can set back an inode's change time."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[str, tuple[Facts, str]] = {}

    def digest(self, path: str) -> str:
        """Return the digest of a regular file; empty for anything else."""
        try:
            descriptor = plain_file.open_to_read(path)
        except OSError:
            return ""
        with open(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            version = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            cached = self.known.get(path)
            if cached is None or cached[0] != version:
                hasher = hashlib.sha256()
                while block := file.read(BLOCK):
                    hasher.update(block)
                cached = self.known[path] = version, hasher.hexdigest()
        return cached[1]
