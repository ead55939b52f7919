"""Runs crews in this process: an approved workflow, and turns whose agents are functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from sow import config as configs
from sow.agents.registry import AgentRegistry
from sow.domain.documents.state import RunSettings
from sow.domain.task import PERSON, WORKER, Actor
from sow.engine.turns.turn import AgentTurn
from sow.engine.workflows import crew_run, design_check, start
from sow.engine.workflows.crew_run import CrewLoop
from sow.executors.adapter import Outcome
from sow.store import note_updates
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Disk
from sow.store.runs.sessions import SessionRecord
from sow.store.state_watcher import Snapshot
from sow.store.workflows import design_state, members, question_updates
from sow.store.workflows.folder import WorkflowFolder
from sow.system import checkout, clock

if TYPE_CHECKING:
    from sow.system.process.steps import Steps

PERSON_ = Actor(kind=PERSON, name="ann")
COST = 0.25  # US dollars, of every turn
MOST_TICKS = 400  # steps of one call
INSTRUCTIONS = """\
# {name}

## Inputs

{inputs}

## Outputs

- task_output/out.md

## Success criteria

- the output is there

## Completion drive

Write down what you assume.
"""
PROSE = (
    "\n# Crew\n\n## Escalation\n\nBlocked agents ask the architect.\n\n"
    "## Validation checkpoints\n\nEach output is verified.\n"
)


class QuickDisk(Disk):
    """The real disk without syncs, since no test has a power cut."""

    def sync(self, *arguments: Any, **options: Any) -> None:
        return None


def member(name: str, *needs: str, **options: Any) -> dict[str, Any]:
    """Returns an entry of a plan's roster."""
    number = 1727539200 + sum(map(ord, name))
    return {
        "name": name,
        "agent": "implementer",
        "task_id": f"{name.replace('-', '_')}_{number}",
        "dependencies": list(needs),
        "verifier": "checker",
        "inputs": [f"agents/{need}/task_output/out.md" for need in needs],
        "outputs": ["task_output/out.md"],
        "criteria": ["the output is there"],
        **options,
    }


def plan_text(members: Sequence[dict[str, Any]], groups: Sequence[Any] = ()) -> str:
    head: dict[str, Any] = {
        "workflow": "crew",
        "task_id": "make_it",
        "agents": list(members),
        "verifiers": [{"name": "checker", "agent": "verifier"}],
    }
    if groups:
        head["groups"] = list(groups)
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n{PROSE}"


def write_design(home: Home, members: Sequence[dict[str, Any]], groups: Sequence[Any] = ()) -> str:
    """Writes the plan and every agent's instructions; returns the plan's text."""
    folder = WorkflowFolder(home)
    text = plan_text(members, groups)
    folder.write(folder.plan_path, text)
    for member in members:
        inputs = "\n".join(f"- {path}" for path in member["inputs"]) or "None."
        folder.write(
            folder.agent_folder(member["name"]).instructions_path,
            INSTRUCTIONS.format(name=member["name"], inputs=inputs),
        )
    return text


def design(home: Home, members: Sequence[dict[str, Any]], groups: Sequence[Any] = ()) -> None:
    """Makes a workflow whose design was verified and approved."""
    design_state.create(home, "crew", "# Summary\n")
    write_design(home, members, groups)
    approve(home)


def approve(home: Home) -> None:
    """Verifies and approves the current design."""
    plan, _ = design_check.read_plan(home)
    assert not plan.errors, [error.text for error in plan.errors]
    design_state.apply_plan(home, plan, [])
    design_state.record_check(home, digest=plan.digest, sections=plan.sections, passed=True, by="design-verifier")
    design_state.approve(home, digest=plan.digest, sections=plan.sections, actor=PERSON_, how="test")


