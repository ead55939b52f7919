"""Holds what all jobs of a workflow's run share: the crew's state, plan, roles, listeners and digests of files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from sow.agents.registry import Agent
from sow.domain.documents.state import MemberState, Note, Workflow
from sow.domain.workflows import escalation, member_stages
from sow.domain.workflows.crew_plan import ARCHITECT_VERIFIER, TIMEOUT, WorkflowPlan
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.engine.runs.run_context import RunContext
from sow.engine.runs.run_job import JobQueue
from sow.engine.turns.turn import AgentTurn, TurnSettings
from sow.engine.workflows import design_check
from sow.engine.workflows.conversation import restore_edited_state
from sow.executors.adapter import Event
from sow.store.files.file_cache import FileCache
from sow.store.projects import notes
from sow.store.projects.task_updates import RUNNER
from sow.store.workflows.folder import AgentFolder, DesignFolder, WorkflowFolder
from sow.system import plain_file

WORKFLOW_ARCHITECT = "workflow-architect"
ARCHITECT_FOLDER = "workflow_architect"
VERIFIER = "verifier"
SOLUTION_ARCHITECT = "solution-architect"
DEFAULT_ROLE = "implementer"


@dataclass
class CrewContext(RunContext):
    """The context of one workflow run: the crew's state and plan, besides what every run has."""

    plan: WorkflowPlan = field(kw_only=True)
    approves_changes: bool = False  # the design is approved as it is, and so are changes of it during this run

    def __post_init__(self) -> None:
        super().__post_init__()
        self.workflow_folder = WorkflowFolder(self.home)
        self.architect_queue = JobQueue()  # for the workflow architect, which serves one agent at a time
        self.digests: FileCache[str] = FileCache()
        self.running_agents: set[str] = set()  # agents whose jobs run at this moment
        self._seen: tuple[int, int] | None = None
        self._read: Workflow | None = None

    def sandbox_roles(self) -> list[str]:
        """Returns the roles of the agents, and of those who verify them."""
        wanted = {member["agent"] for member in self.workflow()["members"].values()} | {VERIFIER}
        return sorted(wanted & self.agents.agents.keys())

    def workflow(self) -> Workflow:
        """Returns the state on disk, to be read only; an unchanged file is not read again."""
        try:
            status = os.stat(self.workflow_folder.state_path)
        except OSError:
            return self.workflow_folder.workflow()
        version = (status.st_ino, status.st_mtime_ns)
        if self._read is None or version != self._seen:
            self._read = self.workflow_folder.workflow()
            memory = self.home.memory  # a doubted state may become valid as soon as its backup is written
            self._seen = None if memory is not None and memory.was_rejected else version
        return self._read

    def member(self, name: str) -> MemberState:
        return self.workflow()["members"][name]

    def notes(self, name: str) -> list[Note]:
        """Returns the valid notes of an agent."""
        return notes.load_notes_or_backup(self.agent_folder(name))

    def agent_folder(self, name: str) -> AgentFolder:
        return AgentFolder(self.home, self.workflow()["id"], name)

    def architect_folder(self) -> DesignFolder:
        """Returns the workflow architect's folder; it may write the plan and instructions."""
        return DesignFolder(self.home, self.workflow()["id"], ARCHITECT_FOLDER)

    def stage(self, name: str) -> tuple[str, str]:
        """Returns what comes next for an agent, and why."""
        workflow = self.workflow()
        state = workflow["members"][name]
        needed = self.needs().get(name, [])
        done = {ident for ident, member in workflow["members"].items() if member["status"] in DONE_STATUSES}
        waiting = [ident for ident in needed if ident not in done]
        return member_stages.next_stage(state, self.notes(name), waiting=waiting, approved=self.approved(name))

    def needs(self) -> dict[str, list[str]]:
        """Returns which agents each agent of the plan waits for; agents that work only on request are left out."""
        doers = {member.name for member in self.plan.members if not self.plan.is_on_call(member)}
        dependencies = self.plan.waits_for()
        return {
            name: [needed for needed in dependencies[name] if needed in doers] for name in dependencies if name in doers
        }

    def active_agents(self) -> list[str]:
        """Returns the agents that the plan starts, in its order, then those whose removal is not yet approved."""
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
        """Tells whether an agent's part of the plan is approved as it is now."""
        approval = self.workflow().get("approval")
        return (approval["sections"].get(name) if approval is not None else None) == self.plan.sections.get(name)

    def load_changed_plan(self) -> list[str]:
        """Loads the plan as it is now and reports once whose part has changed; returns their names."""
        plan = design_check.plan_on_disk(self.home)
        if plan is None or plan.digest == self.plan.digest:
            return []
        before, self.plan = self.plan.sections, plan
        names = [name for name in {**before, **plan.sections} if before.get(name) != plan.sections.get(name)]
        self.journal("plan_changed", path=plan.file, sections=names)
        return names

    def approve(self, plan: WorkflowPlan) -> None:
        """Approves the design in the name of the person, who agreed beforehand with --yes."""
        design_check.approve(self.home, plan, self.agents, actor=RUNNER, how="--yes")
        self.journal("approved", digest=plan.digest, how="--yes")

    def solution_architect(self) -> str:
        """Returns the name of the agent that decides technical questions."""
        return self.plan.technical_advisor()

    def blocked_agents(self) -> list[str]:
        """Returns the blocked agents, longest blocked first."""
        return escalation.queue(self.workflow()["members"])

    def role(self, name: str) -> Agent:
        """Returns the role that plays an agent; an unknown role is replaced by the default."""
        return self.agents.agents.get(self.member(name)["agent"]) or self.agents.get(DEFAULT_ROLE)

    def verifier(self, name: str) -> tuple[str, Agent]:
        """Returns the name of an agent's verifier and the judging role that plays it."""
        verifier = self.member(name)["verifier"] or ARCHITECT_VERIFIER
        checker = self.plan.checker(verifier)
        default = design_check.DESIGN_VERIFIER if verifier == ARCHITECT_VERIFIER and checker is None else VERIFIER
        role = self.agents.agents.get(checker.agent) if checker is not None else None
        return verifier, role if role is not None and role.is_judge else self.agents.get(default)

    def timeout(self, name: str) -> float:
        """Returns how long one turn of an agent may take."""
        planned = self.plan.member(name)
        return self.settings.get("timeout") or (planned.timeout if planned is not None else TIMEOUT)

    def turn_settings(self, tell: Callable[[Event], None], *, timeout: float = 0) -> TurnSettings:
        given = self.settings.get("timeout", 0.0)
        return TurnSettings(
            self.home,
            self.config,
            self.environment,
            on_event=tell,
            timeout=timeout or given,
            timeout_name="--timeout" if given else "its timeout in the coordination plan",
            verbs=self.verbs,
        )

    def undo_edits(self, turn: AgentTurn) -> list[str]:
        """Restores state files that were edited by hand meanwhile, except those of agents at work; returns remarks."""
        return restore_edited_state(turn)

    def digest(self, path: str) -> str:
        """Returns the digest of a regular file; empty for anything else. It is made again if the file changed."""
        try:
            descriptor = plain_file.open_to_read(path)
        except OSError:
            return ""
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)  # nobody can set back ctime
            return self.digests.current(path, mark, lambda: hashlib.file_digest(file, "sha256").hexdigest())
