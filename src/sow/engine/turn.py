"""One turn of one worker: its session, its command, its process and its record. Spawn, resume and every run use it."""

from __future__ import annotations

import os
import sys
import time

from sow.agents import briefing
from sow.engine import evidence
from sow.engine.runner import Files, SupervisedRunner, strike
from sow.errors import SowError
from sow.executors import adapter as adapters
from sow.executors.adapter import Outcome, Request, Role
from sow.executors.executor import Executor
from sow.executors.registry import adapter as find_adapter
from sow.executors.settings import program
from sow.executors.story import Story
from sow.store import sessions
from sow.store.schema import VERSION
from sow.system import clock, git, identity, tree
from sow.system.environment import worker_environment
from sow.system.process import MARK, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sow.agents.agent import Agent
    from sow.config import Config, ExecutorConfig
    from sow.domain.shapes import ProjectState, Session, SessionState, SessionTurn, Task
    from sow.executors.story import Event
    from sow.store.desk import Desk
    from sow.store.home import Home
    from sow.store.sessions import Record


# CLIs try again for minutes when the model's server is busy; a busy pool is better said than sat out. A few quick
# tries are theirs, so it is the time of nothing but tries that counts.
BUSY = (*adapters.LIMITED, *adapters.OVERLOADED)
BUSY_SECONDS = 10


class Result:
    """What a turn came to."""

    __slots__ = ("executor", "outcome", "record", "remarks", "status", "task")

    def __init__(self, *, task: Task, outcome: Outcome, record: Record, executor: str, remarks: list[str]) -> None:
        self.task = task
        self.status = task["status"]
        self.outcome = outcome
        self.record = record
        self.executor = executor
        self.remarks = remarks


class Crew:
    """What every turn needs to know: where, with which settings, and whom to tell."""

    __slots__ = ("config", "environment", "home", "model", "tell", "timeout")

    def __init__(
        self,
        home: Home,
        config: Config,
        environment: Mapping[str, str],
        *,
        tell: Callable[[Event], None],
        model: str = "",
        timeout: float = 0,
    ) -> None:
        self.home = home
        self.config = config
        self.environment = environment
        self.tell = tell
        self.model = model
        self.timeout = timeout

    def limits(self) -> Limits:
        return Limits(
            wall=self.timeout or self.config.seconds("turn_timeout"),
            silence=self.config.seconds("silence_timeout"),
            linger=self.config.seconds("linger_timeout"),
            grace=self.config.seconds("stop_grace"),
            size=int(self.config.limits["transcript_mb"][0]) << 20,
        )


