"""One turn of one worker: its session, its command, its process and its record. Spawn, resume and every run use it."""

from __future__ import annotations

import os
import time

from sow.agents import briefing
from sow.engine.evidence import Watch
from sow.engine.own_command import sow_path
from sow.engine.recovery import strike
from sow.engine.runner import SupervisedRunner
from sow.engine.transcript import files_of, write_down
from sow.errors import SowError
from sow.executors import adapter as adapters
from sow.executors.adapter import Outcome, Request, Role
from sow.executors.executor import Executor, find_binary, missing_binary
from sow.executors.registry import adapter as find_adapter
from sow.executors.settings import program
from sow.executors.story import Story
from sow.store import bounds, sessions
from sow.store.litter import Litter
from sow.store.snapshot import Snapshot
from sow.system import clock, git, identity, redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.agent import Agent
    from sow.config import ExecutorConfig
    from sow.domain.shapes import ProjectState, Session, SessionTurn
    from sow.engine.crew import Crew
    from sow.executors.story import Event
    from sow.store.desk import Desk
    from sow.store.sessions import Record


# CLIs try again for minutes when the model's server is busy; a busy pool is better said than sat out. A few quick
# tries are theirs, so it is the time of nothing but tries that counts.
BUSY = (*adapters.LIMITED, *adapters.OVERLOADED)
BUSY_SECONDS = 10


class Seat:
    """A task on which a worker works now: its desk, its role and its executor, under the task's claim."""

    __slots__ = (
        "adapter",
        "agent",
        "busy_since",
        "crew",
        "denied",
        "desk",
        "executor",
        "model",
        "path",
        "project",
        "reported",
        "snapshot",
        "watch",
    )

    def __init__(
        self,
        crew: Crew,
        desk: Desk,
        project: ProjectState,
        agent: Agent,
        executor: ExecutorConfig,
        *,
        model: str = "",
    ) -> None:
        self.crew = crew
        self.desk = desk
        self.project = project
        self.agent = agent
        self.executor = executor
        self.adapter = find_adapter(executor.type)
        self.model = model  # the one that is wanted for this call, over the executor's and the session's
        self.path = ""
        self.snapshot: Snapshot | None = None
        self.watch: Watch | None = None
        self.denied = 0
        self.reported = ""
        self.busy_since = 0.0

    def let_through(self) -> list[str]:
        """The variables that the user lets this executor have besides its own."""
        named = self.executor.settings.get("env")
        return [str(each) for each in named] if isinstance(named, list) else []

    def binary(self) -> str:
        """The program; a missing one is said before anything is written."""
        if not self.path:
            named = program(self.executor.type, self.executor.settings)
            self.path = find_binary(named, self.crew.environment)
            if not self.path:
                raise missing_binary(self.executor.name, named, self.adapter.capabilities.install)
        return self.path

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
            folders=tuple(dict.fromkeys((self.desk.folder, home.checkout.git, home.checkout.common))),
            closed=bounds.closed(self.desk, [each["name"] for each in self.project["phases"]]),
            state=home.sow,
            commands=(sow_path(), "git"),
            yolo=self.executor.yolo,
            trusted=self.crew.config.trusts(home.root),
            model=self.model or record.session["model"],
            custom_args=self.executor.custom_args,
            extra=self.executor.settings,
        )

    def open_session(self) -> Record:
        """A new session, whose record is on disk before its id is in the task's state."""
        return sessions.create(self.desk, self.new_session())

    def new_session(self) -> Session:
        """A session as it begins, but for its number."""
        key = identity.uuid4()
        session: Session = {
            "number": 1,
            "key": key,
            "project_id": self.project["project_id"],
            "task": self.desk.id,
            "role": self.agent.name,
            "executor": self.executor.name,
            "type": self.executor.type,
            "model": self.model or self.executor.model,
            "cwd": self.crew.home.root,
            "mark": identity.uuid4().replace("-", ""),
            "started_at": clock.now(),
            "turns": [],
        }
        if self.adapter.capabilities.session in (adapters.GIVEN, adapters.FILE):
            session["session_id"] = key
        return session

    def take(self, record: Record, kind: str, prompt: str) -> Outcome:
        """Run one turn of the session and write down what it was."""
        turn = record.begin_turn(kind, redaction.names_of_secrets(self.crew.environment, self.let_through()))
        request = self.request(record)
        self._look_around(request.cwd)
        runner = self._runner(record, turn)
        executor = Executor(self.executor.name, self.adapter, runner, self.binary())
        act = executor.spawn if kind in ("spawn", "recovery") else executor.resume
        try:
            with Litter(self.crew.home, request.cwd, self.adapter.capabilities.leaves):
                outcome, story = act(request, prompt)
        except SowError as error:  # such as a program that cannot be started
            write_down(record, turn, self._clean(Outcome("failed", reason=error.message)), Story(), runner)
            raise
        self.denied += story.denied
        if self.reported:
            outcome = Outcome("not_found", reason=f"the CLI answered with another session: {self.reported}")
        outcome = self._clean(outcome)
        if outcome.text:
            record.keep(turn["number"], "txt", f"{outcome.text}\n")
        write_down(record, turn, outcome, story, runner)
        return outcome

    def _look_around(self, folder: str) -> None:
        """What is there before the turn; where a CLI tells of its tools there is no need to look at the folder."""
        home = self.crew.home
        self.reported, self.busy_since = "", 0.0
        self.watch = None if self.adapter.capabilities.structured else Watch(home, folder, self.desk.id)
        with home.lock():
            self.snapshot = Snapshot(home, self.project)

    def _runner(self, record: Record, turn: SessionTurn) -> SupervisedRunner:
        return SupervisedRunner(
            adapter=self.adapter,
            files=files_of(record, turn["number"]),
            limits=self.crew.limits(),
            environment=self.crew.environment,
            let_through=self.let_through(),
            marks=self.marks(record),
            mark=record.session["mark"],
            on_event=lambda event: self._hear(event, record),
            strike=lambda paths: strike(record, turn, self.crew.environment, paths),
        )

    def _clean(self, outcome: Outcome) -> Outcome:
        """The outcome in words that may be kept and shown: limits by their names, and no secret."""
        if outcome.kind == "timeout":
            outcome.reason = self.crew.stopped_by(outcome.reason)
        values = redaction.secrets(self.crew.environment, self.let_through())
        outcome.reason = redaction.redact_text(outcome.reason, values)
        outcome.text = redaction.redact_text(outcome.text, values)
        return outcome

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
        self._name_session(record.session["key"], event.session)
        return ""

    def _name_session(self, key: str, name: str) -> None:
        """The CLI's own id in the place of ours; a state that cannot be read now names the same record by our id."""
        with self.crew.home.lock():
            try:
                loaded = self.desk.load()
            except SowError:
                return
            if loaded["task"].get("session_id") == key:
                self.desk.save(loaded, {**loaded["task"], "session_id": name}, self.project["project_id"])
