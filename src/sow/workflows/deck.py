"""Holds what all jobs of a workflow's run share: the crew's state, its plan, its roles and listeners."""

from __future__ import annotations

import os

from sow.domain import crew_stage, escalation
from sow.domain.crew_plan import ARCHITECT_VERIFIER, TIMEOUT
from sow.domain.workflow_agent import DONE
from sow.engine.crew import Crew
from sow.engine.turn import Seat
from sow.store import notes
from sow.store.design_desk import DesignDesk
from sow.store.member_desk import MemberDesk
from sow.store.workflow import WorkflowFolder
from sow.workflows.digested import Digested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sow.agents.agent import Agent
    from sow.config import ExecutorConfig
    from sow.domain.crew_plan import WorkflowPlan
    from sow.domain.shapes import MemberState, Note, Workflow
    from sow.engine.ship import Ship
    from sow.executors.story import Event
    from sow.store.home import Home

WORKFLOW_ARCHITECT = "workflow-architect"
ARCHITECTS_DESK = "workflow_architect"
VERIFIER, DESIGN_VERIFIER = "verifier", "design-verifier"
SOLUTION_ARCHITECT = "solution-architect"
DEFAULT_ROLE = "implementer"


class Line:
    """The queue for the workflow architect: one agent at a time, in the order in which they were blocked."""

    __slots__ = ("holder", "waiting")

    def __init__(self) -> None:
        self.holder = ""
        self.waiting: set[str] = set()

    def join(self, name: str) -> None:
        """Add an agent to the queue."""
        self.waiting.add(name)

    def take(self, name: str, order: Sequence[str]) -> bool:
        """Tell whether it is this agent's turn; `order` lists the agents by when they were blocked."""
        if not self.holder and name == next((ident for ident in order if ident in self.waiting), name):
            self.holder = name
        return self.holder == name

    def give(self, name: str) -> None:
        """Release the queue for the next agent."""
        self.waiting.discard(name)
        if self.holder == name:
            self.holder = ""


class Deck:
    """The context of one workflow run, without its loop."""

    __slots__ = ("_read", "_seen", "at_work", "digested", "folder", "line", "plan", "seat", "ship", "yes")

    def __init__(self, ship: Ship, plan: WorkflowPlan, *, yes: bool = False, seat: type[Seat] = Seat) -> None:
        self.ship = ship
        self.plan = plan
        self.yes = yes  # the design is approved as it is, and so are changes of it during this run
        self.seat = seat  # class that takes the turns
        self.folder = WorkflowFolder(ship.home)
        self.line = Line()
        self.digested = Digested()
        self.at_work: set[str] = set()  # agents whose jobs run at this moment
        self._seen: tuple[int, int] | None = None
        self._read: Workflow | None = None

    @property
    def home(self) -> Home:
        return self.ship.home

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
            self._seen = None if memory is not None and memory.doubted else version
        return self._read

    def member(self, name: str) -> MemberState:
        return self.workflow()["members"][name]

    def notes(self, name: str) -> list[Note]:
        """Return the valid notes of an agent."""
        return notes.listed_or_kept(self.desk(name))

    def desk(self, name: str) -> MemberDesk:
        return MemberDesk(self.home, self.workflow()["id"], name)

    def architects_desk(self) -> DesignDesk:
        """Return the workflow architect's folder; it may write the plan and instructions."""
        return DesignDesk(self.home, self.workflow()["id"], ARCHITECTS_DESK)

    def stage(self, name: str) -> tuple[str, str]:
        """Return what comes next for an agent, and why."""
        workflow = self.workflow()
        state = workflow["members"][name]
        needed = self.needs().get(name, [])
        done = {ident for ident, member in workflow["members"].items() if member["status"] in DONE}
        waiting = [ident for ident in needed if ident not in done]
        return crew_stage.next_stage(state, self.notes(name), waiting=waiting, approved=self.approved(name))

    def needs(self) -> dict[str, list[str]]:
        """Return which agents each agent of the plan waits for; agents that work only on request are left out."""
        doers = {member.name for member in self.plan.members if not self.plan.is_on_call(member)}
        dependencies = self.plan.waits_for()
        return {
            name: [needed for needed in dependencies[name] if needed in doers] for name in dependencies if name in doers
        }

    def doers(self) -> list[str]:
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
        return self.plan.advisor()

    def queue(self) -> list[str]:
        """Return the blocked agents, longest blocked first."""
        return escalation.queue(self.workflow()["members"])

    def role(self, name: str) -> Agent:
        """Return the role that plays an agent; an unknown role is replaced by the default."""
        agents = self.ship.agents
        return agents.agents.get(self.member(name)["agent"]) or agents.get(DEFAULT_ROLE)

    def verifier(self, name: str) -> tuple[str, Agent]:
        """Return the name of an agent's verifier and the judging role that plays it."""
        verifier = self.member(name)["verifier"] or ARCHITECT_VERIFIER
        checker = self.plan.checker(verifier)
        default = DESIGN_VERIFIER if verifier == ARCHITECT_VERIFIER and checker is None else VERIFIER
        role = self.ship.agents.agents.get(checker.agent) if checker is not None else None
        return verifier, role if role is not None and role.judges else self.ship.agents.get(default)

    def executors_of(self, role: str) -> list[ExecutorConfig]:
        return self.ship.executors_of(role)

    def timeout(self, name: str) -> float:
        """Return how long one turn of an agent may take."""
        planned = self.plan.member(name)
        return self.ship.settings.get("timeout") or (planned.timeout if planned is not None else TIMEOUT)

    def crew(self, tell: Callable[[Event], None], *, timeout: float = 0) -> Crew:
        ship = self.ship
        limit = timeout or ship.settings.get("timeout", 0.0)
        return Crew(ship.home, ship.config, ship.environment, tell=tell, timeout=limit)

    def hear(self, name: str) -> Callable[[Event], None]:
        """Return a listener that shows the last line of an agent's output in the run."""

        def listener(event: Event) -> None:
            if event.kind in ("tool", "text") and event.text:
                self.ship.step(name, event.text.strip().split("\n")[0][:120])

        return listener