def sow_path() -> str:
    """The absolute path of `sow`, since some CLIs replace PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "sow")
    started = os.path.abspath(sys.argv[0])
    return started if os.path.basename(started) == "sow" and os.access(started, os.X_OK) else beside


class Seat:
    """A task on which a worker works now: its desk, its role and its executor, under the task's claim."""

    __slots__ = (
        "adapter",
        "agent",
        "before",
        "busy_since",
        "crew",
        "denied",
        "desk",
        "executor",
        "project",
        "reported",
    )

    def __init__(self, crew: Crew, desk: Desk, project: ProjectState, agent: Agent, executor: ExecutorConfig) -> None:
        self.crew = crew
        self.desk = desk
        self.project = project
        self.agent = agent
        self.executor = executor
        self.adapter = find_adapter(executor.type)
        self.before: str | None = None
        self.denied = 0
        self.reported = ""
        self.busy_since = 0.0

    def preview(self, *, resume: bool) -> tuple[adapters.Call, Request, list[str]]:
        """The command that a turn would run; nothing is written."""
        known = sessions.current(self.desk, self.desk.task().get("session_id", "")) if resume else None
        record = known or sessions.Record(
            self.desk, f"{self.crew.home.sow}/local/sessions/{self.desk.id}/0", self._new()
        )
        request = self.request(record)
        call = self.adapter.resume_command(request) if resume else self.adapter.spawn_command(request)
        own = (*self.adapter.capabilities.variables, *self.let_through())
        names = worker_environment(self.crew.environment, own=own, marks={**self.marks(record), MARK: ""})
        return call, request, sorted({*names, *call.environment})

    def let_through(self) -> list[str]:
        """The variables that the user lets this executor have besides its own."""
        named = self.executor.settings.get("env")
        return [str(each) for each in named] if isinstance(named, list) else []

    def binary(self) -> str:
        """The program; a missing one is said before anything is written."""
        named = program(self.executor.type, self.executor.settings)
        probe = Executor(self.executor.name, self.adapter, _NoRunner(), named)
        return probe.validate_availability(self.crew.environment)

    def check(self) -> None:
        """Before anything is written: the program must be there, and no file of the repository may steer it."""
        self.binary()
        root = self.crew.home.root
        steering = [each for each in self.adapter.capabilities.obeys if os.path.lexists(f"{root}/{each}")]
        if steering and not self.crew.config.trusts(root):
            raise SowError(
                f"{self.executor.name} would obey {' and '.join(steering)} of this repository",
                f"look at what it says; then add {root} under `trust` (sow config edit), or use another executor",
            )

    def request(self, record: Record) -> Request:
        home = self.crew.home
        session = record.session.get("session_id") or record.session["key"]
        return Request(
            role=Role(
                name=self.agent.name,
                tools=self.agent.tools,
                judges=self.agent.judges,
                description=self.agent.description,
                words=briefing.words_of(self.agent) if self.agent.delegable else "",
            ),
            session=session,
            cwd=record.session["cwd"],
            folder=record.folder,
            folders=tuple(dict.fromkeys((f"{home.sow}", home.checkout.git, home.checkout.common))),
            commands=(sow_path(), "git"),
            yolo=self.executor.yolo,
            trusted=self.crew.config.trusts(home.root),
            model=record.session["model"],
            custom_args=self.executor.custom_args,
            extra=self.executor.settings,
        )

    def open_session(self) -> Record:
        """A new session, whose record is on disk before its id is in the task's state."""
        return sessions.create(self.desk, self._new()["session"])

    def _new(self) -> SessionState:
        key = identity.uuid4()
        session: Session = {
            "number": 1,
            "key": key,
            "task": self.desk.id,
            "role": self.agent.name,
            "executor": self.executor.name,
            "type": self.executor.type,
            "model": self.crew.model or self.executor.model,
            "cwd": self.crew.home.root,
            "mark": identity.uuid4().replace("-", ""),
            "started_at": clock.now(),
            "turns": [],
        }
        if self.adapter.capabilities.session in (adapters.GIVEN, adapters.FILE):
            session["session_id"] = key
        return {"schema_version": VERSION, "revision": 0, "session": session}

    def take(self, record: Record, kind: str, prompt: str) -> tuple[Outcome, SessionTurn]:
        """Run one turn of the session and write down what it was."""
        turn = record.begin_turn(kind)
        files = _files(record, turn["number"])
        request = self.request(record)
        self.reported, self.busy_since = "", 0.0
        self.before = None if self.adapter.capabilities.structured else evidence.look(request.cwd)
        runner = SupervisedRunner(
            adapter=self.adapter,
            files=files,
            limits=self.crew.limits(),
            environment=self.crew.environment,
            let_through=self.let_through(),
            marks=self.marks(record),
            mark=record.session["mark"],
            on_event=lambda event: self._hear(event, record),
        )
        executor = Executor(self.executor.name, self.adapter, runner, self.binary())
        if kind in ("spawn", "recovery"):
            outcome, story = executor.spawn(request, prompt)
        else:
            outcome, story = executor.resume(request, prompt)
        self.denied += story.denied
        if self.reported:
            outcome = Outcome("not_found", reason=f"the CLI answered with another session: {self.reported}")
        _write_down(record, turn, outcome, story, runner, self.adapter.capabilities)
        return outcome, turn

    def marks(self, record: Record) -> dict[str, str]:
        """What tells a worker, and every `sow` that it calls, who it is."""
        return {
            "SOW_TASK": self.desk.id,
            "SOW_AGENT": self.agent.name,
            "SOW_ROOT": self.crew.home.root,
            "SOW_DESK": self.desk.folder,
            "SOW_RUN": f"{self.desk.id}/{record.session['number']}",
            **self._identity(),
        }

    def _identity(self) -> dict[str, str]:
        """Who the user is to git, for a CLI that hides the user's git settings from its tools."""
        if not self.adapter.capabilities.hides_git_identity:
            return {}
        found = {}
        for field in ("name", "email"):
            value = git.run(["config", "--get", f"user.{field}"], cwd=self.crew.home.root, check=False).strip()
            for who in ("AUTHOR", "COMMITTER"):
                variable = f"GIT_{who}_{field.upper()}"
                if value and variable not in self.crew.environment:
                    found[variable] = value
        return found

    def _is_busy(self, event: Event) -> bool:
        """Whether the CLI has done nothing but try again for a while."""
        if event.kind == "retry" and event.status in BUSY:
            self.busy_since = self.busy_since or time.monotonic()
            return time.monotonic() - self.busy_since >= BUSY_SECONDS
        if event.kind in ("text", "tool"):
            self.busy_since = 0.0
        return False

    def _hear(self, event: Event, record: Record) -> str:
        """Pass an event on; the id of a session is written down as soon as the CLI says it."""
        self.crew.tell(event)
        if self._is_busy(event):
            return "retries"
        known = record.session.get("session_id")
        if not event.session or event.session == known:
            return ""
        if known is not None:
            self.reported = event.session
            return "linger"
        record.session["session_id"] = event.session
        record.save()
        with self.crew.home.lock():
            loaded = self.desk.load()
            if loaded["task"].get("session_id") == record.session["key"]:
                self.desk.save(loaded, {**loaded["task"], "session_id": event.session}, self.project["project_id"])
        return ""