class Turn:
    """The objects of a scripted agent in one turn."""

    def __init__(self, seat: AgentTurn, record: SessionRecord, kind: str, prompt: str) -> None:
        self.session = record.session["key"]
        self.home = seat.settings.home
        self.folder = seat.folder
        self.name = seat.folder.id
        self.role = seat.agent.name
        self.executor = seat.executor.name
        self.timeout = seat.settings.timeout
        self.late = seat.settings.limit_text("timeout")
        self.kind = kind
        self.prompt = prompt
        self.me = Actor(kind=WORKER, name=self.role, task=self.name)

    def write(self, text: str = "done\n") -> None:
        path = Path(self.folder.folder, "task_output", "out.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def set(self, *statuses: str) -> None:
        for status in statuses:
            members.set_status(self.home, self.name, status, actor=self.me)

    def hand_in(self) -> None:
        self.set("completion_drive_review", "ready_for_verification")

    def note(self, text: str, category: str = "detail") -> str:
        texts = {"description": text, "context": "the work", "category": category}
        return note_updates.add(self.home, self.name, **texts, actor=self.me)["note_id"]

    def escalate(self, text: str, category: str = "requirements") -> str:
        number = self.note(text, category)
        self.pass_on(number)
        return number

    def pass_on(self, note: str) -> None:
        note_updates.escalate(self.home, self.name, note, reason="not mine to decide", actor=self.me)

    def resolve(self, note: str) -> None:
        note_updates.resolve(self.home, self.name, note, resolution="as it is elsewhere", actor=self.me)

    @property
    def nonce(self) -> str:
        return self.prompt.rpartition("nonce ")[2][:36]

    @property
    def asked(self) -> list[str]:
        """Returns the notes that the architect is asked about."""
        parts = self.prompt.rpartition("for each of these notes: ")[2].split("\n")[0]
        return parts.rstrip(".").split(", ")

    def say(self, **said: Any) -> str:
        return json.dumps({"nonce": self.nonce, **said})

    def decide(self, route: str, words: str = "Use the first") -> str:
        key = "resolution" if route == "answer" else "question"
        return self.say(decisions=[{"note": item, "route": route, key: words} for item in self.asked])


Script = Callable[[Turn], str | Outcome]


def scripted_turn(script: Script, log: list[str]) -> type[AgentTurn]:
    """Returns a turn whose agent is a function: its records and snapshots are real, and no process is started."""

    class ScriptedTurn(AgentTurn):
        def check(self) -> None:
            return None

        def run(self, record: SessionRecord, kind: str, prompt: str) -> Steps[Outcome]:
            self.iteration = self.folder.iteration
            if not record.has_open_turn:
                record.begin_turn(kind, self.iteration, [])
            turn = record.session["turns"][-1]
            with self.settings.home.lock():
                self.snapshot = Snapshot(self.folder.home)
            log.append(f"{self.folder.id}:{kind}")
            yield
            output = script(Turn(self, record, kind, prompt))
            outcome = output if isinstance(output, Outcome) else Outcome("done", text=output)
            turn.update({"ended_at": clock.now(), "outcome": outcome.kind, "reason": outcome.reason, "tools": 1})
            turn["cost_usd"] = COST
            if outcome.text:
                record.write_file(turn["number"], "txt", f"{outcome.text}\n")
            record.save()
            return outcome

    return ScriptedTurn


class CrewRepo:
    """One repository in which crews run, call after call."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = ""  # the user's config file, as text
        self.timeout = 0.0  # --timeout
        self.executor = "simulated"  # that plays every role; without: as the config has it
        self.log: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.environment = {"HOME": str(root.parent), "PATH": "/usr/bin:/bin", "SOW_SANDBOX": "off"}

    def home(self, disk: Disk | None = None) -> Home:
        result = checkout.at(str(self.root))
        assert result is not None
        return Home(result, disk or QuickDisk())

    def run(self, script: Script, *, yes: bool = False, disk: Disk | None = None, at_once: int = 3) -> int:
        """Makes one call of the run, from recovery to its end; returns the exit code."""
        home = self.home(disk)
        settings: RunSettings = {
            "max_concurrency": at_once,
            "schedule": "ready",
            "isolation": "none",
            "review": "on",
            "retries": 0,
        }
        if self.timeout:
            settings["timeout"] = self.timeout
        if self.executor:
            settings["executor"] = self.executor
        with home.claim("run", purpose="test") as claim:
            start.recover_workflow(home, self.environment)
            context, goes_on = start.open_crew(
                home,
                configs.Config("", yaml.safe_load(self.config), self.environment),
                self.environment,
                claim=claim,
                agents=AgentRegistry(),
                settings=settings,
                listeners=[self.events.append],
                yes=yes,
                turn=scripted_turn(script, self.log),
            )
            context.journal("run_started", **start.crew_fields(context), recovered=goes_on)
            ticks = iter(range(MOST_TICKS))

            def tick(now: float) -> None:
                """Counts the steps, so that an endless run is a failure."""
                assert next(ticks, None) is not None, (self.log[-12:], self.statuses(), list(loop.running))

            loop = CrewLoop(context, tick=tick)
            code = loop.run()
            crew_run.close(context, code)
            context.journal("run_ended", **loop.counts())
        return context.folder.run["exit"]

    def backdate(self, times: dict[str, str]) -> None:
        """Gives each agent's last update another time."""
        home = self.home()
        folder = WorkflowFolder(home)
        with home.lock():
            loaded = folder.load()
            for name, at in times.items():
                loaded["workflow"]["members"][name]["last_update"] = at
            folder.save(loaded)

    def approve(self) -> None:
        approve(self.home())

    def answer(self, text: str) -> int:
        """Answers everything that waits for a person; returns how many items."""
        home = self.home()
        waiting = [member["question"]["number"] for member in self.members().values() if "question" in member]
        for number in waiting:
            question_updates.answer(home, number, text, actor=PERSON_)
        return len(waiting)

    def workflow(self) -> Any:
        return WorkflowFolder(self.home()).workflow()

    def members(self) -> dict[str, Any]:
        return self.workflow()["members"]

    def statuses(self) -> dict[str, str]:
        return {name: task["status"] for name, task in self.members().items()}

    def events_of(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.events if entry["event"] == event]

    def sessions(self) -> Iterator[dict[str, Any]]:
        """Returns every session of notes, the current ones and those in archives."""
        for path in self.root.glob("orchestration/agents/*/completion_drive/session_*.json"):
            yield json.loads(path.read_text())


def obedient_agent(turn: Turn) -> str:
    """Plays an agent of any role that does what is asked."""
    if turn.role in ("verifier", "design-verifier"):
        return turn.say(result="passed")
    if turn.role == "workflow-architect":
        return turn.decide("answer")
    turn.write()
    if turn.role == "solution-architect":
        Path(turn.folder.folder, "task_output", "decision.md").write_text("Use the first.\n")
    turn.hand_in()
    return "done"
