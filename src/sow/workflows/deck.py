"""What every job of a workflow's run shares: the crew's state, its plan, its roles and seats, and whom to tell."""

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
    """Who may speak with the workflow architect now: one at a time, first come first served."""

    __slots__ = ("holder", "waiting")

    def __init__(self) -> None:
        self.holder = ""
        self.waiting: set[str] = set()

    def join(self, name: str) -> None:
        """Stand in the line."""
        self.waiting.add(name)

    def take(self, name: str, order: Sequence[str]) -> bool:
        """Whether it is this agent's turn; `order` is who was blocked first."""
        if not self.holder and name == next((each for each in order if each in self.waiting), name):
            self.holder = name
        return self.holder == name

    def give(self, name: str) -> None:
        """Let the next one speak."""
        self.waiting.discard(name)
        if self.holder == name:
            self.holder = ""


class Deck:
    """One run of a workflow: everything but the loop."""

    __slots__ = ("_read", "_seen", "at_work", "digested", "folder", "line", "plan", "seat", "ship", "yes")

    def __init__(self, ship: Ship, plan: WorkflowPlan, *, yes: bool = False, seat: type[Seat] = Seat) -> None:
        self.ship = ship
        self.plan = plan
        self.yes = yes  # the design is approved as it stands, and so are changes of it during this run
        self.seat = seat  # what a turn is taken in
        self.folder = WorkflowFolder(ship.home)
        self.line = Line()
        self.digested = Digested()
        self.at_work: set[str] = set()  # whose jobs go on at this moment
        self._seen: tuple[int, int] | None = None
        self._read: Workflow | None = None

    @property
    def home(self) -> Home:
        return self.ship.home

    def workflow(self) -> Workflow:
        """The state as it is on disk, to be read only; a file that is the same as before is not read again."""
        try:
            facts = os.stat(self.folder.state_path)
        except OSError:
            return self.folder.workflow()
        seen = (facts.st_ino, facts.st_mtime_ns)
        if self._read is None or seen != self._seen:
            self._read = self.folder.workflow()
            memory = self.home.memory  # a state that does not count now may do so in a moment, when its copy is written
            self._seen = None if memory is not None and memory.doubted else seen
        return self._read

    def member(self, name: str) -> MemberState:
        return self.workflow()["members"][name]

    def notes(self, name: str) -> list[Note]:
        """The notes of an agent as they count."""
        return notes.listed_or_kept(self.desk(name))

    def desk(self, name: str) -> MemberDesk:
        return MemberDesk(self.home, self.workflow()["id"], name)

    def architects_desk(self) -> DesignDesk:
        """Where the workflow architect works: it may write the plan and instructions."""
        return DesignDesk(self.home, self.workflow()["id"], ARCHITECTS_DESK)

    def stage(self, name: str) -> tuple[str, str]:
        """What comes next for an agent, and why."""
        workflow = self.workflow()
        state = workflow["members"][name]
        needed = self.needs().get(name, [])
        done = {each for each, other in workflow["members"].items() if other["status"] in DONE}
        waiting = [each for each in needed if each not in done]
        return crew_stage.next_stage(state, self.notes(name), waiting=waiting, approved=self.approved(name))

    def needs(self) -> dict[str, list[str]]:
        """Whom each agent of the plan waits for; nobody waits for one that works only when it is asked."""
        doers = {each.name for each in self.plan.members if not self.plan.is_on_call(each)}
        before = self.plan.waits_for()
        return {name: [each for each in before[name] if each in doers] for name in before if name in doers}

    def doers(self) -> list[str]:
        """The agents that the plan starts, in its order; then those that it drops, while nobody said yes to that."""
        workflow = self.workflow()
        known, word = workflow["members"], workflow.get("approval")
        named = [each.name for each in self.plan.members if not self.plan.is_on_call(each) and each.name in known]
        dropped = [name for name in known if name not in self.plan.sections and word and name in word["sections"]]
        return [*named, *(name for name in dropped if name != self.solution_architect())]

    def approved(self, name: str) -> bool:
        """Whether an agent's part of the plan is approved as it is now; who never was in a plan has none."""
        word = self.workflow().get("approval")
        return (word["sections"].get(name) if word is not None else None) == self.plan.sections.get(name)

    def solution_architect(self) -> str:
        """The name of the desk at which technical questions are decided."""
        return self.plan.advisor()

    def queue(self) -> list[str]:
        """The blocked agents, first come first served."""
        return escalation.queue(self.workflow()["members"])

    def role(self, name: str) -> Agent:
        """The role that plays an agent; an unknown one is played by the default."""
        agents = self.ship.agents
        return agents.agents.get(self.member(name)["agent"]) or agents.get(DEFAULT_ROLE)

    def verifier(self, name: str) -> tuple[str, Agent]:
        """Who verifies an agent: the verifier's name, and the judging role that plays it."""
        wanted = self.member(name)["verifier"] or ARCHITECT_VERIFIER
        checker = self.plan.checker(wanted)
        usual = DESIGN_VERIFIER if wanted == ARCHITECT_VERIFIER and checker is None else VERIFIER
        found = self.ship.agents.agents.get(checker.agent) if checker is not None else None
        return wanted, found if found is not None and found.judges else self.ship.agents.get(usual)

    def executors_of(self, role: str) -> list[ExecutorConfig]:
        return self.ship.executors_of(role)

    def timeout(self, name: str) -> float:
        """How long one turn of an agent may take."""
        planned = self.plan.member(name)
        return self.ship.settings.get("timeout") or (planned.timeout if planned is not None else TIMEOUT)

    def crew(self, tell: Callable[[Event], None], *, timeout: float = 0) -> Crew:
        ship = self.ship
        limit = timeout or ship.settings.get("timeout", 0.0)
        return Crew(ship.home, ship.config, ship.environment, tell=tell, timeout=limit)

    def hear(self, name: str) -> Callable[[Event], None]:
        """What an agent says is in its transcript; the run shows the last of it."""

        def told(event: Event) -> None:
            if event.kind in ("tool", "text") and event.text:
                self.ship.step(name, event.text.strip().split("\n")[0][:120])

        return told