class _NoRunner:
    """An executor that is only asked whether its program is there."""

    def run(self, call: adapters.Call, request: Request, prompt: str, story: Story) -> adapters.Ending:
        raise AssertionError("nothing is run to look for a program")


def _files(record: Record, number: int) -> Files:
    names = {"prompt": "prompt", "out": "out", "err": "err", "readable": "md"}
    return Files(**{name: record.file(number, ending) for name, ending in names.items()})


def _write_down(
    record: Record,
    turn: SessionTurn,
    outcome: Outcome,
    story: Story,
    runner: SupervisedRunner,
    capabilities: adapters.Capabilities,
) -> None:
    """The facts of a finished turn; where the CLI tells totals of the session, the turn's share is the difference."""
    session = record.session
    cost = _share(session, "total_cost_usd", story.cost, total=capabilities.cumulative_cost)
    tokens_in = _share(session, "total_input_tokens", story.input_tokens, total=capabilities.cumulative_tokens)
    tokens_out = _share(session, "total_output_tokens", story.output_tokens, total=capabilities.cumulative_tokens)
    turn.update(
        {
            "ended_at": clock.now(),
            "exit": runner.code,
            "outcome": outcome.kind,
            "reason": outcome.reason[:2000],
            "tools": max(story.tools - story.denied, 0),
            "cost_usd": None if cost is None else round(cost, 6),
            "input_tokens": None if tokens_in is None else int(tokens_in),
            "output_tokens": None if tokens_out is None else int(tokens_out),
            "agent_turns": story.turns,
            "seconds": round(runner.seconds, 3),
            "redacted": runner.struck,
        }
    )
    record.save()


def _share(session: object, key: str, value: float | None, *, total: bool) -> float | None:
    """This turn's part of a number, and the session's sum brought up to date; unknown stays unknown."""
    if value is None or not isinstance(session, dict):
        return None
    before = session.get(key) or 0
    share = max(value - before, 0) if total else value
    session[key] = round(before + share, 6) if isinstance(value, float) else int(before + share)
    return share


def recover(desk: Desk, environment: Mapping[str, str]) -> list[str]:
    """After a crash of ours: end what an earlier turn left running, and take the session's id from its output."""
    remarks = []
    for record in sessions.records(desk):
        unfinished = [turn for turn in record.session["turns"] if "ended_at" not in turn]
        if not unfinished:
            continue
        left = tree.sweep_mark(record.session["mark"])
        adapter = find_adapter(record.session["type"])
        for turn in unfinished:
            files = _files(record, turn["number"])
            if "session_id" not in record.session:
                found = _session_in(files.out, adapter)
                if found:
                    record.session["session_id"] = found
            turn.update({"ended_at": clock.now(), "outcome": "lost", "reason": "sow ended before the turn did"})
            turn["redacted"] = strike(files, environment)
        record.save()
        remarks.append(
            f"an earlier turn on task {desk.id} was cut off" + (f"; {left} of its processes were ended" if left else "")
        )
    return remarks


def _session_in(path: str, adapter: adapters.Adapter) -> str:
    """The session's id that a CLI told in its output, read after the fact."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                for event in adapter.read(line[: 1 << 20]):
                    if event.session:
                        return event.session
    except FileNotFoundError:
        return ""
    return ""
